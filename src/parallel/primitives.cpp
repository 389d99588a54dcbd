#include "kernbench/tp/primitives.h"

#include <fmt/format.h>

#include "kernbench/distributed.h"
#include "kernbench/error.h"
#include "kernbench/torch/factories.h"
#include "parallel/group_of.h"
#include "tensor/host_call.h"

namespace kernbench::tp {

using torch::Tensor;

std::int64_t divide(std::int64_t numerator, std::int64_t denominator, Where where) {
  const tensor::HostCall here("divide", where);
  if (denominator == 0 || numerator % denominator != 0) {
    throw ValueError(fmt::format("divide: {} is not divisible by {}", numerator, denominator));
  }
  return numerator / denominator;
}

std::vector<Tensor> split_tensor_along_last_dim(const Tensor& tensor, std::int64_t partitions, bool contiguous,
                                                Where where) {
  const tensor::HostCall here("split_tensor_along_last_dim", where);
  if (tensor.dim() == 0) throw ValueError("split_tensor_along_last_dim: a scalar has no dimension to split");
  std::vector<Tensor> parts = tensor.split(divide(tensor.size(-1), partitions), -1);
  if (contiguous) {
    for (Tensor& part : parts) part = part.contiguous();
  }
  return parts;
}

Tensor split_tensor_into_1d_equal_chunks(const Tensor& tensor, Where where) {
  const tensor::HostCall here("split_tensor_into_1d_equal_chunks", where);
  const GroupOf of({}, "split_tensor_into_1d_equal_chunks");
  const std::int64_t length = divide(tensor.numel(), of.size);
  return tensor.contiguous().view({tensor.numel()}).narrow(0, of.rank * length, length).contiguous();
}

Tensor gather_split_1d_tensor(const Tensor& tensor, Where where) {
  const tensor::HostCall here("gather_split_1d_tensor", where);
  const GroupOf of({}, "gather_split_1d_tensor");
  Tensor all = torch::empty({tensor.numel() * of.size}, tensor.options());
  torch::distributed::all_gather_into_tensor(all, tensor.contiguous(), of.group);
  return all;
}

std::pair<std::int64_t, std::int64_t> VocabUtility::vocab_range_from_per_partition_vocab_size(
    std::int64_t per_partition, int rank) {
  return {rank * per_partition, (rank + 1) * per_partition};
}

std::pair<std::int64_t, std::int64_t> VocabUtility::vocab_range_from_global_vocab_size(std::int64_t global_vocab_size,
                                                                                       int rank, int world_size,
                                                                                       Where where) {
  return vocab_range_from_per_partition_vocab_size(divide(global_vocab_size, world_size, where), rank);
}

}  // namespace kernbench::tp
