// tl::fuse: several operations as one command, whose inner values pass registers: its law to the picosecond, its values
// to the bit, and what it refuses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "harness.h"
#include "support/source_tree.h"
#include "tile/program/known.h"
#include "tile/program/program.h"

namespace kernbench::tile_test::fuse_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using tl::Tile;

constexpr std::int64_t kRows = 21, kColumns = 37, kCount = kRows * kColumns;
constexpr std::int64_t kGroups = 7;  // ceil(kCount / 128 lanes)
constexpr std::int64_t kDivide = 8;  // cycles

/// Tiles of 21 x 37 in f32 and f16, which are ready.
struct Operands {
  Tile f, g, h;
};

RunResult with_operands(const SimulateOptions& options, const std::function<void(const Operands&)>& body) {
  return simulate(options, [&] {
    const auto x = (torch::arange(kCount, torch::kFloat) / 97.0 - 3.0).view({kRows, kColumns}).to(one_pe(DType::f32));
    torch::launch(
        "fused",
        [&](tl::In a) {
          const auto f = tl::load(a, {0, 0}, {kRows, kColumns});
          const Operands operands{f, f * 2, tl::cast(f, DType::f16)};
          operands.h.state()->producer->done.wait();
          body(operands);
        },
        x);
    torch::ahbm::synchronize();
  });
}

/// The law of cycles alone: operands pass the port at once.
SimulateOptions fast_port() {
  auto options = tiny();
  options.overrides = {"pe.vector.startup_cycles=5", "pe.vector.cycles.add=2", "pe.vector.cycles.exp=7",
                       "pe.vector.cycles.reduce_level=3", "pe.tcm.bandwidth=100TB/s"};
  return options;
}

SimulateOptions slow_port() {
  auto options = tiny();
  options.overrides = {"pe.tcm.bandwidth=1GB/s"};
  return options;
}

/// From the clock edge at which the engine begins to the end, in cycles of 1 ns.
std::int64_t cycles(const Tile& tile) {
  auto& command = *tile.state()->producer;
  command.done.wait();
  return command.times.finished.count() / 1000 - (command.times.started.count() + 999) / 1000;
}

// ---- time --------------------------------------------------------------------------------------------------------

TEST(Fuse, OneOperationTakesItsOwnTime) {
  for (const auto& options : {fast_port(), slow_port()}) {
    with_operands(options, [](const Operands& t) {
      const auto expect_same_time = [&](const std::function<Tile()>& operation) {
        const std::int64_t alone = cycles(operation());
        EXPECT_EQ(cycles(tl::fuse(operation)), alone);
      };
      expect_same_time([&] { return t.f + t.h; });
      expect_same_time([&] { return tl::exp(t.h); });
      expect_same_time([&] { return tl::sum(t.f, 0); });
      expect_same_time([&] { return tl::trans(t.f); });
      expect_same_time([&] { return tl::cast(t.f, DType::i64); });
    });
  }
}

TEST(Fuse, TheLanesWorkAsForEachOperationAndThePipelineStartsOnce) {
  with_operands(fast_port(), [](const Operands& t) {
    const auto y = tl::fuse([](const Tile& a, const Tile& b) { return tl::exp(a + b) * a - 1; }, t.f, t.g);
    EXPECT_EQ(cycles(y), 5 + kGroups * (2 + 7 + 1 + 2));
  });
}

TEST(Fuse, AReductionStartsThePipelineAnewForWhatComesBehindIt) {
  with_operands(fast_port(), [](const Operands& t) {
    const auto softmax = tl::fuse(
        [](const Tile& x) {
          const auto e = tl::exp(x - tl::max(x, 1, true));
          return e * (1.0f / tl::sum(e, 1, true));
        },
        t.f);
    // Of 37 elements side by side the tree has 6 levels; 21 quotients are one group.
    const std::int64_t reduction = kGroups + 6 * 3;
    EXPECT_EQ(cycles(softmax), (1 + 2) * 5 + 2 * reduction + kGroups * (2 + 7 + 1) + kDivide);
  });
}

