// What a program puts is what another one finds, when it has been signalled or after a barrier.
#include <gtest/gtest.h>

#include <vector>

#include "support.h"

namespace kernbench::queues_test {
namespace {

constexpr BufferKind kKinds[] = {BufferKind::tcm, BufferKind::hbm, BufferKind::sram};

torch::Tensor rows_of(std::int64_t rows, std::int64_t columns) {
  return torch::zeros({rows, columns}, torch::dtype(DType::i32).device("ahbm"));
}

/// Every member puts a row into the window of the one after it, signals it, and stores what has come.
void pass_on(tl::Tensor out, std::int64_t width) {
  const std::int64_t self = tl::member_index();
  tl::put_signal(tl::window(tl::ring_next(), 64), tl::arange(0, width) + 100 * self, 0, 7);
  EXPECT_EQ(tl::wait_until(0, tl::Comparison::eq, 7), 7);
  const tl::Tile got = tl::get(tl::window(tl::self(), 64), DType::i32, {1, width});
  tl::store(out, {self, 0}, got);
}

TEST(Windows, APutIsThereWhenItsSignalIs) {
  for (const BufferKind kind : kKinds) {
    for (const Backpressure waiting : {Backpressure::sleep, Backpressure::poll}) {
      simulate(mesh(3, 1), [&] {
        const torch::Tensor out = rows_of(3, 700);
        auto options = with_window(3, 8192, 1, kind);
        options.queues.parameters.backpressure = waiting;
        torch::launch(options, "pass", pass_on, out, std::int64_t{700});
        const torch::Tensor host = out.cpu();
        for (int row = 0; row < 3; ++row) {
          for (const int i : {0, 1, 350, 699}) EXPECT_EQ(host[row][i].item<std::int32_t>(), i + 100 * ((row + 2) % 3));
        }
      });
    }
  }
}

TEST(Windows, AGetReadsWhatAnotherOneHasPutThere) {
  for (const BufferKind kind : kKinds) {
    simulate(mesh(2, 2), [&] {
      const torch::Tensor out = rows_of(4, 16);
      torch::launch(
          with_window(4, 1024, 0, kind), "get",
          [](tl::Tensor t) {
            const std::int64_t self = tl::member_index();
            tl::put(tl::window(tl::self()), tl::arange(0, 16) * (self + 1));
            tl::barrier();
            const auto got = tl::get(tl::window(tl::member((self + 2) % 4)), DType::i32, {1, 16});
            tl::store(t, {self, 0}, got * 2);
          },
          out);
      const torch::Tensor host = out.cpu();
      for (int row = 0; row < 4; ++row) EXPECT_EQ(host[row][15].item<std::int32_t>(), 30 * ((row + 2) % 4 + 1));
    });
  }
}

// The small signal would overtake the large put.
TEST(Windows, AFenceKeepsASignalBehindThePutsBeforeIt) {
  simulate(mesh(2, 1), [] {
    const torch::Tensor out = rows_of(1, 2048);
    torch::launch(
        with_window(2, 65536, 1, BufferKind::hbm), "fence",
        [](tl::Tensor t) {
          if (tl::member_index() == 0) {
            for (std::int64_t part = 0; part < 8; ++part) {
              tl::put(tl::window(tl::member(1), part * 1024), tl::full({256}, part, DType::i32));
            }
            tl::fence();
            tl::signal(tl::member(1), 0, 5);
            return;
          }
          tl::wait_until(0, tl::Comparison::ge, 5);
          tl::store(t, {0, 0}, tl::get(tl::window(tl::self()), DType::i32, {1, 2048}));
        },
        out);
    const torch::Tensor host = out.cpu();
    for (int part = 0; part < 8; ++part) EXPECT_EQ(host[0][part * 256 + 255].item<std::int32_t>(), part);
  });
}

// The last of the stores are under way for long when the signal is given.
TEST(Windows, StoresToTensorsComeBeforeASignalAndBeforeABarrier) {
  for (const bool by_signal : {false, true}) {
    simulate(mesh(2, 2), [&] {
      const torch::Tensor in = rows_of(4, 65536), out = rows_of(4, 65536);
      torch::launch(
          with_window(4, 0, 1), "exchange",
          [by_signal](tl::Tensor x, tl::Tensor t) {
            const std::int64_t self = tl::member_index();
            for (std::int64_t part = 0; part < 8; ++part) {
              tl::store(x, {self, 8192 * part}, tl::full({1, 8192}, 10 * self + part, DType::i32));
            }
            if (by_signal) {
              tl::signal(tl::ring_previous(), 0);
              tl::wait_until(0, tl::Comparison::ge, 1);
            } else {
              tl::barrier();
            }
            tl::store(t, {self, 0}, tl::load(x, {(self + 1) % 4, 0}, {1, 65536}));
          },
          in, out);
      const torch::Tensor host = out.cpu();
      for (int row = 0; row < 4; ++row) {
        for (int part = 0; part < 8; ++part) {
          EXPECT_EQ(host[row][8192 * part + 8191].item<std::int32_t>(), 10 * ((row + 1) % 4) + part);
        }
      }
    });
  }
}

TEST(Windows, AfterAQuietEverythingHasBeenDelivered) {
  const auto end_with = [](bool quiet) {
    Time end;
    const RunResult result = simulate(mesh(2, 1), [&] {
      torch::launch(with_window(2, 65536, 1), "quiet", [quiet] {
        if (tl::member_index() == 1) {
          tl::wait_until(0, tl::Comparison::eq, 1);
          return;
        }
        tl::put(tl::window(tl::member(1)), tl::zeros({8192}, DType::i32));
        if (quiet) tl::quiet();
        tl::signal(tl::member(1), 0);
      });
    });
    for (const WaitResult& wait : result.launches.back().waits) {
      if (wait.reason == "wait") end += wait.time;
    }
    return end;
  };
  EXPECT_EQ(end_with(false), Time::zero());
  EXPECT_GT(end_with(true), Time::nanoseconds(100));
}

TEST(Windows, AccessesOfOneProgramToTheSameBytesKeepTheirOrder) {
  simulate(mesh(2, 1), [] {
    const torch::Tensor out = rows_of(1, 4);
    torch::launch(
        with_window(2, 4096, 1, BufferKind::hbm), "order",
        [](tl::Tensor t) {
          if (tl::member_index() != 0) return;
          const tl::WindowPlace place = tl::window(tl::member(1), 128);
          tl::put(place, tl::full({512}, 3, DType::i32));
          const tl::Tile first = tl::get(place, DType::i32, {1, 1});
          tl::put(place, tl::full({512}, 4, DType::i32));
          const tl::Tile second = tl::get(tl::window(tl::member(1), 128 + 511 * 4), DType::i32, {1, 1});
          tl::store(t, {0, 0}, first);
          tl::store(t, {0, 1}, second);
        },
        out);
    EXPECT_EQ(out.cpu()[0][0].item<std::int32_t>(), 3);
    EXPECT_EQ(out.cpu()[0][1].item<std::int32_t>(), 4);
  });
}

TEST(Windows, AdditionsToASignalWordAreAtomicAndSetsOverwrite) {
  simulate(mesh(3, 3), [] {
    torch::launch(with_window(9, 0, 3), "add", [] {
      const std::int64_t self = tl::member_index();
      for (std::int64_t i = 1; i <= 3; ++i) tl::signal(tl::member(0), 1, self * i);
      if (self == 4) tl::signal(tl::member(0), 2, -12, tl::SignalOperation::set);
      if (self == 4) tl::signal(tl::member(0), 2, 44, tl::SignalOperation::set);
      if (self != 0) return;
      EXPECT_EQ(tl::wait_until(1, tl::Comparison::ge, 36 * 6), 36 * 6);
      EXPECT_EQ(tl::wait_until(2, tl::Comparison::gt, 0), 44);
      EXPECT_EQ(tl::wait_until(0, tl::Comparison::le, 0), 0);
      EXPECT_EQ(tl::signal_value(2), 44);
    });
  });
}

TEST(Windows, EveryComparisonEndsItsWait) {
  using tl::Comparison;
  struct Case {
    Comparison comparison;
    std::int64_t value, expected;
  };
  const std::vector<Case> cases{{Comparison::eq, 3, 3}, {Comparison::ne, 0, 1},  {Comparison::gt, 2, 3},
                                {Comparison::ge, 2, 2}, {Comparison::lt, 0, -9}, {Comparison::le, -9, -9}};
  for (const Case& each : cases) {
    simulate(mesh(2, 1), [&] {
      torch::launch(with_window(2, 0, 1), "compare", [&] {
        if (tl::member_index() == 1) {
          EXPECT_EQ(tl::wait_until(0, each.comparison, each.value), each.expected);
          return;
        }
        tl::delay(2000);
        for (const std::int64_t value : {1, 2, 3, -9}) {
          tl::signal(tl::member(1), 0, value, tl::SignalOperation::set);
          tl::delay(500);
        }
      });
    });
  }
}

TEST(Windows, AWindowIsNewInEveryLaunch) {
  const std::string text = error_of(mesh(2, 1), [] {
    const torch::Tensor out = rows_of(1, 4);
    for (int i = 0; i < 2; ++i) {
      torch::launch(
          with_window(2, 64, 1), "again",
          [i](tl::Tensor t) {
            EXPECT_EQ(tl::signal_value(0), 0);
            tl::barrier();
            tl::signal(tl::self(), 0, 9);
            if (i == 0) tl::put(tl::window(tl::self()), tl::zeros({4}, DType::i32));
            tl::store(t, {0, 0}, tl::get(tl::window(tl::self()), DType::i32, {1, 4}));
          },
          out);
    }
    out.cpu();
  });
  EXPECT_NE(text.find("InvalidValueError"), std::string::npos) << text;
}

/// Members take turns: after n barriers everybody sees what all have added before.
void count_in_step(tl::Scope scope, std::int64_t rounds, std::int64_t group) {
  const std::int64_t self = tl::member_index(), first = self / group * group;
  for (std::int64_t round = 1; round <= rounds; ++round) {
    tl::delay(137 * ((self + round) % 5));
    for (std::int64_t other = first; other < first + group; ++other) tl::signal(tl::member(other), 0);
    tl::barrier(scope);
    EXPECT_EQ(tl::signal_value(0), group * round) << self;
    tl::barrier(scope);
  }
}

TEST(Windows, ABarrierHoldsUpAllMembersOfItsScope) {
  for (const int pes : {2, 3, 5, 6}) {
    simulate(mesh(3, 2), [&] {
      torch::launch(with_window(pes, 0, 1), "all", count_in_step, tl::Scope::system, std::int64_t{3},
                    std::int64_t{pes});
    });
  }
}

TEST(Windows, ABarrierOfTheCubeLeavesOtherCubesAlone) {
  simulate(mesh(2, 1, {"sip.cubes.mesh=[2, 1]"}), [] {
    auto options = with_window(0, 0, 1);
    for (int cube = 0; cube < 2; ++cube) {
      for (int pe = 0; pe < 2; ++pe) options.pes.emplace_back(CubeId{cube}, PeId{pe});
    }
    torch::launch(options, "cube", count_in_step, tl::Scope::cube, std::int64_t{3}, std::int64_t{2});
    torch::launch(options, "sip", count_in_step, tl::Scope::sip, std::int64_t{3}, std::int64_t{4});
    torch::launch(options, "pe", count_in_step, tl::Scope::pe, std::int64_t{3}, std::int64_t{1});
  });
}

TEST(Windows, TimesAreTheSameWithoutDataAndInExactMode) {
  for (const BufferKind kind : kKinds) {
    const auto program = [&] {
      const torch::Tensor out = rows_of(4, 300);
      torch::launch(with_window(4, 4096, 1, kind), "pass", pass_on, out, std::int64_t{300});
      torch::launch(with_window(4, 4096, 1, kind), "step", count_in_step, tl::Scope::system, std::int64_t{2},
                    std::int64_t{4});
    };
    expect_equal_times(mesh(2, 2), program);
  }
}

TEST(Windows, WaitsForSignalsAreExplained) {
  const RunResult result = simulate(mesh(2, 1), [] {
    torch::launch(with_window(2, 0, 1), "late", [] {
      if (tl::member_index() == 1) {
        tl::wait_until(0, tl::Comparison::eq, 1);
        return;
      }
      tl::delay(5'000);
      tl::signal(tl::member(1), 0);
    });
  });
  const LaunchResult& launch = result.launches.back();
  Time path, signal;
  for (const PathPart& part : launch.critical_path) path += part.time;
  EXPECT_EQ(path, launch.end - launch.start);
  for (const WaitResult& wait : launch.waits) {
    if (wait.reason == "signal") signal += wait.time;
  }
  EXPECT_GT(signal, Time::microseconds(4));
  for (const OperationResult& operation : launch.operations) EXPECT_LE(operation.bound, operation.work);
}

}  // namespace
}  // namespace kernbench::queues_test
