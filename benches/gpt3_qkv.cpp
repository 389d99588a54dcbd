// The QKV projection of a transformer's layer, X[tokens, hidden] W[hidden, 3 hidden], with W placed in several ways:
// where the weights lie decides what crosses the mesh. GPT-3 has a hidden size of 12288 (Brown et al., "Language Models
// are Few-Shot Learners", 2020, table 2.1).
#include <kernbench/kernbench.h>

#include <cmath>
#include <string>

#include "dtype_parameter.h"
#include "measure.h"

using namespace kernbench;
using namespace benches;

namespace {

struct Layout {
  const char* name;
  DPPolicy policy;
};

constexpr Layout kLayouts[] = {
    {"row_wise", {.cube = Placement::row_wise, .pe = Placement::row_wise}},
    {"column_wise", {.cube = Placement::column_wise, .pe = Placement::column_wise}},
    {"replicate_row_wise", {.cube = Placement::replicate, .pe = Placement::row_wise}},
    {"replicate_column_wise", {.cube = Placement::replicate, .pe = Placement::column_wise}},
    {"replicate", {.cube = Placement::replicate, .pe = Placement::replicate}},
};

/// Small whole numbers keep every partial sum exact, so that the result must match bit for bit in any order. Where
/// nobody looks at them (--no-data) their pages are never touched: GPT-3's would take gigabytes of the host.
torch::Tensor operand(std::int64_t rows, std::int64_t columns, DType dtype) {
  if (!data_enabled()) return torch::empty({rows, columns}, dtype);
  return torch::randint(-3, 4, {rows, columns}, torch::kFloat).to(dtype);
}

/// What one product takes, what it moves, and what it waits for most.
void report(const std::string& name, double ns, std::int64_t repeat, const torch::ahbm::Traffic& moved) {
  const auto of_one = [&](double figure) { return figure / static_cast<double>(repeat); };
  report_metric("time, " + name, of_one(ns), "ns");
  report_metric("bytes between cubes, " + name, of_one(static_cast<double>(moved.cube_bytes)), "B");
  report_metric("bytes within cubes, " + name, of_one(static_cast<double>(moved.noc_bytes)), "B");
  report_metric("bytes of HBM, " + name, of_one(static_cast<double>(moved.hbm_bytes)), "B");
  report_metric("busiest, " + name, std::round(moved.utilisation * 1000) / 10, "% " + moved.busiest_kind);
}

}  // namespace

KERNBENCH_BENCH(
    gpt3_qkv, "the QKV projection of GPT-3's layer, X W, with the weights W placed in several ways",  //
    {"hidden", 1024, "columns of X and rows of W, which has three times as many columns; GPT-3: 12288"},
    {"tokens", 512, "rows of X"},
    {"placement", "all",
     "of W: row_wise or column_wise over all PEs; a copy in each cube, cut over its PEs (replicate_row_wise, "
     "replicate_column_wise); a copy in each PE's slice (replicate); or all of them, one after the other"},
    {"order", "exact", "order of the sums: exact (that of K) or any (nearest part first)"},
    {"repeat", 1, "products of each placement; the time is their mean"}, dtype_parameter("f16")) {
  constexpr std::int64_t kLargest = 1 << 16;
  const std::int64_t hidden = parameter<std::int64_t>("hidden", 1, kLargest);
  const std::int64_t tokens = parameter<std::int64_t>("tokens", 1, kLargest);
  const std::int64_t repeat = parameter<std::int64_t>("repeat", 1, 1000);
  const auto chosen = parameter_choice(
      "placement", {"all", "row_wise", "column_wise", "replicate_row_wise", "replicate_column_wise", "replicate"});
  const DType dtype = dtype_of();
  const auto x_host = operand(tokens, hidden, dtype), w_host = operand(hidden, 3 * hidden, dtype);
  const auto options = torch::dtype(dtype).device("ahbm");
  const auto x = x_host.to(options.name("X"));
  for (const auto& [name, policy] : kLayouts) {
    if (chosen != "all" && chosen != name) continue;
    const auto w = w_host.to(options.placement(policy).name("W"));
    torch::ahbm::MatmulOptions how;
    how.exact_order = parameter_choice("order", {"exact", "any"}) == "exact";
    how.name = std::string("qkv ") + name;
    how.result_name = "QKV";
    how.placement = DPPolicy{};
    torch::Tensor qkv;
    // The weights are there before the product begins.
    torch::ahbm::synchronize();
    const torch::ahbm::TrafficMeter meter;
    const double ns = device_ns([&] {
      for (std::int64_t i = 0; i < repeat; ++i) qkv = torch::ahbm::matmul(x, w, how);
    });
    report(name, ns, repeat, meter.read());
    check_product(std::string("QKV, ") + name, qkv, x_host, w_host);
  }
}
