// Atomics of the tile language: values, order, progress and errors, through whole simulations.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "programs.h"
#include "runtime/context.h"
#include "runtime/simulation.h"
#include "tile/program/program.h"

namespace kernbench {
namespace {

using testing::error_of;
using testing::error_type_of;
using testing::one_pe;
using testing::tiny;

SimulateOptions four_cubes(std::vector<std::string> overrides = {}) {
  overrides.emplace_back("sip.cubes.mesh=[2, 2]");
  return tiny(std::move(overrides));
}

// One row on each of the eight PEs of four_cubes().
torch::Tensor on_all(std::int64_t columns, DType dtype = DType::i32) {
  return torch::zeros({8, columns}, torch::dtype(dtype).device("ahbm"));
}

std::vector<std::int64_t> integers(const torch::Tensor& device) {
  const torch::Tensor host = device.cpu().to(DType::i64).reshape({-1}).contiguous();
  std::vector<std::int64_t> values;
  for (std::int64_t i = 0; i < host.numel(); ++i) values.push_back(host[i].item<std::int64_t>());
  return values;
}

// ---- counters

void count(tl::Tensor counter, tl::Tensor tickets, std::int64_t rounds) {
  for (std::int64_t i = 0; i < rounds; ++i) {
    const tl::Tile old = tl::atomic_add(counter.data_ptr(), 1, {.order = tl::MemoryOrder::relaxed});
    tl::store(tickets.data_ptr() + tl::program_id(0) * rounds + i, old);
  }
}

TEST(Atomics, IncrementsOfAllPesGiveEachNumberOnce) {
  static constexpr std::int64_t kRounds = 25;
  simulate(four_cubes(), [] {
    const auto counter = torch::zeros({1}, one_pe(DType::i32));
    const auto tickets = on_all(kRounds);
    torch::launch("count", count, counter, tickets, std::int64_t{kRounds});
    auto all = integers(tickets);
    for (std::int64_t pe = 0; pe < 8; ++pe) {
      EXPECT_TRUE(std::is_sorted(all.begin() + pe * kRounds, all.begin() + (pe + 1) * kRounds)) << "program order";
    }
    std::ranges::sort(all);
    for (std::int64_t i = 0; i < 8 * kRounds; ++i) EXPECT_EQ(all[static_cast<std::size_t>(i)], i);
    EXPECT_EQ(counter[0].item<std::int64_t>(), 8 * kRounds);
  });
}

TEST(Atomics, ExactEventsAndNoDataGiveTheSameTimes) {
  const auto run = [](bool exact, bool data) {
    SimulateOptions options = four_cubes();
    options.exact_events = exact;
    options.data = data;
    return simulate(options, [] {
      const auto counter = torch::zeros({1}, one_pe(DType::i32));
      torch::launch("count", count, counter, on_all(20), std::int64_t{20});
      torch::ahbm::synchronize();
    });
  };
  const RunResult reference = run(false, true);
  for (const auto& [exact, data] : {std::pair{true, true}, {false, false}, {true, false}}) {
    const RunResult other = run(exact, data);
    EXPECT_EQ(other.simulated_time, reference.simulated_time);
    EXPECT_EQ(other.times_fingerprint, reference.times_fingerprint);
  }
}

// ---- every operation and type against a plain loop

enum class Op : std::uint8_t { add, max, min, bit_and, bit_or, bit_xor, xchg, cas };

tl::Tile apply(Op op, const tl::PointerTile& at, const tl::Tile& compare, const tl::Tile& value, const tl::Tile& mask) {
  const tl::AtomicOptions options{.mask = mask};
  switch (op) {
    case Op::add:
      return tl::atomic_add(at, value, options);
    case Op::max:
      return tl::atomic_max(at, value, options);
    case Op::min:
      return tl::atomic_min(at, value, options);
    case Op::bit_and:
      return tl::atomic_and(at, value, options);
    case Op::bit_or:
      return tl::atomic_or(at, value, options);
    case Op::bit_xor:
      return tl::atomic_xor(at, value, options);
    case Op::xchg:
      return tl::atomic_xchg(at, value, options);
    case Op::cas:
      break;
  }
  return tl::atomic_cas(at, compare, value, options);
}

void apply_all(tl::Tensor memory, tl::In where, tl::In mask, tl::In compare, tl::In value, tl::Tensor old,
               std::int64_t op, std::int64_t lanes) {
  const auto at = memory.data_ptr() + tl::load(where, {0}, {lanes});
  const tl::Tile chosen = tl::load(mask, {0}, {lanes}) != 0;
  const tl::Tile before =
      apply(static_cast<Op>(op), at, tl::load(compare, {0}, {lanes}), tl::load(value, {0}, {lanes}), chosen);
  tl::store(old, {0}, before, {.mask = chosen});
}

// Small whole numbers are exact in every type, so a plain loop in 64-bit integers is the reference.
std::int64_t modified(Op op, std::int64_t old, std::int64_t compare, std::int64_t value, DType dtype) {
  const auto wrapped = [dtype](std::int64_t result) -> std::int64_t {
    if (dtype == DType::boolean) return result != 0 ? 1 : 0;
    if (dtype == DType::u8) return static_cast<std::uint8_t>(result);
    if (dtype == DType::i8) return static_cast<std::int8_t>(result);
    return result;
  };
  switch (op) {
    case Op::add:
      return wrapped(old + value);
    case Op::max:
      return std::max(old, value);
    case Op::min:
      return std::min(old, value);
    case Op::bit_and:
      return old & value;
    case Op::bit_or:
      return old | value;
    case Op::bit_xor:
      return wrapped(old ^ value);
    case Op::xchg:
      return value;
    case Op::cas:
      break;
  }
  return old == compare ? value : old;
}

void check_operation(Op op, DType dtype, std::mt19937_64& random) {
  constexpr std::int64_t kWords = 40, kLanes = 64;
  const std::int64_t limit = dtype == DType::boolean ? 2 : 4;
  const auto draw = [&](std::int64_t count, std::int64_t high) {
    std::vector<std::int64_t> values;
    for (std::int64_t i = 0; i < count; ++i)
      values.push_back(static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(high)));
    return values;
  };
  const auto tensor = [](const std::vector<std::int64_t>& values, DType type) {
    return torch::tensor(values).to(type).to(one_pe(type));
  };
  std::vector<std::int64_t> memory = draw(kWords, limit);
  const auto where = draw(kLanes, kWords), mask = draw(kLanes, 4), compare = draw(kLanes, limit),
             value = draw(kLanes, limit);
  const auto on_device = tensor(memory, dtype), old = tensor(std::vector<std::int64_t>(kLanes, 0), dtype);
  torch::launch("apply", apply_all, on_device, tensor(where, DType::i32), tensor(mask, DType::i32),
                tensor(compare, dtype), tensor(value, dtype), old, static_cast<std::int64_t>(op), kLanes);
  std::vector<std::int64_t> expected_old(kLanes, 0);
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    if (mask[lane] == 0) continue;
    std::int64_t& word = memory[static_cast<std::size_t>(where[lane])];
    expected_old[lane] = word;
    word = modified(op, word, compare[lane], value[lane], dtype);
  }
  EXPECT_EQ(integers(on_device), memory) << name(dtype) << ", operation " << static_cast<int>(op);
  EXPECT_EQ(integers(old), expected_old) << name(dtype) << ", operation " << static_cast<int>(op);
}