TEST(Fuse, OnlyWhatComesFromOutsideAndWhatIsReturnedPassesThePort) {
  with_operands(slow_port(), [](const Operands& t) {
    const auto port = [&](const Tile& tile) { return cycles(tile); };  // at 1 B a cycle
    // In f32: f, g and the result; f counts once, however often it is read.
    EXPECT_EQ(port(tl::fuse([&] { return t.f * t.g + t.f * t.f - t.g; })), kCount * 3 * 4);
    // A result in f16, an operand in f16.
    EXPECT_EQ(port(tl::fuse([&] { return tl::cast(tl::exp(t.f * t.h) + 1, DType::f16); })), kCount * (4 + 2 + 2));
    // A view has the bytes of its tile.
    EXPECT_EQ(port(tl::fuse([&] { return tl::ravel(t.f) + tl::ravel(t.f * 2); })), kCount * 2 * 4);
    // Two results; one of them is needed for the other, and both are stored.
    const auto both = tl::fuse([&] {
      const auto e = tl::exp(t.f);
      return std::pair{e, e * e};
    });
    EXPECT_EQ(port(both.second), kCount * 3 * 4);
    EXPECT_EQ(both.first.state()->producer, both.second.state()->producer);
  });
}

TEST(Fuse, TheResultSaysHowManyBytesDidNotPassThePort) {
  const auto result =
      with_operands(tiny(), [](const Operands& t) { (void)tl::fuse([&] { return tl::exp(t.f * t.g) + t.f; }); });
  // One by one: f, g, product; product, exp; exp, f, sum. Fused: f, g, sum.
  EXPECT_EQ(result.launches.back().fused_bytes, Bytes(kCount * 4 * (3 + 2 + 3 - 3)));
  std::map<std::string, std::int64_t> counts;
  for (const auto& operation : result.launches.back().operations) counts[operation.operation] += operation.count;
  EXPECT_EQ(counts["fuse"], 1);
  EXPECT_EQ(counts["exp"], 0);
  const auto unfused = with_operands(tiny(), [](const Operands& t) { (void)(tl::exp(t.f * t.g) + t.f); });
  EXPECT_EQ(unfused.launches.back().fused_bytes, Bytes(0));
  const auto work = [](const RunResult& run) {
    for (const auto& engine : run.launches.back().engines)
      if (engine.engine == "vector") return engine.work;
    return 0.0;
  };
  EXPECT_EQ(work(result), work(unfused));  // elements that the lanes went through
}

TEST(Fuse, InnerValuesTakeNoRoomInTheTcm) {
  auto options = tiny();
  options.overrides = {"pe.tcm.capacity=64KiB"};
  const auto program = [&](bool fused) {
    return try_simulate(options, [&] {
      auto x = torch::ones({6000}, one_pe(DType::f32));
      torch::launch(
          "tight",
          [&](tl::In a) {
            const auto tile = tl::load(a, {0}, {6000});
            const auto all = [&] {
              const auto b = tile * 2, c = tile * 3, d = b + c;
              return d * b;
            };
            fused ? tl::fuse(all) : all();
          },
          x);
      torch::ahbm::synchronize();
    });
  };
  EXPECT_EQ(program(false).error->type, "OutOfMemoryError");
  EXPECT_FALSE(program(true).error);
}

TEST(Fuse, TimesAreTheSameWithoutDataAndWithExactEvents) {
  const auto end = [](SimulateOptions options) {
    return with_operands(options,
                         [](const Operands& t) {
                           for (int i = 0; i < 5; ++i) {
                             (void)tl::fuse([&] { return tl::exp(t.f * t.g) + tl::sum(t.f, 0, true); });
                             (void)(t.f + t.g);
                           }
                         })
        .simulated_time;
  };
  auto exact = tiny(), without = tiny();
  exact.exact_events = true;
  without.data = false;
  EXPECT_EQ(end(tiny()), end(exact));
  EXPECT_EQ(end(tiny()), end(without));
}

// ---- values ------------------------------------------------------------------------------------------------------

/// Bits as they are, with the place of each lane that is invalid.
void expect_same_bits(const Tile& a, const Tile& b, const std::string& what) {
  expect_same(look_at(a), look_at(b), what);
}

TEST(Fuse, ValuesAreThoseOfTheOperationsOneByOne) {
  run_cases(1, [](Bench& bench) {
    for (int round = 0; round < 20; ++round) {
      const auto dtype = bench.any_of(std::vector{DType::f32, DType::f16, DType::bf16});
      const auto shape = bench.shape();
      const auto x = bench.draw(dtype, shape).tile, y = bench.draw(dtype, bench.partner(shape)).tile;
      const std::vector<std::function<Tile()>> functions = {
          [&] { return x * y + x; },
          [&] { return tl::where(x > y, tl::exp(x), tl::sigmoid(y)) - 1.5f; },
          [&] { return tl::cast(tl::fma(x, y, x), DType::f16) * 3; },
          [&] { return tl::sum(x * x + y) * tl::max(y); },
          [&] { return tl::ravel(tl::abs(x * 2) + y); },
          [&] { return tl::cast(x, DType::i32) % 7 + tl::cast(y > 0, DType::i32); },
          [&] { return tl::rsqrt(tl::abs(x) + 1) / (y * y); }};
      for (std::size_t i = 0; i < functions.size(); ++i) {
        expect_same_bits(tl::fuse(functions[i]), functions[i](), "function " + std::to_string(i));
      }
    }
  });
}

