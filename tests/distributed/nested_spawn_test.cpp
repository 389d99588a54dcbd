// What can go wrong while ranks are started: copies that throw, spawns without an end, a simulation inside of another.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "spawning.h"
#include "support/sanitizers.h"

namespace kernbench {
namespace {

namespace mp = torch::multiprocessing;
using testing::devices;
using ::testing::HasSubstr;
using testing::sleep;

/// An argument of which chosen copies, counted over all of them, throw.
class Copied {
 public:
  struct Log {
    std::function<bool(int copy)> throws;
    int copies = 0;
    int thrown = 0;
  };
  explicit Copied(Log& log) : log_(&log) {}
  Copied(const Copied& other) : log_(other.log_) {
    const int copy = ++log_->copies;
    if (!log_->throws(copy)) return;
    ++log_->thrown;
    throw std::domain_error("copy " + std::to_string(copy));
  }
  Copied(Copied&&) noexcept = default;
  Copied& operator=(const Copied&) = delete;
  ~Copied() = default;

 private:
  Log* log_;
};

/// What comes of four ranks that get such an argument: the error of the call itself, or those of the ranks.
std::string outcome(Copied::Log& log) {
  std::string text = "fine";
  const RunResult result = try_simulate(devices(4), [&] {
    try {
      mp::spawn([](int, const Copied&) { sleep(10); }, std::tuple<Copied>(Copied(log)), {.nprocs = 4});
    } catch (const mp::SpawnException& failure) {
      text = "ranks";
      for (const auto& error : failure.errors) {
        text += " " + std::to_string(error.rank);
        EXPECT_EQ(error.type, "std::domain_error");
      }
    } catch (const std::domain_error&) {
      text = "call";
    }
  });
  return result.error ? result.error->type + ": " + result.error->message : text;
}

TEST(Spawning, ACopyOfAnArgumentThatThrowsIsTheErrorOfItsRankWhicheverItIs) {
  Copied::Log none{[](int) { return false; }};
  ASSERT_EQ(outcome(none), "fine");
  std::set<std::string> seen;
  for (int only = 1; only <= none.copies; ++only) {
    Copied::Log one{[only](int copy) { return copy == only; }};
    const std::string text = outcome(one);
    EXPECT_TRUE(text == "call" || text.starts_with("ranks ")) << "copy " << only << ": " << text;
    seen.insert(text);
    Copied::Log all_later{[only](int copy) { return copy >= only; }};
    const std::string later = outcome(all_later);
    EXPECT_TRUE(later == "call" || later.starts_with("ranks ")) << "copies from " << only << ": " << later;
  }
  for (const char* rank : {"ranks 0", "ranks 1", "ranks 2", "ranks 3"}) EXPECT_EQ(seen.count(rank), 1u) << rank;
}

void spawn_again(int depth, int deepest, int& reached) {
  reached = depth;
  if (depth < deepest) mp::spawn([=, &reached](int) { spawn_again(depth + 1, deepest, reached); });
}

TEST(Spawning, NestsToTheLimit) {
  int reached = 0;
  simulate(devices(1), [&] { spawn_again(0, mp::kMostNestedSpawns, reached); });
  EXPECT_EQ(reached, mp::kMostNestedSpawns);
}

TEST(Spawning, WithoutAnEndIsAnErrorInWords) {
  int reached = 0;
  const RunResult result = try_simulate(devices(1), [&] { spawn_again(0, 1'000'000, reached); });
  EXPECT_EQ(reached, mp::kMostNestedSpawns);
  ASSERT_TRUE(result.error);
  EXPECT_THAT(result.error->message,
              HasSubstr("NestingError at 0 ps: torch::multiprocessing::spawn was called by a rank that is 1000 spawns "
                        "deep, which is the limit: does each rank spawn others without an end?"));
}

TEST(Spawning, WithoutAnEndIsSaidInAFewLines) {
  int reached = 0;
  const RunResult result = try_simulate(devices(1), [&] { spawn_again(0, 1'000'000, reached); });
  ASSERT_TRUE(result.error);
  EXPECT_LE(std::ranges::count(result.error->message, '\n'), 20) << result.error->message;
  EXPECT_THAT(result.error->message,
              HasSubstr("SpawnException at 0 ps: after 997 more nested spawns:\n\n-- Process 0 "));
}

TEST(Spawning, OfFewLevelsTellsThemAll) {
  const RunResult result = try_simulate(devices(1), [] {
    mp::spawn([](int) { mp::spawn([](int) { mp::spawn([](int) { throw ValueError("deep down"); }); }); });
  });
  ASSERT_TRUE(result.error);
  EXPECT_THAT(result.error->message, Not(HasSubstr("more nested")));
  EXPECT_THAT(result.error->message, HasSubstr("ValueError at 0 ps: deep down"));
}

TEST(Spawning, WithinAnotherThatFailsAtTheSameInstantEndsWithIt) {
  const RunResult result = try_simulate(devices(1), [] {
    mp::spawn(
        [](int rank) {
          if (rank == 0) throw ValueError("outer");
          mp::spawn([](int) { throw ValueError("inner"); });
        },
        {}, {.nprocs = 2});
  });
  ASSERT_TRUE(result.error);
  EXPECT_EQ(result.error->type, "SpawnException") << result.error->message;
  EXPECT_THAT(result.error->message, HasSubstr("ValueError at 0 ps: outer"));
}

#if !KERNBENCH_ADDRESS_SANITIZER && !KERNBENCH_THREAD_SANITIZER
TEST(Spawning, WithoutMemoryForAllStacksIsAnErrorOfThoseRanks) {
  auto options = devices(1);
  options.stack_size = Bytes(std::int64_t{1} << 30);
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_AS, &before), 0);
  const RunResult result = try_simulate(options, [&] {
    std::int64_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    const rlimit scarce{static_cast<rlim_t>(pages) * 4096 + (rlim_t{8} << 30), before.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_AS, &scarce), 0);
    mp::spawn([](int) { sleep(10); }, {}, {.nprocs = 40});
  });
  ::setrlimit(RLIMIT_AS, &before);
  ASSERT_TRUE(result.error);
  EXPECT_EQ(result.error->type, "SpawnException") << result.error->message;
  EXPECT_THAT(result.error->message,
              HasSubstr("OutOfMemoryError at 0 ps: no address space for 16 fiber stacks of 1 GiB"));
}
#endif

