// Copies from device to device: any view of any type under any placement arrives as the host would have copied it.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <random>
#include <vector>

#include "devices.h"
#include "support/interleaved.h"

namespace kernbench {
namespace {

using testing::kElements;
using testing::on;
using testing::ring_of;
using testing::three_of_four_pes;
using testing::wait_for_all;
using torch::Tensor;

std::int64_t pick(std::mt19937_64& random, std::int64_t low, std::int64_t high) {
  return low + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(high - low + 1));
}

/// One change of a view, the same for a host tensor and a device tensor.
using Change = std::function<Tensor(const Tensor&)>;

Change random_change(const Tensor& at, bool may_repeat, std::mt19937_64& random) {
  const std::int64_t d = pick(random, 0, at.dim() - 1), e = pick(random, 0, at.dim() - 1);
  switch (pick(random, 0, may_repeat ? 4 : 3)) {
    case 0: {
      const std::int64_t start = pick(random, 0, at.size(d) - 1), length = pick(random, 1, at.size(d) - start);
      return [=](const Tensor& x) { return x.narrow(d, start, length); };
    }
    case 1: {
      const std::int64_t step = pick(random, 1, 3);
      return [=](const Tensor& x) { return x.slice(d, 0, x.size(d), step); };
    }
    case 2:
      return [=](const Tensor& x) { return x.transpose(d, e); };
    case 3: {
      const std::int64_t index = pick(random, 0, at.size(d) - 1);
      return [=](const Tensor& x) { return x.dim() > 1 ? x.select(d, index) : x; };
    }
    default: {
      const std::int64_t repeat = pick(random, 2, 4);
      return [=](const Tensor& x) {
        auto sizes = x.sizes().vec();
        sizes.insert(sizes.begin(), repeat);
        return x.unsqueeze(0).expand(sizes);
      };
    }
  }
}

std::vector<Change> random_view(Tensor at, bool may_repeat, std::mt19937_64& random) {
  std::vector<Change> changes;
  for (std::int64_t n = pick(random, 0, 3); n > 0; --n) {
    changes.push_back(random_change(at, may_repeat, random));
    at = changes.back()(at);
  }
  return changes;
}

Tensor apply(Tensor x, const std::vector<Change>& changes) {
  for (const Change& change : changes) x = change(x);
  return x;
}

DPPolicy random_policy(std::mt19937_64& random) {
  constexpr Placement kAll[] = {Placement::replicate,       Placement::row_wise,           Placement::column_wise,
                                Placement::tiled_row_major, Placement::tiled_column_major, Placement::balanced};
  const DPPolicy policy{.cube = kAll[pick(random, 0, 5)],
                        .pe = kAll[pick(random, 0, 5)],
                        .num_cubes = static_cast<int>(pick(random, 0, 2)),
                        .num_pes = static_cast<int>(pick(random, 0, 2))};
  return testing::maybe_interleaved(policy, random());
}

/// Copies random views of random tensors between devices, as the host does it.
void copy_random_views(std::uint64_t seed, int rounds) {
  std::mt19937_64 random(seed);
  constexpr DType kTypes[] = {DType::f32, DType::f16, DType::bf16, DType::i32, DType::u8, DType::boolean};
  for (int round = 0; round < rounds; ++round) {
    SCOPED_TRACE(round);
    std::vector<std::int64_t> sizes;
    for (std::int64_t rank = pick(random, 1, 3); rank > 0; --rank) sizes.push_back(pick(random, 1, 13));
    const DType from = kTypes[pick(random, 0, 5)], to = pick(random, 0, 1) == 0 ? from : kTypes[pick(random, 0, 5)];
    const int source_device = static_cast<int>(pick(random, 0, 2));
    const int target_device = (source_device + static_cast<int>(pick(random, 1, 2))) % 3;
    auto host = torch::empty(sizes, from);
    host.copy_(torch::arange(host.numel(), torch::kInt).remainder(100).view(sizes));
    const auto changes = random_view(host, true, random);
    const Tensor host_view = apply(host, changes);

    // The destination: a larger tensor, of which a view has the source's sizes, perhaps transposed.
    auto target_sizes = host_view.sizes().vec();
    const bool transposed = pick(random, 0, 1) == 0;
    if (transposed) std::reverse(target_sizes.begin(), target_sizes.end());
    std::vector<std::int64_t> starts, base_sizes;
    for (const std::int64_t extent : target_sizes) {
      starts.push_back(pick(random, 0, 2));
      base_sizes.push_back(extent + starts.back() + pick(random, 0, 2));
    }
    const auto view_of = [&](Tensor base) {
      for (std::size_t d = 0; d < target_sizes.size(); ++d)
        base = base.narrow(static_cast<std::int64_t>(d), starts[d], target_sizes[d]);
      if (!transposed) return base;
      std::vector<std::int64_t> order;
      for (std::int64_t d = base.dim(); d-- > 0;) order.push_back(d);
      return base.permute(order);
    };
    const auto expected = torch::zeros(base_sizes, to);
    view_of(expected).copy_(host_view);

    const auto device_of = [](int device) { return torch::Device(torch::kAHBM, device); };
    const auto x = host.to(torch::dtype(from).device(device_of(source_device)).placement(random_policy(random)));
    const auto y =
        torch::zeros(base_sizes, torch::dtype(to).device(device_of(target_device)).placement(random_policy(random)));
    wait_for_all();
    view_of(y).copy_(apply(x, changes));
    if (data_enabled()) {
      EXPECT_TRUE(y.cpu().equal(expected));
    } else {
      y.item_or(0);
    }
  }
}

TEST(DeviceCopies, OfRandomViewsAreWhatTheHostMakesOfThem) {
  simulate(three_of_four_pes(), [] { copy_random_views(1, kSanitized ? 40 : 250); });
}

TEST(DeviceCopies, AreTheSameInEveryMode) {
  const auto run = [](const SimulateOptions& options) {
    return simulate(options, [] {
      std::mt19937_64 random(2);
      for (int round = 0; round < 20; ++round) {
        const auto x =
            torch::zeros({17, 9}, torch::dtype(torch::kFloat).device("ahbm:0").placement(random_policy(random)));
        const auto y = torch::zeros({17, 9}, torch::dtype(round % 2 == 0 ? torch::kFloat : torch::kHalf)
                                                 .device("ahbm:1")
                                                 .placement(random_policy(random)));
        y.copy_(x);
        x.narrow(0, 3, 9).copy_(y.t().narrow(1, 2, 9).t());
      }
      wait_for_all();
    });
  };
  const RunResult expected = run(three_of_four_pes());
  SimulateOptions exact = three_of_four_pes(), dataless = three_of_four_pes(), threads = three_of_four_pes();
  exact.exact_events = true;
  dataless.data = false;
  threads.threads = 3;
  for (const auto& options : {exact, dataless, threads}) {
    const RunResult result = run(options);
    EXPECT_EQ(result.times_fingerprint, expected.times_fingerprint);
    if (options.data) {
      EXPECT_EQ(result.values_fingerprint, expected.values_fingerprint);
    }
  }
}

/// Bytes that cross from the first SIP to the second.
std::int64_t crossing(const std::function<void()>& program) {
  for (const auto& resource : simulate(ring_of(2), program).resources)
    if (resource.name == "sip0.io.to_sip1") return resource.bytes.count();
  return -1;
}

TEST(DeviceCopies, CrossInTheNarrowerTypeAndOnce) {
  const auto bytes = [](DType from, DType to) {
    return crossing([=] {
      const auto x = torch::zeros({kElements}, on(0).dtype(from)), y = torch::empty({kElements}, on(1).dtype(to));
      y.copy_(x);
    });
  };
  EXPECT_EQ(bytes(DType::f32, DType::f32), 4 * kElements);
  EXPECT_EQ(bytes(DType::f32, DType::f16), 2 * kElements);
  EXPECT_EQ(bytes(DType::f16, DType::f32), 2 * kElements);
  EXPECT_EQ(bytes(DType::u8, DType::bf16), kElements);
  EXPECT_EQ(crossing([] {
              const auto x = torch::zeros({kElements}, on(0)), y = torch::empty({7, kElements}, on(1));
              y.copy_(x.expand({7, kElements}));
            }),
            4 * kElements);
  EXPECT_EQ(crossing([] {
              const auto x = torch::zeros({8, 8}, on(0)), y = torch::empty({8, 8}, on(1));
              y.copy_(x.t());
            }),
            4 * 64);
}

TEST(DeviceCopies, LeaveNoMemoryBehind) {
  simulate(ring_of(2), [] {
    const auto x = torch::zeros({64, 64}, on(0)), y = torch::zeros({64, 64}, on(1).dtype(torch::kHalf));
    wait_for_all();
    const auto here = torch::ahbm::memory_allocated(0), there = torch::ahbm::memory_allocated(1);
    for (int round = 0; round < 3; ++round) y.copy_(x.t());
    wait_for_all();
    EXPECT_EQ(torch::ahbm::memory_allocated(0), here);
    EXPECT_EQ(torch::ahbm::memory_allocated(1), there);
  });
}

}  // namespace
}  // namespace kernbench
