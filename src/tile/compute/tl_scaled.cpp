// Products of the MX formats, on the GEMM engine.
#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "kernbench/tl.h"
#include "numerics/operations.h"
#include "numerics/scaled.h"
#include "tile/compute/fuse_as.h"
#include "tile/compute/product.h"
#include "tile/compute/tile_operands.h"
#include "tile/program/conversion.h"

namespace kernbench::tl {

using numerics::ScaledFormat;
using tile::KernelCommand;
using tile::ProductCall;
using tile::Program;
using tile::StateRef;
using tile::to_text;

namespace {

constexpr const char* kName = "dot_scaled";

/// One operand as it was given.
struct Given {
  const char* name;  // "lhs"
  std::string_view format;
  bool rows_first, k_pack;
};

numerics::ScaledOperand checked_operand(const ProductCall& call, const Given& given, DType type) {
  const auto format = numerics::scaled_format(given.format);
  if (!format) {
    call.fail(fmt::format("{}_format is \"{}\"; it must be e2m1, e4m3, e5m2, bf16 or fp16", given.name, given.format));
  }
  const DType own = numerics::element_type(*format);
  const bool bits = type == DType::u8 && item_size(own) == 1;
  if (type != own && !bits) {
    call.fail(fmt::format("{} is {}; elements of {} are {}{}", given.name, name(type), given.format, name(own),
                          item_size(own) == 1 && own != DType::u8 ? ", or u8 with their bits" : ""));
  }
  numerics::ScaledOperand operand{*format, given.rows_first, {}};
  if (*format == ScaledFormat::e2m1)
    operand.packed_along_k = given.k_pack;
  else if (!given.k_pack)
    call.fail(
        fmt::format("{}_k_pack is false, and {} is {}: only e2m1 is packed", given.name, given.name, given.format));
  return operand;
}

/// The shape of the elements of which a tile of `shape` has two in each byte.
Extents unpacked(const Extents& shape, const numerics::ScaledOperand& operand) {
  Extents all = shape;
  if (!operand.packed_along_k || shape.size() < 2) return all;
  all[all.size() - (operand.packed_along_columns() ? 1 : 2)] *= 2;
  return all;
}

/// ValueError unless `scales` has one for each block of each row of an operand of `rows` rows.
void check_scales(const ProductCall& call, const Given& given, const tile::TileState& scales, const Extents& elements,
                  std::int64_t rows, std::int64_t k) {
  if (scales.dtype() != DType::u8 && scales.dtype() != DType::f8e4m3) {
    call.fail(fmt::format("{}_scale is {}; it must be u8 (E8M0, blocks of 32) or f8e4m3 (blocks of 16)", given.name,
                          name(scales.dtype())));
  }
  const std::int64_t block = numerics::scale_block(scales.dtype());
  if (k % block != 0) {
    call.fail(fmt::format("k is {}; scales of {} are for blocks of {}, which must divide it", k, name(scales.dtype()),
                          block));
  }
  Extents expected = elements;
  expected[expected.size() - 2] = rows;
  expected[expected.size() - 1] = k / block;
  if (scales.shape() == expected) return;
  call.fail(fmt::format("{}_scale has shape {}; {} rows of {} elements in blocks of {} need {}", given.name,
                        to_text(scales.shape()), rows, k, block, to_text(expected)));
}

topology::GemmOperand engine_operand(ScaledFormat lhs, ScaledFormat rhs) {
  const auto operand = [](ScaledFormat format) {
    switch (format) {
      case ScaledFormat::e2m1:
        return topology::GemmOperand::f4;
      case ScaledFormat::e4m3:
      case ScaledFormat::e5m2:
        return topology::GemmOperand::f8;
      case ScaledFormat::bf16:
        return topology::GemmOperand::bf16;
      case ScaledFormat::fp16:
        break;
    }
    return topology::GemmOperand::f16;
  };
  return std::max(operand(lhs), operand(rhs));  // the enumeration has narrow ones first
}

}  // namespace

Tile dot_scaled(const Tile& lhs, const Tile& lhs_scale, std::string_view lhs_format, const Tile& rhs,
                const Tile& rhs_scale, std::string_view rhs_format, const Tile& accumulator,
                const DotScaledOptions& options, Where where) {
  auto& program = Program::current(kName, where);
  const auto own = [&](const Tile& tile) { return tile.defined() ? program.own(tile, kName, where) : nullptr; };
  const StateRef left = program.own(lhs, kName, where), right = program.own(rhs, kName, where);
  const StateRef left_scale = own(lhs_scale), right_scale = own(rhs_scale), addend = own(accumulator);
  const ProductCall call{program, kName, where};
  const Given given_left{"lhs", lhs_format, true, options.lhs_k_pack};
  const Given given_right{"rhs", rhs_format, false, options.rhs_k_pack};
  const auto left_operand = checked_operand(call, given_left, left->dtype());
  const auto right_operand = checked_operand(call, given_right, right->dtype());
  Extents shape = unpacked(left->shape(), left_operand);
  auto work = tile::product_of(call, shape, unpacked(right->shape(), right_operand));
  if (left_scale) check_scales(call, given_left, *left_scale, shape, work.m, work.k);
  if (right_scale) check_scales(call, given_right, *right_scale, shape, work.n, work.k);
  tile::check_device_type(program, kName, options.out_dtype, where);
  if (!is_floating_point(options.out_dtype))
    call.fail(fmt::format("out_dtype is {}; it must be a floating-point type", name(options.out_dtype)));
  work.operand = engine_operand(left_operand.format, right_operand.format);
  tile::set_fold(call, work, options.fold);
  shape[shape.size() - 1] = work.n;
  if (addend) tile::check_accumulator(call, *addend, shape, DType::f32);
  const auto result = program.new_tile(options.out_dtype, shape, kName, where);
  const auto command = program.new_command(
      work, kName, result, {left.get(), right.get(), left_scale.get(), right_scale.get(), addend.get()});
  if (addend) {
    command->adds_to = tile::continues(*addend, {left.get(), right.get(), left_scale.get(), right_scale.get()});
  }
  const auto value_of = [](const StateRef& state) { return state ? state->value() : nullptr; };
  command->take_effect = [value = result->value(), x = left->value(), y = right->value(),
                          x_scale = value_of(left_scale), y_scale = value_of(right_scale), start = value_of(addend),
                          left_operand, right_operand, dtype = options.out_dtype](KernelCommand& mine) {
    auto& executor = mine.program->environment().executor;
    const auto scaled = [&](const auto& tile, const auto& scale, const numerics::ScaledOperand& operand) {
      return numerics::scaled_elements(executor, tile->value, scale ? scale->value : numerics::Value(), operand);
    };
    value->bind(numerics::dot(executor, scaled(x, x_scale, left_operand), scaled(y, y_scale, right_operand),
                              start ? start->value : numerics::Value(), dtype));
  };
  program.issue(command);
  return Tile(result);
}

namespace {

/// The codes of numbers that have been divided by their scales: the magnitudes 0, 0.5, 1, 1.5, 2, 3, 4, 6 in this
/// order. Half way between two of them the even code is taken.
Tile e2m1_codes(const Tile& x) {
  const Tile size = abs(x);
  const auto beyond = [&](float half_way, bool even_above) {
    return cast(even_above ? size >= half_way : size > half_way, DType::i32);
  };
  const Tile code = beyond(0.25F, false) + beyond(0.75F, true) + beyond(1.25F, false) + beyond(1.75F, true) +
                    beyond(2.5F, false) + beyond(3.5F, true) + beyond(5, false);
  return code | (bitcast(x, DType::i32) >> 28 & 8);
}

ScaledFormat mx_format(const ProductCall& call, std::string_view name) {
  const auto format = numerics::scaled_format(name);
  if (format && numerics::largest_exponent(*format)) return *format;
  call.fail(fmt::format("the format is \"{}\"; it must be e2m1, e4m3 or e5m2", name));
}

}  // namespace

std::pair<Tile, Tile> to_mx(const Tile& x, std::string_view format, Where where) {
  constexpr std::int64_t kBlock = numerics::scale_block(DType::u8);
  constexpr int kMantissa = 23, kNotFinite = 255, kLargestPower = 254;
  auto& program = Program::current("to_mx", where);
  const StateRef& state = program.own(x, "to_mx", where);
  const ProductCall call{program, "to_mx", where};
  const ScaledFormat how = mx_format(call, format);
  const int largest_exponent = *numerics::largest_exponent(how);
  const Extents& shape = state->shape();
  const std::int64_t k = shape.empty() ? 0 : shape[shape.size() - 1];
  if (!is_floating_point(state->dtype())) call.fail(fmt::format("takes floats, but got {}", name(state->dtype())));
  if (k == 0 || k % kBlock != 0 || shape.size() == Extents::kMaximumRank) {
    call.fail(fmt::format("a tile of shape {} has no blocks of {} along its last dimension, of {} at most",
                          to_text(shape), kBlock, Extents::kMaximumRank - 1));
  }
  const auto with_last = [&](std::initializer_list<std::int64_t> last) {
    std::vector<std::int64_t> extents(shape.begin(), shape.end() - 1);
    extents.insert(extents.end(), last);
    return Extents(std::span<const std::int64_t>(extents));
  };
  return tile::fuse_as("to_mx", where, [&] {
    const Tile blocks = reshape(cast(x, DType::f32), with_last({k / kBlock, kBlock}));
    // Of the bits, infinities and NaN have the largest exponent of all.
    const Tile exponent = max(bitcast(blocks, DType::i32) & 0x7FFFFFFF, -1, true) >> kMantissa;
    const Tile finite = exponent < kNotFinite;
    const Tile scale = tl::where(finite, maximum(exponent - largest_exponent, 0), kNotFinite);
    const Tile inverse = bitcast((kLargestPower - scale) << kMantissa, DType::f32);
    const Tile scaled = reshape(tl::where(finite, blocks * inverse, 0), shape);
    const Tile scales = cast(reshape(scale, with_last({k / kBlock})), DType::u8);
    if (how != ScaledFormat::e2m1) return std::pair{cast(scaled, numerics::element_type(how)), scales};
    const auto [first, second] = split(reshape(e2m1_codes(scaled), with_last({k / 2, 2})));
    return std::pair{cast(first | second << 4, DType::u8), scales};
  });
}

}  // namespace kernbench::tl