void spawn_pairs(int deepest) {
  mp::spawn(
      [=](int) {
        if (deepest > 0) spawn_pairs(deepest - 1);
      },
      {}, {.nprocs = 2});
}

TEST(Spawning, InPairsWithoutAnEndIsAnErrorInWordsToo) {
  NOT_UNDER_SANITIZERS("16,384 ranks");
  const RunResult result = try_simulate(devices(1), [] { spawn_pairs(1'000'000); });
  ASSERT_TRUE(result.error);
  EXPECT_EQ(result.error->type, "SpawnException") << result.error->message;
  EXPECT_THAT(
      result.error->message,
      HasSubstr("NestingError at 0 ps: torch::multiprocessing::spawn of 2 ranks was called by a rank that is 3 spawns "
                "deep, when 16383 ranks are alive; nested spawns may have 16384: does each rank spawn others without "
                "an end?"));
  EXPECT_LE(std::ranges::count(result.error->message, '\n'), 40) << result.error->message;
}

TEST(Spawning, DeepRanksHaveShortNamesThatTellThemApart) {
  std::set<std::string> names;
  std::size_t longest = 0;
  const std::function<void(int)> nest = [&](int depth) {
    const std::string name = sim::this_fiber::current()->name();
    EXPECT_TRUE(names.insert(name).second) << name;
    longest = std::max(longest, name.size());
    if (depth < 200) mp::spawn([&, depth](int rank) { rank == 0 ? nest(depth + 1) : nest(200); }, {}, {.nprocs = 2});
  };
  simulate(devices(1), [&] { nest(0); });
  EXPECT_GT(names.size(), 200u);
  EXPECT_LT(longest, 100u);
}

TEST(Spawning, ASimulationInsideOfAnotherIsAnErrorInWords) {
  const RunResult result = try_simulate(devices(1), [] {
    const RunResult inner = try_simulate(devices(1), [] {});
    ASSERT_TRUE(inner.error);
    EXPECT_EQ(inner.error->type, "ContextError");
    simulate(devices(1), [] {});
  });
  ASSERT_TRUE(result.error);
  EXPECT_EQ(result.error->type, "ContextError");
  EXPECT_THAT(result.error->message, HasSubstr("kernbench::simulate was called inside of a simulation"));
}

int recurse(int depth) {
  volatile char room[1024] = {};
  return depth == 0 ? room[0] : recurse(depth - 1) + room[1];
}

TEST(Spawning, StacksAreAsLargeAsAsked) {
  const auto deep = [](int) {
    recurse(3'000);
    const auto x = torch::zeros({4}, testing::one_pe());
    torch::launch("deep", [](tl::Tensor) { recurse(3'000); }, x);
    torch::ahbm::synchronize();
  };
  auto options = devices(1);
  options.stack_size = Bytes(16 << 20);
  const RunResult fine = try_simulate(options, [&] { mp::spawn(deep); });
  EXPECT_EQ(fine.error ? fine.error->message : "", "");
  options.stack_size = Bytes(-1);
  EXPECT_THROW(simulate(options, [] {}), ValueError);
}

}  // namespace
}  // namespace kernbench