TEST(Atomics, EveryOperationOnEveryTypeActsLaneByLane) {
  constexpr std::array kNumbers{DType::i32, DType::i64, DType::f32};
  constexpr std::array kHalves{DType::f16, DType::bf16};
  constexpr std::array kBits{DType::boolean, DType::u8, DType::i8, DType::i32, DType::i64};
  constexpr std::array kAll{DType::boolean, DType::u8,   DType::i8,  DType::i32,    DType::i64,
                            DType::f16,     DType::bf16, DType::f32, DType::f8e4m3, DType::f8e5m2};
  simulate(tiny(), [&] {
    std::mt19937_64 random(11);
    for (int round = 0; round < 3; ++round) {
      for (const DType dtype : kNumbers) {
        for (const Op op : {Op::add, Op::max, Op::min}) check_operation(op, dtype, random);
      }
      for (const DType dtype : kHalves) check_operation(Op::add, dtype, random);
      for (const DType dtype : kBits) {
        for (const Op op : {Op::bit_and, Op::bit_or, Op::bit_xor}) check_operation(op, dtype, random);
      }
      for (const DType dtype : kAll) {
        for (const Op op : {Op::xchg, Op::cas}) check_operation(op, dtype, random);
      }
    }
  });
}

TEST(Atomics, AMaskedScalarAtomicChangesNothing) {
  simulate(tiny(), [] {
    const auto x = torch::zeros({4}, one_pe(DType::i32));
    torch::launch(
        "masked",
        [](tl::Tensor a) {
          for (int i = 0; i < 4; ++i)
            tl::atomic_add(a.data_ptr() + i, 5, {.mask = tl::full({}, i % 2, DType::i32) != 0});
        },
        x);
    EXPECT_EQ(integers(x), (std::vector<std::int64_t>{0, 5, 0, 5}));
  });
}

