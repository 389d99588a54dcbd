// Tensor::to in all its forms: when it is the same tensor, what arrives, and how long the host waits.
#include <gtest/gtest.h>

#include <optional>
#include <utility>

#include "devices.h"
#include "host_copy_law.h"

namespace kernbench::to_test {
namespace {

using testing::copy_to_device;
using testing::kBytes;
using testing::kElements;
using testing::kFirst;
using testing::kOverhead;
using testing::now;
using testing::on;
using testing::one_pe;
using testing::ps;
using testing::ring_of;
using testing::set;
using testing::three_of_four_pes;
using torch::Tensor;

TEST(To, GivesTheTensorItselfUnlessSomethingDiffersOrACopyIsAskedFor) {
  simulate(ring_of(2), [] {
    for (const auto& x : {torch::zeros({4}), torch::zeros({4}, on(0)), torch::zeros({4}, on(1))}) {
      const auto aliases = [&](const Tensor& y) {
        y.fill_(1);
        const bool same = x.cpu().equal(torch::ones({4}));
        x.fill_(0);
        return same;
      };
      const auto device = x.device();
      EXPECT_TRUE(aliases(x.to(x.options())));
      EXPECT_TRUE(aliases(x.to(torch::kFloat)));
      EXPECT_TRUE(aliases(x.to(device, torch::kFloat, true)));
      EXPECT_TRUE(aliases(x.to(device, false, false)));
      EXPECT_TRUE(aliases(x.to(x)));
      EXPECT_FALSE(aliases(x.to(x.options(), false, true)));
      EXPECT_FALSE(aliases(x.to(torch::kFloat, true, true)));
      EXPECT_FALSE(aliases(x.to(device, torch::kFloat, false, true)));
      EXPECT_FALSE(aliases(x.to(x, false, true)));
      EXPECT_FALSE(aliases(x.to(torch::kHalf).to(torch::kFloat)));
    }
  });
}

TEST(To, AnotherDevicePlacementAndTypeInOneCall) {
  simulate(three_of_four_pes(), [] {
    const auto host = torch::arange(35, torch::kInt).view({5, 7});
    const auto x = host.to("ahbm:0");
    const DPPolicy columns{.cube = Placement::column_wise, .pe = Placement::replicate};
    const auto y = x.to(torch::dtype(torch::kHalf).device("ahbm:2").placement(columns));
    EXPECT_EQ(y.device(), torch::Device("ahbm:2"));
    EXPECT_EQ(y.scalar_type(), torch::kHalf);
    EXPECT_TRUE(y.cpu().equal(host.to(torch::kHalf)));
    const auto moved = y.to(torch::placement(DPPolicy{}));
    EXPECT_TRUE(moved.cpu().equal(host.to(torch::kHalf)));
    const auto back = moved.t().to(torch::Device("ahbm:1"), torch::kFloat);
    EXPECT_TRUE(back.cpu().equal(host.t().to(torch::kFloat)));
    EXPECT_TRUE(back.to(torch::kCPU, torch::kInt).equal(host.t()));
    EXPECT_TRUE(back.to(host).equal(host.t()));
  });
}

TEST(To, CapturesTheHostTensorAndWaitsOnlyIfTold) {
  simulate(ring_of(1), [] {
    torch::ahbm::synchronize();
    for (const auto& [non_blocking, waits] :
         {std::pair{std::optional<bool>(), false}, std::pair{std::optional<bool>(true), false},
          std::pair{std::optional<bool>(false), true}}) {
      const auto host = torch::full({kElements}, 3);
      const Time called = now();
      const auto x = host.to(one_pe(), non_blocking);
      EXPECT_EQ(now() - called, ps(kOverhead) + (waits ? copy_to_device(kBytes) : Time::zero()));
      host.fill_(9);
      EXPECT_TRUE(x.cpu().equal(torch::full({kElements}, 3)));
    }
  });
}

TEST(To, TheHostNeverShowsUnfinishedData) {
  simulate(ring_of(1), [] {
    const auto x = torch::zeros({kElements}, one_pe());
    for (const bool non_blocking : {true, false}) {
      torch::launch(kFirst, "set", set, x, 7.0F, std::int64_t{50'000});
      const auto host = x.to(torch::kCPU, non_blocking);
      EXPECT_TRUE(host.equal(torch::full({kElements}, 7)));
      torch::launch(kFirst, "set", set, x, 8.0F, std::int64_t{50'000});
      auto there = torch::zeros({kElements});
      there.copy_(x, non_blocking);
      EXPECT_TRUE(there.equal(torch::full({kElements}, 8)));
    }
  });
}

}  // namespace
}  // namespace kernbench::to_test
