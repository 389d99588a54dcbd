// softmax and layer_norm over the rows of a matrix: bound by the HBM or by the vector engine, each PE on its own rows.
#include <kernbench/kernbench.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "dtype_parameter.h"

using namespace kernbench;
using namespace benches;

namespace {

using Row = std::vector<double>;

/// `function` applied to each row, in double, rounded once.
torch::Tensor by_rows(const torch::Tensor& x, const std::function<void(Row&)>& function) {
  auto result = x.to(torch::kDouble).contiguous().clone();
  const std::int64_t columns = result.size(1);
  for (std::int64_t row = 0; row < result.size(0); ++row) {
    double* first = result.data_ptr<double>() + row * columns;
    Row values(first, first + columns);
    function(values);
    std::copy(values.begin(), values.end(), first);
  }
  return result.to(x.scalar_type());
}

void softmax_row(Row& row) {
  const double largest = *std::max_element(row.begin(), row.end());
  double sum = 0;
  for (double& value : row) sum += value = std::exp(value - largest);
  for (double& value : row) value /= sum;
}

void layer_norm_row(Row& row) {
  const auto count = static_cast<double>(row.size());
  double mean = 0, variance = 0;
  for (const double value : row) mean += value / count;
  for (const double value : row) variance += (value - mean) * (value - mean) / count;
  for (double& value : row) value = (value - mean) / std::sqrt(variance + 1e-5);
}

/// Half an ulp of the type for each of two roundings, and f32's errors of sums and functions.
Tolerance tolerance_of(DType dtype) {
  const double unit = dtype == DType::f32 ? 0x1p-24 : dtype == DType::f16 ? 0x1p-11 : 0x1p-8;
  return {.absolute = 0x1p-17, .relative = 2 * unit + 0x1p-18};
}

void run(const std::function<torch::Tensor(const torch::Tensor&)>& on_device,
         const std::function<void(Row&)>& reference, const char* check) {
  constexpr std::int64_t kLargest = 1 << 24;
  const auto rows = parameter<std::int64_t>("rows", 1, kLargest),
             columns = parameter<std::int64_t>("columns", 1, kLargest);
  const auto host = torch::randn({rows, columns}).to(dtype_of());
  const auto x = host.to(torch::device("ahbm").name("x"));
  const auto y = [&] {
    const torch::profiler::record_function region(check);
    return on_device(x);
  }();
  const auto expected = floating_point_enabled() ? by_rows(host, reference) : torch::empty({rows, columns}, dtype_of());
  check_close(check, y, expected, tolerance_of(dtype_of()));
}

}  // namespace

KERNBENCH_BENCH(softmax, "softmax of each row of a matrix, on all PEs of a device",  //
                {"rows", 4096, "rows"}, {"columns", 1024, "elements of a row"}, dtype_parameter("f16")) {
  run([](const torch::Tensor& x) { return torch::softmax(x, 1); }, softmax_row, "y = softmax(x)");
}

KERNBENCH_BENCH(layer_norm, "layer_norm of each row of a matrix, on all PEs of a device",  //
                {"rows", 4096, "rows"}, {"columns", 1024, "elements of a row"}, dtype_parameter("f16")) {
  run([](const torch::Tensor& x) { return torch::layer_norm(x, {x.size(1)}); }, layer_norm_row, "y = layer_norm(x)");
}
