// Loads and stores of blocks of a tensor.
#include <fmt/format.h>

#include "addressing/tensor_descriptor.h"
#include "base/name_format.h"
#include "kernbench/error.h"
#include "kernbench/tl.h"
#include "tile/memory/memory_access.h"
#include "tile/memory/multicast_table.h"
#include "tile/memory/tl_access.h"
#include "tile/program/conversion.h"

namespace kernbench::tl {

using tile::AccessCall;
using tile::Lanes;
using tile::Program;
using tile::to_text;

namespace {

void check_box(const AccessCall& call, const Tensor& tensor, const Extents& offsets, const Extents& shape,
               bool must_begin_inside) {
  const auto& descriptor = tensor.descriptor();
  const auto& extents = descriptor.shape;
  if (offsets.size() != extents.size() || shape.size() != extents.size()) {
    call.value_error(fmt::format("tensor {} has {} dimensions, but {} offsets and a block of {} dimensions were given",
                                 descriptor.name, extents.size(), offsets.size(), shape.size()));
  }
  for (std::size_t dimension = 0; dimension < extents.size(); ++dimension) {
    if (shape[dimension] <= 0)
      call.value_error(fmt::format("block shape {} must be positive in every dimension", to_text(shape)));
    if (!must_begin_inside) continue;
    if (offsets[dimension] < 0 || offsets[dimension] >= extents[dimension]) {
      throw OutOfBoundsError(
          fmt::format("tl::{}: offset {} in dimension {} lies outside of tensor {} of shape {}; {} (a "
                      "block may reach past the end, but must begin inside)",
                      call.name, offsets[dimension], dimension, descriptor.name, to_text(tensor.shape()),
                      tile::valid_text(extents[dimension])),
          call.program.place(call.where));
    }
  }
}

}  // namespace

}  // namespace kernbench::tl

namespace kernbench::tile {

tl::Tile load_block(const AccessCall& call, const tl::Tensor& tensor, const tl::Extents& offsets,
                    const tl::Extents& shape, const tl::LoadOptions& options, const MulticastPart* together) {
  tl::check_box(call, tensor, offsets, shape, !call.program.environment().reads_may_leave_tensors);
  const Lanes lanes = lanes_of(call, options, shape);
  const auto result = call.program.new_tile(tensor.dtype(), shape, call.kind, call.where);
  const auto places = [&] { return places_of_box(call, tensor, offsets, shape); };
  return issue_load(call, result, together != nullptr ? places_of_member(call, *together, places) : places(), lanes,
                    together);
}

hardware::CommandRef store_block(const AccessCall& call, const tl::Tensor& tensor, const tl::Extents& offsets,
                                 const tl::Tile& value, const tl::StoreOptions& options) {
  call.program.own(value, call.name, call.where);
  tl::check_box(call, tensor, offsets, value.shape(), true);
  const Lanes lanes = lanes_of(call, options, value.shape());
  const tl::Tile converted = stored_value(call, tensor, value, value.shape());
  return issue_store(call, converted, value.shape(), places_of_box(call, tensor, offsets, value.shape()), lanes);
}

}  // namespace kernbench::tile

namespace kernbench::tl {

Tile load(const Tensor& tensor, Extents offsets, Extents shape, LoadOptions options, Where where) {
  return tile::load_block({Program::current("load", where), "load", "load", where}, tensor, offsets, shape, options);
}

void store(const Tensor& tensor, Extents offsets, const Tile& value, StoreOptions options, Where where) {
  tile::store_block({Program::current("store", where), "store", "store", where}, tensor, offsets, value, options);
}

}  // namespace kernbench::tl
