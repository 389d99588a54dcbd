// Ranks that fail at any time of random programs: whatever they had under way, nothing of it is left, and what comes
// next happens as in a fresh simulation.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "hardware/pe/pe.h"
#include "runtime/streams/stream.h"
#include "spawning.h"
#include "support/all_cases.h"
#include "support/sanitizers.h"

namespace kernbench {
namespace {

using testing::now;
using testing::simulation;
namespace mp = torch::multiprocessing;

using Random = std::mt19937_64;

std::int64_t pick(Random& random, std::int64_t low, std::int64_t high) {
  return std::uniform_int_distribution<std::int64_t>(low, high)(random);
}

// ---- what fails ----------------------------------------------------------------------------------------------------

void scalars(tl::In x, tl::Tensor out, int times) {
  for (int i = 0; i < times; ++i) {
    auto tile = tl::load(x, {0}, {x.numel()});
    if (tl::item<float>(tl::sum(tile)) > 1e30f) return;
    tl::store(out, {0}, tile * 2.0f);
  }
}

/// The tensors and streams that a rank works with.
struct Desk {
  explicit Desk(Random& dice) : random(dice) {
    for (auto* tensor : {&a, &b, &c}) *tensor = torch::randn({pick(random, 1, 6) * 16, 64}, torch::device("ahbm"));
    flat = torch::ones({256}, testing::one_pe());
    out = torch::empty_like(flat);
  }

  void act() {
    switch (pick(random, 0, 14)) {
      case 0:
        return testing::sleep(pick(random, 0, 5000));
      case 1:
        return torch::launch("busy", testing::busy, flat, out, static_cast<int>(pick(random, 1, 20)));
      case 2:
        return torch::launch("scalars", scalars, flat, out, static_cast<int>(pick(random, 1, 20)));
      case 3:
        c = torch::matmul(a, b.t());
        return;
      case 4:
        a = torch::relu(a) + 0.5f;
        return;
      case 5:
        b.copy_(torch::ones({b.size(0), 64}));
        return;
      case 6:
        a.cpu();
        return;
      case 7:
        c.sum().item<float>();
        return;
      case 8:
        return torch::ahbm::synchronize();
      case 9:
        return torch::ahbm::set_stream(torch::ahbm::Stream());
      case 10:
        return event.record();
      case 11:
        return event.block(torch::ahbm::Stream());
      case 12:
        return torch::ahbm::default_stream().wait_event(event);
      case 13: {
        const int last = torch::ahbm::device_count() - 1;
        b = b.to(torch::Device(torch::kAHBM, last)).to(torch::Device(torch::kAHBM, torch::ahbm::current_device()));
        return;
      }
      default:
        c = torch::zeros({pick(random, 1, 4) * 32, 64}, torch::device("ahbm"));
    }
  }

