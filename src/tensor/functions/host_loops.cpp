#include "tensor/functions/host_loops.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <numeric>
#include <utility>

#include "numerics/conversion.h"
#include "tensor/dimensions.h"
#include "tensor/promotion.h"
#include "tensor/tensor_impl.h"

namespace kernbench::tensor {

namespace {

constexpr std::size_t kInputs = 3;
using Buffer = std::array<std::byte, kHostChunk * 8>;

// Elements of views, of numbers and of foreign memory need not be aligned.
template <std::int64_t kItem>
void gather_items(std::byte* out, const std::byte* in, std::int64_t stride, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) std::memcpy(out + i * kItem, in + i * stride * kItem, kItem);
}

template <std::int64_t kItem>
void scatter_items(std::byte* out, const std::byte* in, std::int64_t stride, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) std::memcpy(out + i * stride * kItem, in + i * kItem, kItem);
}

void gather(std::int64_t item, std::byte* out, const std::byte* in, std::int64_t stride, std::int64_t count) {
  if (item == 1) return gather_items<1>(out, in, stride, count);
  if (item == 2) return gather_items<2>(out, in, stride, count);
  if (item == 4) return gather_items<4>(out, in, stride, count);
  gather_items<8>(out, in, stride, count);
}

void scatter(std::int64_t item, std::byte* out, const std::byte* in, std::int64_t stride, std::int64_t count) {
  if (item == 1) return scatter_items<1>(out, in, stride, count);
  if (item == 2) return scatter_items<2>(out, in, stride, count);
  if (item == 4) return scatter_items<4>(out, in, stride, count);
  scatter_items<8>(out, in, stride, count);
}

/// Brings chunks of one input into its arithmetic type.
class Reader {
 public:
  Reader(const HostArray& array, DType compute) : array_(array), compute_(compute), wanted_(arithmetic_type(compute)) {}

  const std::byte* read(std::int64_t offset, std::int64_t stride, std::int64_t count) {
    const DType type = array_.dtype;
    const std::byte* source = array_.at(offset);
    if (stride != 1) {
      gather(item_size(type), gathered_.data(), source, stride, count);
      source = gathered_.data();
    }
    // bool is converted even to itself: any byte but 0 is true.
    if (type == wanted_) return source;
    if (compute_ != wanted_ && compute_ != type && !array_.is_number) {
      numerics::convert(compute_, promoted_.data(), type, source, count);
      numerics::convert(wanted_, buffer_.data(), compute_, promoted_.data(), count);
    } else {
      numerics::convert(wanted_, buffer_.data(), type, source, count);
    }
    return buffer_.data();
  }

 private:
  const HostArray& array_;
  DType compute_, wanted_;
  alignas(64) Buffer gathered_, promoted_, buffer_;
};

/// Results of a loop, a chunk at a time.
class ChunkLoop {
 public:
  /// REQUIRES: at most kInputs inputs. The references must outlive it.
  ChunkLoop(std::span<const HostArray> inputs, std::span<const DType> computes, DType produced, DType result,
            const HostLoop& loop)
      : loop_(loop), type_(arithmetic_type(produced)), result_(result) {
    readers_.reserve(inputs.size());
    for (std::size_t k = 0; k < inputs.size(); ++k) readers_.emplace_back(inputs[k], computes[k]);
  }

  /// `count` elements of the result's type, from those of input k that begin at offsets[k], strides[k] apart.
  const std::byte* run(std::span<const std::int64_t> offsets, std::span<const std::int64_t> strides,
                       std::int64_t count) {
    std::array<const std::byte*, kInputs> chunks{};
    for (std::size_t k = 0; k < readers_.size(); ++k) chunks[k] = readers_[k].read(offsets[k], strides[k], count);
    loop_({chunks.data(), readers_.size()}, computed_.data(), count);
    if (type_ == result_) return computed_.data();
    numerics::convert(result_, converted_.data(), type_, computed_.data(), count);
    return converted_.data();
  }

