#include "kernbench/tp/argmax.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "distributed/agreement/agreement.h"
#include "kernbench/distributed.h"
#include "kernbench/error.h"
#include "kernbench/torch/factories.h"
#include "kernbench/torch/operations.h"
#include "parallel/group_of.h"
#include "tensor/functions/dispatch.h"
#include "tensor/host_call.h"

namespace kernbench::tp {

using torch::Tensor;

namespace {

constexpr const char* kArgmax = "vocab_parallel_argmax";
/// f32 has every whole number up to this one.
constexpr std::int64_t kMostWords = std::int64_t{1} << 24;

void check(const Tensor& logits, std::int64_t vocabulary, const GroupOf& of) {
  if (logits.dim() < 1 || logits.size(-1) < 1 || !logits.is_floating_point())
    throw ValueError(fmt::format("{}: the logits must be floating-point numbers of at least one word", kArgmax));
  const std::int64_t words = of.size * logits.size(-1);
  if (words > kMostWords) {
    throw ValueError(
        fmt::format("{}: {} words over {} ranks are more than {}, beyond which f32 does not tell indices "
                    "apart; gather the logits",
                    kArgmax, words, of.size, kMostWords));
  }
  if (vocabulary >= 0 && vocabulary <= words) return;
  throw ValueError(fmt::format("{}: vocabulary ({}) must be 0 or at most the {} words that the ranks have", kArgmax,
                               vocabulary, words));
}

/// On one PE of a device: so few numbers are soonest there.
torch::TensorOptions on_one_pe(const Tensor& like) {
  auto options = torch::dtype(torch::kFloat).device(like.device());
  if (like.is_cpu()) return options;
  return options.placement({.cube = Placement::replicate, .pe = Placement::replicate, .num_cubes = 1, .num_pes = 1});
}

/// The largest of x along a dimension, and where it is (or what `known` says of it), into tensors that keep it.
void find_best(const Tensor& x, const tensor::ArgReduction& how, const Tensor& index, const Tensor& value) {
  if (!x.is_cpu()) return tensor::device_kernels(kArgmax).arg_reduce(how, x, index, value);
  const auto [largest, place] = x.max(how.dimension, true);
  if (value.defined()) value.copy_(largest);
  index.copy_(how.known.defined() ? how.known.gather(how.dimension, place) : place + how.first);
}

}  // namespace

Tensor vocab_parallel_argmax(const Tensor& logits, std::int64_t vocabulary, const ProcessGroup& group, Where where) {
  const tensor::HostCall here(kArgmax, where);
  const GroupOf of(group, kArgmax);
  check(logits, vocabulary, of);
  const std::int64_t part = logits.size(-1), first = of.rank * part;
  const std::int64_t words = std::clamp((vocabulary > 0 ? vocabulary : of.size * part) - first, std::int64_t{0}, part);
  if (of.size == 1) return logits.narrow(-1, 0, words).argmax(-1);
  std::vector<std::int64_t> sizes = logits.sizes().vec(), pairs{2}, all{of.size};
  sizes.back() = 1;
  pairs.insert(pairs.end(), sizes.begin(), sizes.end());
  all.insert(all.end(), pairs.begin(), pairs.end());
  const distributed::Agreement alike(kArgmax, fmt::format("{} of {} words on each rank", kArgmax, part));
  const Tensor mine = torch::empty(pairs, on_one_pe(logits)), each = torch::empty(all, on_one_pe(logits));
  if (words > 0) {
    find_best(logits.narrow(-1, 0, words),
              {.operation = tensor::ReduceOperation::argmax_nan, .dimension = logits.dim() - 1, .first = first},
              mine.select(0, 1), mine.select(0, 0));
  } else {
    mine.fill_(-std::numeric_limits<float>::infinity());  // no earlier rank has less
  }
  torch::distributed::all_gather_into_tensor(each, mine, of.group);
  sizes.insert(sizes.begin(), 1);
  const Tensor best = torch::empty(sizes, torch::dtype(torch::kLong).device(logits.device()));
  find_best(each.select(1, 0),
            {.operation = tensor::ReduceOperation::argmax_nan, .dimension = 0, .known = each.select(1, 1)}, best, {});
  return best.squeeze(0).squeeze(-1);
}

}  // namespace kernbench::tp
