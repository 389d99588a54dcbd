// Random numbers that a device makes, against those that the host draws of the same seed.
#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "support.h"

namespace kernbench {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace)
using torch::Tensor;
using Make = std::function<Tensor(const Sizes& sizes, const torch::TensorOptions& options)>;
using Fill = std::function<void(const Tensor& tensor)>;

SimulateOptions tiny() {
  SimulateOptions options;
  options.topology = "tiny";
  options.threads = 1;
  options.quick_plans = true;
  return options;
}

torch::TensorOptions placed(DType dtype, Placement cube, Placement pe) {
  return torch::dtype(dtype).device("ahbm").placement({.cube = cube, .pe = pe});
}

const std::vector<DType>& floats() {
  static const std::vector<DType> types{DType::f32, DType::f16, DType::bf16, DType::f8e4m3, DType::f8e5m2};
  return types;
}
const std::vector<DType>& integers() {
  static const std::vector<DType> types{DType::i64, DType::i32, DType::i8, DType::u8, DType::boolean};
  return types;
}

/// The numbers from an odd place of the stream on, and what the generator yields next.
std::pair<Tensor, Tensor> drawn(std::int64_t before, const std::function<Tensor()>& draw) {
  torch::manual_seed(17);
  torch::rand({before});
  const Tensor numbers = draw();
  return {numbers, torch::rand({3})};
}

void expect_same_bits(const std::pair<Tensor, Tensor>& device, const std::pair<Tensor, Tensor>& host,
                      const std::string& what) {
  ASSERT_TRUE(torch::equal(device.first.cpu(), host.first)) << what;
  EXPECT_TRUE(torch::equal(device.second, host.second)) << what << ": the generator has gone on by other numbers";
}

