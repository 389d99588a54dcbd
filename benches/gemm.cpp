// C = A B, tiled: on all PEs of a device, or on one.
#include <vector>

#include "benches/benches.h"
#include "benches/dtype_parameter.h"
#include "benches/reference_gemm.h"
#include "kernbench/kernbench.h"

namespace kernbench::benches {

namespace {

std::int64_t ceil_div(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

/// Each program computes every num_programs-th tile of C. It starts in the middle of K, at a place of its own, so that
/// the programs do not all read the same shard at the same time.
void gemm_kernel(tl::In a, tl::In b, tl::Tensor c, std::int64_t tile_m, std::int64_t tile_n, std::int64_t tile_k) {
  const std::int64_t tiles_m = ceil_div(c.size(0), tile_m), tiles_n = ceil_div(c.size(1), tile_n);
  const std::int64_t steps = ceil_div(a.size(1), tile_k);
  for (std::int64_t tile = tl::program_id(); tile < tiles_m * tiles_n; tile += tl::num_programs()) {
    const std::int64_t m = tile / tiles_n * tile_m, n = tile % tiles_n * tile_n;
    tl::Tile accumulator;
    for (std::int64_t step = 0; step < steps; ++step) {
      const std::int64_t k = (tile + step) % steps * tile_k;
      const auto a_tile = tl::load(a, {m, k}, {tile_m, tile_k}, {.other = 0});
      const auto b_tile = tl::load(b, {k, n}, {tile_k, tile_n}, {.other = 0});
      accumulator = tl::dot(a_tile, b_tile, accumulator);
    }
    tl::store(c, {m, n}, accumulator);
  }
}

struct Problem {
  std::int64_t m, n, k;
  std::int64_t tile_m, tile_n, tile_k;
  DType dtype;
  bool integers;
};

Problem problem_of(const cli::Parameters& parameters) {
  constexpr std::int64_t kLargest = 1 << 20;
  return {.m = parameters.integer("M", 1, kLargest),
          .n = parameters.integer("N", 1, kLargest),
          .k = parameters.integer("K", 1, kLargest),
          .tile_m = parameters.integer("tile_m", 1, kLargest),
          .tile_n = parameters.integer("tile_n", 1, kLargest),
          .tile_k = parameters.integer("tile_k", 1, kLargest),
          .dtype = dtype_of(parameters),
          .integers = parameters.choice("values", {"integers", "normal"}) == "integers"};
}

/// Small whole numbers keep every partial sum exact, so that the result must match bit for bit in any order.
torch::Tensor operand(const Problem& problem, std::int64_t rows, std::int64_t columns) {
  const auto values =
      problem.integers ? torch::randint(-3, 4, {rows, columns}, torch::kFloat) : torch::randn({rows, columns});
  return values.to(problem.dtype);
}

torch::Tensor reference(const Problem& problem, const torch::Tensor& a, const torch::Tensor& b) {
  auto c = torch::empty({problem.m, problem.n}, torch::kDouble);
  if (!data_enabled()) return c;
  const auto ad = a.to(torch::kDouble), bd = b.to(torch::kDouble);
  const auto elements = [](const torch::Tensor& t) {
    return std::span(t.data_ptr<double>(), static_cast<std::size_t>(t.numel()));
  };
  reference_gemm(elements(ad), elements(bd), elements(c), problem.m, problem.n, problem.k);
  return c.to(problem.dtype);
}

/// Normal operands: f32 accumulation over k adds up to k roundings of products of size about 1, and the result is
/// rounded once to its type.
Tolerance tolerance_of(const Problem& problem) {
  if (problem.integers) return {};
  const double unit = problem.dtype == DType::f32 ? 0x1p-24 : problem.dtype == DType::f16 ? 0x1p-11 : 0x1p-8;
  return {.absolute = static_cast<double>(problem.k) * 0x1p-24 * 4, .relative = 2 * unit};
}

void run_on(const cli::Parameters& parameters, const DPPolicy& policy, const torch::LaunchOptions& launch_options) {
  const Problem problem = problem_of(parameters);
  const auto a_host = operand(problem, problem.m, problem.k), b_host = operand(problem, problem.k, problem.n);
  const auto options = torch::dtype(problem.dtype).device("ahbm").placement(policy);
  const auto a = a_host.to(options.name("A")), b = b_host.to(options.name("B"));
  auto c = torch::empty({problem.m, problem.n}, options.name("C"));
  torch::launch(launch_options, "gemm", gemm_kernel, a, b, c, problem.tile_m, problem.tile_n, problem.tile_k);
  check_close("C = A B", c, reference(problem, a_host, b_host), tolerance_of(problem));
}

std::vector<cli::BenchParameter> parameters(const char* size, const char* tile_n) {
  return {{"M", size, "rows of A and C"},
          {"N", size, "columns of B and C"},
          {"K", size, "columns of A, rows of B"},
          {"tile_m", "128", "rows of a tile of C"},
          {"tile_n", tile_n, "columns of a tile of C"},
          {"tile_k", "128", "depth of one step"},
          dtype_parameter("f16"),
          {"values", "integers", "operands: integers (checked bit for bit) or normal"}};
}

}  // namespace

cli::Bench gemm() {
  return {"gemm", "C = A B, tiled, on all PEs of a device", parameters("1024", "256"),
          [](const cli::Parameters& given) { run_on(given, DPPolicy{}, {}); }};
}

cli::Bench gemm_single_pe() {
  return {"gemm_single_pe", "C = A B, tiled, on one PE with all operands in its own HBM slice",
          parameters("256", "128"), [](const cli::Parameters& given) {
            run_on(given, DPPolicy{.num_cubes = 1, .num_pes = 1}, {.pes = {{CubeId{0}, PeId{0}}}});
          }};
}

}  // namespace kernbench::benches