TEST(Fuse, ResultsInEveryForm) {
  with_operands(tiny(), [](const Operands& t) {
    const auto e = tl::exp(t.f), s = t.f + 1;
    const auto [a, b, c] = tl::fuse([&] {
      const auto x = tl::exp(t.f);
      return std::tuple{x, t.g, t.f + 1};
    });
    expect_same_bits(a, e, "tuple");
    expect_same_bits(c, s, "tuple");
    EXPECT_EQ(b.state(), t.g.state());  // from outside: as it is
    const auto pair = tl::fuse([&] {
      const auto x = tl::exp(t.f);
      return std::pair{x, x};
    });
    EXPECT_EQ(pair.first.state(), pair.second.state());
    expect_same_bits(pair.first, e, "pair");
    const auto array = tl::fuse([&] { return std::array{tl::exp(t.f), t.f + 1}; });
    expect_same_bits(array[1], s, "array");
    const auto list = tl::fuse([&] { return std::vector{tl::exp(t.f), t.f + 1, t.f}; });
    ASSERT_EQ(list.size(), 3U);
    expect_same_bits(list[0], e, "vector");
    const auto view = tl::fuse([&] { return tl::reshape(t.f + 1, {-1}); });
    EXPECT_EQ(view.shape(), (tl::Extents{kCount}));
    expect_same_bits(view, tl::ravel(s), "view");
    EXPECT_EQ(tl::fuse([&] { return t.f; }).state(), t.f.state());
  });
}

TEST(Fuse, AFuseWithinAFuseBelongsToIt) {
  const auto result = with_operands(fast_port(), [](const Operands& t) {
    const auto square = [](const Tile& x) { return tl::fuse([](const Tile& y) { return y * y; }, x); };
    const auto y = tl::fuse([&] { return square(t.f + 1) + square(t.g); });
    EXPECT_EQ(cycles(y), 5 + kGroups * (2 + 1 + 1 + 2));
    expect_same_bits(y, (t.f + 1) * (t.f + 1) + t.g * t.g, "nested");
  });
  EXPECT_EQ(result.status, RunStatus::ok);
}

/// A function of tl that is made of others, its name, and its results.
struct MadeOfOthers {
  std::string name;
  std::function<std::vector<Tile>(const Operands&)> call;
};
const std::vector<MadeOfOthers>& made_of_others() {
  const auto both = [](const std::pair<Tile, Tile>& pair) { return std::vector<Tile>{pair.first, pair.second}; };
  const auto four = [](const std::array<Tile, 4>& tiles) { return std::vector<Tile>(tiles.begin(), tiles.end()); };
  const auto add = [](const Tile& a, const Tile& b) { return a + b; };
  const auto whole = [](const Tile& x) { return tl::cast(x, DType::i32); };
  static const std::vector<MadeOfOthers> all{
      {"reduce", [=](const Operands& t) { return std::vector{tl::reduce(t.f, 1, add)}; }},
      {"associative_scan", [=](const Operands& t) { return std::vector{tl::associative_scan(t.f, 1, add)}; }},
      {"softmax", [](const Operands& t) { return std::vector{tl::softmax(t.f, 1)}; }},
      {"sum", [](const Operands& t) { return std::vector{tl::sum(t.h, 1, false, DType::f32)}; }},
      {"cumsum", [](const Operands& t) { return std::vector{tl::cumsum(t.h, 1, false, DType::f32)}; }},
      {"xor_sum", [=](const Operands& t) { return std::vector{tl::xor_sum(whole(t.f))}; }},
      {"reduce_or", [=](const Operands& t) { return std::vector{tl::reduce_or(whole(t.f))}; }},
      {"umulhi", [=](const Operands& t) { return std::vector{tl::umulhi(whole(t.f), whole(t.g))}; }},
      {"max_with_index", [=](const Operands& t) { return both(tl::max_with_index(t.f, 0)); }},
      {"min_with_index", [=](const Operands& t) { return both(tl::min_with_index(t.f, 1, true)); }},
      {"rand", [=](const Operands& t) { return std::vector{tl::rand(7, whole(t.f))}; }},
      {"randn", [=](const Operands& t) { return std::vector{tl::randn(7, whole(t.f))}; }},
      {"randint4x", [=](const Operands& t) { return four(tl::randint4x(7, whole(t.f))); }},
      {"rand4x", [=](const Operands& t) { return four(tl::rand4x(7, whole(t.f))); }},
      {"randn4x", [=](const Operands& t) { return four(tl::randn4x(7, whole(t.f))); }},
      {"to_mx", [=](const Operands&) { return both(tl::to_mx(tl::full({2, 64}, 3.0f, DType::f32), "e4m3")); }},
  };
  return all;
}

