// Random programs against the definition: two accesses race when they conflict and neither lies before the other.
#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <random>
#include <vector>

#include "kernbench/kernbench.h"
#include "support/sanitizers.h"

namespace kernbench {
namespace {

namespace torch = kernbench::torch;
namespace tl = kernbench::tl;

constexpr int kScenarios = kSanitized ? 60 : 600;
constexpr int kPrograms = 4;

struct Step {
  enum class Kind : std::uint8_t { load, store, atomic, send, receive, barrier, delay };
  Kind kind = Kind::delay;
  int program = 0;
  int peer = 0;             // of messages
  int number = 0;           // of messages and barriers: which one
  std::int64_t cycles = 0;  // of delays
};
using Steps = std::vector<Step>;

/// In an order in which they can run one after the other, so that no program waits for ever.
Steps random_steps(std::mt19937& random) {
  Steps steps;
  const std::size_t count = 3 + random() % 12;
  const auto any = [&] { return static_cast<int>(random() % kPrograms); };
  for (int number = 0; steps.size() < count; ++number) {
    switch (random() % 10) {
      case 0:
      case 1:
        steps.push_back({.kind = Step::Kind::store, .program = any()});
        break;
      case 2:
      case 3:
        steps.push_back({.kind = Step::Kind::load, .program = any()});
        break;
      case 4:
        steps.push_back({.kind = Step::Kind::atomic, .program = any()});
        break;
      case 5:
      case 6:
      case 7: {
        const int from = any(), to = (from + 1 + static_cast<int>(random() % (kPrograms - 1))) % kPrograms;
        steps.push_back({.kind = Step::Kind::send, .program = from, .peer = to, .number = number});
        steps.push_back({.kind = Step::Kind::receive, .program = to, .peer = from, .number = number});
        break;
      }
      case 8:
        if (random() % 3 != 0) break;
        for (int program = 0; program < kPrograms; ++program)
          steps.push_back({.kind = Step::Kind::barrier, .program = program, .number = number});
        break;
      default:
        steps.push_back(
            {.kind = Step::Kind::delay, .program = any(), .cycles = static_cast<std::int64_t>(random() % 700)});
        break;
    }
  }
  return steps;
}

bool is_access(const Step& step) {
  return step.kind == Step::Kind::load || step.kind == Step::Kind::store || step.kind == Step::Kind::atomic;
}
bool conflict(const Step& a, const Step& b) {
  if (!is_access(a) || !is_access(b) || a.program == b.program) return false;
  if (a.kind == Step::Kind::load && b.kind == Step::Kind::load) return false;
  return a.kind != Step::Kind::atomic || b.kind != Step::Kind::atomic;
}
bool orders(const Step& a, const Step& b) {  // `b` comes behind `a` in the list
  if (a.program == b.program) return true;
  return a.kind == Step::Kind::send && b.kind == Step::Kind::receive && a.number == b.number;
}

/// By the definition: the transitive closure of what orders.
bool has_race(const Steps& steps) {
  const std::size_t n = steps.size();
  std::vector<std::vector<bool>> before(n, std::vector<bool>(n));
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = i + 1; j < n; ++j) before[i][j] = orders(steps[i], steps[j]);
  }
  const auto barrier = [&](std::size_t i, std::size_t j) {
    return steps[i].kind == Step::Kind::barrier && steps[j].kind == Step::Kind::barrier &&
           steps[i].number == steps[j].number;
  };
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) before[i][j] = before[i][j] || (i != j && barrier(i, j));
  }
  for (std::size_t k = 0; k < n; ++k) {
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < n; ++j) before[i][j] = before[i][j] || (before[i][k] && before[k][j]);
    }
  }
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = i + 1; j < n; ++j) {
      if (conflict(steps[i], steps[j]) && !before[i][j] && !before[j][i]) return true;
    }
  }
  return false;
}

void run(const Step& step, const tl::Tensor& x) {
  switch (step.kind) {
    case Step::Kind::load: {
      auto [tile, token] = tl::load_async(x, {0}, {16});
      tl::wait(token);
      break;
    }
    case Step::Kind::store:
      tl::wait(tl::store_async(x, {0}, tl::full({16}, 1.0f, DType::f32)));
      break;
    case Step::Kind::atomic:
      tl::item<float>(tl::atomic_add(x.data_ptr() + 3, 1, {.order = tl::MemoryOrder::relaxed}));
      break;
    case Step::Kind::send:
      tl::send(tl::full({1}, 1.0f, DType::f32), tl::member(step.peer), static_cast<std::uint64_t>(step.number));
      break;
    case Step::Kind::receive:
      tl::recv(DType::f32, {1}, tl::member(step.peer), static_cast<std::uint64_t>(step.number));
      break;
    case Step::Kind::barrier:
      tl::barrier(tl::Scope::sip);
      break;
    case Step::Kind::delay:
      tl::delay(step.cycles);
      break;
  }
}

bool finds_race(const Steps& steps) {
  SimulateOptions options;
  options.topology = "tiny";
  options.overrides = {"sip.cubes.mesh=[2, 1]"};
  options.threads = 1;
  options.detect_races = true;
  return !simulate(options, [&] {
            auto x = torch::zeros({16}, torch::device("ahbm"));
            torch::LaunchOptions launch;
            launch.all_pes = true;
            launch.queues.topology = QueueTopology::all_pairs;
            launch.queues.parameters.n_slots = 16;
            launch.queues.window = WindowOptions{};
            torch::launch(
                launch, "random",
                [&](tl::Tensor a) {
                  for (const Step& step : steps) {
                    if (step.program == tl::program_id()) run(step, a);
                  }
                },
                x);
            torch::ahbm::synchronize();
          }).races.empty();
}

TEST(RandomRaces, AreFoundWhereTheDefinitionSaysSoAndNowhereElse) {
  int racing = 0;
  for (int seed = 0; seed < kScenarios; ++seed) {
    std::mt19937 random(static_cast<std::uint32_t>(seed));
    const Steps steps = random_steps(random);
    const bool expected = has_race(steps);
    racing += expected ? 1 : 0;
    ASSERT_EQ(finds_race(steps), expected) << "seed " << seed;
  }
  EXPECT_GT(racing, kScenarios / 5);
  EXPECT_LT(racing, 4 * kScenarios / 5);
}

}  // namespace
}  // namespace kernbench