// ---- locks and messages

void ticket_lock(tl::Tensor lock, tl::Tensor shared, tl::Tensor done, std::int64_t rounds) {
  const tl::Pointer next = lock.data_ptr(), serving = lock.data_ptr() + 1;
  for (std::int64_t i = 0; i < rounds; ++i) {
    const auto mine = tl::item<std::int64_t>(tl::atomic_add(next, 1));
    while (tl::item<std::int64_t>(tl::atomic_or(serving, 0)) != mine) {
    }
    // Not atomic: only the lock keeps it whole.
    tl::store(shared, {0}, tl::load(shared, {0}, {64}) + 1);
    tl::atomic_add(serving, 1);
  }
  tl::store(done, {tl::program_id(0), 0}, tl::full({1, 1}, 1, DType::i32));
}

TEST(Atomics, ATicketLockKeepsUpdatesWhole) {
  simulate(four_cubes(), [] {
    const auto lock = torch::zeros({2}, one_pe(DType::i32)), shared = torch::zeros({64}, one_pe(DType::i32));
    torch::launch("ticket_lock", ticket_lock, lock, shared, on_all(1), std::int64_t{6});
    EXPECT_EQ(integers(shared), std::vector<std::int64_t>(64, 48));
  });
}

// Each program pushes the number of its node onto a list with compare-and-swap; node i of `nodes` holds its successor.
void push(tl::Tensor head, tl::Tensor nodes, std::int64_t each) {
  for (std::int64_t i = 0; i < each; ++i) {
    const std::int64_t node = tl::program_id(0) * each + i;
    auto seen = tl::item<std::int64_t>(tl::atomic_or(head.data_ptr(), 0));
    while (true) {
      tl::store(nodes.data_ptr() + node, seen);
      const auto found = tl::item<std::int64_t>(tl::atomic_cas(head.data_ptr(), seen, node + 1));
      if (found == seen) break;
      seen = found;
    }
  }
}

TEST(Atomics, AListBuiltWithCompareAndSwapHoldsEveryNodeOnce) {
  static constexpr std::int64_t kEach = 5;
  simulate(four_cubes(), [] {
    const auto head = torch::zeros({1}, one_pe(DType::i32));
    const auto nodes = on_all(kEach);
    torch::launch("push", push, head, nodes, std::int64_t{kEach});
    const auto next = integers(nodes);
    std::vector<int> visits(8 * kEach);
    std::size_t length = 0;
    for (std::int64_t node = head[0].item<std::int64_t>(); node != 0 && length <= visits.size(); ++length) {
      ++visits[static_cast<std::size_t>(node - 1)];
      node = next[static_cast<std::size_t>(node - 1)];
    }
    EXPECT_EQ(length, visits.size());
    EXPECT_TRUE(std::ranges::all_of(visits, [](int n) { return n == 1; }));
  });
}

struct Message {
  std::int64_t round, writer, reader, data_row, flag_row, writer_delay, reader_delay;
  bool ordered;
};