TEST(Fuse, FunctionsThatAreMadeOfOthersAreOneCommandOfTheirNameAndPartOfAFuse) {
  for (const MadeOfOthers& function : made_of_others()) {
    SCOPED_TRACE(function.name);
    const auto counts_of = [&](bool fused) {
      const auto result = with_operands(tiny(), [&](const Operands& t) {
        if (!fused) {
          (void)function.call(t);
          return;
        }
        const std::vector<Tile> outer = tl::fuse([&] { return function.call(t); });
        const std::vector<Tile> alone = function.call(t);
        ASSERT_EQ(outer.size(), alone.size());
        for (std::size_t i = 0; i < outer.size(); ++i) expect_same_bits(outer[i], alone[i], function.name);
      });
      EXPECT_EQ(result.status, RunStatus::ok) << (result.error ? result.error->message : "");
      std::map<std::string, std::int64_t> counts;
      for (const auto& operation : result.launches.back().operations) counts[operation.operation] += operation.count;
      return counts;
    };
    auto alone = counts_of(false), within = counts_of(true);
    EXPECT_EQ(alone[function.name], 1);
    EXPECT_EQ(alone["fuse"], 0);
    EXPECT_EQ(within[function.name], 1) << "the one beside the fuse";
    EXPECT_EQ(within["fuse"], 1);
  }
}

TEST(Fuse, EveryFunctionThatIsMadeOfOthersIsAmongThoseThatAreTriedWithinOne) {
  std::set<std::string> tried;
  for (const MadeOfOthers& function : made_of_others()) tried.insert(function.name);
  const std::string folder = source_tree::path("src/tile/compute"), begin = "fuse_as(\"";
  std::size_t found = 0;
  for (const auto& file : std::filesystem::directory_iterator(folder)) {
    const std::string text = source_tree::read("src/tile/compute/" + file.path().filename().string());
    for (auto at = text.find(begin); at != std::string::npos; at = text.find(begin, at + 1), ++found) {
      const auto from = at + begin.size();
      const std::string name = text.substr(from, text.find('"', from) - from);
      EXPECT_TRUE(tried.contains(name)) << name;
    }
  }
  EXPECT_EQ(found, tried.size());
}

TEST(Fuse, BroadcastAndInterleaveArePartsOfIt) {
  const auto result = with_operands(tiny(), [](const Operands& t) {
    const auto centred = [&] {
      const auto [whole, largest] = tl::broadcast(t.f, tl::max(t.f, 1, true));
      return whole - largest;
    };
    expect_same_bits(tl::fuse(centred), centred(), "broadcast");
    const auto both = [&] { return tl::interleave(t.f + 1, t.g); };
    expect_same_bits(tl::fuse(both), both(), "interleave");
  });
  EXPECT_EQ(result.status, RunStatus::ok) << (result.error ? result.error->message : "");
}

// One pass over the operand for each of the two, whose trees have 6 levels for 37 elements side by side.
TEST(Fuse, TheLargestLaneAndItsIndexTakeTwoReductionsAndReadTheOperandOnce) {
  with_operands(fast_port(), [](const Operands& t) {
    EXPECT_EQ(cycles(tl::max_with_index(t.f, 1).first), 2 * 5 + kGroups * (1 + 2) + 2 * 6 * 3);
  });
  with_operands(slow_port(), [](const Operands& t) {
    EXPECT_EQ(cycles(tl::min_with_index(t.f, 1).second), kCount * 4 + 2 * kRows * 4);
  });
}

TEST(Fuse, FusedCommandsDependOnEachOtherAsAllDo) {
  with_operands(tiny(), [](const Operands& t) {
    Tile chain = t.f, plain = t.f;
    for (int i = 0; i < 4; ++i) {
      chain = tl::fuse([](const Tile& x) { return x * 0.5f + 1; }, chain);
      plain = plain * 0.5f + 1;
    }
    expect_same_bits(chain, plain, "chain");
  });
}

