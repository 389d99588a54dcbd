// A world of more ranks than SIPs: each rank is a PE, with tensors and streams of its own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <fstream>
#include <string>
#include <tuple>
#include <vector>

#include "base/text.h"
#include "spawning.h"
#include "support/source_tree.h"
#include "tensor/tensor_impl.h"

namespace kernbench {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::sleep;
namespace dist = torch::distributed;
namespace mp = torch::multiprocessing;

const auto kOnDevice = torch::dtype(torch::kFloat).device("ahbm");

/// So many SIPs of two cubes with two PEs each.
SimulateOptions four_pes_each(int sips) {
  auto options = testing::devices(sips, {"sip.cubes.mesh=[2, 1]", "cube.pes.mesh=[2, 1]"});
  options.collectives = source_tree::path("collectives/ccl.yaml");
  return options;
}

/// What went wrong in a world of so many ranks; each has joined it when `rank_program` begins.
template <class Program>
std::string error_of_world(int sips, int ranks, const Program& rank_program) {
  return testing::error_of(
      [&] {
        mp::spawn(
            [&](int rank) {
              dist::init_process_group("ahbm", rank, ranks);
              rank_program(rank);
            },
            {}, {.nprocs = ranks});
      },
      four_pes_each(sips));
}

std::vector<std::string> places_of(const torch::Tensor& tensor) {
  std::vector<std::string> places;
  for (const auto& shard : tensor::impl_of(tensor).storage->device->descriptor()->shards) {
    places.push_back(to_text(shard.owner));
  }
  return places;
}

TEST(RankPerPe, RanksAreCountedSipBySipCubeByCubePeByPe) {
  std::vector<std::vector<std::string>> places(7);
  std::vector<int> devices(7);
  EXPECT_EQ(error_of_world(2, 7,
                           [&](int rank) {
                             const auto index = static_cast<std::size_t>(rank);
                             devices[index] = torch::ahbm::current_device();
                             places[index] = places_of(torch::empty({10, 3}, kOnDevice));
                           }),
            "no error");
  EXPECT_THAT(devices, ElementsAre(0, 0, 0, 0, 1, 1, 1));
  EXPECT_THAT(places,
              ElementsAre(ElementsAre("sip0.cube0.pe0"), ElementsAre("sip0.cube0.pe1"), ElementsAre("sip0.cube1.pe0"),
                          ElementsAre("sip0.cube1.pe1"), ElementsAre("sip1.cube0.pe0"), ElementsAre("sip1.cube0.pe1"),
                          ElementsAre("sip1.cube1.pe0")));
}

TEST(RankPerPe, AnInterleavedTensorOfARankHasTheOneSliceOfItsPe) {
  static constexpr DPPolicy kInterleaved{.cube = Placement::interleaved, .pe = Placement::interleaved};
  const auto program = [](int rank) {
    const auto x = torch::full({300}, rank + 1, kOnDevice.placement(kInterleaved));
    const auto& tensor = *tensor::device_storage(x)->descriptor();
    ASSERT_EQ(tensor.arrays.size(), 1u);
    EXPECT_EQ(tensor.arrays.front().owner, (PeCoordinate{SipId{0}, CubeId{rank / 2}, PeId{rank % 2}}));
    EXPECT_EQ(tensor.interleaving.slices(), 1);
    dist::all_reduce(x);
    EXPECT_TRUE(x.cpu().equal(torch::full({300}, 10)));
  };
  EXPECT_EQ(error_of_world(1, 4, program), "no error");
}

TEST(RankPerPe, ASmallerWorldHasASipForEachRank) {
  EXPECT_EQ(error_of_world(2, 2,
                           [](int rank) {
                             torch::ahbm::set_device(rank);
                             EXPECT_EQ(places_of(torch::empty({8}, kOnDevice)).size(), 4u);
                           }),
            "no error");
}

TEST(RankPerPe, WhatIsMadeOnAnotherSipIsSpreadOverIt) {
  EXPECT_EQ(error_of_world(2, 3,
                           [](int) {
                             const auto x = torch::arange(8, torch::kInt).to(torch::Device(torch::kAHBM, 1));
                             EXPECT_EQ(places_of(x).size(), 4u);
                             EXPECT_TRUE(torch::equal(x.cpu(), torch::arange(8, torch::kInt)));
                             EXPECT_THAT(places_of(x.to(torch::Device(torch::kAHBM, 0))).size(), 1u);
                           }),
            "no error");
}

/// Sums that are not exact, in the order of the ring: chunk c folds ranks c + 1, …, c.
std::vector<float> ring_sum(const std::vector<std::vector<float>>& ranks) {
  const std::size_t n = ranks.size(), length = ranks.front().size(), chunk = (length + n - 1) / n;
  std::vector<float> sum(length);
  for (std::size_t i = 0; i < length; ++i) {
    const std::size_t c = i / chunk;
    sum[i] = ranks[(c + 1) % n][i];
    for (std::size_t step = 2; step <= n; ++step) sum[i] += ranks[(c + step) % n][i];
  }
  return sum;
}

TEST(RankPerPe, AllReduceFoldsAsOnSipsInWorldsOfAllSizes) {
  for (const int world : {3, 4, 5, 8}) {
    SCOPED_TRACE(world);
    constexpr std::int64_t kElements = 1001;
    std::vector<std::vector<float>> inputs, results(static_cast<std::size_t>(world));
    for (int rank = 0; rank < world; ++rank) {
      auto& input = inputs.emplace_back();
      for (std::int64_t i = 0; i < kElements; ++i)
        input.push_back(1.0f / static_cast<float>(1 + (i * 7 + rank * 13) % 101));
    }
    EXPECT_EQ(error_of_world(2, world,
                             [&](int rank) {
                               const auto index = static_cast<std::size_t>(rank);
                               const auto x = torch::tensor(inputs[index]).to("ahbm");
                               dist::all_reduce(x);
                               const auto host = x.cpu();
                               results[index].assign(host.data_ptr<float>(), host.data_ptr<float>() + kElements);
                             }),
              "no error");
    EXPECT_THAT(results, Each(ring_sum(inputs)));
  }
}

TEST(RankPerPe, ARankIsNotOrderedBehindAnotherOfItsSip) {
  // In one stream for all, the second kernel of rank 1 would wait for the all-reduce, and that for the kernel.
  EXPECT_EQ(error_of_world(1, 2,
                           [](int rank) {
                             const auto x = torch::ones({64}, kOnDevice);
                             if (rank == 1) {
                               sleep(100'000);
                               x.mul_(3);
                               torch::ahbm::synchronize();
                             }
                             dist::all_reduce(x);
                             EXPECT_EQ(x[63].item<float>(), 4.0f);
                             EXPECT_EQ(torch::ahbm::current_stream(), torch::ahbm::default_stream());
                           }),
            "no error");
}

TEST(RankPerPe, WorkBeforeTheWorldComesFirst) {
  EXPECT_EQ(testing::error_of(
                [] {
                  mp::spawn(
                      [](int rank) {
                        const auto x = torch::full({4096}, 2.0f, kOnDevice);
                        for (int i = 0; i < 5; ++i) x.mul_(2);
                        dist::init_process_group("ahbm", rank, 3);
                        x.fill_(1);
                        EXPECT_EQ(x[4095].item<float>(), 1.0f);
                        EXPECT_EQ(places_of(x).size(), 4u);
                        EXPECT_EQ(places_of(x.clone()).size(), 1u);
                      },
                      {}, {.nprocs = 3});
                },
                four_pes_each(1)),
            "no error");
}

TEST(RankPerPe, AWorkerKeepsItsPeInLaterWorlds) {
  EXPECT_EQ(error_of_world(1, 3,
                           [](int rank) {
                             const auto x = torch::full({5}, static_cast<float>(rank), kOnDevice);
                             dist::destroy_process_group();
                             dist::init_process_group("ahbm", 2 - rank, 3, {.init_method = "the other way round"});
                             dist::broadcast(x, 2);
                             EXPECT_EQ(x[4].item<float>(), 0.0f);
                             dist::destroy_process_group();
                             if (rank > 0) return;
                             dist::init_process_group("ahbm", 0, 1, {.init_method = "alone"});
                             EXPECT_EQ(places_of(torch::empty({8}, kOnDevice)).size(), 4u);
                           }),
            "no error");
}

TEST(RankPerPe, ASmallerWorldBeforeLeavesNoSharedStreamBehind) {
  EXPECT_EQ(testing::error_of(
                [] {
                  mp::spawn(
                      [](int rank) {
                        dist::init_process_group("ahbm", 0, 1, {.init_method = "alone " + std::to_string(rank)});
                        dist::all_reduce(torch::ones({8}, kOnDevice));
                        dist::destroy_process_group();
                        dist::init_process_group("ahbm", rank, 2, {.init_method = "all"});
                        EXPECT_EQ(torch::ahbm::current_stream(), torch::ahbm::default_stream());
                        EXPECT_NE(torch::ahbm::current_stream().id(), 0);
                      },
                      {}, {.nprocs = 2});
                },
                four_pes_each(1)),
            "no error");
}

TEST(RankPerPe, ATensorOnOtherPesIsRefused) {
  const std::string error = testing::error_of(
      [] {
        mp::spawn(
            [](int rank) {
              const auto x = torch::ones({8}, kOnDevice);
              dist::init_process_group("ahbm", rank, 3);
              dist::all_reduce(x);
            },
            {}, {.nprocs = 3});
      },
      four_pes_each(1));
  EXPECT_THAT(
      error, HasSubstr("all_reduce: the tensor lies on ahbm:0 (4 shards on 4 PEs from cube0.pe0 to cube1.pe1, "
                       "the first of 2 elements), but this rank is one PE, sip0.cube{0, 1}.pe{0, 1}, because its world "
                       "has more ranks than the machine has SIPs; tensors that it makes after "
                       "init_process_group on ahbm:0 lie there"));
}

TEST(RankPerPe, APolicyForSeveralPesIsRefused) {
  const auto place = [](DPPolicy policy) {
    return error_of_world(1, 2,
                          [policy](int) { torch::empty({8}, torch::TensorOptions(kOnDevice).placement(policy)); });
  };
  EXPECT_THAT(place({.num_pes = 2}),
              HasSubstr("DPPolicy: num_pes is 2, but the rank is one PE, sip0.cube0.pe{0, 1} (its "
                        "world has more ranks than the machine has SIPs); give 1, or 0 for all"));
  EXPECT_THAT(place({.num_cubes = 2}), HasSubstr("num_cubes is 2, but the rank is one PE"));
  EXPECT_EQ(place({.num_cubes = 1, .num_pes = 1}), "no error");
}

TEST(RankPerPe, AWorldOfMoreRanksThanPesIsRefused) {
  const std::string error = error_of_world(2, 9, [](int) {});
  EXPECT_THAT(error, HasSubstr("init_process_group: a world_size of 9 is more than the machine has PEs (2 SIPs of 4): "
                               "a rank is a SIP, or in a larger world a PE; start fewer ranks, or add SIPs with --set "
                               "system.sips.count=3"));
}

TEST(RankPerPe, ARankThatThrowsLetsTheOthersUnwind) {
  std::vector<int> culprits, victims;
  EXPECT_EQ(testing::error_of(
                [&] {
                  try {
                    mp::spawn(
                        [](int rank) {
                          dist::init_process_group("ahbm", rank, 4);
                          const auto x = torch::ones({8}, kOnDevice);
                          dist::all_reduce(x);
                          if (rank == 2) throw ValueError("no more");
                          dist::all_reduce(x);
                          torch::ahbm::synchronize();
                        },
                        {}, {.nprocs = 4});
                  } catch (const mp::SpawnException& failure) {
                    for (const auto& each : failure.errors) culprits.push_back(each.rank);
                    victims = failure.victims;
                  }
                },
                four_pes_each(2)),
            "no error");
  EXPECT_THAT(culprits, ElementsAre(2));
  EXPECT_THAT(victims, ElementsAre(0, 1, 3));
}

TEST(RankPerPe, TheCollectivesFileSaysHowManyRanksThereAre) {
  auto options = four_pes_each(2);
  options.collectives = ::testing::TempDir() + "kernbench_world_sizes.yaml";
  std::ofstream(options.collectives) << "defaults: {algorithm: ring, n_elem: 77}\n"
                                        "algorithms:\n"
                                        "  ring: {module: ring_allreduce}\n"
                                        "  ring_of_pes: {module: ring_allreduce, world_size: 6, n_elem: 78}\n"
                                        "  too_large: {module: ring_allreduce, world_size: 9}\n";
  std::vector<std::tuple<int, bool, std::int64_t>> found;
  EXPECT_EQ(testing::error_of(
                [&] {
                  for (const char* name : {"", "ring_of_pes", "too_large"}) {
                    const auto algorithm = dist::get_algorithm(name);
                    EXPECT_EQ(algorithm.module, "ring_allreduce");
                    found.emplace_back(algorithm.world_size, algorithm.rank_per_pe, algorithm.n_elem);
                  }
                },
                options),
            "ConfigurationError: a world_size of 9 is more than the machine has PEs (2 SIPs of 4)");
  EXPECT_THAT(found, ElementsAre(std::tuple(2, false, 77), std::tuple(6, true, 78)));
}

}  // namespace
}  // namespace kernbench
