// Elements again, turned round, moved on and padded: repeat, tile, repeat_interleave, flip, roll, constant_pad_nd, and
// one_hot. Each is made of views, copies, cat and index_select, and so are its times on a device.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "kernbench/error.h"
#include "kernbench/torch/factories.h"
#include "kernbench/torch/operations.h"
#include "tensor/dimensions.h"
#include "tensor/functions/elementwise.h"
#include "tensor/functions/rows.h"
#include "tensor/host_call.h"

namespace kernbench::torch {

namespace {

/// A tensor of no elements like `x`.
Tensor nothing_like(const Tensor& x, const std::vector<std::int64_t>& sizes) {
  return torch::empty(sizes, x.options());
}

/// What a function that never yields a view yields.
Tensor apart_from(const Tensor& x, const Tensor& result) {
  return result.is_alias_of(x) ? result.clone() : result;
}

}  // namespace

Tensor Tensor::repeat(IntArrayRef repeats, Where where) const {
  const tensor::HostCall here("repeat", where);
  const auto rank = static_cast<std::size_t>(dim());
  if (repeats.size() < rank) {
    tensor::fail("repeat",
                 fmt::format("Number of dimensions of repeat dims can not be smaller than number of dimensions "
                             "of tensor: {} for {}",
                             repeats.size(), rank));
  }
  // [s0, s1] becomes [1, s0, 1, s1], seen as [r0, s0, r1, s1]; where nothing is repeated without the extra dimension.
  std::vector<std::int64_t> apart, seen, result;
  for (std::size_t d = 0; d < repeats.size(); ++d) {
    const std::int64_t times = repeats[d];
    const std::size_t skipped = repeats.size() - rank;
    const std::int64_t size = d < skipped ? 1 : this->size(static_cast<std::int64_t>(d - skipped));
    if (times < 0) tensor::fail("repeat", fmt::format("Trying to create tensor with negative dimension {}", times));
    result.push_back(times * size);
    if (times != 1 && size != 1) {
      apart.push_back(1);
      seen.push_back(times);
    }
    apart.push_back(size);
    seen.push_back(size == 1 ? times : size);
  }
  if (tensor::checked_numel(result) == 0) return nothing_like(*this, result);
  return apart_from(*this, reshape(apart).expand(seen).reshape(result));
}

Tensor Tensor::tile(IntArrayRef repeats, Where where) const {
  const tensor::HostCall here("tile", where);
  std::vector<std::int64_t> all = repeats.vec();
  const auto rank = static_cast<std::size_t>(dim());
  if (all.size() < rank) all.insert(all.begin(), rank - all.size(), 1);
  return repeat(all);
}

Tensor Tensor::repeat_interleave(std::int64_t repeats, std::optional<std::int64_t> dimension, Where where) const {
  const tensor::HostCall here("repeat_interleave", where);
  if (repeats < 0) tensor::fail("repeat_interleave", "Repeats must be non-negative");
  const Tensor x = dimension ? *this : flatten();
  const auto at =
      static_cast<std::int64_t>(tensor::wrap_dimension(dimension.value_or(0), static_cast<std::size_t>(x.dim())));
  std::vector<std::int64_t> seen = x.sizes().vec(), result = seen;
  if (x.dim() == 0) return x.reshape({1}).repeat_interleave(repeats, 0);
  result[static_cast<std::size_t>(at)] *= repeats;
  if (tensor::checked_numel(result) == 0) return nothing_like(x, result);
  seen.insert(seen.begin() + at + 1, repeats);
  return apart_from(*this, x.unsqueeze(at + 1).expand(seen).reshape(result));
}

Tensor Tensor::flip(IntArrayRef dimensions, Where where) const {
  const tensor::HostCall here("flip", where);
  if (dimensions.empty()) return clone();  // an empty list means none here
  Tensor x = *this;
  const auto chosen = tensor::chosen_dimensions("flip", dimensions, static_cast<std::size_t>(dim()));
  for (const std::int64_t at : tensor::indices_of(chosen)) {
    if (x.size(at) < 2) continue;
    const std::int64_t last = x.size(at) - 1;
    const Tensor backwards = last - torch::arange(last + 1, torch::kLong);
    x = x.index_select(at, backwards.to(device()));
  }
  return apart_from(*this, x);
}

Tensor Tensor::roll(IntArrayRef shifts, IntArrayRef dimensions, Where where) const {
  const tensor::HostCall here("roll", where);
  if (shifts.empty()) tensor::fail("roll", "`shifts` required");
  if (dimensions.empty() && shifts.size() == 1) return flatten().roll(shifts, {0}).reshape(sizes());
  if (dimensions.size() != shifts.size()) {
    tensor::fail(
        "roll", fmt::format("shifts and dimensions must align. shifts: {}, dims:{}", shifts.size(), dimensions.size()));
  }
  Tensor x = *this;
  for (std::size_t i = 0; i < shifts.size(); ++i) {
    const auto at = static_cast<std::int64_t>(tensor::wrap_dimension(dimensions[i], static_cast<std::size_t>(dim())));
    const std::int64_t size = dim() == 0 ? 1 : this->size(at);
    if (size == 0) continue;
    const std::int64_t moved = (shifts[i] % size + size) % size;
    if (moved > 0) x = torch::cat({x.narrow(at, size - moved, moved), x.narrow(at, 0, size - moved)}, at);
  }
  return apart_from(*this, x);
}

Tensor constant_pad_nd(const TensorOperand& x, IntArrayRef pad, const Scalar& value) {
  const tensor::HostCall here("constant_pad_nd", x.where);
  const Tensor& tensor = x.tensor;
  const auto rank = static_cast<std::size_t>(tensor.dim());
  if (pad.size() % 2 != 0)
    tensor::fail("constant_pad_nd", fmt::format("Length of pad must be even but instead it equals {}", pad.size()));
  if (pad.size() > 2 * rank) {
    tensor::fail("constant_pad_nd",
                 fmt::format("Length of pad should be no more than twice the number of dimensions of the input. Pad "
                             "length is {} while the input has {} dimensions.",
                             pad.size(), rank));
  }
  std::vector<std::int64_t> result = tensor.sizes().vec();
  Tensor kept = tensor;
  for (std::size_t pair = 0; pair < pad.size() / 2; ++pair) {
    const std::size_t d = rank - 1 - pair;
    const std::int64_t before = pad[2 * pair], after = pad[2 * pair + 1], size = result[d];
    result[d] = size + before + after;
    if (result[d] < 0) {
      tensor::fail("constant_pad_nd",
                   fmt::format("The input size {}, plus negative padding {} and {} resulted in a negative output size, "
                               "which is invalid. Check dimension {} of your input.",
                               size, before, after, d));
    }
    const std::int64_t from = std::max<std::int64_t>(-before, 0), cut = std::max<std::int64_t>(-after, 0);
    if (from + cut > 0)
      kept = kept.narrow(static_cast<std::int64_t>(d), from, std::max<std::int64_t>(size - from - cut, 0));
  }
  if (result == kept.sizes().vec()) return kept.clone();
  Tensor out = torch::full(result, value, tensor.options());
  Tensor place = out;
  for (std::size_t pair = 0; pair < pad.size() / 2; ++pair) {
    const auto d = static_cast<std::int64_t>(rank - 1 - pair);
    if (kept.size(d) > 0) place = place.narrow(d, std::max<std::int64_t>(pad[2 * pair], 0), kept.size(d));
  }
  if (kept.numel() > 0) place.copy_(kept);
  return out;
}

Tensor one_hot(const TensorOperand& x, std::int64_t num_classes) {
  const tensor::HostCall here("one_hot", x.where);
  const Tensor& classes = x.tensor;
  if (classes.scalar_type() != kLong)
    tensor::fail("one_hot", "one_hot is only applicable to index tensor: convert with .to(torch::kLong)");
  if (classes.numel() == 0 && num_classes <= 0)
    tensor::fail("one_hot", "Can not infer total number of classes from empty tensor.");
  // Reading the classes of a device would make the host wait: where the number is given, it does not.
  const bool looks = classes.numel() > 0 && (!classes.device().is_ahbm() || num_classes == -1);
  if (looks) {
    if (classes.min().item<std::int64_t>() < 0) tensor::fail("one_hot", "Class values must be non-negative.");
    const auto largest = classes.max().item<std::int64_t>();
    if (num_classes == -1) num_classes = largest + 1;
    if (num_classes >= 1 && largest >= num_classes)
      tensor::fail("one_hot", "Class values must be smaller than num_classes.");
  }
  if (num_classes < 1) tensor::fail("one_hot", "num_classes should be positive");
  const Tensor numbers = torch::arange(num_classes, torch::kLong).to(classes.device());
  // The comparison yields numbers at once.
  tensor::ElementwiseInfo equals = numerics::info(tensor::BinaryOperation::equal);
  equals.yields = numerics::Yields::same;
  const std::array<tensor::DeviceOperand, 2> operands{classes.unsqueeze(-1), numbers};
  return tensor::elementwise({equals, operands, nullptr, "one_hot"});
}

}  // namespace kernbench::torch
