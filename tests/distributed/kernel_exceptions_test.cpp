// Exceptions of a user's own that escape kernels: whose they are, what they say, and that they stay what they are.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <new>
#include <stdexcept>
#include <string>
#include <vector>

#include "spawning.h"

namespace kernbench {

/// In a namespace with a name, for its own name is part of what is said.
struct MyError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

namespace {

namespace mp = torch::multiprocessing;
using testing::devices;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::now;
using testing::one_pe;

int line_of_last_call = 0;

/// Throws on the PE with this id.
void throws(tl::Tensor x, int kind, std::int64_t id) {
  // clang-format off
  tl::load(x, {0}, {1});
  line_of_last_call = __LINE__; const auto mine = tl::program_id(0);
  // clang-format on
  if (mine != id) return;
  if (kind == 0) throw MyError("my message");
  if (kind == 1) throw 42;
  if (kind == 2) throw std::vector<int>().at(3);
  if (kind == 3) throw std::bad_alloc();
  if (kind == 4) throw "a text";
  // clang-format off
  if (kind == 5) { line_of_last_call = __LINE__; torch::ahbm::synchronize(); }
  // clang-format on
}

torch::Tensor on_two_pes() {
  return torch::zeros({8}, torch::dtype(DType::f32).device("ahbm").placement({.num_cubes = 1, .num_pes = 2}));
}

TEST(KernelExceptions, NameKernelPeProgramLastLineAndCxxType) {
  const std::vector<std::string> types{"kernbench::MyError", "int",         "std::out_of_range",
                                       "std::bad_alloc",     "const char*", "ContextError"};
  for (int kind = 0; kind < 6; ++kind) {
    for (const bool in_rank : {false, true}) {
      const auto program = [kind](int) {
        torch::launch("wrong", throws, on_two_pes(), kind, 1);
        torch::ahbm::synchronize();
      };
      std::string type, message, where;
      const RunResult result = try_simulate(devices(1), [&] {
        if (!in_rank) program(0);
        try {
          mp::spawn(program);
        } catch (const mp::SpawnException& failure) {
          type = failure.errors[0].type;
          message = failure.errors[0].message;
          where = failure.errors[0].where;
        }
      });
      if (!in_rank) {
        ASSERT_TRUE(result.error);
        type = result.error->type;
        message = result.error->message;
        where = result.error->where;
      }
      EXPECT_EQ(type, types[static_cast<std::size_t>(kind)]);
      EXPECT_EQ(where, std::string("kernel wrong#") + (in_rank ? "0.0" : "0") +
                           " on sip0.cube0.pe1 (program 1), at or after kernel_exceptions_test.cpp:" +
                           std::to_string(line_of_last_call));
      if (kind == 0) {
        EXPECT_EQ(message, "my message");
      }
      if (kind == 1) {
        EXPECT_EQ(message, "42 was thrown, which is not a std::exception");
      }
      if (kind == 4) {
        EXPECT_EQ(message, "\"a text\" was thrown, which is not a std::exception");
      }
    }
  }
}

TEST(KernelExceptions, ReachTheMainProgramAtItsNextWaitAsWhatTheyAreAndItGoesOn) {
  simulate(devices(1), [] {
    auto x = on_two_pes();
    torch::launch("wrong", throws, x, 0, 1);
    int caught = 0;
    try {
      torch::ahbm::synchronize();
      ADD_FAILURE();
    } catch (const MyError& error) {
      EXPECT_STREQ(error.what(), "my message");
      ++caught;
    }
    const Time failed = now();
    EXPECT_GT(failed, Time::zero());
    torch::launch("wrong", throws, x, 1, 0);
    try {
      x[0].item<float>();
      ADD_FAILURE();
    } catch (int value) {
      EXPECT_EQ(value, 42);
      ++caught;
    }
    torch::launch("right", throws, x, 0, 99);
    x.fill_(5);
    EXPECT_EQ(x[7].item<float>(), 5) << "the stream goes on behind a launch that has failed";
    EXPECT_EQ(caught, 2);
  });
}

TEST(KernelExceptions, OfOneLaunchReachTheProgramOnceAndTheOtherProgramsAreTakenBack) {
  int caught = 0;
  const RunResult result = simulate(devices(1), [&] {
    const auto x = on_two_pes();
    torch::launch(
        "both",
        [](tl::Tensor) {
          if (tl::program_id(0) == 0) throw MyError("of the first");
          tl::delay(1'000'000);
          throw MyError("of the second");
        },
        x);
    for (int i = 0; i < 3; ++i) {
      try {
        torch::ahbm::synchronize();
      } catch (const MyError& error) {
        EXPECT_STREQ(error.what(), "of the first");
        ++caught;
      }
    }
    EXPECT_LT(now(), Time::nanoseconds(500'000));
  });
  EXPECT_EQ(caught, 1);
}

TEST(KernelExceptions, ThatTheProgramNeverWaitsForAreTheResultOfTheRun) {
  const RunResult result = try_simulate(devices(1), [] { torch::launch("wrong", throws, on_two_pes(), 0, 0); });
  ASSERT_TRUE(result.error);
  EXPECT_EQ(result.error->type, "kernbench::MyError");
  EXPECT_THAT(result.error->where, HasSubstr("kernel wrong#0 on sip0.cube0.pe0 (program 0)"));
}

TEST(KernelExceptions, CaughtAndThrownAgainKeepTheirPlace) {
  const RunResult result = try_simulate(devices(1), [] {
    torch::launch("wrong", throws, on_two_pes(), 0, 0);
    try {
      torch::ahbm::synchronize();
    } catch (const MyError&) {
      torch::ahbm::synchronize();
      throw;
    }
  });
  ASSERT_TRUE(result.error);
  EXPECT_THAT(result.error->where, HasSubstr("kernel wrong#0 on sip0.cube0.pe0 (program 0)"));
}

TEST(KernelExceptions, WhileTheProgramUnwindsWaitForAWaitAfterwards) {
  simulate(devices(1), [] {
    struct Last {
      ~Last() {
        torch::launch("wrong", throws, on_two_pes(), 0, 0);
        torch::ahbm::synchronize();
      }
    };
    bool caught = false;
    try {
      const Last last;
      throw ValueError("the program's own");
    } catch (const ValueError&) {
      try {
        torch::ahbm::synchronize();
        testing::sleep(1);
      } catch (const MyError&) {
        caught = true;
      }
    }
    EXPECT_TRUE(caught);
  });
}

TEST(KernelExceptions, FailTheSpawnAlsoWhenTheRanksHaveReturned) {
  simulate(devices(2), [] {
    try {
      mp::spawn(
          [](int rank) {
            torch::ahbm::set_device(rank);
            torch::launch("wrong", throws, on_two_pes(), rank == 1 ? 0 : 6, 0);
          },
          {}, {.nprocs = 2});
      ADD_FAILURE();
    } catch (const mp::SpawnException& failure) {
      EXPECT_EQ(failure.errors.size(), 1u);
      EXPECT_EQ(failure.errors[0].rank, 1);
      EXPECT_EQ(failure.errors[0].type, "kernbench::MyError");
      EXPECT_THAT(failure.errors[0].where, HasSubstr("kernel wrong#1.0 on sip1.cube0.pe0 (program 0)"));
      EXPECT_THROW(std::rethrow_exception(failure.errors[0].error), MyError);
    }
  });
}

TEST(KernelExceptions, ASpawnLastsAsLongAsTheKernelsOfItsRanks) {
  simulate(devices(1), [] {
    const auto x = on_two_pes();
    torch::ahbm::synchronize();
    mp::spawn([&](int) { torch::launch("long", [](tl::Tensor) { tl::delay(100'000); }, x); });
    EXPECT_GT(now(), Time::nanoseconds(100'000));
    const auto context = mp::spawn([&](int) { torch::launch("long", [](tl::Tensor) { tl::delay(100'000); }, x); }, {},
                                   {.nprocs = 1, .join = false});
    const Time begin = now();
    int asked = 0;
    while (!context.join(10e-6)) ++asked;
    EXPECT_GE(asked, 10);
    EXPECT_GT(now() - begin, Time::nanoseconds(100'000));
  });
}

}  // namespace
}  // namespace kernbench
