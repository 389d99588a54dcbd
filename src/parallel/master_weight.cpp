#include "parallel/master_weight.h"

#include <fmt/format.h>

#include "kernbench/error.h"
#include "kernbench/torch/factories.h"
#include "kernbench/torch/operations.h"

namespace kernbench::tp {

using torch::Tensor;

void check_divides(const char* layer, const char* name, std::int64_t size, int world_size) {
  if (size % world_size == 0) return;
  throw ValueError(fmt::format("{}: {} ({}) must be divisible by TP world size ({})", layer, name, size, world_size));
}

namespace {

/// A method may assign another tensor instead of filling the one that it gets.
void check_shape(const MasterWeight& master, const Tensor& weight) {
  if (weight.defined() && weight.dim() == 2 && weight.size(0) == master.rows && weight.size(1) == master.columns)
    return;
  throw ValueError(
      fmt::format("{}: init_method must leave the weight's shape [{}, {}], but has assigned {}; fill the weight in "
                  "place, as weight.copy_(…) does",
                  master.layer, master.rows, master.columns,
                  weight.defined() ? fmt::format("[{}]", fmt::join(weight.sizes(), ", ")) : "an undefined tensor"));
}

}  // namespace

Tensor part_of(const MasterWeight& master, std::int64_t dimension, const GroupOf& of) {
  Tensor whole;
  if (master.init_method) {
    whole = torch::empty({master.rows, master.columns});
    master.init_method(whole);
    check_shape(master, whole);
  } else {
    whole = torch::randn({master.rows, master.columns}) * 0.02;
  }
  const std::int64_t length = whole.size(dimension) / of.size;
  return whole.narrow(dimension, of.rank * length, length);
}

Tensor on_device(const Tensor& host, torch::ScalarType type, const std::optional<DPPolicy>& placement) {
  torch::TensorOptions where = torch::dtype(type).device("ahbm");
  if (placement) where = where.placement(*placement);
  return host.contiguous().to(where);
}

}  // namespace kernbench::tp
