// What launches attained of their engines' peaks: one definition for the table, the JSON and the roofline.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "kernbench/models.h"
#include "programs.h"
#include "report/sections/table.h"

namespace kernbench {
namespace {

using ::testing::ContainsRegex;
using testing::one_pe;
using testing::tiny;

const EngineResult& engine_of(const LaunchResult& launch, const std::string& name) {
  for (const EngineResult& engine : launch.engines) {
    if (engine.engine == name) return engine;
  }
  throw std::logic_error("no engine " + name);
}

/// The last launch: 21 products of 64 x 64 tiles of `dtype` on one PE.
RunResult products(DType dtype, std::vector<std::string> overrides = {}) {
  return simulate(tiny(std::move(overrides)), [&] {
    auto a = torch::zeros({64, 64}, one_pe(dtype));
    torch::launch(
        "products",
        [](tl::In x) {
          auto tile = tl::load(x, {0, 0}, {64, 64});
          auto sum = tl::dot(tile, tile);
          for (int i = 0; i < 20; ++i) sum = tl::dot(tile, tile, sum);
        },
        a);
    torch::ahbm::synchronize();
  });
}

TEST(EngineUse, ThePeakOfAGemmIsThatOfItsOperandType) {
  const double f16 = 2.0 * 64 * 64 * 1e9 * 2;  // two PEs of tiny
  for (const auto& [dtype, key, rate] : {std::tuple{DType::f16, "f16", 1.0}, std::tuple{DType::f8e4m3, "f8", 2.0},
                                         std::tuple{DType::f32, "f32", 0.25}, std::tuple{DType::i8, "i8", 2.0}}) {
    const RunResult result = products(dtype);
    const LaunchResult& launch = result.launches.back();
    const EngineResult& gemm = engine_of(launch, "gemm");
    EXPECT_EQ(gemm.types, key);
    EXPECT_DOUBLE_EQ(gemm.device_peak, rate * f16) << key;
    EXPECT_DOUBLE_EQ(gemm.used_peak * 2, gemm.device_peak) << "one of two PEs";
    EXPECT_DOUBLE_EQ(gemm.attained, launch.flops / (launch.end - launch.start).in_seconds());
    EXPECT_DOUBLE_EQ(launch.roofline.device.compute, gemm.device_peak);
    EXPECT_DOUBLE_EQ(launch.roofline.attained, gemm.attained);
    EXPECT_LT(gemm.attained, gemm.used_peak);
  }
}

TEST(EngineUse, TheRateOfATypeIsPartOfItsPeakEverywhere) {
  const RunResult result = products(DType::f16, {"pe.gemm.rate.f16=4"});
  const double peak = 4 * 2.0 * 64 * 64 * 1e9 * 2;
  EXPECT_DOUBLE_EQ(result.peak_flops, peak);
  EXPECT_DOUBLE_EQ(engine_of(result.launches.back(), "gemm").device_peak, peak);
  for (const auto& [type, per_s] : result.peak_gemm) {
    if (type == "f16") {
      EXPECT_DOUBLE_EQ(per_s, peak);
    }
  }
}

TEST(EngineUse, APeOfItsOwnClockCountsWithItsOwnPeak) {
  const RunResult result = products(DType::f16, {"overrides.sip0.cube0.pe1.clock=2GHz"});
  const double pe = 2.0 * 64 * 64 * 1e9;
  const EngineResult& gemm = engine_of(result.launches.back(), "gemm");
  EXPECT_DOUBLE_EQ(gemm.device_peak, 3 * pe);
  EXPECT_DOUBLE_EQ(gemm.used_peak, pe) << "PE 0 ran it";
}

TEST(EngineUse, AVectorKernelIsBoundByTheEngineThatItsTableNames) {
  const RunResult result = simulate(tiny(), [] {
    auto x = torch::ones({1 << 16}, one_pe());
    torch::launch(
        "divide",
        [](tl::In in) {
          auto a = tl::load(in, {0}, {1 << 16});
          for (int i = 0; i < 8; ++i) a = a / a;
        },
        x);
    torch::ahbm::synchronize();
  });
  const LaunchResult& launch = result.launches.back();
  EXPECT_EQ(launch.bound_by, "vector");
  EXPECT_EQ(launch.roofline.engine, "vector");
  EXPECT_TRUE(launch.roofline.device.compute_bound);
  const EngineResult& vector = engine_of(launch, "vector");
  EXPECT_EQ(vector.types, "f32");
  EXPECT_EQ(vector.work, 8.0 * (1 << 16));
  EXPECT_GT(vector.busiest, engine_of(launch, "hbm").busiest);
  EXPECT_THAT(report::to_table(result), ContainsRegex("  vector f32 +[0-9.]+ % +[0-9.]+ [GT]op/s"));
}

TEST(EngineUse, NarrowAndSlowOperationsCountForWhatTheyTakeOfTheLanes) {
  const auto peak_of = [](auto body) {
    const RunResult result = simulate(tiny(), [&] {
      auto x = torch::ones({1024}, one_pe());
      torch::launch("one", body, x);
      torch::ahbm::synchronize();
    });
    return engine_of(result.launches.back(), "vector").device_peak;
  };
  const double add = peak_of([](tl::In in) {
    auto a = tl::load(in, {0}, {1024});
    a = a + a;
  });
  const double divide = peak_of([](tl::In in) {
    auto a = tl::load(in, {0}, {1024});
    a = a / a;
  });
  const RunResult machine = simulate(tiny(), [] {});
  EXPECT_DOUBLE_EQ(add, machine.peak_vector);
  EXPECT_LT(divide, add) << "a division takes more cycles for each group of lanes";
}

TEST(EngineUse, ShortAccessesCountForTheTimeThatTheyTakeOfTheirChannels) {
  const auto columns = [](std::int64_t width) {
    const RunResult result = simulate(tiny(), [&] {
      const auto x = torch::zeros({512, 512}, one_pe());
      torch::launch(
          "columns",
          [](tl::In in, std::int64_t wide) {
            for (std::int64_t i = 0; i + wide <= 64; i += wide) (void)tl::load(in, {0, i * 8}, {512, wide});
          },
          x, width);
      torch::ahbm::synchronize();
    });
    return result.launches.back();
  };
  const LaunchResult narrow = columns(1), wide = columns(32);
  EXPECT_EQ(narrow.bound_by, "hbm");
  EXPECT_EQ(narrow.hbm_occupied, narrow.hbm_bytes * 16) << "64 B for each 4";
  EXPECT_GE(10 * narrow.bound.count(), 9 * (narrow.end - narrow.start).count());
  EXPECT_LE(narrow.bound, narrow.end - narrow.start);
  EXPECT_EQ(wide.hbm_occupied, wide.hbm_bytes);
}

TEST(EngineUse, ALinkBoundsALaunchWhoseBytesAllCrossIt) {
  const RunResult result = simulate(tiny({"cube.noc.link.bandwidth=16GB/s"}), [] {
    const auto x = torch::zeros({1 << 18}, torch::device("ahbm").placement({.num_cubes = 1, .num_pes = 1}));
    torch::LaunchOptions other;
    other.pes = {{CubeId{0}, PeId{1}}};
    torch::launch(
        other, "far",
        [](tl::In in) {
          for (std::int64_t i = 0; i < in.numel(); i += 1 << 14) (void)tl::load(in, {i}, {1 << 14});
        },
        x);
    torch::ahbm::synchronize();
  });
  const LaunchResult& launch = result.launches.back();
  EXPECT_EQ(launch.bound_by, "link");
  const EngineResult& link = engine_of(launch, "link");
  EXPECT_THAT(link.types, ContainsRegex("^sip0.cube0.pe"));
  EXPECT_EQ(link.work, 4.0 * (1 << 18));
  EXPECT_LE(link.attained, link.device_peak);
  EXPECT_LE(launch.bound, launch.end - launch.start);
  EXPECT_GE(10 * launch.bound.count(), 9 * (launch.end - launch.start).count());
}

/// Eight times as fast as the figures say.
class FastChannel final : public HbmChannelModel {
 public:
  explicit FastChannel(const HbmChannelFigures& figures) : figures_(figures) {}
  Time service(const HbmAccess& access) override {
    return std::max(Time::picoseconds(1),
                    Time::picoseconds(transfer_time(access.bytes, figures_.bandwidth).count() / 8));
  }