// The writer fills a row and then raises a flag; the reader reads the flag and then the row.
void pass_message(tl::Tensor memory, tl::Tensor out, Message m) {
  const tl::Pointer flag = memory.data_ptr() + m.flag_row * 256;
  const auto round = tl::full({1, 256}, m.round, DType::i32);
  if (tl::program_id(0) == m.writer) {
    tl::delay(m.writer_delay);
    tl::store(memory, {m.data_row, 0}, round);
    tl::atomic_xchg(flag, m.round, {.order = m.ordered ? tl::MemoryOrder::release : tl::MemoryOrder::relaxed});
  } else if (tl::program_id(0) == m.reader) {
    tl::delay(m.reader_delay);
    const tl::Tile seen =
        tl::atomic_or(flag, 0, {.order = m.ordered ? tl::MemoryOrder::acquire : tl::MemoryOrder::relaxed});
    const tl::Tile data = tl::load(memory, {m.data_row, 0}, {1, 256});
    tl::store(out.data_ptr(), seen);
    tl::store(out.data_ptr() + 1, tl::min(data));
  }
}

struct Outcomes {
  int seen = 0, not_seen = 0, stale = 0;
};

Outcomes pass_messages(bool ordered, std::int64_t rounds) {
  Outcomes outcomes;
  simulate(four_cubes(), [&] {
    std::mt19937_64 random(5);
    const auto draw = [&](std::uint64_t limit) { return static_cast<std::int64_t>(random() % limit); };
    const auto memory = on_all(256), out = on_all(2);
    for (std::int64_t round = 1; round <= rounds; ++round) {
      Message m{round, draw(8), 0, draw(8), 0, draw(400), draw(400), ordered};
      m.reader = (m.writer + 1 + draw(7)) % 8;
      m.flag_row = (m.data_row + 1 + draw(7)) % 8;
      torch::launch("pass_message", pass_message, memory, out, m);
      const std::int64_t seen = out[0][0].item<std::int64_t>(), data = out[0][1].item<std::int64_t>();
      const bool flag = seen == round;
      ++(flag ? outcomes.seen : outcomes.not_seen);
      if (flag && data != round) ++outcomes.stale;
    }
  });
  return outcomes;
}

TEST(Atomics, ReleaseAndAcquirePassMessagesInEveryInterleaving) {
  const Outcomes outcomes = pass_messages(true, 1000);
  EXPECT_EQ(outcomes.stale, 0);
  EXPECT_GT(outcomes.seen, 100);
  EXPECT_GT(outcomes.not_seen, 100);
}

TEST(Atomics, WithoutOrderMessagesAreSometimesStale) {
  EXPECT_GT(pass_messages(false, 1000).stale, 0) << "else the test above shows nothing";
}

// ---- the times of ordered atomics

class Watch final : public tile::OperationConsumer {
 public:
  struct Times {
    std::string kind;
    Time issued, ready, started, effect, finished;
  };
  void on_operation(const tile::OperationRecord& operation) override {
    const hardware::Timeline& times = operation.times();
    if (operation.engine() != hardware::EngineKind::dma) operand_finished = times.finished;
    if (operation.engine() != hardware::EngineKind::dma) return;
    seen.emplace(operation.number(),
                 Times{operation.kind(), times.issued, times.ready, times.started, times.effect, times.finished});
  }
  Time operand_finished;  // of the value that the atomic adds
  std::vector<Times> in_order() const {
    std::vector<Times> times;
    for (const auto& [_, each] : seen) times.push_back(each);
    return times;
  }

 private:
  std::map<std::uint64_t, Times> seen;
};

Watch times_around(tl::MemoryOrder order) {
  Watch watch;
  simulate(tiny(), [&] {
    const auto x = torch::zeros({3, 4096}, one_pe(DType::i32));
    torch::ahbm::synchronize();
    runtime::current_context("test").simulation.operations().subscribe(watch, {tile::Topic::operations});
    torch::launch(
        "ordered",
        [order](tl::Tensor a) {
          const tl::Tile one = tl::load(a, {0, 0}, {1, 4096});
          tl::atomic_add(a.data_ptr() + 4096, 1, {.order = order});
          const tl::Tile two = tl::load(a, {2, 0}, {1, 4096});
        },
        x);
    torch::ahbm::synchronize();
  });
  return watch;
}

