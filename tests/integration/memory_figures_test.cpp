// What a program is told of its devices' memory: PyTorch's figures, by device, at the instant of the question.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
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
    const std::map<std::string, std::int64_t> expected{
        {"allocation.all.current", 1},
        {"allocation.all.peak", 1},
        {"allocation.all.allocated", 2},
        {"allocation.all.freed", 1},
        {"requested_bytes.all.current", 40},
        {"requested_bytes.all.peak", 12'000},
        {"requested_bytes.all.allocated", 12'040},
        {"requested_bytes.all.freed", 12'000},
        {"allocated_bytes.all.current", kPage},
        {"allocated_bytes.all.peak", 3 * kPage},
        {"allocated_bytes.all.allocated", 4 * kPage},
        {"allocated_bytes.all.freed", 3 * kPage},
        {"reserved_bytes.all.current", kPage},
        {"reserved_bytes.all.peak", 3 * kPage},
        {"reserved_bytes.all.allocated", 4 * kPage},
        {"reserved_bytes.all.freed", 3 * kPage},
        {"num_ooms", 1},
        {"num_alloc_retries", 0},
    };
    EXPECT_EQ(ahbm::memory_stats(), expected);
    ahbm::reset_accumulated_memory_stats();
    const auto after = ahbm::memory_stats();
    EXPECT_EQ(after.at("allocated_bytes.all.allocated"), 0);
    EXPECT_EQ(after.at("allocated_bytes.all.freed"), 0);
    EXPECT_EQ(after.at("allocated_bytes.all.peak"), 3 * kPage);
    EXPECT_EQ(after.at("num_ooms"), 0);
  });
}

TEST(MemoryFigures, EachDeviceHasItsOwn) {
  simulate(two_sips(), [] {
    const auto x = torch::empty({1}, one_pe().device(torch::Device(torch::kAHBM, 1)));
    EXPECT_EQ(ahbm::memory_allocated(), 0);
    EXPECT_EQ(ahbm::memory_allocated(1), kPage);
    EXPECT_EQ(torch::accelerator::memory_allocated(1), kPage);
    ahbm::set_device(1);
    EXPECT_EQ(ahbm::memory_allocated(), kPage);
    EXPECT_EQ(ahbm::max_memory_allocated(0), 0);
    EXPECT_EQ(torch::accelerator::get_memory_info(), std::pair(kTotal - kPage, kTotal));
    EXPECT_EQ(torch::accelerator::get_memory_info(0), std::pair(kTotal, kTotal));
    EXPECT_EQ(torch::accelerator::memory_stats(0).at("allocation.all.allocated"), 0);
  });
  EXPECT_THAT(error_of([] { ahbm::memory_allocated(2); }, two_sips()), HasSubstr("must be in [0, 2), but got 2"));
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
                "4.5 GiB are free (largest block 1.5 GiB); largest live tensors there: \"weights\" 3 GiB."));
}

}  // namespace
}  // namespace kernbench