 private:
  const HostLoop& loop_;
  DType type_, result_;
  std::vector<Reader> readers_;
  alignas(64) Buffer computed_, converted_;
};

/// One loop over all arrays: the output's stride first.
struct Dimension {
  std::int64_t count = 1;
  std::array<std::int64_t, kInputs + 1> strides{};
};

/// The loops, innermost first, sorted by the output's strides; those that continue each other are joined.
std::vector<Dimension> dimensions_of(const TensorImpl& out, std::span<const HostArray> inputs) {
  std::vector<std::size_t> order(out.sizes.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::ranges::greater{}, [&](std::size_t d) { return out.strides[d]; });
  std::vector<Dimension> result;
  for (std::size_t i = order.size(); i-- > 0;) {
    const std::size_t d = order[i];
    if (out.sizes[d] == 1) continue;
    Dimension next{out.sizes[d], {out.strides[d]}};
    for (std::size_t k = 0; k < inputs.size(); ++k) next.strides[k + 1] = inputs[k].strides[d];
    bool continues = !result.empty();
    for (std::size_t k = 0; continues && k <= inputs.size(); ++k)
      continues = next.strides[k] == result.back().strides[k] * result.back().count;
    if (continues)
      result.back().count *= next.count;
    else
      result.push_back(next);
  }
  if (result.empty()) result.emplace_back();
  return result;
}

/// Calls visit(offsets) for each row of the innermost dimension.
template <class Visit>
void for_each_row(const std::vector<Dimension>& dimensions, Visit&& visit) {
  std::array<std::int64_t, kInputs + 1> offsets{};
  std::vector<std::int64_t> index(dimensions.size(), 0);
  while (true) {
    visit(offsets);
    std::size_t d = 1;
    for (; d < dimensions.size(); ++d) {
      const Dimension& dimension = dimensions[d];
      for (std::size_t k = 0; k < offsets.size(); ++k) offsets[k] += dimension.strides[k];
      if (++index[d] < dimension.count) break;
      for (std::size_t k = 0; k < offsets.size(); ++k) offsets[k] -= dimension.strides[k] * dimension.count;
      index[d] = 0;
    }
    if (d >= dimensions.size()) return;
  }
}

/// PyTorch's question whether dimension a belongs further inside than b: > 0 no, < 0 yes, 0 nothing says.
int compare_dimensions(std::span<const std::int64_t> sizes, std::span<const HostArray> inputs, std::size_t a,
                       std::size_t b) {
  for (const HostArray& input : inputs) {
    if (input.is_number || input.strides[a] == 0 || input.strides[b] == 0) continue;
    if (input.strides[a] != input.strides[b]) return input.strides[a] < input.strides[b] ? -1 : 1;
    if (sizes[a] > sizes[b]) return 1;
  }
  return 0;
}

}  // namespace

DType arithmetic_type(DType compute) {
  if (compute == DType::f64) return DType::f64;
  return is_floating_point(compute) ? DType::f32 : DType::i64;
}

HostArray host_array(const DeviceOperand& operand, std::span<const std::int64_t> sizes) {
  HostArray result = array_without_data(operand, sizes);
  if (const auto* tensor = std::get_if<torch::Tensor>(&operand)) result.data = impl_of(*tensor).data();
  return result;
}

HostArray array_without_data(const DeviceOperand& operand, std::span<const std::int64_t> sizes) {
  HostArray result;
  if (const auto* tensor = std::get_if<torch::Tensor>(&operand)) {
    const TensorImpl& impl = impl_of(*tensor);
    result.dtype = impl.dtype;
    result.strides = expanded_strides(impl.sizes, impl.strides, sizes);
    return result;
  }
  const torch::Scalar& scalar = std::get<torch::Scalar>(operand);
  result.is_number = true;
  result.strides.assign(sizes.size(), 0);
  if (scalar.isFloatingPoint()) {
    const double value = scalar.toDouble();
    result.dtype = DType::f64;
    std::memcpy(result.number.data(), &value, sizeof value);
  } else {
    const std::int64_t value = scalar.toLong();
    result.dtype = DType::i64;
    std::memcpy(result.number.data(), &value, sizeof value);
  }
  return result;
}

