// Each misuse of kernels and of the host API gives one clear error that names the place, the thing and the fix.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "programs.h"

namespace kernbench {
namespace {

using ::testing::AllOf;
using testing::error_of;
using testing::error_type_of;
using ::testing::HasSubstr;
using testing::one_pe;
using testing::tiny;

/// The error of a kernel that gets one tensor of 4 x 64.
std::string kernel_error(void (*kernel)(tl::Tensor), SimulateOptions options = tiny()) {
  return error_of(
      [kernel] {
        auto x = torch::zeros({4, 64}, one_pe().name("x"));
        torch::launch("wrong", kernel, x);
        torch::ahbm::synchronize();
      },
      options);
}

TEST(Misuse, LoadThatBeginsOutsideOfTheTensor) {
  EXPECT_THAT(kernel_error([](tl::Tensor x) { tl::load(x, {4, 0}, {1, 64}); }),
              AllOf(HasSubstr("tl::load: offset 4 in dimension 0 lies outside of tensor x of shape [4, 64]"),
                    HasSubstr("valid are 0 to 3"),
                    HasSubstr("kernel wrong#0 on sip0.cube0.pe0 (program 0), misuse_test.cpp:")));
}
TEST(Misuse, LoadWithANegativeOffset) {
  EXPECT_THAT(kernel_error([](tl::Tensor x) { tl::load(x, {0, -1}, {1, 64}); }), HasSubstr("offset -1 in dimension 1"));
}
TEST(Misuse, StoreToAnInThatWasPassedOnAsATensor) {
  EXPECT_THAT(error_of([] {
                auto x = torch::zeros({4}, one_pe().name("x"));
                const auto store_to = [](const tl::Tensor& tensor) {
                  tl::store(tensor, {0}, tl::zeros({4}, DType::f32));
                };
                torch::launch("hidden", [store_to](tl::In a) { store_to(a); }, x);
                torch::ahbm::synchronize();
              }),
              HasSubstr("tensor x is a tl::In parameter of the kernel; take it as tl::Tensor to write it"));
}
TEST(Misuse, AKernelThatPollsUnchangedMemoryForEverIsALivelock) {
  const auto poll = [] {
    auto flag = torch::zeros({1}, one_pe().name("flag"));
    torch::launch(
        "spin",
        [](tl::In a) {
          while (tl::item(tl::load(a, {0}, {1}) + 0.0f) == 0) {
          }
        },
        flag);
    torch::ahbm::synchronize();
  };
  constexpr int kLineOfLoop = __LINE__ - 6;
  SimulateOptions options = tiny();
  options.max_polls = 2'000;
  EXPECT_EQ(error_type_of(poll, options), "LivelockError");
  EXPECT_THAT(error_of(poll, options),
              ::testing::ContainsRegex("\n  sip0\\.cube0\\.pe0 spin#0 sleeps until [^\n]* \\(last known at "
                                       "misuse_test\\.cpp:" +
                                       std::to_string(kLineOfLoop) + "\\)\n"));
}
TEST(Misuse, AKernelThatPollsMemoryWhichAnotherWillWriteIsNotALivelock) {
  EXPECT_EQ(error_of([] {
              auto flag = torch::zeros({2}, torch::device("ahbm").placement({.num_cubes = 1, .num_pes = 2}));
              torch::launch(
                  "handshake",
                  [](tl::Tensor a) {
                    if (tl::program_id() == 1) {
                      tl::Tile slow = tl::zeros({1}, DType::f32);
                      for (int i = 0; i < 2000; ++i) slow = tl::exp(slow * 0.0f);
                      tl::store(a, {0}, slow);
                    } else {
                      while (tl::item(tl::load(a, {0}, {1})) == 0) {
                      }
                    }
                  },
                  flag);
              torch::ahbm::synchronize();
            }),
            "no error");
}
TEST(Misuse, LoadWithTheWrongNumberOfOffsets) {
  EXPECT_THAT(kernel_error([](tl::Tensor x) { tl::load(x, {0}, {64}); }),
              HasSubstr("tensor x has 2 dimensions, but 1 offsets and a block of 1 dimensions were given"));
}
TEST(Misuse, EmptyBlock) {
  EXPECT_THAT(kernel_error([](tl::Tensor x) { tl::load(x, {0, 0}, {0, 64}); }),
              HasSubstr("block shape [0, 64] must be positive"));
}
TEST(Misuse, ShapesThatDoNotBroadcast) {
  EXPECT_THAT(kernel_error([](tl::Tensor x) { tl::load(x, {0, 0}, {4, 64}) + tl::zeros({3, 64}, DType::f32); }),
              HasSubstr("shapes [4, 64] and [3, 64] do not broadcast"));
}
TEST(Misuse, InnerExtentsOfDotDiffer) {
  EXPECT_THAT(kernel_error([](tl::Tensor x) { tl::dot(tl::load(x, {0, 0}, {4, 64}), tl::zeros({32, 8}, DType::f32)); }),
              HasSubstr("tl::dot: inner extents differ: [4, 64] x [32, 8]"));
}
TEST(Misuse, TypesOfDotDiffer) {
  EXPECT_THAT(kernel_error([](tl::Tensor x) { tl::dot(tl::load(x, {0, 0}, {4, 64}), tl::zeros({64, 8}, DType::f16)); }),
              HasSubstr("operand types differ: f32 and f16; cast one of them"));
}
TEST(Misuse, ItemOfManyElements) {
  EXPECT_THAT(kernel_error([](tl::Tensor x) { tl::item(tl::load(x, {0, 0}, {4, 64})); }),
              HasSubstr("a tile of shape [4, 64] has 256 elements; item reads exactly one"));
}
TEST(Misuse, ItemOfAnUninitialisedValue) {
  EXPECT_THAT(error_of([] {
                auto x = torch::empty({1}, one_pe());
                torch::launch("poison", [](tl::In a) { tl::item(tl::load(a, {0}, {1}) + 1.0f); }, x);
                torch::ahbm::synchronize();
              }),
              HasSubstr("tl::item read an invalid value"));
}
TEST(Misuse, ItemWithoutData) {
  auto options = tiny();
  options.data = false;
  EXPECT_THAT(kernel_error([](tl::Tensor x) { tl::item(tl::load(x, {0, 0}, {1, 1})); }, options),
              HasSubstr("use tl::item_or(tile, assumed)"));
  EXPECT_EQ(
      kernel_error([](tl::Tensor x) { tl::device_assert(tl::item_or(tl::load(x, {0, 0}, {1, 1}), 5.0f) == 5.0f, ""); },
                   options),
      "no error");
}
TEST(Misuse, EmptyTile) {
  EXPECT_THAT(kernel_error([](tl::Tensor) { tl::exp(tl::Tile()); }), HasSubstr("an empty tile"));
}
TEST(Misuse, AxisOutOfRange) {
  EXPECT_THAT(kernel_error([](tl::Tensor x) { tl::sum(tl::load(x, {0, 0}, {4, 64}), 2); }),
              HasSubstr("axis 2 is out of range for a tile of shape [4, 64]"));
}
TEST(Misuse, StoreOfTheWrongRank) {
  EXPECT_THAT(kernel_error([](tl::Tensor x) { tl::store(x, {0, 0}, tl::zeros({64}, DType::f32)); }),
              HasSubstr("tensor x has 2 dimensions, but 2 offsets and a block of 1 dimensions"));
}
TEST(Misuse, TileOperationOutsideOfAKernel) {
  EXPECT_THAT(error_of([] { tl::zeros({1}, DType::f32); }), HasSubstr("tl::full was called outside of a kernel"));
}
TEST(Misuse, HostApiInsideAKernel) {
  EXPECT_THAT(kernel_error([](tl::Tensor) { torch::zeros({1}, torch::device("ahbm")); }),
              HasSubstr("was called inside a kernel"));
}
TEST(Misuse, HostApiOutsideOfASimulation) {
  EXPECT_THROW(torch::ahbm::synchronize(), ProgramError);
  EXPECT_THROW(torch::launch("x", [](int) {}, 1), ProgramError);
}
TEST(Misuse, HostTensorAsALaunchArgument) {
  EXPECT_THAT(error_of([] { torch::launch("host", [](tl::In) {}, torch::zeros({4})); }),
              HasSubstr("tensor argument 0 of host is on the host; move it with .to(\"ahbm\")"));
}
TEST(Misuse, LaunchWithNowhereToRun) {
  EXPECT_THAT(error_of([] { torch::launch("nowhere", [](int) {}, 1); }), HasSubstr("nowhere has nowhere to run"));
}
TEST(Misuse, DeviceThatDoesNotExist) {
  EXPECT_THAT(error_of([] { torch::ahbm::set_device(1); }),
              HasSubstr("The device index is out of range. It must be in [0, 1), but got 1; more devices: --set "
                        "system.sips.count=2"));
  EXPECT_THAT(error_of([] { torch::zeros({1}, torch::device("ahbm:7")); }), HasSubstr("device index is out of range"));
}
TEST(Misuse, DoublePrecisionTensorOnADevice) {
  EXPECT_THAT(error_of([] { torch::zeros({1}, torch::dtype(torch::kDouble).device("ahbm")); }),
              HasSubstr("devices have no double-precision lanes"));
}
TEST(Misuse, HostReadOfUninitialisedMemoryNamesTensorAndElement) {
  EXPECT_THAT(error_of([] { torch::empty({2, 3}, one_pe().name("y")).cpu(); }),
              HasSubstr("element [0, 0] of tensor y, which was never written"));
}
TEST(Misuse, EventsThatWereNotRecorded) {
  EXPECT_THAT(error_of([] {
                torch::ahbm::Event a, b;
                a.elapsed_time(b);
              }),
              HasSubstr("Both events must be recorded"));
}
TEST(Misuse, ErrorsOfTheSimulatedProgramAreProgramErrors) {
  EXPECT_EQ(error_type_of([] { torch::ahbm::set_device(9); }), "ValueError");
  EXPECT_EQ(error_type_of([] {}, testing::tiny({"cube.hbm.bandwidht=1TB/s"})), "ConfigurationError");
}
TEST(Misuse, AFailedRunLeavesNothingBehindForTheNext) {
  for (int i = 0; i < 3; ++i) {
    EXPECT_THAT(kernel_error([](tl::Tensor x) { tl::load(x, {9, 9}, {1, 1}); }), HasSubstr("wrong#0"));
    EXPECT_EQ(error_of([] { EXPECT_EQ(torch::ones({3}, one_pe())[2].item<float>(), 1.0f); }), "no error");
  }
}
TEST(Misuse, ATensorMayOutliveItsSimulation) {
  torch::Tensor kept;
  simulate(tiny(), [&] { kept = torch::ones({8}, one_pe()); });
  EXPECT_THAT(error_of([&] { kept.cpu(); }), HasSubstr("belongs to a simulation that has ended"));
  kept = {};
}

}  // namespace
}  // namespace kernbench