TEST(Fuse, IntegersThatAreKnownStaySo) {
  with_operands(tiny(), [](const Operands&) {
    const auto offsets = tl::fuse([] { return tl::arange(0, 8) * 3 + 1; });
    const auto known = tile::known_view(*offsets.state());
    ASSERT_TRUE(known);
    EXPECT_EQ(known->element(5).as_integer(), 16);
  });
}

// ---- what is refused ---------------------------------------------------------------------------------------------

TEST(Fuse, WhatDoesNotRunOnTheVectorEngineIsRefusedWithinAFuse) {
  const auto refused = [](const std::string& call) {
    return AllOf(HasSubstr("ValueError: tl::" + call + ": not possible within tl::fuse"), HasSubstr("fuse_test.cpp:"));
  };
  EXPECT_THAT(kernel_error([](Tile a, Tile) { tl::fuse([&] { return tl::dot(a, tl::trans(a)); }); }), refused("dot"));
  EXPECT_THAT(kernel_error([](Tile a, Tile) {
                tl::fuse([&] {
                  (void)tl::item(tl::sum(a));
                  return a;
                });
              }),
              refused("item"));
  EXPECT_THAT(kernel_error([](Tile a, Tile) {
                tl::fuse([&] {
                  tl::device_print("x", a);
                  return a;
                });
              }),
              refused("device_print"));
  EXPECT_THAT(kernel_error([](Tile a, Tile) {
                tl::fuse([&] {
                  tl::delay(10);
                  return a * 2;
                });
              }),
              refused("delay"));
  EXPECT_THAT(kernel_error([](Tile a, Tile) {
                tl::fuse([&] {
                  (void)tl::alloc({8}, DType::f32);
                  return a * 2;
                });
              }),
              refused("alloc"));
  const auto memory_error = [](const std::function<void(tl::Tensor)>& body) {
    const auto result = try_simulate(tiny(), [&] {
      auto x = torch::ones({8}, one_pe(DType::f32));
      torch::launch("wrong", [&](tl::Tensor a) { body(a); }, x);
      torch::ahbm::synchronize();
    });
    return result.error ? result.error->type + ": " + result.error->message + " | " + result.error->where : "no error";
  };
  EXPECT_THAT(memory_error([](const tl::Tensor& a) { tl::fuse([&] { return tl::load(a, {0}, {8}); }); }),
              refused("load"));
  EXPECT_THAT(memory_error([](const tl::Tensor& a) {
                tl::fuse([&] {
                  const auto x = tl::zeros({8}, DType::f32);
                  tl::store(a, {0}, x);
                  return x;
                });
              }),
              refused("store"));
}

TEST(Fuse, AHandleThatLeavesTheScopeAnotherWayIsAnError) {
  EXPECT_THAT(kernel_error([](Tile a, Tile) {
                Tile kept;
                tl::fuse([&] {
                  kept = a * 2;
                  return kept + 1;
                });
              }),
              AllOf(HasSubstr("ValueError: tl::fuse: the value of mul at fuse_test.cpp:"),
                    HasSubstr("has a handle outside of the scope"), HasSubstr("return the tile from the function")));
  // A view of it is one, too.
  EXPECT_THAT(kernel_error([](Tile a, Tile) {
                Tile kept;
                tl::fuse([&] {
                  const auto twice = a * 2;
                  kept = tl::ravel(twice);
                  return twice;
                });
              }),
              HasSubstr("has a handle outside of the scope"));
  EXPECT_THAT(kernel_error([](Tile a, Tile) {
                tl::fuse([&] {
                  const Tile nothing = a * 2;
                  return Tile();
                });
              }),
              HasSubstr("tl::fuse: an empty tile"));
}

TEST(Fuse, AnErrorWithinTheScopeLeavesIt) {
  EXPECT_EQ(kernel_error([](Tile a, Tile b) {
              EXPECT_THROW(tl::fuse([&] { return a * 2 + b; }), ValueError);
              (void)tl::item(tl::sum(a * 2));  // no scope any more
            }),
            "no error");
}

TEST(Fuse, AnInvalidLaneNamesTheOperationThatMadeIt) {
  EXPECT_THAT(kernel_error([](Tile a, Tile) {
                const auto y = tl::fuse([&] { return tl::idiv(tl::cast(a, DType::i32), 0) + 1; });
                (void)tl::item(tl::sum(y));
              }),
              AllOf(HasSubstr("InvalidValueError"), HasSubstr("the integer division by 0 at fuse_test.cpp:"),
                    HasSubstr("fuse_test.cpp:")));
}

}  // namespace
}  // namespace kernbench::tile_test::fuse_test
