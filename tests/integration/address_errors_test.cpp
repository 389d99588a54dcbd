// What kernels are told when they use an address at which there is nothing of theirs.
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>
#include <regex>
#include <string>

#include "addressing/tensor_descriptor.h"
#include "programs.h"

namespace kernbench {
namespace {

using testing::error_of;
using testing::error_type_of;
using testing::one_pe;

using Change = std::function<void(addressing::TensorDescriptor&)>;

/// A tensor that says of itself what `change` makes of the truth: what a damaged handle would be.
tl::Tensor damaged(const tl::Tensor& x, const Change& change) {
  auto descriptor = std::make_shared<addressing::TensorDescriptor>(x.descriptor());
  change(*descriptor);
  return tl::Tensor(descriptor);
}

/// Loads `columns` elements from row 0 of a tensor "x" of 4 x 64 elements whose handle is damaged.
std::function<void()> load_of(const Change& change, std::int64_t column, std::int64_t columns) {
  return [=] {
    auto x = torch::zeros({4, 64}, one_pe().name("x"));
    torch::launch("wrong", [=](const tl::Tensor& t) { tl::load(damaged(t, change), {0, column}, {1, columns}); }, x);
    torch::ahbm::synchronize();
  };
}

/// With "LINE" for the number of the line.
std::string told(const std::function<void()>& program) {
  EXPECT_EQ(error_type_of(program), "OutOfBoundsError");
  return std::regex_replace(error_of(program), std::regex("address_errors_test.cpp:[1-9][0-9]*"), "kernel.cpp:LINE");
}

void move_to(addressing::TensorDescriptor& tensor, std::uint64_t va) {
  tensor.va = tensor.shards[0].va = va;
}

void widen(addressing::TensorDescriptor& tensor) {
  tensor.shape[1] = tensor.shards[0].shape[1] = 512;
}

const std::string kPlace = " | kernel wrong#0 on sip0.cube0.pe0 (program 0), kernel.cpp:LINE";

TEST(AddressErrors, NullNamesTheTensorAndSaysSo) {
  EXPECT_EQ(told(load_of([](auto& x) { move_to(x, 0); }, 2, 8)),
            "tl::load: access of 32 B at virtual address 0x8 is a null address: no tensor is there; the tensor given "
            "is \"x\", whose range is [0x0, 0x400)" +
                kPlace);
}

TEST(AddressErrors, AnAddressThatIsNobodysNamesTheTensorThroughWhichItCame) {
  EXPECT_EQ(told(load_of([](auto& x) { move_to(x, 0x7000'0000'0000); }, 0, 8)),
            "tl::load: access of 32 B at virtual address 0x700000000000 belongs to no tensor; the tensor given is "
            "\"x\", whose range is [0x700000000000, 0x700000000400)" +
                kPlace);
}

TEST(AddressErrors, OneByteBeyondATensorNamesItsRange) {
  EXPECT_EQ(error_of(load_of(widen, 254, 2)), "no error") << "the last two elements";
  EXPECT_EQ(told(load_of(widen, 255, 2)),
            "tl::load: access of 8 B at virtual address 0x103fc is outside of tensor \"x\", whose range is [0x10000, "
            "0x10400); the shard there, on sip0.cube0.pe0, is [0x10000, 0x10400)" +
                kPlace);
  EXPECT_EQ(told(load_of(widen, 256, 1)),
            "tl::load: access of 4 B at virtual address 0x10400 is outside of tensor \"x\", whose range is [0x10000, "
            "0x10400); the shard there, on sip0.cube0.pe0, is [0x10000, 0x10400)" +
                kPlace);
}

TEST(AddressErrors, AnAccessAcrossThePaddingBetweenTwoShardsNamesTheShard) {
  // Two shards of 512 B; the second begins on a page of its own.
  const auto program = [] {
    auto x = torch::zeros({4, 64},
                          torch::dtype(DType::f32).device("ahbm").placement({.num_cubes = 1, .num_pes = 2}).name("x"));
    torch::LaunchOptions on_the_first;
    on_the_first.pes = {{CubeId{0}, PeId{0}}};
    torch::launch(
        on_the_first, "wrong",
        [](const tl::Tensor& t) {
          const auto one_shard = damaged(t, [](addressing::TensorDescriptor& two) {
            two.shards.resize(1);
            two.shards[0].shape = two.shape;
          });
          tl::load(one_shard, {1, 0}, {2, 64});
        },
        x);
    torch::ahbm::synchronize();
  };
  EXPECT_EQ(told(program),
            "tl::load: access of 512 B at virtual address 0x10100 is outside of tensor \"x\", whose range is "
            "[0x10000, 0x20200); the shard there, on sip0.cube0.pe0, is [0x10000, 0x10200)" +
                kPlace);
}

/// A kernel keeps its tensor where the next one finds it; in between the tensor is freed, and then `others` more.
std::function<void()> use_after_free(int others, bool store) {
  return [=] {
    static std::optional<tl::Tensor> kept;
    kept.reset();
    auto x = torch::zeros({4, 64}, one_pe().name("x"));
    torch::launch("keep", [](const tl::Tensor& t) { kept = t; }, x);
    torch::ahbm::synchronize();
    x = torch::Tensor();
    for (int i = 0; i < others; ++i) torch::empty({1}, one_pe());
    auto y = torch::zeros({4, 64}, one_pe().name("y"));
    torch::launch(
        "wrong",
        [store](const tl::Tensor&) {
          if (store) {
            tl::store(*kept, {0, 0}, tl::zeros({1, 8}, DType::f32));
          } else {
            tl::load(*kept, {0, 0}, {1, 8});
          }
        },
        y);
    torch::ahbm::synchronize();
  };
}

TEST(AddressErrors, AFreedTensorIsNamedWithTheRangeThatItHad) {
  const std::string message =
      ": access of 32 B at virtual address 0x10000 touches tensor \"x\", which was freed; its range was [0x10000, "
      "0x10400)" +
      kPlace;
  EXPECT_EQ(told(use_after_free(0, false)), "tl::load" + message);
  EXPECT_EQ(told(use_after_free(0, true)), "tl::store" + message);
}

TEST(AddressErrors, AFreedTensorIsNamedHoweverLongAgoThatWas) {
  EXPECT_EQ(told(use_after_free(1000, false)),
            "tl::load: access of 32 B at virtual address 0x10000 belongs to no tensor; the tensor given is \"x\", "
            "whose range is [0x10000, 0x10400)" +
                kPlace);
}

}  // namespace
}  // namespace kernbench