TEST(Atomics, ReleaseWaitsForWhatIsBeforeAndAcquireHoldsUpWhatIsBehind) {
  using enum tl::MemoryOrder;
  for (const tl::MemoryOrder order : {relaxed, acquire, release, acq_rel}) {
    const Watch watch = times_around(order);
    const auto all = watch.in_order();
    ASSERT_EQ(all.size(), 3u);
    ASSERT_EQ(all[1].kind, "atomic_add");
    const bool releases = order == release || order == acq_rel, acquires = order == acquire || order == acq_rel;
    const Time alone = std::max(all[1].issued, watch.operand_finished);
    EXPECT_EQ(all[1].ready, releases ? std::max(all[0].finished, alone) : alone);
    EXPECT_LT(alone, all[0].finished) << "else this shows nothing";
    EXPECT_EQ(all[2].ready, acquires ? std::max(all[1].finished, all[2].issued) : all[2].issued);
    EXPECT_LT(all[2].issued, all[1].finished);
  }
}

// ---- progress

TEST(Atomics, AFlagThatAnotherPeSetsEndsASpin) {
  for (const int way : {0, 1, 2}) {
    simulate(four_cubes(), [way] {
      const auto flags = torch::zeros({8}, one_pe(DType::i32));
      torch::launch(
          "chain",
          [way](tl::Tensor a, tl::Tensor) {
            const std::int64_t me = tl::program_id(0);
            const tl::Pointer mine = a.data_ptr() + me, next = a.data_ptr() + me + 1;
            if (me > 0) {
              if (way == 0) {
                while (tl::item<int>(tl::load(mine)) == 0) {
                }
              } else if (way == 1) {
                while (tl::item<int>(tl::atomic_add(mine, 0)) == 0) {
                }
              } else {
                while (tl::item<int>(tl::atomic_cas(mine, 1, 2)) != 1) {
                }
              }
            }
            tl::delay(5000);
            if (me < 7) tl::atomic_xchg(next, 1);
          },
          flags, on_all(1));
      torch::ahbm::synchronize();
      EXPECT_EQ(flags[7].item<int>(), way == 2 ? 2 : 1);
    });
  }
}

void spin(tl::Tensor a, tl::Tensor, std::int64_t way) {
  const tl::Pointer lock = a.data_ptr();
  while (true) {
    tl::Tile seen;
    if (way == 0) seen = tl::atomic_cas(lock, 5, 1);
    if (way == 1) seen = tl::atomic_add(lock, 0);
    if (way == 2) seen = tl::atomic_max(lock, 0);
    if (way == 3) seen = tl::atomic_xchg(lock, 0);
    if (tl::item<int>(seen) != 0) return;
  }
}

TEST(Atomics, ASpinOnAnAtomicThatNobodyChangesIsALivelock) {
  NOT_UNDER_SANITIZERS("tens of thousands of polls on one thread");
  for (std::int64_t way = 0; way < 4; ++way) {
    const auto poll = [way] {
      const auto x = torch::zeros({1}, one_pe(DType::i32).name("x"));
      torch::launch("spin", spin, x, torch::zeros({2, 1}, torch::device("ahbm")), way);
      torch::ahbm::synchronize();
    };
    SimulateOptions options = tiny();
    options.max_polls = 5'000;
    EXPECT_EQ(error_type_of(poll, options), "LivelockError") << way;
  }
}

// One PE waits until the other has counted far enough; all that the counting one reads stays the same, too.
void count_for_another(tl::Tensor a, tl::Tensor, std::int64_t rounds) {
  const tl::Pointer counter = a.data_ptr(), stop = a.data_ptr() + 1;
  const tl::AtomicOptions relaxed{.order = tl::MemoryOrder::relaxed};
  if (tl::program_id(0) == 0) {
    while (tl::item<int>(tl::load(stop)) == 0) tl::atomic_add(counter, 1, relaxed);
  } else {
    while (!tl::item<bool>(tl::load(counter) >= rounds)) {
    }
    tl::atomic_xchg(stop, 1);
  }
}

