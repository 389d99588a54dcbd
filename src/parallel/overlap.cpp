#include "kernbench/tp/overlap.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "kernbench/dtype.h"
#include "kernbench/error.h"
#include "kernbench/torch/factories.h"
#include "kernbench/torch/operations.h"
#include "kernbench/tp/mappings.h"
#include "parallel/collective_operand.h"
#include "parallel/group_of.h"
#include "parallel/rows_of.h"
#include "tensor/functions/dispatch.h"
#include "tensor/host_call.h"

namespace kernbench::tp {

namespace dist = torch::distributed;
using torch::Tensor;

namespace {

/// Consecutive rows.
struct Chunk {
  std::int64_t begin, size;
};

std::vector<Chunk> chunks_of(std::int64_t rows, std::int64_t splits) {
  std::vector<Chunk> chunks;
  const std::int64_t size = (rows + splits - 1) / splits;
  for (std::int64_t begin = 0; begin < rows; begin += size) chunks.push_back({begin, std::min(size, rows - begin)});
  return chunks;
}

/// Each chunk costs a product and a reduction their latencies, and a product of fewer rows reaches less of the peak.
/// measured: docs/tensor-parallelism.md
std::int64_t splits_of(const OverlapOptions& options, const Tensor& result) {
  constexpr std::int64_t kTwoFrom = std::int64_t{4} << 20, kOne = std::int64_t{8} << 20, kMost = 4;
  if (options.num_splits != 0) return options.num_splits;
  const auto bytes = static_cast<std::int64_t>(result.nbytes());
  return bytes < kTwoFrom ? 1 : std::clamp(bytes / kOne, std::int64_t{2}, kMost);
}

void check(const char* call, const Tensor& x, const Tensor& weight, const OverlapOptions& options) {
  const auto fail = [&](const std::string& what) { throw ValueError(fmt::format("{}: {}", call, what)); };
  if (options.num_splits < 0) fail(fmt::format("num_splits must be at least 0, got {}", options.num_splits));
  if (!x.defined() || x.dim() == 0) fail("the input must have one dimension at least");
  if (weight.dim() != 2) fail(fmt::format("the weight must have two dimensions, but has {}", weight.dim()));
  if (x.size(-1) != weight.size(1)) {
    fail(fmt::format("the input's last dimension is {}, but the weight expects {}", x.size(-1), weight.size(1)));
  }
  if (x.scalar_type() != weight.scalar_type()) {
    fail(fmt::format("the input is {} and the weight {}; convert one with .to(…)", name(x.scalar_type()),
                     name(weight.scalar_type())));
  }
  if (!tensor::place_of(call, {x, weight}).on_device()) fail("it takes device tensors; move them with .to(\"ahbm\")");
}

/// Rows as the first dimensions of x have them; of the first one there may be more or fewer.
Tensor in_shape_of(const Tensor& x, const Tensor& rows) {
  std::vector<std::int64_t> sizes(x.sizes().begin(), x.sizes().end());
  sizes.back() = rows.size(1);
  if (sizes.size() == 1) return rows.view(sizes);
  sizes.front() = -1;
  return rows.view(sizes);
}

/// out := x Aᵀ + b, of a matrix or of a batch of them. REQUIRES: nothing is empty.
void multiply(const Tensor& x, const Tensor& weight, const Tensor& bias, const Tensor& out) {
  Tensor transposed = weight.t();
  if (x.dim() == 3) transposed = transposed.unsqueeze(0).expand({x.size(0), weight.size(1), weight.size(0)});
  tensor::MatmulOptions options;
  if (bias.defined()) {
    options.beta = 1;
    options.addend = bias.expand(out.sizes());
  }
  tensor::device_kernels("linear").matmul(x, transposed, options, out);
}

/// The same rows of the block of each rank: one by one, and as one batch of matrices.
std::vector<Tensor> rows_of_blocks(const Tensor& blocks, int ranks, const Chunk& chunk) {
  const std::int64_t rows = blocks.size(0) / ranks;
  std::vector<Tensor> parts;
  for (int rank = 0; rank < ranks; ++rank) parts.push_back(blocks.narrow(0, rank * rows + chunk.begin, chunk.size));
  return parts;
}
Tensor batch_of_blocks(const Tensor& blocks, int ranks, const Chunk& chunk) {
  return blocks.view({ranks, blocks.size(0) / ranks, blocks.size(1)}).narrow(1, chunk.begin, chunk.size);
}

/// Whole sums on each rank.
Tensor all_reduced(const Tensor& rows, const Tensor& weight, const OverlapOptions& options, const GroupOf& of) {
  const Tensor whole = torch::empty({rows.size(0), weight.size(0)}, rows.options());
  std::vector<dist::WorkRef> works;
  for (const Chunk& chunk : chunks_of(rows.size(0), splits_of(options, whole))) {
    const Tensor sums = whole.narrow(0, chunk.begin, chunk.size);
    multiply(rows.narrow(0, chunk.begin, chunk.size), weight, {}, sums);
    works.push_back(dist::all_reduce(sums, dist::ReduceOp::SUM, of.group, /*async_op=*/true));
  }
  for (const auto& work : works) work->wait();
  return whole;
}

/// A rank's block of the sums. A chunk is some rows of each block, so that each reduction gives all ranks some of
/// theirs.
Tensor reduce_scattered(const Tensor& rows, const Tensor& weight, const OverlapOptions& options, const GroupOf& of) {
  const Tensor whole = torch::empty({rows.size(0), weight.size(0)}, rows.options());
  const Tensor own = torch::empty({rows.size(0) / of.size, weight.size(0)}, rows.options());
  std::vector<dist::WorkRef> works;
  for (const Chunk& chunk : chunks_of(own.size(0), splits_of(options, whole))) {
    multiply(batch_of_blocks(rows, of.size, chunk), weight, {}, batch_of_blocks(whole, of.size, chunk));
    works.push_back(dist::reduce_scatter(own.narrow(0, chunk.begin, chunk.size), rows_of_blocks(whole, of.size, chunk),
                                         dist::ReduceOp::SUM, of.group, /*async_op=*/true));
  }
  for (const auto& work : works) work->wait();
  return own;
}

}  // namespace

Tensor linear_reduce_overlapped(const Tensor& x, const Tensor& weight, const OverlapOptions& options, Where where) {
  constexpr const char* kCall = "linear_reduce_overlapped";
  const tensor::HostCall here(kCall, where);
  const GroupOf of(options.tp_group, kCall);
  check(kCall, x, weight, options);
  if (of.size == 1 || x.numel() == 0) return torch::linear(x, weight);
  if (!options.sequence_parallel) return in_shape_of(x, all_reduced(rows_of(x), weight, options, of));
  if (x.size(0) % of.size != 0 || x.dim() == 1) {
    throw ValueError(
        fmt::format("{}: First dimension of the tensor ({}) should be divisible by tensor parallel size ({})", kCall,
                    x.dim() == 1 ? 1 : x.size(0), of.size));
  }
  return in_shape_of(x, reduce_scattered(rows_of(x), weight, options, of));
}

GatheredLinear gather_linear_overlapped(const Tensor& x, const Tensor& weight, const Tensor& bias,
                                        const OverlapOptions& options, Where where) {
  constexpr const char* kCall = "gather_linear_overlapped";
  const tensor::HostCall here(kCall, where);
  const GroupOf of(options.tp_group, kCall);
  check(kCall, x, weight, options);
  if (of.size == 1 || x.numel() == 0 || x.dim() == 1) {
    const Tensor input = gather_from_sequence_parallel_region(x, of.group);
    return {torch::linear(input, weight, bias.defined() ? std::optional(bias) : std::nullopt), input};
  }
  const Tensor rows = rows_of(x), own = collective_operand(x, 1);
  const std::int64_t each = rows.size(0);
  const Tensor input = torch::empty({each * of.size, rows.size(1)}, x.options());
  const Tensor output = torch::empty({each * of.size, weight.size(0)}, x.options());
  const auto gathered = dist::all_gather_into_tensor(input, own, of.group, /*async_op=*/true);
  multiply(rows, weight, bias, output.narrow(0, of.rank * each, each));
  gathered->wait();
  const std::int64_t before = of.rank * each, after = before + each;
  for (const Chunk& chunk : {Chunk{0, before}, Chunk{after, each * of.size - after}}) {
    if (chunk.size == 0) continue;
    multiply(input.narrow(0, chunk.begin, chunk.size), weight, bias, output.narrow(0, chunk.begin, chunk.size));
  }
  return {in_shape_of(x, output), in_shape_of(x, input)};
}

}  // namespace kernbench::tp