  Random& random;
  torch::Tensor a, b, c, flat, out;
  torch::ahbm::Event event;
};

struct Injected {};

struct Chaos {
  std::uint64_t seed;
  int devices, ranks;
  std::vector<int> failing;  // ranks
  bool nested, kernel_fails, outside;
};

Chaos chaos_of(std::uint64_t seed) {
  Random random(seed);
  Chaos chaos{seed, static_cast<int>(pick(random, 1, 2)), static_cast<int>(pick(random, 2, 4)), {}, false, false,
              false};
  chaos.failing.push_back(static_cast<int>(pick(random, 0, chaos.ranks - 1)));
  if (pick(random, 0, 3) == 0) chaos.failing.push_back((chaos.failing.front() + 1) % chaos.ranks);
  chaos.nested = pick(random, 0, 4) == 0;
  chaos.kernel_fails = pick(random, 0, 4) == 0;
  chaos.outside = pick(random, 0, 2) == 0;
  return chaos;
}

void chaotic_rank(const Chaos& chaos, int rank, std::uint64_t salt) {
  torch::ahbm::set_device(rank % chaos.devices);
  Random random(chaos.seed * 100 + salt + static_cast<std::uint64_t>(rank));
  torch::manual_seed(chaos.seed);
  Desk desk(random);
  const bool fails = std::ranges::find(chaos.failing, rank) != chaos.failing.end();
  for (std::int64_t actions = pick(random, 1, 30); actions > 0; --actions) desk.act();
  if (chaos.nested && rank == 0 && salt == 0) {
    mp::spawn([&](int inner) { chaotic_rank(chaos, inner, 50); }, {}, {.nprocs = 2, .join = false});
  }
  if (fails) {
    testing::sleep(pick(random, 0, 30'000));
    if (!chaos.kernel_fails) throw Injected{};
    torch::launch(
        "fails",
        [](tl::In x, tl::Tensor out) {
          tl::store(out, {0}, tl::load(x, {0}, {64}));
          throw Injected{};
        },
        desk.flat, desk.out);
  }
  // Waits for ever, or until it is unwound.
  if (fails || pick(random, 0, 1) == 0) sim::Completion().wait();
}

// ---- what is left --------------------------------------------------------------------------------------------------

std::string leftovers() {
  std::string found;
  auto& machine = simulation().machine();
  if (!machine.fabric().idle()) found += " fabric";
  if (machine.fabric().in_flight() > 0) found += " in-flight";
  const auto& topology = machine.topology();
  for (int sip = 0; sip < topology.system.sips; ++sip) {
    for (int cube = 0; cube < topology.sip.cubes.count(); ++cube) {
      for (int pe = 0; pe < topology.cube.pes.count(); ++pe) {
        auto& part = static_cast<hardware::Pe&>(machine.pe({SipId{sip}, CubeId{cube}, PeId{pe}}));
        for (const auto* engine : part.engines()) {
          if (!engine->empty()) found += " " + engine->wait_name();
        }
        if (!part.control().running().empty()) found += " " + part.control().wait_name();
        if (part.tcm().used() != Bytes(0)) found += " " + part.name() + ".tcm";
      }
    }
    for (std::size_t stream = 0; stream < simulation().stream_count(sip); ++stream) {
      if (simulation().stream(sip, stream).last() != nullptr) found += " " + simulation().stream(sip, stream).name();
    }
    if (torch::ahbm::memory_allocated(sip) != 0) found += " memory of sip" + std::to_string(sip);
  }
  return found;
}

// ---- what comes next

struct Outcome {
  std::vector<float> values;
  std::vector<Time> times;
  bool operator==(const Outcome&) const = default;
};

/// A correct program, from its start at a round time.
Outcome correct_program(int ranks) {
  // Clocks tick in nanoseconds: the start has the same phase in every run.
  sim::this_fiber::sleep_until(Time::nanoseconds((now().count() / 100'000'000 + 1) * 100'000));
  const Time start = now();
  Outcome outcome;
  mp::spawn(
      [&](int rank) {
        torch::ahbm::set_device(rank % torch::ahbm::device_count());
        torch::manual_seed(static_cast<std::uint64_t>(rank));
        auto a = torch::randn({64, 64}, torch::device("ahbm")), b = torch::randn({64, 64}, torch::device("ahbm"));
        auto c = torch::matmul(a, b) + a;
        auto x = torch::ones({256}, testing::one_pe()), y = torch::empty_like(x);
        torch::launch("busy", testing::busy, x, y, 2);
        outcome.values.push_back(c.sum().item<float>());
        outcome.times.push_back(now() - start);
        outcome.values.push_back(y[7].item<float>());
        outcome.times.push_back(now() - start);
      },
      {}, {.nprocs = ranks});
  outcome.times.push_back(now() - start);
  return outcome;
}

SimulateOptions machine_of(const Chaos& chaos) {
  auto options = testing::devices(chaos.devices + (chaos.outside ? 1 : 0));
  options.seed = chaos.seed;
  options.quick_plans = true;
  return options;
}

/// Returns the failure's text.
std::string run_chaos(const Chaos& chaos, Outcome& after) {
  std::string text;
  const auto result = simulate(machine_of(chaos), [&] {
    torch::Tensor x, y;
    if (chaos.outside) {
      torch::ahbm::set_device(chaos.devices);
      x = torch::ones({256}, testing::one_pe());
      y = torch::empty_like(x);
      torch::launch("outside", testing::busy, x, y, 40);
    }
    try {
      mp::spawn([&](int rank) { chaotic_rank(chaos, rank, 0); }, {}, {.nprocs = chaos.ranks});
      ADD_FAILURE() << "nothing failed";
    } catch (const mp::SpawnException& failure) {
      text = failure.what();
      EXPECT_FALSE(failure.errors.empty());
    }
    if (chaos.outside) {
      EXPECT_TRUE(y.cpu().defined());
      x = y = {};
    }
    EXPECT_EQ(leftovers(), "");
    after = correct_program(chaos.ranks);
    EXPECT_EQ(testing::ambiguous_orders(), 0u);
  });
  for (const auto& launch : result.launches) {
    if (launch.name == "outside#0") text += "\noutside took " + std::to_string((launch.end - launch.start).count());
  }
  return text;
}

class ChaosTest : public ::testing::TestWithParam<std::uint64_t> {};

TEST_P(ChaosTest, NothingIsLeftOfAFailure) {
  constexpr std::uint64_t kSeeds = 25;
  const auto run = static_cast<std::uint64_t>(number_of_cases(kSeeds, 3, 1));
  for (std::uint64_t seed = GetParam() * kSeeds; seed < GetParam() * kSeeds + run; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Chaos chaos = chaos_of(seed);
    Outcome after, fresh;
    const std::string text = run_chaos(chaos, after);
    simulate(machine_of(chaos), [&] { fresh = correct_program(chaos.ranks); });
    EXPECT_EQ(after.values, fresh.values);
    EXPECT_EQ(after.times, fresh.times);
    if (seed % 5 == 0) {
      Outcome again;
      EXPECT_EQ(run_chaos(chaos, again), text);
      EXPECT_EQ(again, after);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, ChaosTest, ::testing::Range<std::uint64_t>(0, kSanitized ? 4 : 9));

TEST(Chaos, WorkFromOutsideGoesOnAsThoughNothingHadHappened) {
  std::vector<Time> durations;
  for (const bool fails : {true, false}) {
    const auto result = simulate(testing::devices(3), [&] {
      torch::ahbm::set_device(2);
      auto x = torch::ones({256}, testing::one_pe()), y = torch::empty_like(x);
      torch::launch("outside", testing::busy, x, y, 40);
      if (fails) {
        EXPECT_THROW(mp::spawn(
                         [](int rank) {
                           torch::ahbm::set_device(rank);
                           auto a = torch::ones({256}, testing::one_pe()), b = torch::empty_like(a);
                           torch::launch("busy", testing::busy, a, b, 30);
                           if (rank == 1) throw Injected{};
                           b.cpu();
                         },
                         {}, {.nprocs = 2}),
                     mp::SpawnException);
      }
    });
    for (const auto& launch : result.launches) {
      if (launch.name == "outside#0") durations.push_back(launch.end - launch.start);
    }
  }
  ASSERT_EQ(durations.size(), 2u);
  EXPECT_EQ(durations[0], durations[1]);
}

}  // namespace
}  // namespace kernbench
