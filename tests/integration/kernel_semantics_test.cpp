// What a kernel may rely on: program order on overlapping bytes, values behind branches, TCM capacity.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "programs.h"

namespace kernbench {
namespace {

using testing::error_of;
using ::testing::HasSubstr;
using testing::one_pe;
using testing::tiny;

std::vector<float> values_of(const torch::Tensor& tensor) {
  const auto host = tensor.cpu();
  return {host.data_ptr<float>(), host.data_ptr<float>() + host.numel()};
}

TEST(KernelSemantics, ALoadSeesTheStoresBeforeItOnOverlappingBytes) {
  simulate(tiny(), [] {
    auto x = torch::arange(256, one_pe());
    auto out = torch::zeros({128}, one_pe());
    torch::launch(
        "reload",
        [](tl::Tensor a, tl::Tensor result) {
          const auto first = tl::load(a, {0}, {128});
          tl::store(a, {64}, first + 1000.0f);               // 64 … 191
          tl::store(result, {0}, tl::load(a, {32}, {128}));  // 32 … 159, half of it just written
        },
        x, out);
    const auto got = values_of(out);
    for (int i = 0; i < 128; ++i) {
      const int at = 32 + i;
      EXPECT_EQ(got[static_cast<std::size_t>(i)],
                at < 64 ? static_cast<float>(at) : static_cast<float>(at - 64 + 1000));
    }
  });
}

TEST(KernelSemantics, AStoreDoesNotOvertakeAnEarlierLoadOfTheSameBytes) {
  simulate(tiny(), [] {
    auto x = torch::ones({4096}, one_pe());
    auto out = torch::zeros({4096}, one_pe());
    torch::launch(
        "overwrite",
        [](tl::Tensor a, tl::Tensor result) {
          const auto small = tl::full({64}, 7.0f, DType::f32);
          const auto before = tl::load(a, {0}, {4096});
          tl::store(a, {0}, small);
          tl::store(result, {0}, before);
        },
        x, out);
    for (const float value : values_of(out)) EXPECT_EQ(value, 1.0f);
    EXPECT_EQ(x[0].item<float>(), 7.0f);
    EXPECT_EQ(x[64].item<float>(), 1.0f);
  });
}

TEST(KernelSemantics, TheLastOfTwoStoresToTheSameBytesWins) {
  simulate(tiny(), [] {
    auto x = torch::zeros({64}, one_pe());
    torch::launch(
        "twice",
        [](tl::Tensor a) {
          const auto slow = tl::exp(tl::exp(tl::zeros({64}, DType::f32)));
          const auto quick = tl::full({64}, 2.0f, DType::f32);
          tl::store(a, {0}, slow);
          tl::store(a, {0}, quick);
        },
        x);
    for (const float value : values_of(x)) EXPECT_EQ(value, 2.0f);
  });
}

TEST(KernelSemantics, ABranchOnAComputedValueTakesTheRightSideAtTheTimeOfItsProducer) {
  const auto run = [](float element) {
    return simulate(tiny(), [element] {
      auto x = torch::full({1024}, element, one_pe());
      auto out = torch::zeros({1024}, one_pe());
      torch::ahbm::synchronize();
      torch::launch(
          "branch",
          [](tl::In a, tl::Tensor result) {
            auto tile = tl::load(a, {0}, {1024});
            if (tl::item(tl::sum(tile)) > 0) {
              for (int i = 0; i < 10; ++i) tile = tl::exp(tile * 0.001f);
            }
            tl::store(result, {0}, tile);
          },
          x, out);
      torch::ahbm::synchronize();
    });
  };
  const auto duration = [](const RunResult& result) {
    return result.launches.back().end - result.launches.back().start;
  };
  EXPECT_GT(duration(run(1.0f)), duration(run(-1.0f)));
}

TEST(KernelSemantics, ItemSeesTheValueOfItsProducer) {
  simulate(tiny(), [] {
    auto x = torch::arange(100, one_pe());
    auto out = torch::zeros({1}, one_pe());
    torch::launch(
        "total",
        [](tl::In a, tl::Tensor result) {
          const float total = tl::item(tl::sum(tl::load(a, {0}, {100})));
          tl::store(result, {0}, tl::full({1}, total * 2, DType::f32));
        },
        x, out);
    EXPECT_EQ(out[0].item<float>(), 9900.0f);
  });
}

TEST(KernelSemantics, ATileThatJustFitsIntoTcmPassesAndOneByteMoreFailsAtOnceWithTheList) {
  const auto program = [](std::int64_t bytes) {
    return [bytes] {
      auto x = torch::zeros({1}, one_pe());
      torch::launch(
          "hold",
          [](tl::Tensor a, std::int64_t rest) {
            const auto first = tl::full({1024}, 1.0f, DType::f32);
            const auto second = tl::full({rest}, true, DType::boolean);
            tl::store(a, {0}, tl::zeros({1}, DType::f32) + 0.0f);
          },
          x, bytes);
      torch::ahbm::synchronize();
    };
  };
  // 64 KiB: 4 KiB for the first tile, 2 * 64 B for the two small ones at the end.
  const auto options = tiny({"pe.tcm.capacity=64KiB"});
  const std::int64_t fits = 64 * 1024 - 4096 - 128;
  EXPECT_EQ(error_of(program(fits), options), "no error");
  const std::string error = error_of(program(fits + 1), options);
  EXPECT_THAT(error, HasSubstr("TCM of sip0.cube0.pe0 is too small"));
  EXPECT_THAT(error, HasSubstr("tile 0 [1024] f32 from full at kernel_semantics_test.cpp:"));
  EXPECT_THAT(error, HasSubstr("kernel hold#0 on sip0.cube0.pe0 (program 0), kernel_semantics_test.cpp:"));
}

TEST(KernelSemantics, AKernelThatReusesTcmWaitsForPendingOperationsInsteadOfFailing) {
  const auto options = tiny({"pe.tcm.capacity=16KiB"});
  simulate(options, [] {
    auto x = torch::ones({64 * 1024}, one_pe());
    torch::launch(
        "stream",
        [](tl::Tensor a) {
          for (std::int64_t i = 0; i < a.numel(); i += 1024) tl::store(a, {i}, tl::load(a, {i}, {1024}) + 1.0f);
        },
        x);
    for (const float value : values_of(x)) ASSERT_EQ(value, 2.0f);
  });
}

TEST(KernelSemantics, LanesPastTheEndAreInvalidUnlessOtherIsGiven) {
  const auto program = [](bool with_other) {
    return [with_other] {
      auto x = torch::ones({100}, one_pe());
      auto out = torch::zeros({1}, one_pe());
      torch::launch(
          "tail",
          [](tl::In a, tl::Tensor result, bool pad) {
            const auto tile = pad ? tl::load(a, {64}, {64}, {.other = 0}) : tl::load(a, {64}, {64});
            tl::store(result, {0}, tl::sum(tile, 0, true));
          },
          x, out, with_other);
      EXPECT_EQ(out[0].item<float>(), 36.0f);
    };
  };
  EXPECT_EQ(error_of(program(true)), "no error");
  EXPECT_THAT(error_of(program(false)), HasSubstr("has lanes outside of the tensor and no `other`"));
}

TEST(KernelSemantics, DotAccumulatesInF32AndCastsOnStore) {
  simulate(tiny(), [] {
    auto a = torch::randint(-4, 5, {48, 80}, torch::kFloat), b = torch::randint(-4, 5, {80, 72}, torch::kFloat);
    auto ad = a.to(one_pe(DType::f16)), bd = b.to(one_pe(DType::f16));
    auto c = torch::zeros({48, 72}, one_pe(DType::f16));
    torch::launch(
        "dot",
        [](tl::In x, tl::In y, tl::Tensor z) {
          const auto left = tl::dot(tl::load(x, {0, 0}, {48, 40}), tl::load(y, {0, 0}, {40, 72}));
          EXPECT_EQ(left.dtype(), DType::f32);
          tl::store(z, {0, 0}, tl::dot(tl::load(x, {0, 40}, {48, 40}), tl::load(y, {40, 0}, {40, 72}), left));
        },
        ad, bd, c);
    const auto got = c.cpu().to(torch::kFloat);
    for (int i = 0; i < 48; ++i) {
      for (int j = 0; j < 72; ++j) {
        float sum = 0;
        for (int k = 0; k < 80; ++k) sum += a.data_ptr<float>()[i * 80 + k] * b.data_ptr<float>()[k * 72 + j];
        ASSERT_EQ(got.data_ptr<float>()[i * 72 + j], sum);
      }
    }
  });
}

TEST(KernelSemantics, DeviceAssertFailsWithTheFirstFalseLane) {
  const std::string error = error_of([] {
    auto x = torch::arange(64, one_pe());
    torch::launch(
        "asserts", [](tl::In a) { tl::device_assert(tl::load(a, {0}, {64}) < 10.0f, "values below ten"); }, x);
    torch::ahbm::synchronize();
  });
  EXPECT_THAT(error, HasSubstr("device_assert failed: values below ten (lane 10)"));
  EXPECT_THAT(error, HasSubstr("kernel asserts#0 on sip0.cube0.pe0"));
}

}  // namespace
}  // namespace kernbench
