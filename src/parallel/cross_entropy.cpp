#include "kernbench/tp/cross_entropy.h"

#include <fmt/format.h>

#include <cstdint>
#include <vector>

#include "distributed/agreement/agreement.h"
#include "kernbench/error.h"
#include "kernbench/torch/embedding.h"
#include "kernbench/torch/factories.h"
#include "kernbench/torch/operations.h"
#include "parallel/collective_operand.h"
#include "parallel/computed_in.h"
#include "parallel/group_of.h"
#include "parallel/saved.h"
#include "tensor/dimensions.h"
#include "tensor/host_call.h"

namespace kernbench::tp {

namespace dist = torch::distributed;
using torch::Tensor;

namespace {

Tensor reduced(const Tensor& x, dist::ReduceOp operation, const GroupOf& of) {
  if (of.size == 1) return x;
  const Tensor whole = collective_operand(x, 1);
  dist::all_reduce(whole, operation, of.group);
  return whole.view(x.sizes());
}

void check(const Tensor& logits, const Tensor& target) {
  constexpr const char* kCall = "vocab_parallel_cross_entropy";
  std::vector<std::int64_t> positions = logits.sizes().vec();
  if (!positions.empty()) positions.pop_back();
  if (logits.dim() < 2 || target.sizes().vec() != positions) {
    throw ValueError(
        fmt::format("{}: the target must have the shape of the logits, at least 2-D, without their last dimension, "
                    "but it is {} and the logits are {}",
                    kCall, tensor::text_of(target.sizes().vec()), tensor::text_of(logits.sizes().vec())));
  }
  if (target.scalar_type() != torch::kInt && target.scalar_type() != torch::kLong)
    throw ValueError(fmt::format("{}: the target must be Int or Long", kCall));
}

/// The target's place in the rank's part of the vocabulary, from 1; 0: another rank has it. Looked up in a table,
/// because an embedding refuses what is in no part, also where the device alone knows the targets.
Tensor places_of(const Tensor& target, std::int64_t part, const GroupOf& of) {
  const Tensor places = torch::arange(1, part + 1, torch::dtype(target.scalar_type()).device(target.device()));
  return torch::ahbm::embedding_part(places.unsqueeze(-1), target, of.rank * part, of.size * part).squeeze(-1);
}

}  // namespace

Forward vocab_parallel_cross_entropy_forward(const Tensor& logits, const Tensor& target, const ProcessGroup& group,
                                             Where where) {
  const tensor::HostCall here("vocab_parallel_cross_entropy", where);
  check(logits, target);
  const GroupOf of(group, "vocab_parallel_cross_entropy");
  const std::int64_t part = logits.size(-1);
  const distributed::Agreement alike("vocab_parallel_cross_entropy",
                                     fmt::format("vocab_parallel_cross_entropy of {} words on each rank", part));
  const Tensor x = logits.to(computed_in(logits));
  const Tensor largest = reduced(x.amax({-1}), dist::ReduceOp::MAX, of);
  const Tensor shifted = x - largest.unsqueeze(-1);

  const Tensor place = places_of(target, part, of);
  const Tensor nearest = (place - 1).clamp(0, part - 1);
  const Tensor chosen = shifted.gather(-1, nearest.to(torch::kLong).unsqueeze(-1)).squeeze(-1);
  const Tensor logit = reduced(chosen.masked_fill(place == 0, 0), dist::ReduceOp::SUM, of);

  const Tensor sum = reduced(shifted.exp().sum({-1}), dist::ReduceOp::SUM, of).log();
  return {sum - logit, {logits, target, largest + sum}};
}

Tensor vocab_parallel_cross_entropy(const Tensor& logits, const Tensor& target, const ProcessGroup& group,
                                    Where where) {
  return vocab_parallel_cross_entropy_forward(logits, target, group, where).output;
}

Tensor vocab_parallel_cross_entropy_backward(const Saved& saved, const Tensor& grad, const ProcessGroup& group,
                                             Where where) {
  const tensor::HostCall here("vocab_parallel_cross_entropy_backward", where);
  check_saved("vocab_parallel_cross_entropy_backward", saved, 3);
  const GroupOf of(group, "vocab_parallel_cross_entropy_backward");
  const Tensor &logits = saved.at(0), &target = saved.at(1), &log_sum = saved.at(2);
  check_grad("vocab_parallel_cross_entropy_backward", grad, log_sum.sizes().vec());
  const std::int64_t part = logits.size(-1), first = of.rank * part;
  const Tensor softmax = (logits.to(computed_in(logits)) - log_sum.unsqueeze(-1)).exp();
  const Tensor columns = torch::arange(first, first + part, torch::dtype(target.scalar_type()).device(target.device()));
  const Tensor hit = (target.unsqueeze(-1) == columns).to(softmax.scalar_type());
  return ((softmax - hit) * grad.to(softmax.scalar_type()).unsqueeze(-1)).to(logits.scalar_type());
}

}  // namespace kernbench::tp
