// What orders accesses of programs of one launch, and what does not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "kernbench/kernbench.h"

namespace kernbench {
namespace {

namespace torch = kernbench::torch;
namespace tl = kernbench::tl;

using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::IsEmpty;
using ::testing::MatchesRegex;
using ::testing::SizeIs;

constexpr std::int64_t kRow = 64;

/// Two cubes of two PEs.
SimulateOptions tiny_with_races() {
  SimulateOptions options;
  options.topology = "tiny";
  options.overrides = {"sip.cubes.mesh=[2, 1]"};
  options.threads = 1;
  options.detect_races = true;
  return options;
}

torch::LaunchOptions on_all_pes() {
  torch::LaunchOptions launch;
  launch.all_pes = true;
  launch.queues.topology = QueueTopology::ring_1d;
  launch.queues.window = WindowOptions{.bytes = Bytes(1024), .signals = 4};
  return launch;
}

using Kernel = std::function<void(tl::Tensor)>;

/// Runs the kernel on all PEs with a tensor of a row for each, all in one slice.
std::vector<RaceResult> races_of(const Kernel& kernel) {
  return simulate(tiny_with_races(),
                  [&] {
                    auto x = torch::zeros(
                        {8, kRow}, torch::dtype(DType::f32).device("ahbm").placement({.num_cubes = 1, .num_pes = 1}));
                    torch::launch(on_all_pes(), "work", kernel, x);
                    torch::ahbm::synchronize();
                  })
      .races;
}

/// The first program does one thing and the second one another; the others nothing.
std::vector<RaceResult> races_of(const Kernel& first, const Kernel& second) {
  return races_of([&](tl::Tensor x) {
    if (tl::program_id() == 0) first(x);
    if (tl::program_id() == 1) second(x);
  });
}

void store_row(const tl::Tensor& x, std::int64_t row = 0) {
  tl::store(x, {row, 0}, tl::full({1, kRow}, 1.0f, DType::f32));
}
/// Its tile is used, and has been loaded when this returns.
void load_row(const tl::Tensor& x, std::int64_t row = 0) {
  auto [tile, token] = tl::load_async(x, {row, 0}, {1, kRow});
  tl::wait(token);
}
tl::Tile one() {
  return tl::full({1}, 1.0f, DType::f32);
}

TEST(Races, StoresOfTwoProgramsRaceAndAreNamedWithTheirPlace) {
  const auto races =
      races_of([](const tl::Tensor& x) { store_row(x, 3); }, [](const tl::Tensor& x) { store_row(x, 3); });
  ASSERT_THAT(races, SizeIs(1));
  const RaceResult& race = races.front();
  EXPECT_EQ(race.earlier.operation, "store");
  EXPECT_EQ(race.later.operation, "store");
  EXPECT_THAT(race.earlier.where, MatchesRegex("races_test.cpp:[0-9]+"));
  EXPECT_EQ(race.earlier.launch, "work#0");
  EXPECT_EQ(race.earlier.pe, "sip0.cube0.pe0");
  EXPECT_EQ(race.later.pe, "sip0.cube0.pe1");
  EXPECT_THAT(race.place, MatchesRegex("element \\[3, 0\\] of .*"));
  EXPECT_EQ(race.count, 1);
  EXPECT_GT(race.time, Time::zero());
}

TEST(Races, AResultWithRacesIsOneThatFailed) {
  const RunResult result = simulate(tiny_with_races(), [] {
    auto x = torch::zeros({8, kRow}, torch::device("ahbm"));
    torch::launch(on_all_pes(), "work", [](tl::Tensor a) { store_row(a); }, x);
    torch::ahbm::synchronize();
  });
  EXPECT_EQ(result.status, RunStatus::check_failed);
  EXPECT_EQ(result.switches.at("detect_races"), "true");
}

TEST(Races, AreNotLookedForUnlessAsked) {
  SimulateOptions options = tiny_with_races();
  options.detect_races = false;
  const RunResult result = simulate(options, [] {
    auto x = torch::zeros({8, kRow}, torch::device("ahbm"));
    torch::launch(on_all_pes(), "work", [](tl::Tensor a) { store_row(a); }, x);
    torch::ahbm::synchronize();
  });
  EXPECT_EQ(result.status, RunStatus::ok);
  EXPECT_THAT(result.races, IsEmpty());
  EXPECT_FALSE(result.switches.contains("detect_races"));
}

TEST(Races, LookingForThemChangesNoTime) {
  const auto times = [](bool detect) {
    SimulateOptions options = tiny_with_races();
    options.detect_races = detect;
    return simulate(options,
                    [] {
                      auto x = torch::zeros({8, kRow}, torch::device("ahbm"));
                      torch::launch(
                          on_all_pes(), "work",
                          [](tl::Tensor a) {
                            store_row(a, tl::program_id());
                            tl::barrier(tl::Scope::sip);
                            load_row(a, 3 - tl::program_id());
                            tl::send(one(), tl::ring_next());
                            tl::recv(DType::f32, {1}, tl::ring_previous());
                          },
                          x);
                      torch::ahbm::synchronize();
                    })
        .times_fingerprint;
  };
  EXPECT_EQ(times(false), times(true));
}

TEST(Races, OfALoadAndAStoreAndOfAllProgramsAtOneLine) {
  const auto races = races_of([](const tl::Tensor& x) {
    const auto now = tl::load(x, {0, 0}, {1, kRow});
    tl::store(x, {0, 0}, now + 1.0f);
  });
  ASSERT_THAT(races, SizeIs(2));  // a load and a store, and two stores
  EXPECT_GE(races[0].count, 1);
  EXPECT_EQ(races[1].count, 3);  // each store but the first
}

TEST(Races, NotOfReadsOfOtherBytesOrOfOneProgram) {
  EXPECT_THAT(races_of([](const tl::Tensor& x) { load_row(x); }), IsEmpty());
  EXPECT_THAT(races_of([](const tl::Tensor& x) { store_row(x, tl::program_id()); }), IsEmpty());
  EXPECT_THAT(races_of(
                  [](const tl::Tensor& x) {
                    store_row(x);
                    load_row(x);
                    store_row(x);
                  },
                  [](const tl::Tensor&) {}),
              IsEmpty());
  // Halves of one row.
  EXPECT_THAT(races_of([](const tl::Tensor& x) {
                const std::int64_t part = kRow / 4;
                tl::store(x, {0, tl::program_id() * part}, tl::full({1, part}, 1.0f, DType::f32));
              }),
              IsEmpty());
}

TEST(Races, OneElementInCommonIsEnough) {
  const auto races = races_of([](const tl::Tensor& x) { tl::store(x, {0, 0}, tl::full({1, 33}, 1.0f, DType::f32)); },
                              [](const tl::Tensor& x) { tl::store(x, {0, 32}, tl::full({1, 32}, 1.0f, DType::f32)); });
  ASSERT_THAT(races, SizeIs(1));
  EXPECT_THAT(races.front().place, MatchesRegex("element \\[0, 32\\] of .*"));
}

TEST(Races, ABarrierOrders) {
  const auto with = [](bool barrier) {
    return races_of([barrier](const tl::Tensor& x) {
      store_row(x, tl::program_id());
      if (barrier) tl::barrier(tl::Scope::sip);
      for (std::int64_t row = 0; row < tl::num_programs(); ++row) load_row(x, row);
    });
  };
  EXPECT_THAT(with(true), IsEmpty());
  EXPECT_THAT(with(false), SizeIs(1));
}

TEST(Races, ABarrierOfACubeOrdersItsPrograms) {
  const auto from = [](std::int64_t other) {
    return races_of([other](const tl::Tensor& x) {
      store_row(x, tl::program_id());
      tl::barrier(tl::Scope::cube);
      load_row(x, (tl::program_id() + other) % 4);
    });
  };
  EXPECT_THAT(races_of([](const tl::Tensor& x) {
                store_row(x, tl::program_id());
                tl::barrier(tl::Scope::cube);
                load_row(x, tl::program_id() ^ 1);
              }),
              IsEmpty());
  EXPECT_THAT(from(2), SizeIs(1));
}

TEST(Races, AMessageOrdersWhatHadFinished) {
  const auto receive_and_load = [](const tl::Tensor& x) {
    tl::recv(DType::f32, {1}, tl::member(0));
    load_row(x);
  };
  // The store was waited for.
  EXPECT_THAT(races_of(
                  [](const tl::Tensor& x) {
                    const tl::Token token = tl::store_async(x, {0, 0}, tl::full({1, kRow}, 1.0f, DType::f32));
                    tl::wait(token);
                    tl::send(one(), tl::member(1));
                  },
                  receive_and_load),
              IsEmpty());
  // The message overtakes the store.
  EXPECT_THAT(races_of(
                  [](const tl::Tensor& x) {
                    const tl::Tile token = one();
                    store_row(x);
                    tl::send(token, tl::member(1));
                  },
                  receive_and_load),
              SizeIs(1));
  // The store comes behind the message.
  EXPECT_THAT(races_of(
                  [](const tl::Tensor& x) {
                    tl::send(one(), tl::member(1));
                    store_row(x);
                  },
                  receive_and_load),
              SizeIs(1));
}

TEST(Races, AMessageThatOvertakesALoadDoesNotOrderIt) {
  const auto receive_and_store = [](const tl::Tensor& x) {
    tl::recv(DType::f32, {1}, tl::member(0));
    store_row(x);
  };
  EXPECT_THAT(races_of(
                  [](const tl::Tensor& x) {
                    const tl::Tile token = one();
                    auto [tile, loaded] = tl::load_async(x, {0, 0}, {1, kRow});
                    tl::send(token, tl::member(1));
                    tl::wait(loaded);
                  },
                  receive_and_store),
              SizeIs(1));
  EXPECT_THAT(races_of(
                  [](const tl::Tensor& x) {
                    const tl::Tile token = one();
                    load_row(x);
                    tl::send(token, tl::member(1));
                  },
                  receive_and_store),
              IsEmpty());
}

TEST(Races, NotOfLanesThatMasksPart) {
  const auto fill = [](const tl::Tensor& x) {
    const tl::Tile lane = tl::reshape(tl::arange(0, kRow), {1, kRow});
    const tl::Tile mask = lane % 4 == static_cast<std::int32_t>(tl::program_id());
    tl::store(x, {0, 0}, tl::full({1, kRow}, 1.0f, DType::f32), {.mask = mask});
    tl::wait(tl::store_async(x, {1, 0}, tl::load(x, {0, 0}, {1, kRow}, {.other = 0.0f, .mask = mask}), {.mask = mask}));
  };
  EXPECT_THAT(races_of(fill), IsEmpty());
}

TEST(Races, AMessageOfWhatWasLoadedOrdersALaterStoreOfOthers) {
  EXPECT_THAT(races_of([](const tl::Tensor& x) { tl::send(tl::load(x, {0, 0}, {1, kRow}) * 2.0f, tl::member(1)); },
                       [](const tl::Tensor& x) {
                         const tl::Tile got = tl::recv(DType::f32, {1, kRow}, tl::member(0));
                         tl::store(x, {0, 0}, got);
                       }),
              IsEmpty());
}

TEST(Races, WhatUsesATileThatIsReceivedLaterIsOrderedAndWhatDoesNotIsNot) {
  const auto sender = [](const tl::Tensor& x) {
    tl::delay(500);
    const tl::Token token = tl::store_async(x, {0, 0}, tl::full({1, kRow}, 1.0f, DType::f32));
    tl::wait(token);
    tl::send(tl::full({1, kRow}, 1.0f, DType::f32), tl::member(1));
  };
  EXPECT_THAT(
      races_of(sender,
               [](const tl::Tensor& x) { tl::store(x, {0, 0}, tl::recv_async(DType::f32, {1, kRow}, tl::member(0))); }),
      IsEmpty());
  EXPECT_THAT(races_of(sender,
                       [](const tl::Tensor& x) {
                         const tl::Tile later = tl::recv_async(DType::f32, {1, kRow}, tl::member(0));
                         load_row(x);
                         tl::store(x, {1, 0}, later);
                       }),
              SizeIs(1));
}

TEST(Races, OrderPassesOnFromProgramToProgram) {
  EXPECT_THAT(races_of([](const tl::Tensor& x) {
                const std::int64_t self = tl::program_id();
                if (self > 0) tl::recv(DType::f32, {1}, tl::ring_previous());
                const tl::Token token = tl::store_async(x, {0, 0}, tl::full({1, kRow}, 1.0f, DType::f32));
                tl::wait(token);
                if (self + 1 < tl::num_programs()) tl::send(one(), tl::ring_next());
              }),
              IsEmpty());
}

TEST(Races, ASignalOrdersForWhoHasSeenIt) {
  const Kernel writer = [](const tl::Tensor& x) {
    store_row(x);
    tl::signal(tl::member(1), 2);
  };
  EXPECT_THAT(races_of(writer,
                       [](const tl::Tensor& x) {
                         tl::wait_until(2, tl::Comparison::eq, 1);
                         load_row(x);
                       }),
              IsEmpty());
  EXPECT_THAT(races_of(writer,
                       [](const tl::Tensor& x) {
                         while (tl::signal_value(2) == 0) tl::delay(10);
                         load_row(x);
                       }),
              IsEmpty());
  EXPECT_THAT(races_of(writer, [](const tl::Tensor& x) { load_row(x); }), SizeIs(1));
  // Another word, which somebody else has signalled.
  EXPECT_THAT(races_of([&](const tl::Tensor& x) {
                if (tl::program_id() == 0) writer(x);
                if (tl::program_id() == 2) tl::signal(tl::member(1), 3);
                if (tl::program_id() != 1) return;
                tl::wait_until(3, tl::Comparison::eq, 1);
                load_row(x);
              }),
              SizeIs(1));
}

TEST(Races, PutsAreOrderedByAFenceOrTheirOwnSignal) {
  const Kernel reader = [](const tl::Tensor&) {
    tl::wait_until(0, tl::Comparison::eq, 1);
    tl::get(tl::window(tl::self()), DType::f32, {kRow});
  };
  const auto put = [] { tl::put(tl::window(tl::member(1)), tl::full({kRow}, 1.0f, DType::f32)); };
  EXPECT_THAT(races_of(
                  [](const tl::Tensor&) {
                    tl::put_signal(tl::window(tl::member(1)), tl::full({kRow}, 1.0f, DType::f32), 0, 1);
                  },
                  reader),
              IsEmpty());
  EXPECT_THAT(races_of(
                  [&](const tl::Tensor&) {
                    put();
                    tl::fence();
                    tl::signal(tl::member(1), 0);
                  },
                  reader),
              IsEmpty());
  EXPECT_THAT(races_of(
                  [&](const tl::Tensor&) {
                    put();
                    tl::quiet();
                    tl::signal(tl::member(1), 0);
                  },
                  reader),
              IsEmpty());
  EXPECT_THAT(races_of(
                  [&](const tl::Tensor&) {
                    put();
                    tl::signal(tl::member(1), 0);
                  },
                  reader),
              SizeIs(1));
}

struct Orders {
  tl::MemoryOrder writer = tl::MemoryOrder::release, reader = tl::MemoryOrder::acquire;
  tl::Scope writer_scope = tl::Scope::sip, reader_scope = tl::Scope::sip;
  std::int64_t reader_program = 1;
};

/// A row and a flag in another one.
std::vector<RaceResult> races_with_a_flag(const Orders& orders) {
  return races_of([orders](const tl::Tensor& x) {
    const auto flag = x.data_ptr() + 7 * kRow;
    if (tl::program_id() == 0) {
      store_row(x);
      tl::atomic_add(flag, 1, {.order = orders.writer, .scope = orders.writer_scope});
    } else if (tl::program_id() == orders.reader_program) {
      const tl::AtomicOptions options{.order = orders.reader, .scope = orders.reader_scope};
      while (tl::item<float>(tl::atomic_add(flag, 0, options)) == 0) tl::delay(10);
      load_row(x);
    }
  });
}

TEST(Races, AtomicsOrderByReleaseAndAcquire) {
  using enum tl::MemoryOrder;
  EXPECT_THAT(races_with_a_flag({}), IsEmpty());
  EXPECT_THAT(races_with_a_flag({.writer = acq_rel, .reader = acq_rel}), IsEmpty());
  EXPECT_THAT(races_with_a_flag({.writer = relaxed}), SizeIs(1));
  EXPECT_THAT(races_with_a_flag({.writer = acquire}), SizeIs(1));
  EXPECT_THAT(races_with_a_flag({.reader = relaxed}), SizeIs(1));
  EXPECT_THAT(races_with_a_flag({.reader = release}), SizeIs(1));
}

TEST(Races, AtomicsOrderAmongThoseOfBothScopes) {
  using enum tl::Scope;
  EXPECT_THAT(races_with_a_flag({.writer_scope = cube, .reader_scope = cube}), IsEmpty());
  EXPECT_THAT(races_with_a_flag({.writer_scope = system, .reader_scope = cube}), IsEmpty());
  EXPECT_THAT(races_with_a_flag({.writer_scope = pe}), SizeIs(1));
  EXPECT_THAT(races_with_a_flag({.reader_scope = pe}), SizeIs(1));
  // A program of the other cube.
  EXPECT_THAT(races_with_a_flag({.reader_program = 2}), IsEmpty());
  EXPECT_THAT(races_with_a_flag({.writer_scope = cube, .reader_program = 2}), SizeIs(1));
  EXPECT_THAT(races_with_a_flag({.reader_scope = cube, .reader_program = 2}), SizeIs(1));
}

TEST(Races, AtomicsDoNotRaceWithEachOtherButWithOtherAccesses) {
  const Kernel add = [](const tl::Tensor& x) { tl::atomic_add(x.data_ptr(), 1, {.order = tl::MemoryOrder::relaxed}); };
  EXPECT_THAT(races_of(add), IsEmpty());
  EXPECT_THAT(races_of(add, [](const tl::Tensor& x) { load_row(x); }), SizeIs(1));
  EXPECT_THAT(races_of(add, [](const tl::Tensor& x) { store_row(x); }), SizeIs(1));
  // A later atomic of somebody else does not hide the first one.
  EXPECT_THAT(races_of([&](const tl::Tensor& x) {
                if (tl::program_id() == 0) add(x);
                if (tl::program_id() == 1) {
                  tl::delay(100);
                  tl::atomic_add(x.data_ptr(), 1);
                  tl::send(one(), tl::member(2));
                }
                if (tl::program_id() != 2) return;
                tl::recv(DType::f32, {1}, tl::member(1));
                load_row(x);
              }),
              Not(IsEmpty()));
}

TEST(Races, OfAnSramThatProgramsShare) {
  const auto with = [](bool barrier) {
    return races_of([barrier](const tl::Tensor& x) {
      const auto rows = tl::alloc({2, kRow}, DType::f32, tl::CubeScope{"rows"});
      tl::store(rows, {tl::pe_id(), 0}, tl::full({1, kRow}, 1.0f, DType::f32));
      if (barrier) tl::barrier(tl::Scope::cube);
      tl::store(x, {tl::program_id(), 0}, tl::load(rows, {1 - tl::pe_id(), 0}, {1, kRow}));
    });
  };
  EXPECT_THAT(with(true), IsEmpty());
  EXPECT_THAT(with(false), AllOf(SizeIs(1), Each(Field(&RaceResult::place, MatchesRegex(".*sram.*")))));
}

TEST(Races, OfCompositeCommands) {
  const auto races = simulate(tiny_with_races(), [] {
                       const auto on_one =
                           torch::dtype(DType::f32).device("ahbm").placement({.num_cubes = 1, .num_pes = 1});
                       auto a = torch::zeros({32, 32}, on_one), b = torch::zeros({32, 32}, on_one);
                       auto c = torch::zeros({32, 32}, on_one);
                       torch::launch(
                           on_all_pes(), "products",
                           [](tl::Tensor x, tl::Tensor y, tl::Tensor z) { tl::composite_gemm(x, y, z); }, a, b, c);
                       torch::ahbm::synchronize();
                     }).races;
  ASSERT_THAT(races, Not(IsEmpty()));
  for (const RaceResult& race : races) EXPECT_EQ(race.later.operation, races.front().later.operation);
}

/// Programs 0 and 1 load a row together, in the order that `members` gives; `before` and `behind` are done by one of
/// them, and `apart` by another program.
struct AroundAMulticast {
  std::vector<std::int64_t> members{0, 1};
  std::int64_t writer = 1;
  Kernel before = {}, behind = {}, apart = {};
};

std::vector<RaceResult> races_around(const AroundAMulticast& around) {
  return races_of([&around](const tl::Tensor& x) {
    const std::int64_t me = tl::program_id();
    if (me == 2 && around.apart) around.apart(x);
    if (me > 1) return;
    if (me == around.writer && around.before) around.before(x);
    const auto [row, over] = tl::multicast_load_async({"pair", around.members}, x, {0, 0}, {1, kRow});
    tl::wait(over);
    if (me == around.writer && around.behind) around.behind(x);
    tl::store(x, {4 + me, 0}, row);
  });
}

// The read sets out when all have joined, whoever of them stands for it.
TEST(Races, AMulticastLiesBehindWhatEachMemberHasDoneAndBeforeWhatItDoes) {
  const Kernel write = [](const tl::Tensor& x) { store_row(x); };
  for (const std::vector<std::int64_t>& members : {std::vector<std::int64_t>{0, 1}, {1, 0}}) {
    for (const std::int64_t writer : {0, 1}) {
      EXPECT_THAT(races_around({.members = members, .writer = writer, .before = write}), IsEmpty());
      EXPECT_THAT(races_around({.members = members, .writer = writer, .behind = write}), IsEmpty());
      EXPECT_THAT(races_around({.members = members, .writer = writer, .before = write, .behind = write}), IsEmpty());
    }
    EXPECT_THAT(races_around({.members = members, .apart = write}), SizeIs(1));
    const Kernel late = [&](const tl::Tensor& x) {
      tl::delay(100'000);
      store_row(x);
    };
    EXPECT_THAT(races_around({.members = members, .apart = late}), SizeIs(1));
  }
}

TEST(Races, WhatAMemberHasLearnedLiesBeforeItsMulticast) {
  for (const std::int64_t told : {0, 1}) {
    const Kernel write_and_tell = [told](const tl::Tensor& x) {
      store_row(x);
      tl::signal(tl::member(told), 0, 1);
    };
    const Kernel wait = [](const tl::Tensor&) { tl::wait_until(0, tl::Comparison::ge, 1); };
    EXPECT_THAT(races_around({.writer = told, .before = wait, .apart = write_and_tell}), IsEmpty());
  }
}

TEST(Races, NotOfProgramsOfAGridThatFollowEachOther) {
  // Eight programs on four PEs; each pair of one PE has one row.
  const auto races = simulate(tiny_with_races(), [] {
                       auto x = torch::zeros({8, kRow}, torch::device("ahbm"));
                       torch::LaunchOptions launch;
                       launch.grid = {8};
                       torch::launch(launch, "grid", [](tl::Tensor a) { store_row(a, tl::program_id() / 2); }, x);
                       torch::ahbm::synchronize();
                     }).races;
  EXPECT_THAT(races, IsEmpty());
}

}  // namespace
}  // namespace kernbench
