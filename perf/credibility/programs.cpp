#include "perf/credibility/programs.h"

#include <fmt/format.h>

#include <cstdint>
#include <tuple>
#include <utility>

#include "kernbench/kernbench.h"
#include "perf/credibility/random_choice.h"
#include "runtime/context.h"
#include "runtime/devices/simulated_devices.h"
#include "runtime/functions/device_kernels.h"

namespace kernbench::credibility {

namespace {

namespace dist = torch::distributed;

struct Sizes {
  std::int64_t m, n, k;
};

std::string text_of(const Sizes& sizes, DType dtype) {
  return fmt::format("{}x{}x{} {}", sizes.m, sizes.n, sizes.k, name(dtype));
}

/// The library's product: B in one copy in each cube, cut by columns over its PEs.
void gemm(const Sizes& sizes, DType dtype, bool keep, KeptPlan& kept) {
  const auto options = torch::dtype(dtype).device("ahbm");
  const auto a = torch::empty({sizes.m, sizes.k}, options);
  const auto b =
      torch::empty({sizes.k, sizes.n}, options.placement({.cube = Placement::replicate, .pe = Placement::column_wise}));
  const auto c = torch::empty({sizes.m, sizes.n}, options);
  auto& operations =
      static_cast<runtime::SimulatedOperations&>(runtime::current_context("gemm").simulation.devices().operations());
  runtime::MatmulPlanOptions how;
  how.name = "gemm";
  if (keep) {
    if (!kept.plan) kept.plan = operations.plan_matmul(a, b, how, c);
    how.plan = kept.plan;
  }
  operations.matmul(a, b, {}, how, c);
  torch::ahbm::synchronize();
}

Program gemm_program(const Sizes& sizes, DType dtype, bool keep) {
  const std::string kind = keep ? "gemm fixed" : "gemm";
  return {kind + " " + text_of(sizes, dtype), kind, 1, !keep, [=](KeptPlan& kept) { gemm(sizes, dtype, keep, kept); }};
}

Program matmul_program(const Sizes& sizes, DType dtype) {
  return {"matmul " + text_of(sizes, dtype), "matmul", 1, true, [=](KeptPlan&) {
            const auto options = torch::dtype(dtype).device("ahbm");
            const auto a = torch::empty({sizes.m, sizes.k}, options), b = torch::empty({sizes.k, sizes.n}, options);
            const auto c = torch::matmul(a, b);
            torch::ahbm::synchronize();
          }};
}

Program softmax_program(std::int64_t rows, std::int64_t columns) {
  return {fmt::format("softmax {}x{}", rows, columns), "softmax", 1, false, [=](KeptPlan&) {
            const auto x = torch::empty({rows, columns}, torch::dtype(torch::kHalf).device("ahbm"));
            const auto y = torch::softmax(x, 1);
            torch::ahbm::synchronize();
          }};
}

void reduce_worker(int rank, int ranks, std::int64_t elements) {
  torch::ahbm::set_device(rank);
  dist::init_process_group("ahbm", rank, ranks);
  const auto x = torch::empty({elements}, torch::dtype(torch::kHalf).device("ahbm"));
  dist::all_reduce(x);
  torch::ahbm::synchronize(rank);
}

Program all_reduce_program(int ranks, std::int64_t elements) {
  return {fmt::format("all_reduce of {} over {} SIPs", elements, ranks), "all_reduce", ranks, true, [=](KeptPlan&) {
            torch::multiprocessing::spawn(reduce_worker, std::tuple{ranks, elements}, {.nprocs = ranks});
          }};
}

Sizes random_sizes(std::mt19937_64& random) {
  const std::vector<std::int64_t> extents{16, 64, 100, 128, 256, 384, 512, 768, 1024};
  Sizes sizes{one_of(random, extents), one_of(random, extents), one_of(random, extents)};
  while (sizes.m * sizes.n * sizes.k > std::int64_t{1} << 27) sizes.m = one_of(random, extents), sizes.k = 256;
  return sizes;
}

}  // namespace

Program random_program(std::mt19937_64& random) {
  const std::vector<DType> dtypes{DType::f16, DType::f16, DType::bf16, DType::f32};
  const DType dtype = one_of(random, dtypes);
  const Sizes sizes = random_sizes(random);
  switch (random() % 5) {
    case 0:
      return gemm_program(sizes, dtype, false);
    case 1:
      return gemm_program(sizes, dtype, true);
    case 2:
      return matmul_program(sizes, dtype);
    case 3:
      return softmax_program(one_of(random, std::vector<std::int64_t>{16, 100, 256, 1024}),
                             one_of(random, std::vector<std::int64_t>{64, 1000, 1024, 4096}));
    default:
      return all_reduce_program(static_cast<int>(2 + random() % 7),
                                one_of(random, std::vector<std::int64_t>{1024, 10000, 65536, 262144}));
  }
}

const std::vector<Program>& fixed_programs() {
  static const std::vector<Program> all{
      gemm_program({512, 512, 512}, DType::f16, false),
      gemm_program({64, 1024, 256}, DType::f16, false),
      gemm_program({512, 512, 512}, DType::f16, true),
      gemm_program({1000, 100, 384}, DType::f32, true),
      matmul_program({512, 512, 512}, DType::f16),
      matmul_program({1024, 128, 128}, DType::bf16),
      softmax_program(256, 1024),
      softmax_program(1024, 1000),
      all_reduce_program(2, 65536),
      all_reduce_program(4, 262144),
      all_reduce_program(8, 65536),
  };
  return all;
}

}  // namespace kernbench::credibility
