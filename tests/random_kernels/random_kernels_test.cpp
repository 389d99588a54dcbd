// Random kernels: the tile language yields what a plain sequential interpreter of the same program does, and the
// coalesced model takes exactly the times of the exact one.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <map>
#include <memory>

#include "execute.h"
#include "generator.h"
#include "kernbench/kernbench.h"
#include "support/all_cases.h"
#include "support/interleaved.h"

namespace kernbench::testing {
namespace {

const int kKernelsEach = number_of_cases(1000, 40, 12);
constexpr int kRuns = 10;

struct Scenario {
  Tensors before, after;
  std::vector<std::vector<Step>> programs;
  int cubes = 1;
  std::vector<DPPolicy> placements;
};

DPPolicy random_placement(std::mt19937& random) {
  DPPolicy policy;
  policy.cube = static_cast<Placement>(random() % 5);
  policy.pe = static_cast<Placement>(random() % 5);
  return testing::maybe_interleaved(policy, random());
}

Scenario random_scenario(std::uint32_t seed) {
  std::mt19937 random(seed);
  Scenario scenario;
  scenario.cubes = random() % 4 == 0 ? 4 : 1;
  const int programs = scenario.cubes * 2;
  scenario.before = random_tensors(random, programs);
  scenario.after = scenario.before;
  for (int program = 0; program < programs; ++program) {
    scenario.programs.push_back(random_program(random, scenario.after, program));
  }
  for (std::size_t i = 0; i < scenario.before.arrays.size(); ++i) {
    scenario.placements.push_back(random_placement(random));
    // A store to a replica changes that replica only, so what is written must not be replicated.
    auto& policy = scenario.placements.back();
    if (i >= static_cast<std::size_t>(kReadOnly)) {
      if (policy.cube == Placement::replicate) policy.cube = Placement::row_wise;
      if (policy.pe == Placement::replicate) policy.pe = Placement::column_wise;
    }
  }
  return scenario;
}

torch::Tensor host_tensor(const Array& array) {
  auto values = torch::empty({array.shape[0], array.shape[1]}, torch::kDouble);
  auto* out = values.data_ptr<double>();
  for (std::size_t i = 0; i < array.lanes.size(); ++i) out[i] = array.lanes[i].value;
  return values.to(array.dtype);
}

void expect_contents(const torch::Tensor& tensor, const Array& expected, const std::string& what) {
  const auto values = tensor.cpu().to(torch::kDouble);
  const auto* got = values.data_ptr<double>();
  for (std::size_t i = 0; i < expected.lanes.size(); ++i) {
    const double value = expected.lanes[i].value;
    const bool same =
        std::isnan(value) ? std::isnan(got[i]) : got[i] == value && std::signbit(got[i]) == std::signbit(value);
    ASSERT_TRUE(same) << what << ", element " << i << ": " << got[i] << ", expected " << value;
  }
}

using Tensors8 = std::vector<torch::Tensor>;

/// Runs the kernel and shows its tensors to `look`.
RunResult run(const Scenario& scenario, const SimulateOptions& how, std::vector<Branches>& taken,
              const std::vector<Branches>* assumed, const std::function<void(const Tensors8&)>& look) {
  SimulateOptions options = how;
  options.topology = "tiny";
  options.threads = 1;
  if (scenario.cubes > 1) options.overrides.push_back("sip.cubes.mesh=[2, 2]");
  taken.assign(scenario.programs.size(), {});
  return simulate(options, [&] {
    Tensors8 t;
    for (std::size_t i = 0; i < scenario.before.arrays.size(); ++i) {
      const auto host = host_tensor(scenario.before.arrays[i]);
      auto device = torch::empty_like(host, torch::device("ahbm").placement(scenario.placements[i]));
      device.copy_(host);
      t.push_back(device);
    }
    torch::LaunchOptions launch;
    for (int cube = 0; cube < scenario.cubes; ++cube) {
      for (int pe = 0; pe < 2; ++pe) launch.pes.push_back({CubeId{cube}, PeId{pe}});
    }
    const auto kernel = [&](tl::In a, tl::In b, tl::In c, tl::In d, tl::Tensor e, tl::Tensor f, tl::Tensor g,
                            tl::Tensor h) {
      const auto program = static_cast<std::size_t>(tl::program_id());
      execute(scenario.programs[program], {a, b, c, d, e, f, g, h}, taken[program],
              assumed != nullptr ? &(*assumed)[program] : nullptr);
    };
    torch::launch(launch, "random", kernel, t[0], t[1], t[2], t[3], t[4], t[5], t[6], t[7]);
    look(t);
  });
}

RunResult run(const Scenario& scenario, bool exact, const std::string& what) {
  SimulateOptions options;
  options.exact_events = exact;
  options.detect_races = !exact;
  std::vector<Branches> taken;
  return run(scenario, options, taken, nullptr, [&](const Tensors8& t) {
    for (std::size_t i = kReadOnly; i < t.size(); ++i) {
      expect_contents(t[i], scenario.after.arrays[i], what + ", tensor " + std::to_string(i));
    }
  });
}

class RandomKernels : public ::testing::TestWithParam<int> {};

TEST_P(RandomKernels, YieldWhatASequentialInterpreterDoesAndTakeTheSameTimesExactAndCoalesced) {
  for (int kernel = 0; kernel < kKernelsEach; ++kernel) {
    const auto seed = static_cast<std::uint32_t>(GetParam() * kKernelsEach + kernel);
    const std::string what = "seed " + std::to_string(seed);
    const Scenario scenario = random_scenario(seed);
    const RunResult coalesced = run(scenario, false, what);
    const RunResult exact = run(scenario, true, what);
    ASSERT_TRUE(coalesced.races.empty()) << what;  // each program writes rows of its own
    ASSERT_EQ(coalesced.times_fingerprint, exact.times_fingerprint) << what;
    ASSERT_EQ(coalesced.simulated_time, exact.simulated_time) << what;
    ASSERT_FALSE(HasFatalFailure());
  }
}

INSTANTIATE_TEST_SUITE_P(TenThousand, RandomKernels, ::testing::Range(0, kRuns));

/// Values of an integer tensor as the host finds them; none when some derive from what was left out.
bool expect_integers(const torch::Tensor& tensor, const Array& expected, const std::string& what) {
  try {
    expect_contents(tensor, expected, what);
    return true;
  } catch (const ProgramError& error) {
    EXPECT_EQ(error.type(), "SkippedValueError") << what;
    if (error.where().starts_with("kernel ")) throw;  // of the launch, which the host learns when it waits for it
    return false;
  }
}

TEST(RandomKernelsWithoutFloatingPoint, TakeTheSameTimesAndYieldTheSameIntegers) {
  int compared = 0, steered = 0, integers = 0;
  for (std::uint32_t seed = 0; seed < static_cast<std::uint32_t>(number_of_cases(500, 150, 25)); ++seed) {
    const std::string what = "seed " + std::to_string(seed);
    const Scenario scenario = random_scenario(seed);
    std::vector<Branches> taken, again;
    const RunResult all = run(scenario, {}, taken, nullptr, [](const Tensors8& t) { t[kReadOnly + 2].cpu(); });
    SimulateOptions options;
    options.skip_floating_point_ops = true;
    int right = 0;
    try {
      const RunResult skipped = run(scenario, options, again, &taken, [&](const Tensors8& t) {
        right += expect_integers(t[kReadOnly + 2], scenario.after.arrays[kReadOnly + 2], what) ? 1 : 0;
      });
      ASSERT_EQ(skipped.times_fingerprint, all.times_fingerprint) << what;
      ASSERT_EQ(skipped.simulated_time, all.simulated_time) << what;
      ASSERT_EQ(again, taken) << what;
      ++compared;
      integers += right;
    } catch (const ProgramError& error) {
      // Its addresses follow from left-out values.
      ASSERT_EQ(error.type(), "SkippedValueError") << what << ": " << error.what();
      ++steered;
    }
    ASSERT_FALSE(HasFatalFailure());
  }
  EXPECT_GT(compared, 4 * steered);
  EXPECT_GT(integers, compared / 10);
}

TEST(RandomPrograms, UseEveryInstructionOften) {
  std::map<Code, int> counts;
  for (std::uint32_t seed = 0; seed < 300; ++seed) {
    for (const auto& program : random_scenario(seed).programs) {
      for (const auto& step : program) ++counts[step.instruction.code];
    }
  }
  for (int code = 0; code <= static_cast<int>(Code::branch); ++code) {
    EXPECT_GE(counts[static_cast<Code>(code)], 20) << "instruction " << code;
  }
}

}  // namespace
}  // namespace kernbench::testing
