// The switches of a simulation: reads outside of tensors, and what memory reads as that nobody has written. Neither
// changes a time.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "kernbench/error.h"
#include "programs.h"
#include "support/sanitizers.h"

namespace kernbench {
namespace {

using ::testing::Each;
using testing::error_of;
using testing::error_type_of;
using testing::one_pe;
using testing::tiny;

SimulateOptions lenient() {
  auto options = tiny();
  options.out_of_bounds_reads = OutOfBoundsReads::uninitialized;
  return options;
}

SimulateOptions zeroed() {
  auto options = tiny();
  options.uninitialized_memory = UninitializedMemory::zero;
  return options;
}

std::vector<float> values(const torch::Tensor& tensor) {
  const auto host = tensor.cpu().contiguous();
  return {host.data_ptr<float>(), host.data_ptr<float>() + host.numel()};
}

/// The options of a tensor that both PEs share.
torch::TensorOptions shared() {
  return torch::dtype(DType::f32).device("ahbm");
}

/// Runs a kernel that loads a tile of `lanes` from a 5 x 7 tensor of 1, 2, 3, … and returns the tile.
template <class Load>
std::vector<float> loaded(std::int64_t lanes, const Load& load, const SimulateOptions& options = lenient()) {
  std::vector<float> result;
  simulate(options, [&] {
    const auto x = (torch::arange(35, torch::dtype(DType::f32)) + 1.0f).view({5, 7}).to(shared());
    const auto out = torch::empty({lanes}, one_pe());
    torch::launch(
        {.pes = {{CubeId{0}, PeId{0}}}}, "load",
        [&load, lanes](tl::In in, tl::Tensor to) { tl::store(to, {0}, tl::reshape(load(in), {lanes})); }, x, out);
    result = values(out);
  });
  return result;
}

/// What lies at (row, column) of that tensor, or -1 outside.
float element(std::int64_t row, std::int64_t column) {
  return row < 0 || row >= 5 || column < 0 || column >= 7 ? -1.0f : static_cast<float>(row * 7 + column + 1);
}

/// The same by the number of the element.
float element(std::int64_t number) {
  return number < 0 || number >= 35 ? -1.0f : static_cast<float>(number + 1);
}

TEST(OutOfBoundsReads, RandomBoxesReadTheirLanesInsideAndOtherOutside) {
  std::mt19937 random(31);
  const auto pick = [&](int low, int high) {
    return low + static_cast<int>(random() % static_cast<unsigned>(high - low + 1));
  };
  for (int round = 0; round < (kSanitized ? 30 : 150); ++round) {
    const std::int64_t row = pick(-7, 8), column = pick(-9, 10), rows = pick(1, 8), columns = pick(1, 9);
    const bool asynchronous = pick(0, 1) == 1;
    std::vector<float> expected;
    for (std::int64_t i = row; i < row + rows; ++i)
      for (std::int64_t j = column; j < column + columns; ++j) expected.push_back(element(i, j));
    const auto load = [&](const tl::In& in) {
      if (!asynchronous) return tl::load(in, {row, column}, {rows, columns}, {.other = -1.0f});
      const auto pending = tl::load_async(in, {row, column}, {rows, columns}, {.other = -1.0f});
      tl::wait(pending.token);
      return pending.tile;
    };
    ASSERT_EQ(loaded(rows * columns, load), expected) << round;
  }
}

TEST(OutOfBoundsReads, RandomStridedBlocksAndBlockPointersToo) {
  std::mt19937 random(32);
  const auto pick = [&](int low, int high) {
    return low + static_cast<int>(random() % static_cast<unsigned>(high - low + 1));
  };
  for (int round = 0; round < (kSanitized ? 30 : 150); ++round) {
    const std::int64_t start = pick(-40, 45), rows = pick(1, 6), columns = pick(1, 6);
    const std::int64_t down = pick(0, 9), across = pick(0, 9);
    std::vector<float> expected;
    for (std::int64_t i = 0; i < rows; ++i)
      for (std::int64_t j = 0; j < columns; ++j) expected.push_back(element(start + i * down + j * across));
    ASSERT_EQ(loaded(rows * columns,
                     [&](const tl::In& in) {
                       return tl::load(in.data_ptr() + start, {rows, columns}, {down, across}, {.other = -1.0f});
                     }),
              expected)
        << round;
    // Without a boundary check a block pointer's lanes are where its strides put them.
    auto padded = expected;
    for (float& lane : padded) lane = lane == -1.0f ? 0.0f : lane;
    ASSERT_EQ(loaded(rows * columns,
                     [&](const tl::In& in) {
                       return tl::load(tl::make_block_ptr(in.data_ptr() + start, {rows, columns}, {down, across},
                                                          {0, 0}, {rows, columns}),
                                       {.padding = tl::Padding::zero});
                     }),
              padded)
        << round;
  }
}

TEST(OutOfBoundsReads, RandomPointersToo) {
  for (int round = 0; round < (kSanitized ? 20 : 100); ++round) {
    const std::int64_t base = round - 50, step = round % 7 - 3;
    std::vector<float> expected;
    for (std::int64_t i = 0; i < 16; ++i)
      expected.push_back(i % 3 == 0 && round % 2 == 0 ? -1.0f : element(base + i * step));
    const auto load = [&](const tl::In& in) {
      const auto lanes = tl::arange(0, 16);
      tl::LoadOptions options{.other = -1.0f};
      if (round % 2 == 0) options.mask = lanes % 3 != 0;
      return tl::load(in.data_ptr() + (base + lanes * step), options);
    };
    ASSERT_EQ(loaded(16, load), expected) << round;
  }
}

TEST(OutOfBoundsReads, OffsetsBeyondAllMemoryReadNothing) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max(),
                         kLeast = std::numeric_limits<std::int64_t>::min();
  for (const std::int64_t far : {kMost, kMost - 3, kLeast, kLeast + 3}) {
    EXPECT_THAT(loaded(4, [&](const tl::In& in) { return tl::load(in, {far, 0}, {2, 2}, {.other = -1.0f}); }),
                Each(-1.0f));
    EXPECT_THAT(loaded(1, [&](const tl::In& in) { return tl::load(in.data_ptr() + far, {.other = -1.0f}); }),
                Each(-1.0f));
  }
  const auto strided = loaded(
      4, [&](const tl::In& in) { return tl::load(in.data_ptr() + 3, {2, 2}, {kMost, kMost}, {.other = -1.0f}); });
  EXPECT_EQ(strided, (std::vector<float>{4.0f, -1.0f, -1.0f, -1.0f}));
}

TEST(OutOfBoundsReads, LanesOutsideAreInvalidWithoutOther) {
  const auto box = [](const tl::In& in) { return tl::load(in, {-1, 0}, {2, 2}); };
  const auto strided = [](const tl::In& in) { return tl::load(in.data_ptr() + 33, {4}, {1}); };
  const auto pointers = [](const tl::In& in) { return tl::load(in.data_ptr() + (33 + tl::arange(0, 4))); };
  EXPECT_THROW(loaded(4, box), InvalidValueError);
  EXPECT_THROW(loaded(4, strided), InvalidValueError);
  EXPECT_THROW(loaded(4, pointers), InvalidValueError);
  EXPECT_THROW(loaded(4, box, tiny()), OutOfBoundsError);
  EXPECT_THROW(loaded(4, strided, tiny()), OutOfBoundsError);
  EXPECT_THROW(loaded(4, pointers, tiny()), OutOfBoundsError);
}

TEST(OutOfBoundsReads, StoresAndAtomicsOutsideAreErrorsAllTheSame) {
  const auto writes = [](auto kernel) {
    return error_type_of(
        [kernel] {
          const auto x = torch::zeros({8}, one_pe());
          torch::launch("writes", kernel, x);
          torch::ahbm::synchronize();
        },
        lenient());
  };
  EXPECT_EQ(writes([](tl::Tensor t) { tl::store(t, {8}, tl::zeros({2}, DType::f32)); }), "OutOfBoundsError");
  EXPECT_EQ(writes([](tl::Tensor t) { tl::store(t.data_ptr() + 7, {1}, tl::zeros({2}, DType::f32)); }),
            "OutOfBoundsError");
  EXPECT_EQ(writes([](tl::Tensor t) { tl::store(t.data_ptr() + tl::arange(7, 9), 1.0f); }), "OutOfBoundsError");
  EXPECT_EQ(writes([](tl::Tensor t) { tl::atomic_add(t.data_ptr() + tl::arange(7, 9), 1.0f); }), "OutOfBoundsError");
}

// ---- fresh memory ------------------------------------------------------------------------------------------------

TEST(UninitializedMemory, FreshTensorsAndBuffersReadAsZerosOrAreInvalid) {
  const auto tensor = [] { EXPECT_THAT(values(torch::empty({3, 5}, shared())), Each(0.0f)); };
  const auto buffer = [] {
    const auto out = torch::empty({16}, one_pe());
    torch::launch(
        "fresh",
        [](tl::Tensor to) {
          const auto fresh = tl::alloc({16}, DType::f32);
          tl::store(to, {0}, tl::load(fresh, {0}, {16}) + 1.0f);
        },
        out);
    EXPECT_THAT(values(out), Each(1.0f));
  };
  EXPECT_EQ(error_of(tensor, zeroed()), "no error");
  EXPECT_EQ(error_of(buffer, zeroed()), "no error");
  EXPECT_EQ(error_type_of(tensor), "InvalidValueError");
  EXPECT_EQ(error_type_of(buffer), "InvalidValueError");
}

TEST(UninitializedMemory, MemoryThatComesBackIsFreshAgain) {
  simulate(zeroed(), [] {
    {
      const auto x = torch::ones({1000}, one_pe());
    }
    torch::ahbm::synchronize();
    EXPECT_THAT(values(torch::empty({1000}, one_pe())), Each(0.0f));
  });
}

TEST(UninitializedMemory, LanesThatAreMaskedOffStayInvalid) {
  const auto program = [] {
    const auto x = torch::empty({4}, one_pe()), out = torch::empty({4}, one_pe());
    torch::launch(
        "masked",
        [](tl::In in, tl::Tensor to) { tl::store(to, {0}, tl::load(in, {0}, {4}, {.mask = tl::arange(0, 4) < 2})); }, x,
        out);
    values(out);
  };
  EXPECT_EQ(error_type_of(program, zeroed()), "InvalidValueError");
}

// ---- times -------------------------------------------------------------------------------------------------------

TEST(Switches, ChangeNoTimeOfAProgramThatNeedsNone) {
  const auto run = [](bool reads, bool memory, bool data) {
    auto options = tiny();
    options.data = data;
    if (reads) options.out_of_bounds_reads = OutOfBoundsReads::uninitialized;
    if (memory) options.uninitialized_memory = UninitializedMemory::zero;
    return simulate(options, [] {
      const auto x = torch::ones({40, 70}, shared()), out = torch::empty({40, 70}, shared());
      torch::launch(
          "work",
          [](tl::In in, tl::Tensor to) {
            const auto scratch = tl::alloc({8, 16}, DType::f32);
            for (std::int64_t row = tl::program_id(0) * 8; row < 40; row += 16) {
              tl::store(scratch, {0, 0}, tl::load(in, {row, 60}, {8, 16}, {.other = 0.0f}));
              tl::store(to, {row, 60}, tl::exp(tl::load(scratch, {0, 0}, {8, 16})));
              tl::store(to.data_ptr() + (row * 70 + tl::arange(0, 8)), tl::load(in.data_ptr() + row * 70, {8}, {5}));
            }
          },
          x, out);
      torch::ahbm::synchronize();
    });
  };
  const auto plain = run(false, false, true);
  for (const bool data : {true, false})
    for (const bool reads : {true, false})
      for (const bool memory : {true, false}) {
        const auto other = run(reads, memory, data);
        EXPECT_EQ(other.simulated_time, plain.simulated_time);
        EXPECT_EQ(other.times_fingerprint, plain.times_fingerprint);
      }
}

TEST(Switches, ReadsOutsideTakeTheSameTimeWithoutData) {
  const auto run = [](bool data) {
    auto options = lenient();
    options.data = data;
    return simulate(options, [] {
      const auto x = torch::ones({5, 7}, shared()), out = torch::empty({64}, one_pe());
      torch::launch(
          {.pes = {{CubeId{0}, PeId{0}}}}, "outside",
          [](tl::In in, tl::Tensor to) {
            auto sum = tl::zeros({16}, DType::f32);
            for (std::int64_t at = -20; at < 40; at += 7) {
              sum = sum + tl::reshape(tl::load(in, {at, at}, {4, 4}, {.other = 0.0f}), {16});
              sum = sum + tl::load(in.data_ptr() + at, {16}, {3}, {.other = 0.0f});
              sum = sum + tl::load(in.data_ptr() + (at + tl::arange(0, 16) * 2), {.other = 0.0f});
            }
            tl::store(to, {0}, sum);
          },
          x, out);
      torch::ahbm::synchronize();
    });
  };
  const auto with = run(true), without = run(false);
  EXPECT_EQ(with.simulated_time, without.simulated_time);
  EXPECT_EQ(with.times_fingerprint, without.times_fingerprint);
}

}  // namespace
}  // namespace kernbench