 private:
  HbmChannelFigures figures_;
};

TEST(EngineUse, AMemoryWithAModelOfTheUsersHasNoPeakAndBoundsNothing) {
  SimulateOptions options = tiny({"cube.hbm.model=fast"});
  options.models.add_hbm("fast", [](const HbmChannelFigures& figures, const ModelParameters&) {
    return std::make_unique<FastChannel>(figures);
  });
  const RunResult result = simulate(options, [] {
    auto x = torch::zeros({1 << 20}, one_pe());
    torch::launch(
        "read",
        [](tl::In in) {
          for (std::int64_t i = 0; i < in.numel(); i += 1 << 16) (void)tl::load(in, {i}, {1 << 16});
        },
        x);
    torch::ahbm::synchronize();
  });
  const LaunchResult& launch = result.launches.back();
  EXPECT_LE(launch.bound, launch.end - launch.start);
  EXPECT_NE(launch.bound_by, "hbm");
  const EngineResult& hbm = engine_of(launch, "hbm");
  EXPECT_EQ(hbm.device_peak, 0);
  EXPECT_EQ(hbm.busiest, Time::zero());
  EXPECT_GT(hbm.attained, static_cast<double>(result.peak_hbm_bandwidth.count()) / 2)
      << "one of two slices is faster than both are said to be";
  EXPECT_EQ(launch.roofline.engine, "");
  EXPECT_THAT(report::to_table(result), ContainsRegex("  HBM +- +[0-9.]+ GB/s +- +- +-"));
}

}  // namespace
}  // namespace kernbench
