// Loads that several programs make together.
#include <string>
#include <utility>

#include "addressing/tensor_descriptor.h"
#include "kernbench/tl.h"
#include "tile/memory/multicast_table.h"
#include "tile/memory/tl_access.h"

namespace kernbench::tl {

using tile::access_call;
using tile::AccessCall;
using tile::MulticastBlock;
using tile::MulticastPart;

namespace {

constexpr const char* kLoad = "multicast_load";
constexpr const char* kLoadAsync = "multicast_load_async";

MulticastBlock block_of(const Tensor& tensor, const Extents& offsets, const Extents& shape) {
  MulticastBlock block;
  block.tensor = tensor.descriptor().name;
  block.va = tensor.descriptor().va;
  block.dtype = tensor.dtype();
  block.offsets = offsets;
  block.shape = shape;
  return block;
}

Tile load_together(AccessCall call, const MulticastGroup& group, const Tensor& tensor, const Extents& offsets,
                   const Extents& shape, const LoadOptions& options) {
  if (options.mask.defined() || (options.other && !options.other->is_scalar())) {
    call.value_error(
        "a multicast takes no mask, and `other` as a scalar: all programs of a group get the same bytes; load the "
        "block and "
        "use tl::where");
  }
  MulticastBlock block = block_of(tensor, offsets, shape);
  if (options.other) {
    block.has_other = true;
    block.other = options.other->scalar().as_double();
  }
  const MulticastPart part = take_part(call, group, block);
  return tile::load_block(call, tensor, offsets, shape, options, &part);
}

Tile load_together(AccessCall call, const MulticastGroup& group, const BlockPointer& pointer,
                   const BlockOptions& options) {
  MulticastBlock block = block_of(pointer.base.tensor(), pointer.offsets, pointer.block_shape);
  block.base = pointer.base.offset();
  block.strides = pointer.strides;
  block.parent = pointer.shape;
  block.checked = options.boundary_check;
  block.padding = static_cast<int>(options.padding);
  const MulticastPart part = take_part(call, group, block);
  return tile::load_block_pointer(call, pointer, options, &part);
}

}  // namespace

Tile multicast_load(const MulticastGroup& group, const Tensor& tensor, Extents offsets, Extents shape,
                    LoadOptions options, Where where) {
  return load_together(access_call(kLoad, kLoad, where), group, tensor, offsets, shape, options);
}

Tile multicast_load(const MulticastGroup& group, const BlockPointer& pointer, BlockOptions options, Where where) {
  return load_together(access_call(kLoad, kLoad, where), group, pointer, options);
}

AsyncLoad multicast_load_async(const MulticastGroup& group, const Tensor& tensor, Extents offsets, Extents shape,
                               LoadOptions options, Where where) {
  const AccessCall call = access_call(kLoadAsync, kLoad, where);
  return started(call, load_together(call, group, tensor, offsets, shape, options));
}

AsyncLoad multicast_load_async(const MulticastGroup& group, const BlockPointer& pointer, BlockOptions options,
                               Where where) {
  const AccessCall call = access_call(kLoadAsync, kLoad, where);
  return started(call, load_together(call, group, pointer, options));
}

}  // namespace kernbench::tl
