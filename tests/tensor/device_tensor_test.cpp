// Device tensors over a backend without time: bytes go where the placement says, and only the listed calls read them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <sstream>

#include "fake_context.h"
#include "kernbench/error.h"
#include "kernbench/torch.h"
#include "tensor/tensor_impl.h"

namespace kernbench {
namespace {

using tensor::HostRead;
using testing::ElementsAre;

class DeviceTensor : public testing::Test {
 protected:
  tensor::FakeContext context;
  tensor::FakeDevices& devices = context.devices;
  torch::TensorOptions ahbm = torch::device("ahbm");
};

TEST_F(DeviceTensor, RoundTripsThroughEveryPlacement) {
  const auto host = torch::randn({13, 7});
  for (int cube = 0; cube < 5; ++cube)
    for (int pe = 0; pe < 5; ++pe) {
      const DPPolicy policy{static_cast<Placement>(cube), static_cast<Placement>(pe)};
      const auto x = host.to(torch::device("ahbm:1").placement(policy));
      EXPECT_EQ(x.device().str(), "ahbm:1");
      EXPECT_TRUE(torch::equal(x.cpu(), host));
      EXPECT_TRUE(torch::equal(x.to(torch::kHalf).cpu(), host.to(torch::kHalf)));
    }
}

TEST_F(DeviceTensor, RandomNumbersAreTheSameOnEveryDeviceAndPlacement) {
  torch::manual_seed(3);
  const auto host = torch::randn({64, 5});
  for (const Placement pe : {Placement::row_wise, Placement::column_wise, Placement::replicate}) {
    torch::manual_seed(3);
    EXPECT_TRUE(torch::equal(torch::randn({64, 5}, ahbm.placement({Placement::row_wise, pe})), host));
  }
}

TEST_F(DeviceTensor, FactoriesGiveTheSameValuesAsOnTheHost) {
  const auto same = [](const torch::Tensor& device, const torch::Tensor& host) {
    EXPECT_EQ(device.scalar_type(), host.scalar_type());
    EXPECT_TRUE(torch::equal(device, host));
  };
  same(torch::zeros({3, 4}, ahbm), torch::zeros({3, 4}));
  same(torch::full({9}, 2.5, ahbm.dtype(torch::kHalf)), torch::full({9}, 2.5, torch::kHalf));
  same(torch::arange(9, ahbm.dtype(torch::kInt)), torch::arange(9, torch::kInt));
  same(torch::eye(5, ahbm), torch::eye(5));
  same(torch::tensor({{1.5, 2.5}, {3.5, 4.5}}, ahbm), torch::tensor({{1.5, 2.5}, {3.5, 4.5}}));
  same(torch::ones_like(torch::zeros({4}, ahbm)), torch::ones({4}));
  EXPECT_EQ(devices.initialisations, 2);
}

TEST_F(DeviceTensor, ViewsReadAndWriteTheSharedElementsAsHostViewsDo) {
  std::mt19937_64 random(5);
  const auto pick = [&](std::int64_t limit) {
    return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(limit));
  };
  for (int round = 0; round < 300; ++round) {
    const DPPolicy policy{static_cast<Placement>(pick(5)), static_cast<Placement>(pick(5))};
    auto host = torch::randn({6, 4, 5});
    auto device = host.to(ahbm.placement(policy));
    auto a = host, b = device;
    for (int change = 0; change < 3 && a.dim() > 0; ++change) {
      const std::int64_t dimension = pick(a.dim()), size = a.size(dimension);
      const std::int64_t start = pick(size), length = 1 + pick(size - start), step = 1 + pick(2);
      switch (pick(4)) {
        case 0:
          a = a.slice(dimension, start, start + length, step), b = b.slice(dimension, start, start + length, step);
          break;
        case 1:
          a = a.select(dimension, start), b = b.select(dimension, start);
          break;
        case 2:
          a = a.transpose(dimension, 0), b = b.transpose(dimension, 0);
          break;
        default:
          if (a.is_contiguous()) a = a.view({-1}), b = b.view({-1});
      }
    }
    ASSERT_TRUE(torch::equal(b.cpu(), a)) << round;
    switch (pick(3)) {
      case 0:
        a.fill_(round), b.fill_(round);
        break;
      case 1: {
        const auto values = torch::randn(a.sizes());
        a.copy_(values), b.copy_(values);
        break;
      }
      default: {
        const auto values = torch::randn(a.sizes());
        a.copy_(values), b.copy_(values.to("ahbm:1"));
      }
    }
    ASSERT_TRUE(torch::equal(device.cpu(), host)) << round;
  }
}

TEST_F(DeviceTensor, ReadingOneElementReadsOneElement) {
  const auto x = torch::arange(100, ahbm.dtype(torch::kFloat));
  EXPECT_EQ(x[17].item<float>(), 17);
  EXPECT_THAT(devices.reads, ElementsAre(HostRead::item));
  EXPECT_THAT(devices.elements_read, ElementsAre(1));
}

TEST_F(DeviceTensor, EveryHostReadIsReportedUnderItsName) {
  const auto x = torch::ones({2, 2}, ahbm);
  x.cpu();
  x.to(torch::kCPU, torch::kHalf);
  torch::zeros({2, 2}).copy_(x);
  std::ostringstream out;
  out << x;
  EXPECT_EQ(out.str(), " 1  1\n 1  1\n[ AHBMFloatType{2,2} ]");
  x.equal(torch::ones({2, 2}));
  x.allclose(torch::ones({2, 2}));
  EXPECT_THAT(devices.reads, ElementsAre(HostRead::cpu, HostRead::to, HostRead::copy_, HostRead::print, HostRead::equal,
                                         HostRead::allclose));
}

TEST_F(DeviceTensor, WhatReadsNoValueDoesNotRead) {
  const auto x = torch::zeros({4, 6}, ahbm);
  x.sizes(), x.view({24}), x.t(), x[1].narrow(0, 2, 3), x.is_contiguous(), x.options();
  torch::empty_like(x).fill_(3);
  x[2].copy_(torch::ones({6}));
  EXPECT_TRUE(devices.reads.empty());
}

TEST_F(DeviceTensor, AnExpandedViewReadsEachElementOnce) {
  const auto x = torch::arange(4, ahbm.dtype(torch::kInt)).view({4, 1}).expand({4, 1000});
  EXPECT_TRUE(torch::equal(x, torch::arange(4, torch::kInt).view({4, 1}).expand({4, 1000})));
  EXPECT_EQ(devices.elements_read.front(), 4);
  EXPECT_THROW(x.copy_(torch::zeros({4, 1000})), ValueError);
}

TEST_F(DeviceTensor, DevicesHaveNoDoublePrecision) {
  EXPECT_THROW(torch::zeros({4}, ahbm.dtype(torch::kDouble)), ValueError);
  EXPECT_THROW(torch::ones({4}, torch::kDouble).to("ahbm"), ValueError);
  EXPECT_EQ(torch::ones({4}, torch::kDouble).to(ahbm.dtype(torch::kFloat)).scalar_type(), torch::kFloat);
  EXPECT_EQ(torch::arange(4).to("ahbm").scalar_type(), torch::kLong);
}

TEST_F(DeviceTensor, DataPointersAreOfTheHostOnly) {
  EXPECT_THROW(torch::zeros({4}, ahbm).data_ptr<float>(), ValueError);
  EXPECT_THROW(torch::zeros({4}, ahbm).data_ptr(), ValueError);
}

TEST_F(DeviceTensor, ToWithoutAChangeIsTheSameTensor) {
  const auto x = torch::zeros({4}, ahbm);
  EXPECT_TRUE(x.to("ahbm").is_same(x));
  EXPECT_TRUE(x.to("ahbm:0").is_same(x));
  EXPECT_FALSE(x.to("ahbm:1").is_same(x));
  devices.device = 1;
  EXPECT_EQ(torch::zeros({1}, ahbm).device().index(), 1);
  EXPECT_FALSE(x.to("ahbm").is_same(x));
}

TEST_F(DeviceTensor, CloneAndContiguousDoNotShare) {
  auto x = torch::arange(6, ahbm.dtype(torch::kInt)).view({2, 3});
  auto clone = x.clone(), transposed = x.t().contiguous();
  x.fill_(0);
  EXPECT_TRUE(torch::equal(clone, torch::arange(6, torch::kInt).view({2, 3})));
  EXPECT_TRUE(torch::equal(transposed, torch::arange(6, torch::kInt).view({2, 3}).t()));
  EXPECT_TRUE(transposed.is_contiguous());
}

TEST_F(DeviceTensor, WithoutDataAReadIsAnErrorThatNamesTheCallAndItemOrGoesOn) {
  devices.data = false;
  auto x = torch::randn({4}, ahbm.name("x"));
  x.copy_(torch::ones({4}));
  x.copy_(torch::ones({4}, ahbm));
  x.to("ahbm:1").clone();
  devices.reads.clear();
  EXPECT_EQ(x[0].item_or(3.0f), 3.0f);
  EXPECT_THAT(devices.reads, ElementsAre(HostRead::item));
  const auto message = [](const auto& call) {
    try {
      call();
    } catch (const ProgramError& error) {
      EXPECT_EQ(error.type(), "NoDataError");
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_THAT(message([&] { x[0].item(); }), testing::StartsWith("item reads values of device tensor \"x\""));
  EXPECT_THAT(message([&] { x.cpu(); }), testing::StartsWith("cpu reads"));
  EXPECT_THAT(message([&] { x.equal(x); }), testing::StartsWith("equal reads"));
  EXPECT_THAT(message([&] { torch::zeros({4}).copy_(x); }), testing::StartsWith("copy_ reads"));
}

TEST_F(DeviceTensor, WithAndWithoutDataTheGeneratorAdvancesAlike) {
  torch::manual_seed(1);
  torch::randn({10}, ahbm);
  const auto with = torch::randn({4});
  devices.data = false;
  torch::manual_seed(1);
  torch::randn({10}, ahbm);
  EXPECT_TRUE(torch::equal(torch::randn({4}), with));
}

/// The elements that a kernel would see through a descriptor, read from the shards' own bytes.
void expect_sees(const torch::Tensor& view, const torch::Tensor& host) {
  const auto descriptor = tensor::launch_descriptor(view, "argument 0 of k");
  ASSERT_EQ(descriptor->shape, host.sizes().vec());
  const auto whole = tensor::device_storage(view)->descriptor();
  std::vector<int> seen(static_cast<std::size_t>(host.numel()), 0);
  const auto dense = host.contiguous();
  // Values are element numbers of the whole tensor, so that an address can be checked against its value.
  for (const auto& shard : descriptor->shards) {
    std::vector<std::int64_t> index(shard.shape.size(), 0);
    std::int64_t count = 1;
    for (const auto extent : shard.shape) count *= extent;
    for (std::int64_t n = 0; n < count; ++n) {
      std::int64_t linear = 0;
      for (std::size_t i = 0; i < index.size(); ++i)
        linear = linear * descriptor->shape[i] + shard.offset[i] + index[i];
      ++seen[static_cast<std::size_t>(linear)];
      const std::uint64_t va = shard.va + static_cast<std::uint64_t>(4 * n);
      const int value = dense.data_ptr<int>()[linear];
      bool found = false;
      for (const auto& base : whole->shards) {
        if (base.owner != shard.owner || va < base.va) continue;
        std::int64_t in_shard = static_cast<std::int64_t>(va - base.va) / 4, element = 0;
        std::vector<std::int64_t> at(base.shape.size());
        for (std::size_t i = base.shape.size(); i-- > 0;)
          at[i] = base.offset[i] + in_shard % base.shape[i], in_shard /= base.shape[i];
        if (in_shard != 0) continue;
        for (std::size_t i = 0; i < at.size(); ++i) element = element * whole->shape[i] + at[i];
        found = found || element == value;
      }
      ASSERT_TRUE(found);
      for (std::size_t i = index.size(); i-- > 0;) {
        if (++index[i] < shard.shape[i]) break;
        index[i] = 0;
      }
    }
  }
  for (const int times : seen) EXPECT_GE(times, 1);
}

TEST_F(DeviceTensor, KernelsSeeWholeTensorsRangesOfRowsAndReshapes) {
  const auto host = torch::arange(11 * 6, torch::kInt).view({11, 6});
  const auto rows = host.to(ahbm);
  EXPECT_EQ(tensor::launch_descriptor(rows, "x"), tensor::device_storage(rows)->descriptor());
  expect_sees(rows.narrow(0, 2, 7), host.narrow(0, 2, 7));
  expect_sees(rows[4], host[4]);
  expect_sees(rows.view({-1}), host.view({-1}));
  expect_sees(rows.view({3, 22}), host.view({3, 22}));
  expect_sees(rows.narrow(0, 1, 4).view({2, 12}), host.narrow(0, 1, 4).view({2, 12}));
  const auto columns = host.to(ahbm.placement({Placement::column_wise, Placement::row_wise}));
  expect_sees(columns.narrow(0, 3, 5), host.narrow(0, 3, 5));
  expect_sees(columns[10], host[10]);
  const auto replicas = host.to(ahbm.placement({Placement::replicate, Placement::row_wise}));
  expect_sees(replicas.narrow(0, 3, 5), host.narrow(0, 3, 5));
}

TEST_F(DeviceTensor, ViewsThatAKernelCannotTakeAreErrorsThatSayWhatTo) {
  const auto rows = torch::zeros({8, 6}, ahbm);
  const auto columns = torch::zeros({8, 6}, ahbm.placement({Placement::column_wise, Placement::row_wise}));
  EXPECT_THROW(tensor::launch_descriptor(rows.t(), "x"), ValueError);
  EXPECT_THROW(tensor::launch_descriptor(rows.narrow(1, 0, 2), "x"), ValueError);
  EXPECT_THROW(tensor::launch_descriptor(columns.view({-1}), "x"), ValueError);
  EXPECT_THROW(tensor::launch_descriptor(torch::zeros({4}), "x"), ValueError);
  EXPECT_NO_THROW(tensor::launch_descriptor(rows.t().contiguous(), "x"));
}

}  // namespace
}  // namespace kernbench
