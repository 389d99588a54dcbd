// C = A B: on all PEs of a device with the library's matrix product, or tiled by a kernel of its own on one PE.
#include <kernbench/kernbench.h>

#include "dtype_parameter.h"

using namespace kernbench;
using namespace benches;

namespace {

constexpr std::int64_t kLargest = 1 << 20;

struct Problem {
  std::int64_t m, n, k;
  DType dtype;
  bool integers;
  /// 8-bit operands give wider results, as the GEMM engine does.
  DType result() const {
    if (item_size(dtype) > 1) return dtype;
    return is_floating_point(dtype) ? DType::f32 : DType::i32;
  }
};

Problem problem_of() {
  return {.m = parameter<std::int64_t>("M", 1, kLargest),
          .n = parameter<std::int64_t>("N", 1, kLargest),
          .k = parameter<std::int64_t>("K", 1, kLargest),
          .dtype = operand_dtype_of(),
          .integers = parameter_choice("values", {"integers", "normal"}) == "integers"};
}

/// Small whole numbers keep every partial sum exact, so that the result must match bit for bit in any order.
torch::Tensor operand(const Problem& problem, std::int64_t rows, std::int64_t columns) {
  const bool whole = problem.integers || !is_floating_point(problem.dtype);
  const std::int64_t low = problem.dtype == DType::u8 ? 0 : -3;
  const auto values = whole ? torch::randint(low, 4, {rows, columns}, torch::kFloat) : torch::randn({rows, columns});
  return values.to(problem.dtype);
}

/// Normal operands: f32 accumulation over k adds up to k roundings of products of size about 1, and the result is
/// rounded once to its type.
Tolerance tolerance_of(const Problem& problem) {
  if (problem.integers || !is_floating_point(problem.dtype)) return {};
  const DType result = problem.result();
  const double unit = result == DType::f32 ? 0x1p-24 : result == DType::f16 ? 0x1p-11 : 0x1p-8;
  return {.absolute = static_cast<double>(problem.k) * 0x1p-24 * 4, .relative = 2 * unit};
}

const BenchParameter kValues{"values", "integers", "operands: integers (checked bit for bit) or normal"};

// ---- all PEs: the library ----------------------------------------------------------------------------------------

DPPolicy placement_of_b() {
  const auto text = parameter_choice("b", {"columns", "cube_rows", "rows"});
  if (text == "rows") return {};
  return {.cube = Placement::replicate, .pe = text == "columns" ? Placement::column_wise : Placement::row_wise};
}

/// An operand on the host; when `transposed`, it is a view of one that lies transposed in memory.
torch::Tensor operand(const Problem& problem, std::int64_t rows, std::int64_t columns, bool transposed) {
  return transposed ? operand(problem, columns, rows).t() : operand(problem, rows, columns);
}

/// On the device as it lies on the host.
torch::Tensor to_device(const torch::Tensor& host, const torch::TensorOptions& options, bool transposed) {
  return transposed ? host.t().to(options).t() : host.to(options);
}

// ---- one PE: a kernel to read --------------------------------------------------------------------------------------

/// C tile by tile, each over K in steps. The loads of a step run while the step before it is multiplied.
void gemm_kernel(tl::In a, tl::In b, tl::Tensor c, std::int64_t tile_m, std::int64_t tile_n, std::int64_t tile_k) {
  for (std::int64_t m = 0; m < c.size(0); m += tile_m) {
    for (std::int64_t n = 0; n < c.size(1); n += tile_n) {
      tl::Tile accumulator;
      for (std::int64_t k = 0; k < a.size(1); k += tile_k) {
        const auto a_tile = tl::load(a, {m, k}, {tile_m, tile_k}, {.other = 0});
        const auto b_tile = tl::load(b, {k, n}, {tile_k, tile_n}, {.other = 0});
        accumulator = tl::dot(a_tile, b_tile, accumulator);
      }
      tl::store(c, {m, n}, accumulator);
    }
  }
}

}  // namespace

KERNBENCH_BENCH(gemm, "C = A B with the library's matrix product, on all PEs of a device",  //
                {"M", 1024, "rows of A and C"}, {"N", 1024, "columns of B and C"},
                {"K", 1024, "columns of A, rows of B"}, operand_dtype_parameter("f16"), kValues,
                {"b", "columns",
                 "where B lies: a copy in each cube, cut over its PEs by columns (columns) or by rows (cube_rows), or "
                 "one, cut over all PEs by rows (rows); A and C are cut by rows"},
                {"transpose_a", false, "whether A lies transposed in memory"},
                {"transpose_b", false, "whether B lies transposed in memory"},
                {"order", "exact",
                 "order of the sums: exact (that of K, the same bits on every machine) or any (nearest part first)"},
                {"split_k", 0, "parts of K that a second launch adds up; 0: chosen"},
                {"tile_m", 0, "rows of a tile of C; 0: chosen"}, {"tile_n", 0, "columns of a tile of C; 0: chosen"},
                {"tile_k", 0, "depth of one step; 0: chosen"}) {
  const Problem problem = problem_of();
  const bool transpose_a = parameter<bool>("transpose_a"), transpose_b = parameter<bool>("transpose_b");
  const auto a_host = operand(problem, problem.m, problem.k, transpose_a);
  const auto b_host = operand(problem, problem.k, problem.n, transpose_b);
  const auto options = torch::dtype(problem.dtype).device("ahbm");
  const auto a = to_device(a_host, options.name("A"), transpose_a);
  const auto b = to_device(b_host, options.name("B").placement(placement_of_b()), transpose_b);
  torch::ahbm::MatmulOptions how;
  how.exact_order = parameter_choice("order", {"exact", "any"}) == "exact";
  how.split_k = parameter<std::int64_t>("split_k", 0, kLargest);
  how.tile_m = parameter<std::int64_t>("tile_m", 0, kLargest);
  how.tile_n = parameter<std::int64_t>("tile_n", 0, kLargest);
  how.tile_k = parameter<std::int64_t>("tile_k", 0, kLargest);
  how.result_name = std::string("C");
  how.placement = DPPolicy{};
  const auto c = [&] {
    const torch::profiler::record_function region("gemm");
    return torch::ahbm::matmul(a, b, how);
  }();
  check_product("C = A B", c, a_host, b_host, tolerance_of(problem));
}

KERNBENCH_BENCH(gemm_single_pe, "C = A B, tiled, on one PE with all operands in its own HBM slice",  //
                {"M", 256, "rows of A and C"}, {"N", 256, "columns of B and C"}, {"K", 256, "columns of A, rows of B"},
                {"tile_m", 128, "rows of a tile of C"}, {"tile_n", 128, "columns of a tile of C"},
                {"tile_k", 128, "depth of one step"}, operand_dtype_parameter("f16"), kValues) {
  const Problem problem = problem_of();
  const auto a_host = operand(problem, problem.m, problem.k), b_host = operand(problem, problem.k, problem.n);
  const auto options = torch::device("ahbm").placement({.num_cubes = 1, .num_pes = 1});
  const auto a = a_host.to(options.name("A")), b = b_host.to(options.name("B"));
  auto c = torch::empty({problem.m, problem.n}, options.dtype(problem.result()).name("C"));
  {
    const torch::profiler::record_function region("gemm");
    torch::launch("gemm", gemm_kernel, a, b, c, parameter<std::int64_t>("tile_m", 1, kLargest),
                  parameter<std::int64_t>("tile_n", 1, kLargest), parameter<std::int64_t>("tile_k", 1, kLargest));
  }
  check_product("C = A B", c, a_host, b_host, tolerance_of(problem));
}
