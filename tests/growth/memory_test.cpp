// Memory that a run holds does not grow with what is over: counted by the allocator.
#include <gtest/gtest.h>
#include <malloc.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "../support/sanitizers.h"
#include "kernbench/kernbench.h"

namespace kernbench {
namespace {

/// Bytes that the program holds. Sanitizers have allocators of their own, which do not tell.
std::int64_t held() {
  return static_cast<std::int64_t>(mallinfo2().uordblks + mallinfo2().hblkhd);
}

void add_one(tl::Tensor x) {
  tl::store(x, {0}, tl::load(x, {0}, {64}) + 1.0F);
}

/// What is held at the end of so many launches more than at their beginning.
std::int64_t held_after(int launches, bool data) {
  SimulateOptions options;
  options.topology = "tiny";
  options.data = data;
  options.threads = 1;
  options.detailed_launches = 20;
  std::int64_t grown = 0;
  simulate(options, [&] {
    const auto x = torch::zeros({128}, torch::dtype(torch::kFloat32).device("ahbm"));
    const auto step = [&] {
      torch::launch("add_one", add_one, x);
      torch::ahbm::synchronize();
    };
    for (int i = 0; i < 200; ++i) step();
    const std::int64_t before = held();
    for (int i = 0; i < launches; ++i) step();
    grown = held() - before;
  });
  return grown;
}

TEST(MemoryTest, LaunchesThatAreOverHoldNothing) {
  NOT_UNDER_SANITIZERS("they have memory of their own");
  EXPECT_LT(held_after(4'000, false), 16'384);
}

TEST(MemoryTest, WithDataALaunchHoldsItsName) {
  NOT_UNDER_SANITIZERS("they have memory of their own");
  EXPECT_LT(held_after(4'000, true), 4'000 * 80 + 16'384);
}

TEST(MemoryTest, AStreamThatIsAtRestHoldsLittle) {
  NOT_UNDER_SANITIZERS("they have memory of their own");
  constexpr std::int64_t kStreams = 2'000;
  SimulateOptions options;
  options.topology = "tiny";
  options.data = false;
  options.threads = 1;
  options.detailed_launches = 20;
  simulate(options, [] {
    const auto x = torch::zeros({128}, torch::dtype(torch::kFloat32).device("ahbm"));
    const auto step = [&] {
      const torch::ahbm::Stream stream;
      const torch::ahbm::StreamGuard guard(stream);
      torch::launch("add_one", add_one, x);
      torch::ahbm::synchronize();
    };
    for (int i = 0; i < 100; ++i) step();
    const std::int64_t before = held();
    for (int i = 0; i < kStreams; ++i) step();
    EXPECT_LT(held() - before, kStreams * 1'200);
  });
}

TEST(MemoryTest, ReplicasOfAnUploadShareTheirBytes) {
  NOT_UNDER_SANITIZERS("they have memory of their own");
  constexpr std::int64_t kBytes = 4 << 20;
  SimulateOptions options;
  options.topology = "tiny";
  options.overrides = {"sip.cubes.mesh=[4, 2]"};
  options.threads = 1;
  simulate(options, [&] {
    const auto host = torch::ones({kBytes / 4});
    EXPECT_EQ(host.data_ptr<float>()[7], 1);
    const std::int64_t before = held();
    const auto x = host.to(torch::device("ahbm").placement({.cube = Placement::replicate, .pe = Placement::row_wise}));
    torch::ahbm::synchronize();
    EXPECT_EQ(x[7].item<float>(), 1);
    EXPECT_LT(held() - before, 3 * kBytes) << "of eight replicas";
  });
}

}  // namespace
}  // namespace kernbench