TEST(Atomics, AnAtomicThatChangesMemoryIsProgressForThoseWhoPoll) {
  NOT_UNDER_SANITIZERS("tens of thousands of polls on one thread");
  SimulateOptions options = tiny();
  options.max_polls = 10'000;
  simulate(options, [] {
    const auto x = torch::zeros({2}, one_pe(DType::i32));
    torch::launch("count_for_another", count_for_another, x, torch::zeros({2, 1}, torch::device("ahbm")),
                  std::int64_t{70'000});
    EXPECT_GE(x[0].item<std::int64_t>(), 70'000);
  });
}

TEST(Atomics, WithoutDataASpinThatAssumesForEverIsALivelock) {
  SimulateOptions options = tiny();
  options.data = false;
  options.max_polls = 20'000;
  EXPECT_EQ(error_type_of(
                [] {
                  const auto x = torch::zeros({1}, one_pe(DType::i32));
                  torch::launch(
                      "spin",
                      [](tl::Tensor a) {
                        while (tl::item_or(tl::atomic_cas(a.data_ptr(), 0, 1), 1) != 0) {
                        }
                      },
                      x);
                  torch::ahbm::synchronize();
                },
                options),
            "LivelockError");
}

// ---- errors

std::string kernel_error(DType dtype, void (*kernel)(tl::Tensor)) {
  return error_of([&] {
    const auto x = torch::zeros({4}, one_pe(dtype).name("x"));
    torch::launch("wrong", kernel, x);
    torch::ahbm::synchronize();
  });
}

TEST(Atomics, MisuseIsAnErrorThatSaysWhatToDo) {
  using ::testing::HasSubstr;
  EXPECT_THAT(kernel_error(DType::f16, [](tl::Tensor x) { tl::atomic_max(x.data_ptr(), 1); }),
              HasSubstr("tl::atomic_max: tensor x has element type f16, but this operation is for i32, i64 and f32"));
  EXPECT_THAT(kernel_error(DType::f32, [](tl::Tensor x) { tl::atomic_or(x.data_ptr(), 1); }),
              HasSubstr("this operation is for integers and bool"));
  EXPECT_THAT(kernel_error(DType::u8, [](tl::Tensor x) { tl::atomic_add(x.data_ptr(), 1); }),
              HasSubstr("this operation is for i32, i64, f32, f16 and bf16"));
  EXPECT_THAT(kernel_error(DType::i32, [](tl::Tensor x) { tl::atomic_add(x.data_ptr() + 4, 1); }),
              HasSubstr("tl::atomic_add"));
  EXPECT_THAT(kernel_error(DType::i32, [](tl::Tensor x) { tl::atomic_add(x.data_ptr() + tl::arange(0, 5), 1); }),
              HasSubstr("lane [4] points to element"));
  EXPECT_THAT(
      kernel_error(DType::i32,
                   [](tl::Tensor x) { tl::atomic_add(x.data_ptr() + tl::arange(0, 4), tl::zeros({3}, DType::i32)); }),
      HasSubstr("does not broadcast"));
  EXPECT_THAT(kernel_error(DType::i32,
                           [](tl::Tensor x) { tl::atomic_add(x.data_ptr(), 1, {.mask = tl::zeros({}, DType::i32)}); }),
              HasSubstr("the mask must be a tile of bool"));
  EXPECT_THAT(error_of([] {
                const auto x = torch::zeros({4}, one_pe(DType::i32).name("x"));
                torch::launch("hidden", [](tl::In a) { tl::atomic_add(static_cast<tl::Tensor&>(a).data_ptr(), 1); }, x);
                torch::ahbm::synchronize();
              }),
              HasSubstr("tensor x is a tl::In parameter"));
  EXPECT_THAT(error_of([] {
                const DPPolicy everywhere{.cube = Placement::replicate, .pe = Placement::replicate};
                const auto x =
                    torch::zeros({4}, torch::dtype(DType::i32).device("ahbm").placement(everywhere).name("x"));
                torch::launch("replicas", [](tl::Tensor a) { tl::atomic_add(a.data_ptr(), 1); }, x);
                torch::ahbm::synchronize();
              }),
              HasSubstr("tensor x is replicated, and an atomic would change one copy of it only"));
}

}  // namespace
}  // namespace kernbench
