// Waits in destructors: while an exception of the program's own unwinds they wait, on a cancelled rank they do not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "kernbench/distributed.h"
#include "spawning.h"

namespace kernbench {
namespace {

namespace dist = torch::distributed;
namespace mp = torch::multiprocessing;
using testing::devices;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::now;
using testing::one_pe;
using testing::sleep;

struct AtEnd {
  std::function<void()> action;
  ~AtEnd() { action(); }
};

SimulateOptions machine(const std::string& topology) {
  SimulateOptions options;
  options.topology = topology;
  options.threads = 1;
  return options;
}

/// Every way to look at what the device computes, on a tensor of sevens that a kernel has just been asked for.
void expect_right_values() {
  const auto x = torch::full({64}, 3, one_pe());
  auto y = torch::empty_like(x);
  torch::launch("busy", testing::busy, x, y, 1);
  torch::ahbm::Event event;
  event.record();
  EXPECT_FALSE(event.query());
  event.synchronize();
  EXPECT_TRUE(event.query());
  y = x + 4;
  EXPECT_EQ(y[5].item<float>(), 7);
  EXPECT_TRUE(torch::equal(y.cpu(), torch::full({64}, 7.0f)));
  EXPECT_TRUE(torch::equal(y, torch::full({64}, 7, one_pe())));
  EXPECT_TRUE(torch::allclose(y, torch::full({64}, 7, one_pe())));
  auto host = torch::zeros({64}, DType::f32);
  host.copy_(y);
  EXPECT_EQ(host[63].item<float>(), 7);
  const Time before = now();
  torch::launch("busy", testing::busy, x, y, 1);
  torch::ahbm::synchronize();
  EXPECT_GT(now() - before, Time::nanoseconds(3'000)) << "the work of the kernel, not only its launch";
}

TEST(Destructors, TheMainProgramsExceptionsDoNotChangeWhatItReads) {
  for (const char* topology : {"tiny", "ahbm-2sip"}) {
    bool done = false;
    simulate(machine(topology), [&] {
      try {
        const AtEnd guard{[&] {
          expect_right_values();
          done = true;
        }};
        throw 1;
      } catch (int) {
        expect_right_values();
      }
    });
    EXPECT_TRUE(done);
  }
}

TEST(Destructors, TwoRanksThatUnwindAtOnceReadRightValuesAndMeetInCollectives) {
  simulate(machine("ahbm-2sip"), [] {
    std::vector<std::string> caught(2);
    mp::spawn(
        [&](int rank) {
          torch::ahbm::set_device(rank);
          dist::init_process_group("ahbm", rank, 2);
          try {
            const AtEnd guard{[&] {
              expect_right_values();
              auto x = torch::full({64}, rank + 1, one_pe());
              const auto work = dist::all_reduce(x, dist::ReduceOp::SUM, {}, true);
              work->wait();
              EXPECT_EQ(x[63].item<float>(), 3);
              try {
                const AtEnd inner{[&] { EXPECT_EQ(x[1].item<float>(), 3); }};
                throw ValueError("inner of " + std::to_string(rank));
              } catch (const ValueError& error) {
                dist::barrier();
                EXPECT_EQ(error.what(), "inner of " + std::to_string(rank));
                EXPECT_EQ(x[2].item<float>(), 3);
              }
            }};
            if (rank == 1) sleep(10);
            throw std::out_of_range("of " + std::to_string(rank));
          } catch (const std::out_of_range& error) {
            caught[static_cast<std::size_t>(rank)] = error.what();
          }
        },
        {}, {.nprocs = 2});
    EXPECT_THAT(caught, ElementsAre("of 0", "of 1"));
  });
}

TEST(Destructors, ASpawnWithinOneRunsToItsEnd) {
  simulate(devices(2), [] {
    int ended = 0;
    try {
      const AtEnd guard{[&] {
        mp::spawn(
            [&](int rank) {
              try {
                const AtEnd inner{[&] {
                  mp::spawn(
                      [&](int) {
                        sleep(100 + rank);
                        expect_right_values();
                        ++ended;
                      },
                      {}, {.nprocs = 2});
                }};
                throw rank;
              } catch (int thrown) {
                EXPECT_EQ(thrown, rank);
              }
            },
            {}, {.nprocs = 2});
        EXPECT_EQ(ended, 4);
        EXPECT_THROW(mp::spawn([](int) { throw ValueError("nested"); }), mp::SpawnException);
      }};
      throw ValueError("outer");
    } catch (const ValueError& error) {
      EXPECT_STREQ(error.what(), "outer");
    }
  });
}

TEST(Destructors, ARankThatThrewBeforeItWasCancelledIsACauseAndNoVictim) {
  simulate(devices(3), [] {
    sim::Completion never;
    never.describe_as([] { return "what never comes"; });
    std::vector<Time> ends(3);
    try {
      mp::spawn(
          [&](int rank) {
            const AtEnd guard{[&] {
              if (rank == 0) never.wait();
              ends[static_cast<std::size_t>(rank)] = now();
            }};
            if (rank == 0) throw ValueError("the first");
            sleep(1000);
            if (rank == 1) throw ValueError("the second");
            never.wait();
          },
          {}, {.nprocs = 3});
      ADD_FAILURE();
    } catch (const mp::SpawnException& failure) {
      ASSERT_EQ(failure.errors.size(), 2u);
      EXPECT_EQ(failure.errors[0].message, "the first");
      EXPECT_EQ(failure.errors[1].message, "the second");
      EXPECT_THAT(failure.victims, ElementsAre(2));
      EXPECT_THAT(failure.what(), HasSubstr("Unwound because of them: rank 2 (waits for what never comes)"));
    }
    EXPECT_THAT(ends, ElementsAre(Time::nanoseconds(1000), Time::nanoseconds(1000), Time::nanoseconds(1000)));
  });
}

TEST(Destructors, AKernelsOwnExceptionLetsItsDestructorsFinishTheirWork) {
  const auto kernel = [](tl::Tensor x) {
    try {
      const AtEnd guard{[&] {
        const auto seen = tl::load(x, {0}, {1});
        tl::store(x, {1}, seen + tl::item<float>(seen));
      }};
      throw 1;
    } catch (int) {
    }
  };
  simulate(devices(1), [&] {
    const auto x = torch::full({2}, 21, one_pe());
    torch::launch("guarded", kernel, x);
    EXPECT_EQ(x[1].item<float>(), 42);
  });
}

}  // namespace
}  // namespace kernbench
