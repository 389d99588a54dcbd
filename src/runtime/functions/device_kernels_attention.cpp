// Attention of a device.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "kernbench/error.h"
#include "runtime/devices/simulated_devices.h"
#include "runtime/functions/device_kernels.h"
#include "tile/library/attention.h"

namespace kernbench::runtime {

namespace library = tile::library;
using torch::Tensor;

namespace {

library::AttentionShape attention_shape(const Tensor& q, const Tensor& k, const Tensor& v, bool causal) {
  return {.batch = q.size(0),
          .heads = q.size(1),
          .kv_heads = k.size(1),
          .length = q.size(2),
          .keys = k.size(2),
          .size = q.size(3),
          .value_size = v.size(3),
          .causal = causal,
          .dtype = q.scalar_type()};
}

}  // namespace

void SimulatedOperations::attention(const Tensor& q, const Tensor& k, const Tensor& v, double scale, bool causal,
                                    const Tensor& out) {
  const char* const name = "attention";
  if (is_replicated(out)) {
    // Every holder of a replica would compute all of it: computed once instead, and then copied to all.
    const Tensor once = temporary(out, out.sizes().vec(), out.scalar_type());
    attention(q, k, v, scale, causal, once);
    copy(once, out);
    return;
  }
  const std::vector<Tensor> all{q, k, v, out};
  const auto pes = holders(all);
  const auto& pe = simulation_.topology().pe;
  const std::int64_t budget = pe.tcm.capacity.count() / std::max(pe.contexts, 1);
  const auto plan = library::plan_attention(attention_shape(q, k, v, causal), std::ssize(pes), budget);
  if (!plan) {
    throw ValueError(
        fmt::format("scaled_dot_product_attention: one row of size {} does not fit into the {} B of TCM "
                    "that a program has (pe.tcm.capacity / pe.contexts); take a larger TCM",
                    std::max(q.size(3), v.size(3)), budget));
  }
  const auto queries = kernel_view(q, false), keys = kernel_view(k, false), values = kernel_view(v, false);
  if (plan->splits == 1) {
    launch(
        {.name = name, .written = {out}, .read = {q, k, v}, .pes = pes, .body = [=, target = kernel_view(out, true)] {
           library::attention(queries, keys, values, scale, target, {}, plan);
         }});
    return;
  }
  const auto sizes = [&](std::int64_t columns) {
    return std::vector<std::int64_t>{plan->splits, out.size(0), out.size(1), out.size(2), columns};
  };
  const Tensor parts = temporary(out, sizes(out.size(3)), DType::f32), logs = temporary(out, sizes(1), DType::f32);
  launch({.name = name,
          .written = {parts, logs},
          .read = {q, k, v},
          .pes = pes,
          .body = [=, target = kernel_view(parts, true), log_target = kernel_view(logs, true)] {
            library::attention(queries, keys, values, scale, target, log_target, plan);
          }});
  const bool spread = 2 * holders({&out, 1}).size() <= pes.size();
  launch({.name = std::string(name) + ".sum",
          .written = {out},
          .read = {parts, logs},
          .pes = spread ? pes : std::vector<PeCoordinate>{},
          .body = [partial = kernel_view(parts, false), log = kernel_view(logs, false), target = kernel_view(out, true),
                   share = spread ? library::Share::spread : library::Share::held] {
            library::attention_finish(partial, log, target, share);
          }});
}

}  // namespace kernbench::runtime
