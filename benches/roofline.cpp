// What one PE attains against arithmetic intensity: each step loads tiles of A and B and multiplies them, several times
// for intensities above one product's, with several loads for each product below.
#include <kernbench/kernbench.h>

#include <algorithm>
#include <string>

#include "dtype_parameter.h"
#include "measure.h"

using namespace kernbench;
using namespace benches;

namespace {

/// `loads` loads of a block of A and of B, then `products` products of the last ones, `steps` times.
void roofline_kernel(tl::In a, tl::In b, tl::Tensor c, std::int64_t steps, std::int64_t loads, std::int64_t products) {
  const tl::Extents left{c.size(0), a.size(1)}, right{b.size(0), c.size(1)};
  const std::int64_t blocks = a.size(0) / c.size(0);
  tl::Tile sum;
  for (std::int64_t step = 0, block = 0; step < steps; ++step) {
    tl::Tile x, y;
    for (std::int64_t i = 0; i < loads; ++i, ++block) {
      x = y = tl::Tile();
      x = tl::load(a, {block % blocks * left[0], 0}, left);
      y = tl::load(b, {0, block % blocks * right[1]}, right);
    }
    for (std::int64_t i = 0; i < products; ++i) sum = tl::dot(x, y, sum);
  }
  tl::store(c, {0, 0}, sum);
}

}  // namespace

KERNBENCH_BENCH(roofline, "FLOP/s of one PE against arithmetic intensity, from bound by memory to bound by compute",  //
                {"tile", 128, "rows and columns of a tile of C"},
                {"depth", 1024, "columns of A and rows of B that a product takes"},
                {"sweep", 4, "powers of two to each side of one product for each load"},
                {"steps", 16, "products or loads of one figure"}, dtype_parameter("f16")) {
  constexpr std::int64_t kLargest = 1 << 14;
  const std::int64_t tile = parameter<std::int64_t>("tile", 1, kLargest),
                     depth = parameter<std::int64_t>("depth", 1, kLargest);
  const std::int64_t sweep = parameter<std::int64_t>("sweep", 0, 10),
                     steps = parameter<std::int64_t>("steps", 1, 1 << 20);
  const DType dtype = dtype_of();
  constexpr std::int64_t kBlocks = 4;
  const auto options = torch::dtype(dtype).device("ahbm").placement({.num_cubes = 1, .num_pes = 1});
  const auto a = torch::ones({kBlocks * tile, depth}, options.name("A"));
  const auto b = torch::ones({depth, kBlocks * tile}, options.name("B"));
  const double flops = 2.0 * static_cast<double>(tile * tile * depth);
  const auto bytes = static_cast<double>(2 * tile * depth * item_size(dtype));
  double most = 0, bandwidth = 0;
  for (std::int64_t power = -sweep; power <= sweep; ++power) {
    const std::int64_t loads = power < 0 ? std::int64_t{1} << -power : 1,
                       products = power > 0 ? std::int64_t{1} << power : 1;
    auto c = torch::empty({tile, tile}, options.dtype(torch::kFloat).name("C"));
    // Long steps need to be repeated less often.
    const std::int64_t repeats = std::max<std::int64_t>(steps / std::max(loads, products), 2);
    const double ns = step_ns(repeats, [&](std::int64_t count) {
      torch::launch("roofline", roofline_kernel, a, b, c, count, loads, products);
    });
    const double intensity = flops * static_cast<double>(products) / (bytes * static_cast<double>(loads));
    const double attained = flops * static_cast<double>(products) / ns;  // FLOP/ns: GFLOP/s
    const std::string at = " at 2^" + std::to_string(power) + " products for each load";
    report_metric("intensity" + at, intensity, "FLOP/B");
    report_metric("attained" + at, attained, "GFLOP/s");
    most = std::max(most, attained);
    bandwidth = std::max(bandwidth, bytes * static_cast<double>(loads) / ns);
    const auto expected = torch::full({tile, tile}, static_cast<double>(2 * repeats * products * depth), torch::kFloat);
    check_close("C at 2^" + std::to_string(power), c, expected);
  }
  report_metric("attained at most", most, "GFLOP/s");
  report_metric("bandwidth at most", bandwidth, "GB/s");
  report_metric("crossing", most / bandwidth, "FLOP/B");
}
