// What a program is told of its devices' memory: PyTorch's figures, by device, at the instant of the question.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "kernbench/error.h"
#include "kernbench/memory.h"
#include "programs.h"
#include "runtime/context.h"

namespace kernbench {
namespace {

using testing::error_of;
using testing::error_type_of;
using ::testing::HasSubstr;
using testing::one_pe;
using testing::tiny;
namespace ahbm = torch::ahbm;

constexpr std::int64_t kPage = 4096, kTotal = std::int64_t{9} << 30;
const std::vector<std::string> kPages{"pe.mmu.page=4KiB"};

SimulateOptions two_sips() {
  auto overrides = kPages;
  overrides.emplace_back("system.sips.count=2");
  return tiny(overrides);
}

TEST(MemoryFigures, ATensorTakesWholePagesWhileItLives) {
  simulate(tiny(kPages), [] {
    EXPECT_EQ(ahbm::memory_allocated(), 0);
    EXPECT_EQ(ahbm::get_memory_info(), std::pair(kTotal, kTotal));
    {
      const auto x = torch::empty({1025}, one_pe());  // 4100 bytes
      EXPECT_EQ(ahbm::memory_allocated(), 2 * kPage);
      const auto y = torch::empty({1}, one_pe());
      const auto alias = y.view({1, 1});
      EXPECT_EQ(ahbm::memory_allocated(), 3 * kPage);
      EXPECT_EQ(ahbm::memory_reserved(), 3 * kPage);
      EXPECT_EQ(ahbm::get_memory_info(), std::pair(kTotal - 3 * kPage, kTotal));
      EXPECT_EQ(ahbm::mem_get_info(), ahbm::get_memory_info());
    }
    EXPECT_EQ(ahbm::memory_allocated(), 0);
    EXPECT_EQ(ahbm::max_memory_allocated(), 3 * kPage);
    EXPECT_EQ(ahbm::max_memory_reserved(), 3 * kPage);
    const auto z = torch::empty({1}, one_pe());
    ahbm::reset_peak_memory_stats();
    EXPECT_EQ(ahbm::max_memory_allocated(), kPage);
  });
}

TEST(MemoryFigures, EveryShardAndReplicaCounts) {
  simulate(tiny(kPages), [] {
    const auto split = torch::empty({2, 2048}, torch::device(torch::kAHBM));  // a row of 8 KiB on each of two PEs
    EXPECT_EQ(ahbm::memory_allocated(), 4 * kPage);
    const DPPolicy twice{Placement::replicate, Placement::replicate};
    const auto replicas = torch::empty({2, 2048}, torch::device(torch::kAHBM).placement(twice));
    EXPECT_EQ(ahbm::memory_allocated(), 12 * kPage);
  });
}

TEST(MemoryFigures, StatisticsHavePyTorchsNames) {
  simulate(tiny(kPages), [] {
    {
      const auto gone = torch::empty({3000}, one_pe());
    }
    const auto x = torch::empty({10}, one_pe());
    EXPECT_THROW(torch::empty({std::int64_t{1} << 40}, one_pe()), OutOfMemoryError);
    std::map<std::string, std::int64_t> expected{
        {"num_ooms", 1},        {"num_alloc_retries", 0},    {"num_device_alloc", 2},
        {"num_device_free", 1}, {"num_sync_all_streams", 0}, {"max_split_size", -1},
    };
    const auto expect = [&](const std::string& kind, std::int64_t current, std::int64_t peak, std::int64_t allocated,
                            std::int64_t freed) {
      expected[kind + ".all.current"] = current;
      expected[kind + ".all.peak"] = peak;
      expected[kind + ".all.allocated"] = allocated;
      expected[kind + ".all.freed"] = freed;
    };
    for (const char* kind : {"allocation", "active", "segment"}) expect(kind, 1, 1, 2, 1);
    for (const char* kind : {"allocated_bytes", "active_bytes", "reserved_bytes"})
      expect(kind, kPage, 3 * kPage, 4 * kPage, 3 * kPage);
    for (const char* kind : {"inactive_split", "inactive_split_bytes"}) expect(kind, 0, 0, 0, 0);
    expect("requested_bytes", 40, 12'000, 12'040, 12'000);
    EXPECT_EQ(ahbm::memory_stats(), expected);
    ahbm::reset_accumulated_memory_stats();
    const auto after = ahbm::memory_stats();
    EXPECT_EQ(after.at("allocated_bytes.all.allocated"), 0);
    EXPECT_EQ(after.at("allocated_bytes.all.freed"), 0);
    EXPECT_EQ(after.at("allocated_bytes.all.peak"), 3 * kPage);
    EXPECT_EQ(after.at("num_ooms"), 0);
    EXPECT_EQ(after.at("num_device_alloc"), 0);
    EXPECT_EQ(after.at("segment.all.current"), 1);
    ahbm::reset_peak_memory_stats();
    EXPECT_EQ(ahbm::memory_stats().at("requested_bytes.all.peak"), 40);
  });
}

TEST(MemoryFigures, SegmentsAreShards) {
  simulate(tiny(kPages), [] {
    const auto split = torch::empty({7, 3}, torch::device(torch::kAHBM));
    const auto stats = ahbm::memory_stats();
    EXPECT_EQ(stats.at("segment.all.current"), 2);
    EXPECT_EQ(stats.at("allocation.all.current"), 1);
  });
}

TEST(MemoryFigures, TheFullestSliceIsWhatIsLeftForASplitTensor) {
  simulate(two_sips(), [] {
    constexpr std::int64_t kSlice = kTotal / 2;
    EXPECT_EQ(ahbm::get_fullest_slice_info(), std::pair(kSlice, kSlice));
    const auto x = torch::empty({1025}, one_pe());
    EXPECT_EQ(ahbm::get_fullest_slice_info(), std::pair(kSlice - 2 * kPage, kSlice));
    EXPECT_EQ(ahbm::get_fullest_slice_info(1), std::pair(kSlice, kSlice));
    const auto y = torch::empty({2, 1024}, torch::device("ahbm:1"));
    EXPECT_EQ(ahbm::get_fullest_slice_info(1), std::pair(kSlice - kPage, kSlice));
  });
}

TEST(MemoryFigures, EachDeviceHasItsOwn) {
  simulate(two_sips(), [] {
    const auto x = torch::empty({1}, one_pe().device(torch::Device(torch::kAHBM, 1)));
    EXPECT_EQ(ahbm::memory_allocated(), 0);
    EXPECT_EQ(ahbm::memory_allocated(1), kPage);
    EXPECT_EQ(torch::accelerator::memory_allocated(1), kPage);
    EXPECT_EQ(ahbm::memory_allocated("ahbm:1"), kPage);
    EXPECT_EQ(ahbm::memory_allocated(x.device()), kPage);
    EXPECT_EQ(ahbm::memory_allocated("ahbm"), 0);
    EXPECT_EQ(ahbm::get_memory_info(std::string("ahbm:1")).first, kTotal - kPage);
    ahbm::reset_peak_memory_stats(torch::Device(torch::kAHBM, 1));
    ahbm::set_device(1);
    EXPECT_EQ(ahbm::memory_allocated(), kPage);
    EXPECT_EQ(ahbm::max_memory_allocated(0), 0);
    EXPECT_EQ(torch::accelerator::get_memory_info(), std::pair(kTotal - kPage, kTotal));
    EXPECT_EQ(torch::accelerator::get_memory_info(0), std::pair(kTotal, kTotal));
    EXPECT_EQ(torch::accelerator::memory_stats(0).at("allocation.all.allocated"), 0);
  });
  EXPECT_THAT(error_of([] { ahbm::memory_allocated(2); }, two_sips()), HasSubstr("must be in [0, 2), but got 2"));
  EXPECT_THAT(error_of([] { ahbm::memory_stats("ahbm:2"); }, two_sips()), HasSubstr("must be in [0, 2), but got 2"));
  EXPECT_THAT(error_of([] { ahbm::memory_stats("cpu"); }, two_sips()), HasSubstr("memory of cpu is not counted"));
}

void copy(tl::In x, tl::Tensor out) {
  tl::store(out, {0}, tl::load(x, {0}, {x.numel()}));
}

TEST(MemoryFigures, MemoryThatACommandUsesCountsUntilItHasCompleted) {
  simulate(tiny(kPages), [] {
    const auto out = torch::empty({1024}, one_pe());
    {
      const auto x = torch::zeros({1024}, one_pe());
      torch::launch("copy", copy, x, out);
    }
    EXPECT_EQ(ahbm::memory_allocated(), 2 * kPage);
    ahbm::synchronize();
    EXPECT_EQ(ahbm::memory_allocated(), kPage);
  });
}

/// Keeps a stream busy, so that what comes after it stays queued.
void slow(tl::Tensor) {
  tl::delay(1'000'000);
}

constexpr std::int64_t kMiB = std::int64_t{1} << 20, kElements = kMiB / 4;

TEST(MemoryFigures, BytesOfAQueuedCommandsTensorGoToNobodyElse) {
  auto options = tiny(kPages);
  options.overrides.emplace_back("cube.hbm.capacity=8MiB");  // 4 MiB for each slice
  simulate(options, [] {
    const auto expected = torch::arange(kElements, torch::kInt);
    const auto on_one = one_pe(torch::kInt);
    const auto out = torch::empty({kElements}, on_one.name("out"));
    {
      const auto x = expected.to(on_one.name("x"));
      torch::launch("slow", slow, out);
      torch::launch(
          "copy",
          [](tl::In from, tl::Tensor to) {
            for (std::int64_t i = 0; i < from.numel(); i += kElements / 8)
              tl::store(to, {i}, tl::load(from, {i}, {kElements / 8}));
          },
          x, out);
    }
    EXPECT_EQ(ahbm::memory_allocated(), 2 * kMiB);
    EXPECT_EQ(ahbm::memory_stats().at("allocation.all.freed"), 0);
    EXPECT_EQ(ahbm::get_fullest_slice_info().first, 2 * kMiB);
    // What fits goes elsewhere, even when its stream is far ahead of the copy.
    torch::Tensor other;
    {
      const ahbm::StreamGuard guard{ahbm::Stream()};
      other = torch::full({kElements}, -1, on_one.name("other"));
      ahbm::current_stream().synchronize();
    }
    const auto rest = torch::empty({kElements}, on_one.name("rest"));
    EXPECT_EQ(ahbm::memory_allocated(), 4 * kMiB);
    try {
      torch::empty({kElements}, on_one.name("late"));
      ADD_FAILURE() << "there is no room before the copy";
    } catch (const OutOfMemoryError& error) {
      EXPECT_THAT(error.what(), HasSubstr("\"x\" 1 MiB"));
    }
    ahbm::synchronize();
    EXPECT_EQ(ahbm::memory_allocated(), 3 * kMiB);
    const auto late = torch::full({kElements}, -2, on_one.name("late"));
    EXPECT_TRUE(torch::equal(out.cpu(), expected));
    EXPECT_TRUE(torch::equal(other.cpu(), torch::full({kElements}, -1, torch::kInt)));
  });
}

TEST(MemoryFigures, AViewKeepsTheMemoryOfATensorThatIsGone) {
  simulate(tiny(kPages), [] {
    torch::Tensor row;
    {
      const auto x = torch::arange(2048, torch::kInt).view({2, 1024}).to(one_pe(torch::kInt));
      row = x[1];
    }
    EXPECT_EQ(ahbm::memory_allocated(), 2 * kPage);
    EXPECT_TRUE(torch::equal(row.cpu(), torch::arange(1024, 2048, torch::kInt)));
    const auto again = row.narrow(0, 5, 2);
    row = torch::Tensor();
    EXPECT_EQ(ahbm::memory_allocated(), 2 * kPage);
    EXPECT_EQ(again[1].item<int>(), 1030);
  });
}

TEST(MemoryFigures, AskingTakesNoSimulatedTimeAndNeedsNoData) {
  std::int64_t with_data = 0;
  for (const bool data : {true, false}) {
    auto options = tiny(kPages);
    options.data = data;
    const auto result = simulate(options, [&] {
      const auto x = torch::empty({5000}, one_pe());
      ahbm::memory_stats();
      ahbm::empty_cache();
      torch::accelerator::empty_cache();
      ahbm::reset_peak_memory_stats();
      ahbm::get_memory_info();
      if (data) with_data = ahbm::max_memory_allocated();
      EXPECT_EQ(ahbm::max_memory_allocated(), 5 * kPage);
    });
    EXPECT_EQ(result.simulated_time, Time::zero());
  }
  EXPECT_EQ(with_data, 5 * kPage);
}

TEST(MemoryFigures, AreTheHostPrograms) {
  EXPECT_THROW(ahbm::memory_allocated(), ProgramError);
  EXPECT_THROW(ahbm::empty_cache(), ProgramError);
  const auto in_a_kernel = [] {
    const auto x = torch::empty({1}, one_pe());
    torch::launch("asks", [](tl::In) { ahbm::memory_stats(); }, x);
  };
  EXPECT_EQ(error_type_of(in_a_kernel), "ContextError");
}

TEST(MemoryFigures, AnErrorNamesWhoAskedWhatIsFreeAndWhoHoldsTheRest) {
  const auto program = [] {
    const auto weights = torch::empty({std::int64_t{3} << 28}, one_pe().name("weights"));
    torch::empty({std::int64_t{1} << 29}, one_pe().name("cache"));
  };
  auto options = tiny(kPages);
  options.data = false;
  EXPECT_THAT(
      error_of(program, options),
      HasSubstr("out of HBM on sip0.cube0.pe0: tensor \"cache\" (2 GiB in all) needs 2 GiB there, and 1.5 GiB of "
                "4.5 GiB are free (largest block 1.5 GiB; a shard takes whole pages of 4 KiB); largest "
                "live tensors there: \"weights\" 3 GiB."));
}

}  // namespace
}  // namespace kernbench
