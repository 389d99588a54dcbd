#include "support.h"

#include <gtest/gtest.h>

#include <cmath>

#include "runtime/context.h"
#include "runtime/devices/simulated_devices.h"
#include "support/all_cases.h"
#include "support/interleaved.h"
#include "support/sanitizers.h"

namespace kernbench::testing {

std::int64_t Draw::integer(std::int64_t low, std::int64_t high) {
  // Not a distribution of the library: its values differ between implementations.
  return low + static_cast<std::int64_t>(engine_() % static_cast<std::uint64_t>(high - low + 1));
}

DPPolicy Draw::placement() {
  const std::vector<Placement> all{Placement::row_wise,           Placement::column_wise, Placement::tiled_row_major,
                                   Placement::tiled_column_major, Placement::replicate,   Placement::balanced};
  DPPolicy policy{.cube = of(all), .pe = of(all)};
  if (chance(3)) policy = {};
  if (chance(6)) policy.num_pes = 1;
  if (chance(6)) policy.num_cubes = 1;
  return maybe_interleaved(policy, static_cast<std::uint64_t>(integer(0, 23)));
}

Sizes Draw::sizes(std::size_t rank, std::int64_t most) {
  const std::vector<std::int64_t> extents{1, 1, 2, 3, 4, 5, 7, 8, 13, 16, 31, 64, 67, 128, 131, 200};
  Sizes sizes;
  for (std::size_t d = 0; d < rank; ++d) {
    std::int64_t extent = of(extents);
    while (extent > most) extent = of(extents);
    sizes.push_back(extent);
    most /= extent;
  }
  for (std::size_t d = rank; d > 1; --d) std::swap(sizes[d - 1], sizes[static_cast<std::size_t>(integer(0, d - 1))]);
  return sizes;
}

Values whole_numbers(DType dtype, std::int64_t low, std::int64_t high) {
  return [=](const Sizes& sizes) { return torch::randint(low, high + 1, sizes, torch::kFloat).to(dtype); };
}
Values normal(DType dtype, double scale) {
  return [=](const Sizes& sizes) {
    auto values = torch::randn(sizes, torch::kDouble);
    for (std::int64_t i = 0; i < values.numel(); ++i) values.data_ptr<double>()[i] *= scale;
    return values.to(dtype);
  };
}

Pair random_pair(Draw& draw, const Sizes& sizes, const Values& values, ViewKind kind) {
  const auto on_device = [&](const torch::Tensor& host) {
    return host.to(torch::device("ahbm").placement(draw.placement()));
  };
  const std::int64_t way = kind == ViewKind::whole ? 0 : draw.integer(0, kind == ViewKind::writable ? 3 : 4);
  const auto rank = static_cast<std::int64_t>(sizes.size());
  if (way == 0 || way == 1 || rank == 0) {
    const auto host = values(sizes);
    return {host, on_device(host)};
  }
  const std::int64_t d = draw.integer(0, rank - 1), e = draw.integer(0, rank - 1);
  const auto at = static_cast<std::size_t>(d);
  Sizes base = sizes;
  if (way == 2) {
    std::swap(base[at], base[static_cast<std::size_t>(e)]);
    const auto host = values(base);
    return {host.transpose(d, e), on_device(host).transpose(d, e)};
  }
  if (way == 3) {
    const std::int64_t step = draw.integer(1, 3), start = draw.integer(0, 2);
    base[at] = start + (sizes[at] - 1) * step + 1 + draw.integer(0, 2);
    const auto host = values(base);
    const auto cut = [&](const torch::Tensor& t) {
      return t.slice(d, start, start + (sizes[at] - 1) * step + 1, step);
    };
    return {cut(host), cut(on_device(host))};
  }
  base[at] = 1;
  const auto host = values(base);
  return {host.expand(sizes), on_device(host).expand(sizes)};
}

torch::Tensor random_output(Draw& draw, const Sizes& sizes, DType dtype) {
  return random_pair(draw, sizes, whole_numbers(dtype, 0, 1), ViewKind::writable).device;
}

std::vector<double> elements(const torch::Tensor& tensor) {
  const auto dense = tensor.cpu().to(torch::kDouble).contiguous();
  const auto* data = dense.data_ptr<double>();
  return {data, data + dense.numel()};
}

std::vector<double> rounded(const std::vector<double>& values, DType dtype) {
  return elements(torch::tensor(values, torch::kDouble).to(dtype));
}

void expect_near(const torch::Tensor& actual, const std::vector<double>& expected, double relative, double absolute,
                 const std::string& what) {
  const auto values = elements(actual);
  ASSERT_EQ(values.size(), expected.size()) << what;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (std::isnan(values[i]) && std::isnan(expected[i])) continue;
    if (values[i] == expected[i]) continue;
    const double error = std::abs(values[i] - expected[i]);
    ASSERT_TRUE(error <= absolute + relative * std::abs(expected[i]))
        << what << ": element " << i << " of " << values.size() << " is " << values[i] << ", expected " << expected[i];
  }
}

void expect_equal(const torch::Tensor& actual, const std::vector<double>& expected, const std::string& what) {
  expect_near(actual, expected, 0, 0, what);
}

double unit(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return 0x1p-24;
    case DType::f16:
      return 0x1p-11;
    case DType::bf16:
      return 0x1p-8;
    case DType::f8e4m3:
      return 0x1p-4;
    case DType::f8e5m2:
      return 0x1p-3;
    default:
      return 0;
  }
}

void for_random_cases(int count, const std::function<void(Draw&)>& body) {
  const int taken = number_of_cases(count, count < 60 ? count : 3 * count / 5, (count + 11) / 12);
  for (int seed = 0; seed < taken; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    SimulateOptions options;
    options.topology = "tiny";
    options.threads = 1;
    options.seed = static_cast<std::uint64_t>(seed);
    options.quick_plans = seed % 8 != 0;  // another plan for each shape, in a twentieth of the time
    if (seed % 2 == 1) options.overrides.emplace_back("sip.cubes.mesh=[2, 2]");
    const RunResult result = try_simulate(options, [&] {
      Draw draw(static_cast<std::uint64_t>(seed) * 7919 + 1);
      body(draw);
    });
    if (result.error)
      ADD_FAILURE() << result.error->type << ": " << result.error->message << " " << result.error->where;
    if (::testing::Test::HasFailure()) return;
  }
}

tensor::DeviceOperations& operations() {
  return runtime::current_context("test").simulation.devices().operations();
}

}  // namespace kernbench::testing
