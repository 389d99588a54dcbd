// Errors about invalid values name what made them: the operation, its line and its kernel, however far the value has
// come since.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "devices.h"
#include "programs.h"

namespace kernbench {
namespace {

using testing::error_of;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::one_pe;
using testing::ring_of;
using testing::tiny;

constexpr std::int64_t kCount = 8;

/// " at invalid_values_test.cpp:12"
std::string at(int line) {
  return " at invalid_values_test.cpp:" + std::to_string(line);
}
std::string mine(int line) {
  return at(line) + " (kernel makes#0)";
}
std::string division(int line) {
  return "the integer division by 0" + mine(line) + " made it; keep 0 out of the divisor";
}

/// An operation of a kernel that makes invalid lanes: all of them, or all but the first. `x` is 0, 1, 2 …
struct Maker {
  const char* name;
  std::function<tl::Tile(const tl::In& x)> make;
  std::string text;
};

tl::Tile zeros_of(const tl::In& x) {
  return tl::load(x, {0}, {kCount}) * 0;
}

std::vector<Maker> makers() {
  std::vector<Maker> all;
  const auto add = [&](const char* name, std::function<tl::Tile(const tl::In&)> make, std::string text) {
    all.push_back({name, std::move(make), std::move(text)});
  };
  add("idiv", [](const tl::In& x) { return tl::idiv(tl::load(x, {0}, {kCount}), zeros_of(x)); }, division(__LINE__));
  add("idiv of known tiles", [](const tl::In&) { return tl::idiv(tl::arange(0, kCount), 0); }, division(__LINE__));
  add(
      "rem", [](const tl::In& x) { return tl::load(x, {0}, {kCount}) % zeros_of(x); },
      "the integer remainder by 0" + mine(__LINE__ - 1) + " made it");
  add(
      "shift", [](const tl::In& x) { return tl::load(x, {0}, {kCount}) << (zeros_of(x) - 1); },
      "the shift" + mine(__LINE__ - 1) + " made it, by a count below 0 or not below the width of the type");
  add(
      "mask of a block", [](const tl::In& x) { return tl::load(x, {0}, {kCount}, {.mask = zeros_of(x) > 0}); },
      "the load" + mine(__LINE__ - 1) + " has lanes that are masked off and no `other`; give it an `other` value");
  add(
      "mask of pointers",
      [](const tl::In& x) { return tl::load(x.data_ptr() + tl::arange(0, kCount), {.mask = zeros_of(x) > 0}); },
      "the load" + mine(__LINE__ - 1) + " has lanes that are masked off and no `other`; give it an `other` value");
  add(
      "outside", [](const tl::In& x) { return tl::load(x, {kCount - 1}, {kCount}); },
      "the load" + mine(__LINE__ - 1) + " has lanes outside of the tensor and no `other`; give it an `other` value");
  add(
      "fresh buffer", [](const tl::In&) { return tl::load(tl::alloc({kCount}, DType::i32), {0}, {kCount}); },
      "the load" + mine(__LINE__ - 1) + " read memory that nobody had written; initialise it");
  return all;
}

/// A program whose kernel "makes" stores what `make` gives, and which then goes on with the tensor.
std::function<void()> stores(const std::function<tl::Tile(const tl::In&)>& make,
                             const std::function<void(const torch::Tensor&)>& then,
                             std::vector<std::int64_t> shape = {kCount}) {
  return [=] {
    const auto x = torch::arange(kCount, torch::dtype(DType::i32)).to(one_pe(DType::i32));
    const auto y = torch::zeros(shape, one_pe(DType::i32).name("y"));
    torch::launch(
        "makes",
        [make](tl::In in, tl::Tensor out) {
          tl::store(out, tl::Extents(std::vector<std::int64_t>(out.shape().size(), 0)), make(in));
        },
        x, y);
    then(y);
  };
}

void read(const torch::Tensor& y) {
  y.cpu();
}

tl::Tile divided(const tl::In& x) {
  return tl::idiv(tl::load(x, {0}, {kCount}), zeros_of(x));
}
const int kDivided = __LINE__ - 2;

TEST(InvalidValues, HostReadsNameWhatMadeThem) {
  for (const Maker& maker : makers()) {
    SCOPED_TRACE(maker.name);
    const std::string text = error_of(stores(maker.make, read));
    EXPECT_THAT(text, HasSubstr("cpu read element ["));
    EXPECT_THAT(text, HasSubstr("] of tensor y, which is invalid: " + maker.text));
  }
}

TEST(InvalidValues, EveryHostReadDoes) {
  const auto last = [](const torch::Tensor& y) { y[kCount - 1].item<int>(); };
  const auto equal = [](const torch::Tensor& y) { torch::equal(y, torch::zeros({kCount}, torch::dtype(DType::i32))); };
  EXPECT_THAT(error_of(stores(divided, last)),
              HasSubstr("item read element [7] of tensor y, which is invalid: " + division(kDivided)));
  EXPECT_THAT(error_of(stores(divided, equal)),
              HasSubstr("equal read element [0] of tensor y, which is invalid: " + division(kDivided)));
  EXPECT_THAT(error_of(stores(divided, [](const torch::Tensor& y) { y.to("cpu", torch::kFloat); })),
              HasSubstr(division(kDivided)));
}

TEST(InvalidValues, EachLaneHasItsOwn) {
  const int line = __LINE__ + 3;
  const auto both = [](const tl::In& x) {
    const auto lanes = tl::arange(0, kCount);
    const auto quotient = tl::idiv(lanes, lanes);
    const auto shifted = lanes << (lanes * 8);
    return tl::where(lanes < 4, quotient, shifted) + zeros_of(x);
  };
  const auto element = [](std::int64_t i) { return [i](const torch::Tensor& y) { y[i].item<int>(); }; };
  EXPECT_THAT(error_of(stores(both, element(0))), HasSubstr(division(line)));
  EXPECT_EQ(error_of(stores(both, element(1))), "no error");
  EXPECT_THAT(error_of(stores(both, element(5))), HasSubstr("the shift" + mine(line + 1)));
}

TEST(InvalidValues, MemoryThatNobodyHasWrittenIsNamedWithWhatReadIt) {
  EXPECT_THAT(error_of([] { torch::empty({2}, one_pe().name("y")).cpu(); }),
              HasSubstr("element [0] of tensor y, which was never written; initialise it"));
  const int line = __LINE__ + 6;
  const auto copied = [] {
    const auto x = torch::empty({kCount}, one_pe()), y = torch::zeros({kCount}, one_pe().name("y"));
    torch::launch(
        "makes",
        [](tl::In in, tl::Tensor out) {
          const auto tile = tl::load(in, {0}, {kCount});
          tl::store(out, {0}, tile * 2.0f);
        },
        x, y);
    y.cpu();
  };
  EXPECT_THAT(error_of(copied), HasSubstr("the load" + mine(line) + " read memory that nobody had written"));
}

TEST(InvalidValues, ErrorsOfKernelsNameWhatMadeThem) {
  const auto runs = [](const std::function<void(const tl::In&)>& use) {
    return stores(
        [use](const tl::In& x) {
          use(x);
          return tl::load(x, {0}, {kCount});
        },
        [](const torch::Tensor&) { torch::ahbm::synchronize(); });
  };
  for (const Maker& maker : makers()) {
    SCOPED_TRACE(maker.name);
    EXPECT_THAT(error_of(runs([&](const tl::In& x) { tl::item(tl::sum(maker.make(x))); })),
                HasSubstr("tl::item read an invalid value (from sum): " + maker.text));
    EXPECT_THAT(error_of(runs([&](const tl::In& x) { tl::load(x.data_ptr() + maker.make(x)); })),
                AllOf(HasSubstr(" of the offsets is invalid: " + maker.text), HasSubstr("tl::load: lane [")));
    EXPECT_THAT(error_of(runs([&](const tl::In& x) { tl::load(x, {0}, {kCount}, {.mask = maker.make(x) > 0}); })),
                AllOf(HasSubstr(" of the mask is invalid: " + maker.text), HasSubstr("tl::load: lane [")));
    EXPECT_THAT(error_of(runs([&](const tl::In& x) { tl::device_assert(maker.make(x) >= 0, "positive"); })),
                HasSubstr(" of the condition is invalid: " + maker.text));
  }
}

TEST(InvalidValues, AtomicsHaveNoOldValueOfMaskedLanes) {
  const auto old = [](const torch::Tensor& y) {
    const auto z = torch::zeros({kCount}, one_pe(DType::i32).name("z"));
    torch::launch(
        "adds",
        [](tl::Tensor counts, tl::Tensor out) {
          const auto lanes = tl::arange(0, kCount);
          tl::store(out, {0}, tl::atomic_add(counts.data_ptr() + lanes, 1, {.mask = lanes > 2}));
        },
        y, z);
    z.cpu();
  };
  const int line = __LINE__ - 5;
  EXPECT_THAT(
      error_of(stores([](const tl::In& x) { return zeros_of(x); }, old)),
      HasSubstr("the atomic_add" + at(line) + " (kernel adds#0) has no old value of lanes that are masked off"));
}

// ---- what they come through ----------------------------------------------------------------------------------------

TEST(InvalidValues, ThroughOperationsOfTheKernel) {
  const std::vector<std::pair<const char*, std::function<tl::Tile(tl::Tile)>>> ways{
      {"arithmetic", [](const tl::Tile& tile) { return -(tile + 1) * 3; }},
      {"conversions", [](const tl::Tile& tile) { return tl::cast(tl::exp(tl::cast(tile, DType::f32)), DType::i32); }},
      {"a reduction", [](const tl::Tile& tile) { return tl::sum(tile, 0, true) + tl::zeros({kCount}, DType::i32); }},
      {"a running sum", [](const tl::Tile& tile) { return tl::cumsum(tile, 0); }},
      {"a view", [](const tl::Tile& tile) { return tl::reshape(tl::trans(tl::reshape(tile, {2, 4})), {kCount}); }},
      {"a product",
       [](const tl::Tile& tile) {
         const auto rows = tl::cast(tl::reshape(tile, {2, 4}), DType::f16);
         return tl::reshape(tl::cast(tl::dot(rows, tl::zeros({4, 4}, DType::f16)), DType::i32), {kCount});
       }},
      {"a buffer",
       [](const tl::Tile& tile) {
         const auto buffer = tl::alloc({kCount}, DType::i32);
         tl::store(buffer, {0}, tile);
         return tl::load(buffer, {0}, {kCount});
       }},
  };
  for (const auto& [name, way] : ways) {
    SCOPED_TRACE(name);
    EXPECT_THAT(error_of(stores([&](const tl::In& x) { return way(divided(x)); }, read)),
                HasSubstr(division(kDivided)));
  }
}

TEST(InvalidValues, ThroughTensorsOtherKernelsAndDeviceFunctions) {
  const auto copied = [](const torch::Tensor& y) {
    const auto z = torch::zeros({kCount}, one_pe(DType::i32));
    torch::launch("copies", [](tl::In in, tl::Tensor out) { tl::store(out, {0}, tl::load(in, {0}, {kCount})); }, y, z);
    z.cpu();
  };
  EXPECT_THAT(error_of(stores(divided, copied)), HasSubstr(division(kDivided)));
  EXPECT_THAT(error_of(stores(divided, [](const torch::Tensor& y) { (y + 1).sum().item<int>(); })),
              HasSubstr(division(kDivided)));
  EXPECT_THAT(error_of(stores(divided, [](const torch::Tensor& y) { y.view({2, 4}).t().contiguous().cpu(); })),
              HasSubstr(division(kDivided)));
}

TEST(InvalidValues, FromOneProgramToAnother) {
  const auto sent = [] {
    const auto y = torch::zeros(
        {2, kCount}, torch::dtype(DType::i32).device("ahbm").name("y").placement({.num_cubes = 1, .num_pes = 2}));
    torch::launch(
        {.pes = {{CubeId{0}, PeId{0}}, {CubeId{0}, PeId{1}}}, .queues = {.topology = QueueTopology::ring_1d}}, "makes",
        [](tl::Tensor out) {
          const auto one = tl::full({1, kCount}, 1, DType::i32);
          if (tl::member_index() == 0) return tl::send(tl::idiv(one, 0), tl::ring_next());
          tl::store(out, {1, 0}, tl::recv(DType::i32, {1, kCount}, tl::ring_previous()));
        },
        y);
    y.cpu();
  };
  const int line = __LINE__ - 6;
  EXPECT_THAT(error_of(sent), HasSubstr(division(line)));
}

TEST(InvalidValues, ThroughAWindow) {
  const auto put = [](bool written) {
    return [written] {
      const auto y = torch::zeros({kCount}, one_pe(DType::i32).name("y"));
      torch::LaunchOptions options;
      options.queues.window = WindowOptions{Bytes(1024), 2};
      torch::launch(
          options, "makes",
          [written](tl::Tensor out) {
            if (written) tl::put(tl::window(tl::self()), tl::idiv(tl::arange(0, kCount), 0));
            tl::store(out, {0}, tl::get(tl::window(tl::self()), DType::i32, {kCount}));
          },
          y);
      y.cpu();
    };
  };
  const int line = __LINE__ - 7;
  EXPECT_THAT(error_of(put(true)), HasSubstr(division(line)));
  EXPECT_THAT(error_of(put(false)), HasSubstr("the get" + mine(line + 1) + " read memory that nobody had written"));
}

TEST(InvalidValues, MemoryThatNobodyHasWrittenIsNamedWithItsFirstElement) {
  using Access = std::function<tl::Tile(const tl::Tensor&)>;
  // Half of each row is written; x is gone when y is read.
  const auto text = [](const Access& access) {
    return error_of([access] {
      const auto y = torch::zeros({kCount}, one_pe().name("y"));
      {
        const auto x = torch::empty({2, kCount}, one_pe().name("x"));
        torch::launch("half", [](tl::Tensor to) { tl::store(to, {0, 0}, tl::zeros({2, kCount / 2}, DType::f32)); }, x);
        torch::launch(
            "makes",
            [access](tl::Tensor from, tl::Tensor to) { tl::store(to, {0}, tl::reshape(access(from), {kCount})); }, x,
            y);
      }
      const auto z = torch::ones({2, kCount}, one_pe().name("z"));  // where x was
      y.cpu();
    });
  };
  const auto first = [](int element) {
    return HasSubstr("nobody had written (element [1, " + std::to_string(element) + "] of x); initialise it");
  };
  EXPECT_THAT(text([](const tl::Tensor& x) { return tl::load(x, {1, 0}, {1, kCount}); }), first(4));
  EXPECT_THAT(text([](const tl::Tensor& x) {
                return tl::load(x, {1, 0}, {1, kCount}, {.other = 0.0f, .mask = tl::arange(0, kCount) > 5});
              }),
              first(6));
  EXPECT_THAT(
      text([](const tl::Tensor& x) { return tl::atomic_add(x.data_ptr() + tl::arange(kCount, 2 * kCount), 1.0f); }),
      first(4));
}

TEST(InvalidValues, FromOneDeviceToAnother) {
  const auto moved = [](const torch::Tensor& y) {
    const auto there = torch::zeros({kCount}, one_pe(DType::i32).device(torch::Device(torch::kAHBM, 1)).name("there"));
    there.copy_(y);
    there.cpu();
  };
  EXPECT_THAT(error_of(stores(divided, moved), ring_of(2)),
              HasSubstr("of tensor there, which is invalid: " + division(kDivided)));
}

TEST(InvalidValues, DeviceFunctionsAreNamedByTheLineOfTheirCall) {
  const auto divide = [] {
    const auto x = torch::ones({kCount}, one_pe(DType::i32)), zero = torch::zeros({kCount}, one_pe(DType::i32));
    torch::remainder(x, zero).cpu();
  };
  const int line = __LINE__ - 2;
  const std::string text = error_of(divide);
  EXPECT_THAT(text, HasSubstr("the integer remainder by 0" + at(line) + " (kernel remainder#0) made it"));
  const auto add = [] { (torch::empty({kCount}, one_pe()) + 1.0f).cpu(); };
  EXPECT_THAT(error_of(add), HasSubstr("the load" + at(line + 5) + " (kernel add#0) read memory that nobody had"));
}

// ---- how it is run -------------------------------------------------------------------------------------------------

TEST(InvalidValues, TheTextIsTheSameWhateverTheNumberOfThreads) {
  const auto lanes = [](const torch::Tensor& y) { y[6].item<int>(); };
  const auto two = [](const tl::In& x) {
    const auto whole = tl::arange(0, kCount);
    return tl::cumsum(tl::idiv(whole, whole) + (divided(x) << 40), 0);
  };
  const int line = __LINE__ - 2;
  for (const int threads : {1, 2, 4}) {
    SimulateOptions options = tiny();
    options.threads = threads;
    for (int round = 0; round < 5; ++round) {
      EXPECT_THAT(error_of(stores(two, lanes), options), HasSubstr(division(line)));
    }
    for (const Maker& maker : makers()) {
      EXPECT_EQ(error_of(stores(maker.make, read), options), error_of(stores(maker.make, read)));
    }
  }
}

TEST(InvalidValues, WithExactEventsAndInALaterLaunch) {
  SimulateOptions exact = tiny();
  exact.exact_events = true;
  EXPECT_THAT(error_of(stores(divided, read), exact), HasSubstr(division(kDivided)));
  const auto again = [](const torch::Tensor& y) {
    torch::Tensor z = y;
    z.zero_();
    torch::launch("makes", [](tl::Tensor out) { tl::store(out, {0}, tl::idiv(tl::arange(0, kCount), 0)); }, y);
    y.cpu();
  };
  const int line = __LINE__ - 3;
  const std::string text = error_of(stores(divided, again));
  EXPECT_THAT(text, HasSubstr("the integer division by 0" + at(line) + " (kernel makes#1) made it"));
  EXPECT_THAT(text, Not(HasSubstr("makes#0")));
}

TEST(InvalidValues, UnderNoDataKnownOnesAreNamed) {
  SimulateOptions options = tiny();
  options.data = false;
  const auto known = [](const tl::In&) {
    tl::item(tl::sum(tl::idiv(tl::arange(0, kCount), 0)));
    return tl::arange(0, kCount);
  };
  const int line = __LINE__ - 3;
  EXPECT_THAT(error_of(stores(known, [](const torch::Tensor&) { torch::ahbm::synchronize(); }), options),
              HasSubstr(division(line)));
}

TEST(InvalidValues, ReadsThatMayLeaveTensorsAreNamed) {
  SimulateOptions options = tiny();
  options.out_of_bounds_reads = OutOfBoundsReads::uninitialized;
  const auto outside = [](const tl::In& x) { return tl::load(x.data_ptr() + (tl::arange(0, kCount) + 4)); };
  const int line = __LINE__ - 1;
  EXPECT_THAT(error_of(stores(outside, read), options),
              HasSubstr("element [4] of tensor y, which is invalid: the load" + mine(line) +
                        " has lanes outside of the tensor and no `other`"));
}

}  // namespace
}  // namespace kernbench
