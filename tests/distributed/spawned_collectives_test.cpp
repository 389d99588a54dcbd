// Collectives under torch::multiprocessing::spawn: a rank fails while others wait for it, and what comes after.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include "kernbench/kernbench.h"
#include "ranks.h"
#include "sim/fiber.h"

namespace kernbench::testing::spawned_collectives_test {
namespace {

namespace dist = torch::distributed;
using torch::multiprocessing::SpawnException;

constexpr int kRanks = 4;
const auto kDevice = torch::dtype(torch::kFloat).device("ahbm");

/// Between two collectives, those in `failing` throw; the others wait in the second one.
void worker(int rank, const std::set<int>& failing) {
  torch::ahbm::set_device(rank);
  dist::init_process_group("ahbm", rank, kRanks);
  const auto x = torch::ones({5000}, kDevice);
  dist::all_reduce(x);
  dist::barrier();
  if (!failing.empty()) sim::this_fiber::sleep_until(Time::milliseconds(1));  // all at once
  if (failing.contains(rank)) throw std::runtime_error("Mimic real test failure.");
  dist::all_reduce(x);
  EXPECT_EQ(x[4999].item<float>(), static_cast<float>(kRanks * kRanks));
}

TEST(SpawnedCollectives, WhoThrewIsTheCauseAndWhoWaitedIsAVictimAndTheNextSpawnIsClean) {
  for (const std::set<int>& failing : {std::set<int>{0}, {1}, {1, 2, 3}, {0, 3}}) {
    std::set<int> causes, victims;
    std::string message;
    simulate(machine_of(kRanks), [&] {
      try {
        torch::multiprocessing::spawn(worker, std::tuple{failing}, {.nprocs = kRanks});
      } catch (const SpawnException& error) {
        for (const auto& cause : error.errors) causes.insert(cause.rank);
        victims.insert(error.victims.begin(), error.victims.end());
        message = error.what();
      }
      torch::multiprocessing::spawn(worker, std::tuple{std::set<int>{}}, {.nprocs = kRanks});
    });
    EXPECT_EQ(causes, failing) << message;
    std::set<int> others;
    for (int rank = 0; rank < kRanks; ++rank) {
      if (!failing.contains(rank)) others.insert(rank);
    }
    EXPECT_EQ(victims, others) << message;
    EXPECT_THAT(message, ::testing::HasSubstr("Mimic real test failure."));
  }
}

TEST(SpawnedCollectives, AMismatchIsTheCauseOnAllRanks) {
  std::string message;
  simulate(machine_of(2), [&] {
    try {
      torch::multiprocessing::spawn(
          [](int rank) {
            torch::ahbm::set_device(rank);
            dist::init_process_group("ahbm", rank, 2);
            dist::all_reduce(torch::ones({rank == 0 ? 4 : 5}, kDevice));
          },
          {}, {.nprocs = 2});
    } catch (const SpawnException& error) {
      message = error.what();
      EXPECT_EQ(error.errors.size(), 2u);
      EXPECT_TRUE(error.victims.empty());
    }
  });
  EXPECT_THAT(message, ::testing::HasSubstr("Detected mismatch between collectives on ranks."));
}

/// One of all the ways in which ranks communicate; each rank gives the same `way`.
void communicate_somehow(int way, int rank, const std::vector<dist::ProcessGroup>& groups,
                         std::vector<dist::WorkRef>& pending) {
  const auto x = torch::full({40 + way}, static_cast<float>(rank), kDevice), y = torch::empty_like(x);
  const int next = (rank + 1) % kRanks, previous = (rank + kRanks - 1) % kRanks;
  switch (way % 10) {
    case 0:
      dist::all_reduce(x);
      return;
    case 1:
      pending.push_back(dist::all_reduce(x, dist::ReduceOp::MAX, groups[static_cast<std::size_t>(rank / 2)], true));
      return;
    case 2:
      pending.push_back(dist::broadcast(x, way % kRanks, {}, true));
      return;
    case 3:
      dist::broadcast(x, rank % 2, groups[static_cast<std::size_t>(2 + rank % 2)]);
      return;
    case 4:
      dist::barrier();
      return;
    case 5:
      dist::monitored_barrier();
      return;
    case 6:
      pending.push_back(dist::isend(x, next, {}, 1));
      dist::recv(y, previous, {}, 1);
      EXPECT_EQ(y[39].item<float>(), static_cast<float>(previous));
      return;
    case 7:
      for (const auto& work :
           dist::batch_isend_irecv({{dist::P2POp::irecv, y, previous}, {dist::P2POp::isend, x, next}})) {
        pending.push_back(work);
      }
      return;
    case 8:
      // The slots of a group's channels take room in the TCM, so there cannot be too many.
      dist::all_reduce(x, dist::ReduceOp::SUM, way < 20 ? dist::new_group() : dist::ProcessGroup());
      EXPECT_EQ(x[0].item<float>(), 6.0f);
      return;
    default:
      for (const auto& work : pending) work->synchronize();
      pending.clear();
  }
}

TEST(SpawnedCollectives, EveryRankKeepsItsDeviceStreamAndRandomNumbersThroughFiftyOperationsOfAllKindsAndGroups) {
  constexpr int kOperations = 50;
  std::vector<std::vector<float>> drawn(kRanks), alone(kRanks);
  SimulateOptions options = machine_of(kRanks);
  options.overrides.emplace_back("pe.ipcq.queues=32");  // each group and each lane has channels of its own
  simulate(options, [&] {
    const auto draw = [](int rank, int times, const auto& between, std::vector<float>& draws) {
      torch::manual_seed(100 + static_cast<std::uint64_t>(rank));
      for (int i = 0; i < times; ++i) {
        between(i);
        draws.push_back(torch::rand({3})[1].item<float>());
      }
    };
    for (int rank = 0; rank < kRanks; ++rank) {
      draw(rank, kOperations, [](int) {}, alone[static_cast<std::size_t>(rank)]);
    }
    torch::multiprocessing::spawn(
        [&](int rank) {
          torch::accelerator::set_device_index(rank);
          const torch::ahbm::Stream stream;
          torch::accelerator::set_stream(stream);
          dist::init_process_group();
          std::vector<dist::ProcessGroup> groups;
          for (const auto& ranks : std::vector<std::vector<int>>{{0, 1}, {2, 3}, {0, 2}, {1, 3}}) {
            groups.push_back(dist::new_group(ranks));
          }
          std::vector<dist::WorkRef> pending;
          draw(
              rank, kOperations,
              [&](int i) {
                communicate_somehow(i, rank, groups, pending);
                ASSERT_EQ(torch::accelerator::current_device_index(), rank);
                ASSERT_TRUE(torch::accelerator::current_stream() == stream);
                ASSERT_EQ(torch::empty({4}, kDevice).device().index(), rank);
                ASSERT_EQ(dist::get_rank(), rank);
              },
              drawn[static_cast<std::size_t>(rank)]);
          for (const auto& work : pending) work->wait();
          torch::ahbm::synchronize();
        },
        {}, {.nprocs = kRanks});
  });
  EXPECT_EQ(drawn, alone);
}

TEST(SpawnedCollectives, NestedSpawnsHaveWorldsOfTheirOwn) {
  const auto result = try_simulate(machine_of(4), [] {
    torch::multiprocessing::spawn(
        [](int outer) {
          torch::multiprocessing::spawn(
              [outer](int rank) {
                torch::ahbm::set_device(2 * outer + rank);
                dist::init_process_group("ahbm", rank, 2);
                const auto x = torch::full({64}, static_cast<float>(outer + 1), kDevice);
                dist::all_reduce(x);
                EXPECT_EQ(x[0].item<float>(), 2.0f * static_cast<float>(outer + 1));
              },
              {}, {.nprocs = 2});
        },
        {}, {.nprocs = 2});
  });
  EXPECT_EQ(result.status, RunStatus::ok) << (result.error ? result.error->message : "");
}

}  // namespace
}  // namespace kernbench::testing::spawned_collectives_test