TEST(DeviceRandom, NumbersOfNewTensorsAreTheHosts) {
  const Make rand = [](const Sizes& sizes, const torch::TensorOptions& options) { return torch::rand(sizes, options); };
  const Make randn = [](const Sizes& sizes, const torch::TensorOptions& options) {
    return torch::randn(sizes, options);
  };
  const Make whole = [](const Sizes& sizes, const torch::TensorOptions& options) {
    return torch::randint(0, 2, sizes, options);
  };
  const Make wide = [](const Sizes& sizes, const torch::TensorOptions& options) {
    return torch::randint(-5, std::numeric_limits<std::int64_t>::max(), sizes, options.dtype(torch::kLong));
  };
  for_random_cases(60, [&](Draw& draw) {
    const std::int64_t which = draw.integer(0, 4);
    const DType dtype = draw.of(which == 2 ? integers() : floats());
    const Make& make = which < 2 ? rand : which == 2 ? whole : which == 3 ? wide : randn;
    const Sizes sizes = draw.sizes(static_cast<std::size_t>(draw.integer(0, 3)), 20'000);
    const std::int64_t before = draw.integer(0, 7);
    const auto device = torch::dtype(dtype).device("ahbm").placement(draw.placement());
    expect_same_bits(drawn(before, [&] { return make(sizes, device); }),
                     drawn(before, [&] { return make(sizes, torch::dtype(dtype)); }),
                     "law " + std::to_string(which) + " as " + std::string(name(dtype)));
  });
}

TEST(DeviceRandom, NumbersInPlaceOfAViewAreTheHosts) {
  const Fill uniform = [](const Tensor& tensor) { tensor.uniform_(-1.5, 2.25); };
  const Fill normal = [](const Tensor& tensor) { tensor.normal_(3, 0.3); };
  const Fill whole = [](const Tensor& tensor) { tensor.random_(-3, 5); };
  const Fill any = [](const Tensor& tensor) { tensor.random_(); };
  const Fill chance = [](const Tensor& tensor) { tensor.bernoulli_(0.3); };
  for_random_cases(60, [&](Draw& draw) {
    const std::int64_t which = draw.integer(0, 4);
    const DType dtype = which == 3 ? draw.of(std::vector{DType::i64, DType::i32, DType::u8, DType::f16})
                                   : draw.of(std::vector{DType::f32, DType::f16, DType::bf16});
    const Fill& fill = which == 0 ? uniform : which == 1 ? normal : which == 2 ? whole : which == 3 ? any : chance;
    const Sizes sizes = draw.sizes(static_cast<std::size_t>(draw.integer(1, 3)), 5'000);
    const std::int64_t before = draw.integer(0, 7);
    const auto filled = [&](const Tensor& tensor) {
      fill(tensor);
      return tensor;
    };
    const Tensor out = random_output(draw, sizes, dtype);
    expect_same_bits(drawn(before, [&] { return filled(out); }),
                     drawn(before, [&] { return filled(torch::empty(sizes, dtype)); }),
                     "fill " + std::to_string(which) + " as " + std::string(name(dtype)));
  });
}

TEST(DeviceRandom, OtherElementsThanThoseOfTheViewStay) {
  simulate(tiny(), [] {
    const Tensor x = torch::full({9, 12}, 7, placed(DType::f32, Placement::row_wise, Placement::column_wise));
    x.narrow(1, 3, 5).uniform_(0, 1);
    const Tensor host = x.cpu();
    EXPECT_TRUE(host.narrow(1, 0, 3).eq(7).all().item<bool>());
    EXPECT_TRUE(host.narrow(1, 8, 4).eq(7).all().item<bool>());
    EXPECT_TRUE(host.narrow(1, 3, 5).lt(1).all().item<bool>());
  });
}

void copies_of(tl::In x, tl::Tensor rows) {
  const std::int64_t count = x.numel();
  tl::store(rows, {tl::program_id(), 0}, tl::reshape(tl::load(x, {0}, {count}), {1, count}));
}

TEST(DeviceRandom, AllReplicasAreTheSame) {
  SimulateOptions options = tiny();
  options.overrides.emplace_back("sip.cubes.mesh=[2, 2]");
  simulate(options, [] {
    constexpr std::int64_t kCount = 333;
    torch::manual_seed(5);
    const Tensor x = torch::randn({kCount}, placed(DType::f32, Placement::replicate, Placement::replicate));
    torch::manual_seed(5);
    const Tensor host = torch::randn({kCount});
    const auto pes = static_cast<std::int64_t>(runtime::holders({&x, 1}).size());
    ASSERT_GT(pes, 1);
    const Sizes shape{pes, kCount};
    const Tensor rows = torch::empty(shape, placed(DType::f32, Placement::row_wise, Placement::row_wise));
    torch::launch("copies_of", copies_of, x, rows);
    EXPECT_TRUE(torch::equal(rows.cpu(), host.expand(shape)));
  });
}

TEST(DeviceRandom, IsOneLaunchThatHasTheNameOfItsFunction) {
  const auto result = simulate(tiny(), [] {
    const auto half = torch::dtype(torch::kHalf).device("ahbm");
    const Tensor x = torch::rand({64, 10}, half);
    torch::randn_like(x);
    torch::randint(9, {64}, torch::dtype(torch::kInt).device("ahbm"));
    x.uniform_(1, 2);
    x.normal_(1, 2);
    x.random_(4);
    torch::rand({0, 4}, half);
  });
  std::vector<std::string> kernels;
  for (const auto& launch : result.launches) kernels.push_back(launch.kernel);
  EXPECT_EQ(kernels, (std::vector<std::string>{"rand", "randn", "randint", "uniform", "normal", "random"}));
}

/// The time of the last launch, with `multiply` cycles for a group of products.
Time draw_time(const std::function<void()>& program, int multiply) {
  SimulateOptions options = tiny();
  options.overrides.emplace_back("pe.vector.cycles.multiply=" + std::to_string(multiply));
  const auto launch = simulate(options, program).launches.back();
  return launch.end - launch.start;
}

TEST(DeviceRandom, ANumberCostsItsPartOfACounterAndWhatMakesItOfAWord) {
  constexpr std::int64_t kCount = 8192, kLanes = 128, kOperations = 100, kMore = 10;
  struct Drawing {
    const char* name;
    std::function<void(const torch::TensorOptions&)> draw;
    std::int64_t products;  // of all numbers
  };
  const std::vector<Drawing> cases = {
      {"rand", [](const auto& options) { torch::rand({kCount}, options); }, kCount / 4 * kOperations + kCount},
      {"randn", [](const auto& options) { torch::randn({kCount}, options); },
       kCount / 4 * kOperations + kCount / 2 * 2 + kCount},
      {"randint", [](const auto& options) { torch::randint(9, {kCount}, options.dtype(torch::kInt)); },
       kCount / 2 * kOperations + 4 * kCount}};
  for (const Drawing& each : cases) {
    const auto draw = [&] {
      each.draw(torch::device("ahbm").placement({.num_cubes = 1, .num_pes = 1}));
      torch::ahbm::synchronize();
    };
    EXPECT_EQ(draw_time(draw, 1 + kMore) - draw_time(draw, 1), Time::nanoseconds(kMore * each.products / kLanes))
        << each.name;
  }
}

TEST(DeviceRandom, TakesAFractionOfAnUpload) {
  SimulateOptions options;
  options.topology = "ahbm-1sip";
  options.data = false;
  const auto time = [&](const std::function<void()>& program) {
    return simulate(options,
                    [&] {
                      program();
                      torch::ahbm::synchronize();
                    })
        .simulated_time;
  };
  const auto half = torch::dtype(torch::kHalf);
  const Time upload = time([&] { torch::rand({4096, 4096}, half).to("ahbm"); });
  EXPECT_LT(time([&] { torch::rand({4096, 4096}, half.device("ahbm")); }) * 4, upload);
  EXPECT_LT(time([&] { torch::randn({4096, 4096}, half.device("ahbm")); }) * 4, upload);
}

TEST(DeviceRandom, TimesAreTheSameWithoutDataAndWithExactEvents) {
  const auto program = [] {
    const Tensor x = torch::randn({67, 131}, placed(DType::f16, Placement::row_wise, Placement::column_wise));
    x.t().uniform_(0, 3);
    x.narrow(1, 5, 50).random_(7);
    torch::ahbm::synchronize();
  };
  const RunResult first = simulate(tiny(), program);
  ASSERT_EQ(first.launches.size(), 3U);
  for (int mode = 0; mode < 2; ++mode) {
    SimulateOptions other = tiny();
    if (mode == 0) other.data = false;
    if (mode == 1) other.exact_events = true;
    const RunResult again = simulate(other, program);
    EXPECT_EQ(again.times_fingerprint, first.times_fingerprint) << mode;
    EXPECT_EQ(again.simulated_time, first.simulated_time) << mode;
  }
}

TEST(DeviceRandom, NumbersAreMadeEvenWhereFloatingPointOperationsAreLeftOut) {
  SimulateOptions options = tiny();
  options.skip_floating_point_ops = true;
  simulate(options, [] {
    torch::manual_seed(3);
    const Tensor device = torch::rand({5, 7}, torch::device("ahbm"));
    torch::manual_seed(3);
    EXPECT_TRUE(torch::equal(device.cpu(), torch::rand({5, 7})));
  });
}

TEST(DeviceRandom, AReplayRepeatsTheNumbersOfItsCapture) {
  simulate(tiny(), [] {
    const Tensor x = torch::zeros({100}, torch::device("ahbm"));
    torch::ahbm::Graph graph;
    torch::manual_seed(11);
    {
      const auto scope = torch::ahbm::graph(graph);
      x.uniform_(0, 1);
    }
    torch::manual_seed(11);
    const Tensor host = torch::empty({100}).uniform_(0, 1);
    for (int i = 0; i < 2; ++i) {
      x.zero_();
      graph.replay();
      EXPECT_TRUE(torch::equal(x.cpu(), host)) << "replay " << i;
    }
  });
}

}  // namespace
}  // namespace kernbench