void run_host_loop(const torch::Tensor& out, DType produced, std::span<const HostArray> inputs,
                   std::span<const DType> computes, const HostLoop& loop) {
  const TensorImpl& target = impl_of(out);
  if (target.numel() == 0) return;
  const std::vector<Dimension> dimensions = dimensions_of(target, inputs);
  const Dimension& row = dimensions.front();
  const std::int64_t item = item_size(target.dtype);
  std::byte* const results = target.data_to_write();
  ChunkLoop chunks(inputs, computes, produced, target.dtype, loop);
  const std::span<const std::int64_t> strides = std::span(row.strides).subspan(1);
  for_each_row(dimensions, [&](auto offsets) {
    for (std::int64_t done = 0; done < row.count; done += kHostChunk) {
      const std::int64_t count = std::min(kHostChunk, row.count - done);
      const std::byte* const result = chunks.run(std::span(offsets).subspan(1), strides, count);
      scatter(item, results + offsets[0] * item, result, row.strides[0], count);
      for (std::size_t k = 0; k < offsets.size(); ++k) offsets[k] += kHostChunk * row.strides[k];
    }
  });
}

ElementSource later(ElementSource source, DType type, std::vector<HostArray> inputs, std::vector<DType> computes,
                    DType produced, DType result, HostLoop loop) {
  return [=, source = std::move(source), inputs = std::move(inputs), computes = std::move(computes),
          loop = std::move(loop)](std::int64_t first, std::int64_t count, std::byte* out) {
    constexpr std::int64_t kBlock = 16 * kHostChunk;
    std::vector<std::byte> block(static_cast<std::size_t>(std::min(count, kBlock) * item_size(type)));
    std::vector<HostArray> arrays = inputs;
    std::array<std::int64_t, kInputs> offsets{}, strides{};
    for (std::size_t k = 0; k < arrays.size(); ++k) {
      if (arrays[k].is_number) continue;
      arrays[k].data = block.data();
      strides[k] = 1;
    }
    // On the heap: sources call each other, on a fiber's stack.
    const auto chunks = std::make_unique<ChunkLoop>(arrays, computes, produced, result, loop);
    for (std::int64_t done = 0; done < count; done += kHostChunk) {
      const std::int64_t in_block = done % kBlock, n = std::min(kHostChunk, count - done);
      if (in_block == 0) source(first + done, std::min(kBlock, count - done), block.data());
      for (std::size_t k = 0; k < arrays.size(); ++k) offsets[k] = in_block * strides[k];
      std::memcpy(out + done * item_size(result), chunks->run(offsets, strides, n),
                  static_cast<std::size_t>(n * item_size(result)));
    }
  };
}

Extents elementwise_strides(std::span<const std::int64_t> sizes, std::span<const HostArray> inputs) {
  const auto dense = [&](const HostArray& input) { return !input.is_number && is_dense(sizes, input.strides); };
  if (std::ranges::all_of(inputs, dense)) return dense_strides(sizes);
  // Dimensions from the innermost outwards, by an insertion sort as PyTorch does it: "nothing says" keeps the order,
  // and is not transitive, so that another sort could come to another order.
  std::vector<std::size_t> order(sizes.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = order.size() - 1 - i;
  for (std::size_t i = 1; i < order.size(); ++i) {
    std::size_t moving = i;
    for (std::size_t other = i; other-- > 0;) {
      const int comparison = compare_dimensions(sizes, inputs, order[other], order[moving]);
      if (comparison < 0) break;
      if (comparison == 0) continue;
      std::swap(order[other], order[moving]);
      moving = other;
    }
  }
  Extents strides(sizes.size(), 1);
  std::int64_t next = 1;
  for (const std::size_t d : order) {
    strides[d] = next;
    next *= std::max<std::int64_t>(sizes[d], 1);
  }
  return strides;
}

}  // namespace kernbench::tensor
