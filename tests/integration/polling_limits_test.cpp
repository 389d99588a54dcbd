// Polling that ends by itself is no livelock, however it polls; polling for ever is found, also on a whole SIP.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "programs.h"
#include "support/all_cases.h"

namespace kernbench {
namespace {

using ::testing::HasSubstr;
using testing::one_pe;
using testing::tiny;

/// Polls so many times through one of the four ways, and then makes the kernel end that it waited for.
using Poll = std::function<void(std::int64_t tries)>;

/// Rank 1 sends what rank 0 asks for only when rank 0 has given up asking.
void ask_in_ranks(const std::function<void(torch::distributed::Work&)>& asks) {
  namespace dist = torch::distributed;
  torch::multiprocessing::spawn(
      [&](int rank) {
        torch::ahbm::set_device(rank);
        dist::init_process_group("ahbm", rank, 2);
        const auto x = torch::zeros({4}, one_pe()), go = torch::zeros({4}, one_pe());
        if (rank == 0) {
          const auto work = dist::irecv(x, 1);
          asks(*work);
          dist::send(go, 1);
          work->wait();
        } else {
          dist::recv(go, 0);
          torch::ahbm::synchronize();
          dist::send(x, 0);
        }
      },
      {}, {.nprocs = 2});
}

void look(tl::Tensor seen, std::int64_t tries) {
  std::int64_t value = 0;
  for (std::int64_t i = 0; i < tries; ++i) value += tl::signal_value(0);
  tl::store(seen, {0}, tl::full({1}, static_cast<std::int32_t>(value), DType::i32));
}

const std::map<std::string, Poll>& ways() {
  static const std::map<std::string, Poll> all{
      {"Work::is_completed",
       [](std::int64_t tries) {
         ask_in_ranks([tries](torch::distributed::Work& work) {
           for (std::int64_t i = 0; i < tries && !work.is_completed(); ++i) {
           }
         });
       }},
      {"Event::query",
       [](std::int64_t tries) {
         ask_in_ranks([tries](torch::distributed::Work& work) {
           const torch::ahbm::Stream other;
           const torch::ahbm::StreamGuard guard(other);
           work.wait();  // a stream's wait
           torch::ahbm::Event event;
           event.record();
           for (std::int64_t i = 0; i < tries && !event.query(); ++i) {
           }
         });
       }},
      {"item",
       [](std::int64_t tries) {
         const auto flag = torch::zeros({1}, one_pe(DType::i32));
         for (std::int64_t i = 0; i < tries && flag.item<int>() == 0; ++i) {
         }
       }},
      {"signal_value",
       [](std::int64_t tries) {
         const auto seen = torch::zeros({1}, one_pe(DType::i32));
         torch::LaunchOptions options;
         options.queues.window = WindowOptions{.signals = 1};
         torch::launch(options, "look", look, seen, tries);
         torch::ahbm::synchronize();
       }},
  };
  return all;
}

TEST(PollingLimits, AsManyTriesAsTheLimitAllowsAreNoLivelockAndOneMoreIsNamedWithTheOption) {
  for (const auto& [name, poll] : ways()) {
    SCOPED_TRACE(name);
    SimulateOptions options = tiny({"system.sips.count=2"});
    options.max_polls = 3'000;
    const RunResult fine = try_simulate(options, [&, repeat = poll] { repeat(2'900); });
    EXPECT_EQ(fine.error ? fine.error->message : "", "");
    const RunResult livelock = try_simulate(options, [&, repeat = poll] { repeat(10'000); });
    ASSERT_TRUE(livelock.error);
    EXPECT_EQ(livelock.error->type, "LivelockError");
    EXPECT_THAT(livelock.error->message, HasSubstr("after 3001 polls in vain (of one fiber)"));
    EXPECT_THAT(livelock.error->message, HasSubstr("--max-polls"));
    EXPECT_THAT(livelock.error->message, HasSubstr("SimulateOptions::max_polls"));
  }
}

TEST(PollingLimits, AMillionTriesAreNone) {
  NOT_UNDER_SANITIZERS("millions of polls");
  std::size_t turn = 0;
  for (const auto& [name, poll] : ways()) {
    if (turn++ % one_case_in(5, 1) != 0) continue;
    SCOPED_TRACE(name);
    const RunResult result = try_simulate(tiny({"system.sips.count=2"}), [repeat = poll] { repeat(1'000'000); });
    EXPECT_EQ(result.error ? result.error->message : "", "");
  }
}

void poll_one_word(tl::In flag) {
  while (tl::item<float>(tl::load(flag, {0}, {1})) == 0) {
  }
}

// All PEs read the same element: the servers on the way to it never rest.
TEST(PollingLimits, AKernelThatPollsOneElementForEverOnAllPesIsFound) {
  NOT_UNDER_SANITIZERS("a million events");
  SimulateOptions options = tiny();
  options.topology = "ahbm-1sip";
  options.overrides.clear();
  options.max_polls = 500;
  for (const bool exact : {false, true}) {
    if (exact && !takes_all_cases()) continue;
    options.exact_events = exact;
    const RunResult result = try_simulate(options, [] {
      const auto flag = torch::zeros({128 * 64}, torch::device("ahbm"));
      torch::launch("spin", poll_one_word, flag);
      torch::ahbm::synchronize();
    });
    ASSERT_TRUE(result.error);
    EXPECT_EQ(result.error->type, "LivelockError");
    EXPECT_THAT(result.error->message, HasSubstr("of 128 fibers, 5"));
  }
}

// The lock that the first program of each PE wants is set by the last one of the grid.
void wait_for_the_last(tl::Tensor flag) {
  if (tl::program_id() + 1 == tl::num_programs()) {
    tl::atomic_xchg(flag.data_ptr(), 1);
  } else {
    while (tl::item<int>(tl::atomic_cas(flag.data_ptr(), 1, 1)) == 0) {
    }
  }
}

TEST(PollingLimits, AProgramThatPollsForOneThatHasNotBegunIsToldOfThoseBehindIt) {
  SimulateOptions options = tiny();
  options.max_polls = 500;
  const auto error_of_grid = [&](std::int64_t programs) {
    const RunResult result = try_simulate(options, [programs] {
      const auto flag = torch::zeros({1}, one_pe(DType::i32));
      torch::LaunchOptions launch;
      launch.grid = {programs};
      torch::launch(launch, "spin", wait_for_the_last, flag);
      torch::ahbm::synchronize();
    });
    return result.error ? result.error->type + ": " + result.error->message : "";
  };
  EXPECT_EQ(error_of_grid(2), "") << "a program on each of the two PEs";
  const std::string five = error_of_grid(5);
  EXPECT_THAT(five, HasSubstr("LivelockError: "));
  EXPECT_THAT(five, HasSubstr("sip0.cube0.pe0 spin#0 "));
  EXPECT_THAT(five, HasSubstr("; it has 2 programs of its grid behind it, which begin on this PE when it has ended"));
  EXPECT_THAT(five, HasSubstr("; it has a program of its grid behind it, which begins on this PE when it has ended"));
}

void poll_two_words(tl::In flags) {
  while (tl::item<float>(tl::load(flags, {0}, {1})) == 0 && tl::item<float>(tl::load(flags, {1}, {1})) == 0) {
  }
}

TEST(PollingLimits, PollingOfSeveralWordsInTurnIsFound) {
  SimulateOptions options = tiny();
  options.max_polls = 500;
  const RunResult result = try_simulate(options, [] {
    const auto flags = torch::zeros({2}, one_pe());
    torch::launch("spin", poll_two_words, flags);
    torch::ahbm::synchronize();
  });
  ASSERT_TRUE(result.error);
  EXPECT_EQ(result.error->type, "LivelockError");
}

// 127 PEs poll for ever; the other one gives up after more tries than each of them would be allowed without it.
void one_gives_up(tl::Tensor flag, std::int64_t tries) {
  if (tl::program_id(0) != 77) {
    while (tl::item<float>(tl::load(flag, {0}, {1})) == 0) {
    }
    return;
  }
  for (std::int64_t i = 0; i < tries; ++i) tl::item<float>(tl::load(flag, {0}, {1}));
  tl::store(flag, {0}, tl::full({1}, 1.0f, DType::f32));
}

TEST(PollingLimits, OneFiberOfManyThatEndsItsPollingBelowTheLimitIsNotReported) {
  NOT_UNDER_SANITIZERS("a million events");
  SimulateOptions options = tiny();
  options.topology = "ahbm-1sip";
  options.overrides.clear();
  options.max_polls = 400;
  for (const std::int64_t tries : {390, 2'000}) {
    const RunResult result = try_simulate(options, [&] {
      const auto flag = torch::zeros({128 * 64}, torch::device("ahbm"));
      torch::launch("gives_up", one_gives_up, flag, tries);
      torch::ahbm::synchronize();
    });
    EXPECT_EQ(result.error ? result.error->type : "none", tries == 390 ? "none" : "LivelockError");
  }
}

// A copy from the host that takes longer than the polls last is under way all the time.
void spin_until_set(tl::In flag) {
  while (tl::item<float>(tl::load(flag, {0}, {1})) == 0) {
  }
}

TEST(PollingLimits, ACopyThatIsUnderWayIsWaitedFor) {
  SimulateOptions options = tiny();
  options.max_polls = 100;
  const RunResult result = try_simulate(options, [] {
    auto flag = torch::zeros({4 << 20}, one_pe());
    torch::ahbm::synchronize();
    torch::launch("spin", spin_until_set, flag);
    const torch::ahbm::Stream other;
    const torch::ahbm::StreamGuard guard(other);
    flag.copy_(torch::ones({4 << 20}));
  });
  EXPECT_EQ(result.error ? result.error->message : "", "");
}

}  // namespace
}  // namespace kernbench
