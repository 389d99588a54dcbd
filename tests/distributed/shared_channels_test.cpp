// More peers, tags and groups than the tables of neighbours have entries: channels take turns, at a cost with a law.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "../hardware/ipcq_channels.h"
#include "distributed/group.h"
#include "ranks.h"
#include "sim/fiber.h"
#include "spawning.h"
#include "support/all_cases.h"
#include "support/sanitizers.h"

namespace kernbench::testing::shared_channels_test {
namespace {

namespace dist = torch::distributed;
using ::testing::AllOf;
using ::testing::HasSubstr;
using Works = std::vector<dist::WorkRef>;

SimulateOptions machine(int sips, std::vector<std::string> overrides = {}) {
  SimulateOptions options = devices(sips, std::move(overrides));
  options.collectives = machine_of(sips).collectives;
  return options;
}

/// tiny and a shipped machine, each with so many SIPs; the latter in plain builds only.
std::vector<SimulateOptions> machines(int sips) {
  std::vector<SimulateOptions> all(kSanitized ? 1 : 2, machine(sips));
  if (!kSanitized) all.back().topology = "ahbm-2sip";
  return all;
}

torch::Tensor filled(float value, std::int64_t elements = 40) {
  return torch::full({elements}, value, one_pe());
}

RunResult expect_passed(const SimulateOptions& options, int ranks, const std::function<void(int rank)>& body,
                        const std::vector<int>& order = {}) {
  const auto outcome = run_ranks(
      options, ranks,
      [&](int rank) {
        dist::init_process_group("ahbm", rank, ranks);
        body(rank);
        EXPECT_EQ(ambiguous_orders(), 0);
      },
      order);
  EXPECT_EQ(outcome.run.status, RunStatus::ok) << outcome.error.message;
  EXPECT_THAT(outcome.errors, ::testing::Each(""));
  return outcome.run;
}

/// Every rank sends every other one a number of its own, in an order of its own.
void exchange_all(int rank, int ranks, std::int64_t elements, unsigned seed) {
  std::vector<torch::Tensor> out, in;
  std::vector<dist::P2POp> ops;
  for (int other = 0; other < ranks; ++other) {
    out.push_back(filled(static_cast<float>(100 * rank + other), elements));
    in.push_back(filled(-1, elements));
    if (other == rank) continue;
    const auto at = static_cast<std::size_t>(other);
    ops.push_back({dist::P2POp::isend, out[at], other});
    ops.push_back({dist::P2POp::irecv, in[at], other});
  }
  std::mt19937 generator(seed + static_cast<unsigned>(rank));
  if (seed > 0) std::ranges::shuffle(ops, generator);
  for (const auto& work : dist::batch_isend_irecv(ops)) work->wait();
  for (int other = 0; other < ranks; ++other) {
    if (other == rank) continue;
    const auto& x = in[static_cast<std::size_t>(other)];
    EXPECT_EQ(x[elements - 1].item<float>(), static_cast<float>(100 * other + rank)) << rank << " from " << other;
  }
}

TEST(SharedChannels, SixteenRanksExchangeAllToAllInAnyOrder) {
  for (const unsigned seed : {0U, 1U, 2U}) {
    for (const std::int64_t elements : {40, 60'000}) {  // the latter do not fit into the slots
      if (kSanitized && (seed != 2 || elements != 40)) continue;
      expect_passed(machine(16), 16, [=](int rank) { exchange_all(rank, 16, elements, seed); });
    }
  }
}

TEST(SharedChannels, SixtyFourRanksExchangeAllToAll) {
  constexpr int kRanks = kSanitized ? 18 : 64;
  expect_passed(machine(kRanks), kRanks, [](int rank) { exchange_all(rank, kRanks, 40, 0); });
}

TEST(SharedChannels, SixtyFourRanksOfAShippedMachineExchangeAllToAll) {
  const int ranks = takes_all_cases() ? 64 : kSanitized ? 6 : 32;
  SimulateOptions options = machine(ranks);
  options.topology = "ahbm-2sip";
  expect_passed(options, ranks, [=](int rank) { exchange_all(rank, ranks, 40, 3); });
}

TEST(SharedChannels, RanksThatArePesExchangeAllToAll) {
  expect_passed(machine(10), 20, [](int rank) { exchange_all(rank, 20, 40, 5); });
}

TEST(SharedChannels, OneEntryIsEnough) {
  expect_passed(machine(5, {"pe.ipcq.queues=1"}), 5, [](int rank) { exchange_all(rank, 5, 60'000, 7); });
}

TEST(SharedChannels, TwoRanksUseAHundredTagsAndReceiveInAnotherOrder) {
  constexpr int kTags = 100;
  const auto exchange = [](int rank) {
    std::vector<torch::Tensor> values;
    Works works;
    for (int tag = 0; tag < kTags; ++tag) values.push_back(filled(rank == 0 ? static_cast<float>(tag) : -1));
    for (int i = 0; i < kTags; ++i) {
      const int tag = rank == 0 ? i : (i * 37 + 11) % kTags;
      const auto& x = values[static_cast<std::size_t>(tag)];
      works.push_back(rank == 0 ? dist::isend(x, 1, {}, tag) : dist::irecv(x, 0, {}, tag));
    }
    for (const auto& work : works) work->wait();
    for (int tag = 0; tag < kTags; ++tag) {
      EXPECT_EQ(values[static_cast<std::size_t>(tag)][39].item<float>(), static_cast<float>(tag));
    }
  };
  for (const auto& options : machines(2)) expect_passed(options, 2, exchange);
}

/// Messages between random pairs, with pauses in which nobody waits for entries: who comes after one finds what has
/// become free in it.
TEST(SharedChannels, RandomPairsAlwaysFindTheirEntries) {
  constexpr int kMessages = 16;
  for (unsigned seed = 0; seed < static_cast<unsigned>(number_of_cases(400, 50, 10)); ++seed) {
    SCOPED_TRACE(seed);
    const int ranks = 3 + static_cast<int>(seed % 4);
    const auto exchange = [&](int rank) {
      std::mt19937 same(seed), own(1000 * seed + static_cast<unsigned>(rank));
      Works works;
      std::vector<std::pair<torch::Tensor, float>> received;
      for (int i = 0; i < kMessages; ++i) {
        const int from = static_cast<int>(same() % static_cast<unsigned>(ranks));
        const int to = (from + 1 + static_cast<int>(same() % static_cast<unsigned>(ranks - 1))) % ranks;
        const auto number = static_cast<float>(i);
        if (rank == from) works.push_back(dist::isend(filled(number), to));
        if (rank == to) {
          received.emplace_back(filled(-1), number);
          works.push_back(dist::irecv(received.back().first, from));
        }
        if (own() % 4 == 0) sim::this_fiber::sleep(Time::microseconds(static_cast<std::int64_t>(own() % 30)));
      }
      for (const auto& work : works) work->wait();
      for (const auto& [tensor, number] : received) EXPECT_EQ(tensor[39].item<float>(), number);
    };
    expect_passed(machine(ranks, {"pe.ipcq.queues=" + std::to_string(1 + seed % 3)}), ranks, exchange);
  }
}

TEST(SharedChannels, FiftyGroupsLiveAtOnce) {
  constexpr int kGroups = kSanitized ? 15 : 50;
  const auto use_all = [](int rank) {
    std::vector<dist::ProcessGroup> groups;
    for (int i = 0; i < kGroups; ++i) groups.push_back(dist::new_group());
    for (int round = 0; round < 2; ++round) {
      for (int i = 0; i < kGroups; ++i) {
        const auto& group = groups[static_cast<std::size_t>(i)];
        const auto sum = filled(static_cast<float>(rank + i)), root = filled(static_cast<float>(10 * rank + i));
        dist::all_reduce(sum, dist::ReduceOp::SUM, group);
        dist::broadcast(root, i % 4, group);
        EXPECT_EQ(sum[39].item<float>(), static_cast<float>(6 + 4 * i));
        EXPECT_EQ(root[0].item<float>(), static_cast<float>(10 * (i % 4) + i));
      }
    }
  };
  for (const auto& options : machines(4)) expect_passed(options, 4, use_all);
}

/// On SIPs of a shipped machine, all at once: each rank exchanges a message with every other one, with a tag of its own
/// for each of a hundred others, and is in fifty groups that live.
TEST(SharedChannels, SixtyFourRanksUseAHundredTagsAndFiftyLiveGroupsOfAShippedMachine) {
  if (!takes_all_cases()) GTEST_SKIP() << "seconds: make test-full";
  constexpr int kRanks = 64, kTags = 100, kGroups = 50;
  SimulateOptions options = machine(kRanks);
  options.topology = "ahbm-2sip";
  expect_passed(options, kRanks, [](int rank) {
    std::vector<dist::ProcessGroup> groups;
    for (int i = 0; i < kGroups; ++i) groups.push_back(dist::new_group());
    exchange_all(rank, kRanks, 40, 3);
    const int next = (rank + 1) % kRanks, before = (rank + kRanks - 1) % kRanks;
    std::vector<torch::Tensor> in;
    Works works;
    for (int tag = 0; tag < kTags; ++tag) in.push_back(filled(-1));
    for (int i = 0; i < kTags; ++i) {
      const int tag = (i * 37 + 11) % kTags;
      works.push_back(dist::isend(filled(static_cast<float>(1000 * rank + i)), next, {}, i));
      works.push_back(dist::irecv(in[static_cast<std::size_t>(tag)], before, {}, tag));
    }
    for (const auto& work : works) work->wait();
    for (int i = 0; i < kGroups; ++i) {
      const auto sum = filled(static_cast<float>(rank + i));
      dist::all_reduce(sum, dist::ReduceOp::SUM, groups[static_cast<std::size_t>(i)]);
      EXPECT_EQ(sum[39].item<float>(), static_cast<float>(kRanks * (kRanks - 1) / 2 + kRanks * i));
    }
    for (int tag = 0; tag < kTags; ++tag)
      EXPECT_EQ(in[static_cast<std::size_t>(tag)][39].item<float>(), static_cast<float>(1000 * before + tag));
  });
}

TEST(SharedChannels, GroupsMakeRoomForChannelsOfLaunchesAndTheOtherWayRound) {
  expect_passed(machine(2, {"pe.ipcq.queues=2"}), 2, [](int rank) {
    std::vector<dist::ProcessGroup> groups;
    for (int i = 0; i < 3; ++i) groups.push_back(dist::new_group());
    for (int round = 0; round < 3; ++round) {
      for (const auto& group : groups) {
        const auto sum = filled(static_cast<float>(rank));
        dist::all_reduce(sum, dist::ReduceOp::SUM, group);
        EXPECT_EQ(sum[0].item<float>(), 1.0F);
      }
      const auto x = torch::zeros({2}, torch::dtype(torch::kFloat).device("ahbm"));
      torch::LaunchOptions options;
      options.queues.topology = QueueTopology::ring_1d;
      torch::launch(
          options, "pass",
          [](tl::Tensor out) {
            tl::send(tl::full({1}, static_cast<double>(tl::program_id(0) + 1), DType::f32), tl::ring_next());
            tl::store(out, {tl::program_id(0)}, tl::recv(DType::f32, {1}, tl::ring_previous()));
          },
          x);
      EXPECT_EQ(x[0].item<float>(), 2.0F);
    }
  });
}

// ---- times ----

TEST(SharedChannels, ProgramsThatFitTakeTheTimesThatTheyTakeWithMoreEntries) {
  for (const int ranks : {2, 5, 8}) {
    std::vector<std::uint64_t> fingerprints;
    for (const std::string entries : {"8", "64"}) {
      const auto result = expect_passed(machine(ranks, {"pe.ipcq.queues=" + entries}), ranks, [ranks](int rank) {
        exchange_all(rank, ranks, 5000, 0);
        dist::all_reduce(filled(1));
      });
      fingerprints.push_back(result.times_fingerprint);
    }
    EXPECT_EQ(fingerprints[0], fingerprints[1]) << ranks;
  }
}

TEST(SharedChannels, TimesAreTheSameInAnyOrderOfStartExactlyAndWithoutData) {
  constexpr int kRanks = kSanitized ? 6 : 12;
  const auto times = [](const SimulateOptions& options, const std::vector<int>& order) {
    const auto outcome = run_ranks(
        options, kRanks,
        [](int rank) {
          dist::init_process_group("ahbm", rank, kRanks);
          const auto x = filled(1, 9000), y = filled(0, 9000);
          std::vector<dist::P2POp> ops;
          for (int step = 1; step < kRanks; ++step) {
            ops.push_back({dist::P2POp::irecv, y, (rank + kRanks - step) % kRanks, {}, step});
            ops.push_back({dist::P2POp::isend, x, (rank + step) % kRanks, {}, step});
          }
          for (const auto& work : dist::batch_isend_irecv(ops)) work->wait();
          dist::all_reduce(x);
        },
        order);
    EXPECT_EQ(outcome.run.status, RunStatus::ok) << outcome.error.message;
    return outcome.run.times_fingerprint;
  };
  const auto expected = times(machine(kRanks), {});
  std::vector<int> order(kRanks);
  std::iota(order.rbegin(), order.rend(), 0);
  EXPECT_EQ(times(machine(kRanks), order), expected);
  std::ranges::shuffle(order, std::mt19937(4));
  EXPECT_EQ(times(machine(kRanks), order), expected);
  SimulateOptions exact = machine(kRanks), dry = machine(kRanks);
  exact.exact_events = true;
  dry.data = false;
  EXPECT_EQ(times(exact, {}), expected);
  EXPECT_EQ(times(dry, {}), expected);
}

/// The time from the command to its answer of putting one row into the table of PE 0 of a SIP, by the law of the launch
/// path: doorbell, host to IO_CPU, M_CPU and PE with the row, and back.
Time installation_law(const topology::Topology& topology, SipId sip) {
  using topology::Endpoint;
  const hardware::Bench bench(topology);
  const PeCoordinate pe{sip, CubeId{0}, PeId{0}};
  const Endpoint host = Endpoint::host(), io = Endpoint::io_cpu(sip), m_cpu = Endpoint::m_cpu({sip, CubeId{0}}),
                 port = Endpoint::pe_port(pe);
  const Bytes there = topology.cube.noc.header + Bytes(64), back = topology.cube.noc.header;
  const Time handling = topology.sip.io.cpu_latency + topology.cube.m_cpu.latency;
  return Time::picoseconds(1) + bench.message_time(host, io, there) + bench.message_time(io, m_cpu, there) +
         bench.message_time(m_cpu, port, there) + handling + bench.message_time(port, m_cpu, back) +
         bench.message_time(m_cpu, io, back) + bench.message_time(io, host, back) + handling +
         topology.cube.m_cpu.counter_write + topology.sip.io.counter_write;
}

TEST(SharedChannels, SetupIsWhatInstallationsTake) {
  topology::Topology topology;
  std::vector<Time> setup;
  const auto outcome = run_ranks(machine(2, {}), 4, [&](int rank) {  // ranks are PEs
    topology = simulation().topology();
    dist::init_process_group("ahbm", rank, 4);
    if (rank == 1 || rank == 3) return;
    const auto x = torch::zeros({100}, torch::dtype(torch::kFloat).device("ahbm"));
    sleep(50'000);  // the zeros are there: nothing else is on the way
    for (const int tag : {0, 0, 1}) {
      (rank == 0 ? dist::isend(x, 2, {}, tag) : dist::irecv(x, 0, {}, tag))->synchronize();
      sleep(50'000);
      if (rank == 0) setup.push_back(simulation().setup.time);
    }
  });
  ASSERT_EQ(outcome.run.status, RunStatus::ok) << outcome.error.message;
  const Time law = std::max(installation_law(topology, SipId{0}), installation_law(topology, SipId{1}));
  EXPECT_THAT(setup, ::testing::ElementsAre(law, law, law + law)) << "once for each channel";
  EXPECT_EQ(outcome.run.setup.time, law + law);
  EXPECT_EQ(outcome.run.setup.count, 2);
}

TEST(SharedChannels, OfATensorOnOnePeNoOtherPeHasChannels) {
  topology::Topology topology;
  std::vector<Time> setup;
  SimulateOptions options = machine(2);
  options.topology = "ahbm-2sip";
  expect_passed(options, 2, [&](int rank) {
    topology = simulation().topology();
    const auto note = [&] {
      sleep(100'000);  // all is over
      if (rank == 0) setup.push_back(simulation().setup.time);
    };
    const auto exchange = [&](const torch::Tensor& x) {
      (rank == 0 ? dist::isend(x, 1) : dist::irecv(x, 0))->synchronize();
      note();
    };
    const auto one = filled(1), all = torch::ones({128 * 64}, torch::dtype(torch::kFloat).device("ahbm"));
    note();
    for (const auto& x : {one, one, all, all}) exchange(x);
  });
  const Time law = std::max(installation_law(topology, SipId{0}), installation_law(topology, SipId{1}));
  ASSERT_EQ(setup.size(), 5U);
  EXPECT_EQ(setup[1] - setup[0], law) << "one PE of each SIP";
  EXPECT_EQ(setup[2], setup[1]);
  EXPECT_GT(setup[3] - setup[2], law) << "all 128, one behind the other";
  EXPECT_EQ(setup[4], setup[3]);
}

TEST(SharedChannels, AnOperationWhoseChannelsAreNotInTheTablesTakesOneInstallationLonger) {
  for (const std::string queues : {"1", "2", "3"}) {
    const int tags = std::stoi(queues) + 1;  // used in turn, so that the one that is wanted is always the one that went
    topology::Topology topology;
    std::vector<Time> resident, returning;
    const auto outcome = run_ranks(machine(2, {"pe.ipcq.queues=" + queues}), 4, [&](int rank) {  // ranks are PEs
      topology = simulation().topology();
      dist::init_process_group("ahbm", rank, 4);
      if (rank == 1 || rank == 3) return;
      const auto x = torch::zeros({100}, torch::dtype(torch::kFloat).device("ahbm"));
      const auto pass = [&](int tag) {
        const auto work = rank == 0 ? dist::isend(x, 2, {}, tag) : dist::irecv(x, 0, {}, tag);
        work->synchronize();
        sleep(50'000);  // all is idle again
        return Time::picoseconds(std::llround(work->get_duration() * 1e9));
      };
      for (int round = 0; round < 3; ++round) {
        for (int tag = 0; tag < tags; ++tag) {
          const Time first = pass(tag), second = pass(tag);
          if (rank != 0 || round == 0) continue;
          returning.push_back(first);
          resident.push_back(second);
        }
      }
    });
    ASSERT_EQ(outcome.run.status, RunStatus::ok) << outcome.error.message;
    EXPECT_THAT(outcome.errors, ::testing::Each(""));
    const Time law = std::max(installation_law(topology, SipId{0}), installation_law(topology, SipId{1}));
    ASSERT_FALSE(resident.empty());
    for (std::size_t i = 0; i < resident.size(); ++i) {
      EXPECT_EQ(returning[i] - resident[i], law) << queues << " entries, " << i;
    }
  }
}

// Three entries at once, of which others have one, on some of the ranks only.
TEST(SharedChannels, ChannelsThatNeedSeveralEntriesWaitForThemWhereverTheyAre) {
  expect_passed(machine(4, {"pe.ipcq.queues=4"}), 4, [](int rank) {
    const auto x = filled(static_cast<float>(rank + 1));
    std::vector<torch::Tensor> moved;
    Works works;
    dist::barrier();
    for (const int tag : {1, 2}) {
      if (rank > 1) continue;
      moved.push_back(filled(rank == 0 ? static_cast<float>(tag) : -1, 60'000));
      works.push_back(rank == 0 ? dist::isend(moved.back(), 1, {}, tag) : dist::irecv(moved.back(), 0, {}, tag));
    }
    std::vector<torch::Tensor> blocks;
    for (int other = 0; rank == 0 && other < 4; ++other) blocks.push_back(filled(static_cast<float>(10 + other)));
    dist::scatter(x, blocks, 0);  // to all at once
    EXPECT_EQ(x[39].item<float>(), static_cast<float>(10 + rank));
    for (const auto& work : works) work->wait();
    for (std::size_t i = 0; i < moved.size(); ++i) {
      EXPECT_EQ(moved[i][59'999].item<float>(), static_cast<float>(i + 1));
    }
  });
}

// ---- errors and reports ----

TEST(SharedChannels, ChannelsThatNeverFitAreAnErrorThatSaysWhatTheyAreFor) {
  const auto outcome = run_ranks(machine(2, {"pe.ipcq.capacity=64KiB"}), 2, [](int rank) {
    dist::init_process_group("ahbm", rank, 2);
    const auto group = dist::new_group();
    const auto x = filled(1);
    rank == 0 ? dist::send(x, 1, group, 7) : static_cast<void>(dist::recv(x, 0, group, 7));
  });
  EXPECT_THAT(outcome.errors[0] + outcome.errors[1],
              AllOf(HasSubstr("OutOfMemoryError: out of memory for queues in sip1.cube0.pe0.ipcq"),
                    HasSubstr("use fewer or smaller slots"),
                    HasSubstr("the channels are for send and recv from rank 0 to rank 1 (tag 7) in group 1")));
}

TEST(SharedChannels, ARankThatNeverComesIsNamedBehindTheEntryThatItsOperationHas) {
  const auto program = [](int rank) {
    const auto first = dist::new_group(), second = dist::new_group();
    const auto x = filled(1), y = filled(2);
    dist::broadcast(x, 0, first);
    dist::barrier(first);
    if (rank == 0) dist::broadcast(x, 0, first, true);
    dist::all_reduce(y, dist::ReduceOp::SUM, second, true)->synchronize();
    EXPECT_EQ(y[0].item<float>(), 4.0F);
    if (rank == 1) dist::broadcast(x, 0, first);
  };
  const auto text = [&](const std::string& queues) {
    const auto outcome = run_ranks(machine(2, {"pe.ipcq.queues=" + queues}), 2, [&](int rank) {
      dist::init_process_group("ahbm", rank, 2);
      program(rank);
    });
    return outcome.run.status == RunStatus::ok ? "ok" : outcome.error.message;
  };
  EXPECT_EQ(text("2"), "ok");
  EXPECT_THAT(text("1"),
              AllOf(HasSubstr("the call of BROADCAST (sequence number 3) of group 1, which has an entry of ahbm:0 to "
                              "send (pe.ipcq.queues is 1),"),
                    HasSubstr("the turn of ALLREDUCE (sequence number 1) of group 2"), HasSubstr("cycle: ")));
}

TEST(SharedChannels, ARankThatFailsWhileOthersWaitForEntriesLeavesTheTablesFree) {
  const SimulateOptions options = machine(6, {"pe.ipcq.queues=2"});
  const auto result = try_simulate(options, [] {
    for (int round = 0; round < 4; ++round) {
      const auto worker = [round](int rank) {
        torch::ahbm::set_device(rank);
        dist::init_process_group("ahbm", rank, 6);
        std::vector<dist::P2POp> ops;
        std::vector<torch::Tensor> in;
        for (int other = 0; other < 6; ++other) {
          if (other == rank) continue;
          in.push_back(filled(-1, 60'000));
          ops.push_back({dist::P2POp::isend, filled(static_cast<float>(rank), 60'000), other});
          ops.push_back({dist::P2POp::irecv, in.back(), other});
        }
        const auto works = dist::batch_isend_irecv(ops);
        if (round % 2 == 0) {
          sleep(1'000 * (10 * round + 7));
          if (rank == round) throw std::runtime_error("Mimic real test failure.");
        }
        for (const auto& work : works) work->synchronize();
        EXPECT_EQ(in[0][59'999].item<float>(), rank == 0 ? 1.0F : 0.0F);
      };
      try {
        mp::spawn(worker, {}, {.nprocs = 6});
        EXPECT_EQ(round % 2, 1);
      } catch (const mp::SpawnException&) {
        EXPECT_EQ(round % 2, 0);
      }
    }
  });
  EXPECT_EQ(result.status, RunStatus::ok) << (result.error ? result.error->message : "");
}

// ---- random programs ----

/// One step of a program of several ranks, the same on all of them.
struct Step {
  int kind = 0;  // 0: all_reduce, 1: broadcast, 2: a batch of transfers
  std::size_t group = 0;
  int root = 0, tag = 0;
  bool asynchronous = false;
};

TEST(SharedChannels, RandomProgramsOfCollectivesTransfersAndGroupsYieldWhatTheyYieldOneStepAtATime) {
  for (unsigned seed = 1; seed <= (kSanitized ? 3 : 12); ++seed) {
    std::mt19937 random(seed);
    const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
    const int ranks = seed == 12 ? 64 : 2 + below(10), groups = 1 + below(12);
    std::vector<std::vector<int>> members;
    for (int i = 0; i < groups; ++i) {
      std::vector<int> all(static_cast<std::size_t>(ranks));
      std::iota(all.begin(), all.end(), 0);
      std::ranges::shuffle(all, random);
      all.resize(static_cast<std::size_t>(2 + below(std::min(ranks - 1, 7))));
      std::ranges::sort(all);
      members.push_back(all);
    }
    std::vector<Step> steps(30);
    for (Step& step : steps) {
      step = {below(3), static_cast<std::size_t>(below(groups)), 0, below(20), below(2) == 0};
      step.root = members[step.group][static_cast<std::size_t>(below(static_cast<int>(members[step.group].size())))];
    }
    // The values by rank, one step at a time.
    std::vector<double> value(static_cast<std::size_t>(ranks));
    std::iota(value.begin(), value.end(), 1.0);
    for (const Step& step : steps) {
      const auto& in = members[step.group];
      const std::vector<double> before = value;
      double most = 0;
      for (const int rank : in) most = std::max(most, before[static_cast<std::size_t>(rank)]);
      for (std::size_t i = 0; i < in.size(); ++i) {
        const int from = step.kind == 1 ? step.root : in[(i + in.size() - 1) % in.size()];
        auto& mine = value[static_cast<std::size_t>(in[i])];
        mine = (step.kind == 0 ? most : before[static_cast<std::size_t>(from)]) + in[i];
      }
    }
    const std::string entries = std::to_string(1 << below(4));
    SCOPED_TRACE("seed " + std::to_string(seed) + ", " + std::to_string(ranks) + " ranks, " + entries + " entries");
    expect_passed(machine(ranks, {"pe.ipcq.queues=" + entries}), ranks, [&](int rank) {
      std::vector<dist::ProcessGroup> made;
      for (const auto& in : members) made.push_back(dist::new_group(in));
      auto x = filled(static_cast<float>(rank + 1));
      for (const Step& step : steps) {
        const auto& in = members[step.group];
        const auto at = std::ranges::find(in, rank);
        if (at == in.end()) continue;
        const auto place = static_cast<std::size_t>(at - in.begin());
        const auto& group = made[step.group];
        Works works;
        if (step.kind == 0) {
          works.push_back(dist::all_reduce(x, dist::ReduceOp::MAX, group, step.asynchronous));
        } else if (step.kind == 1) {
          works.push_back(dist::broadcast(x, step.root, group, step.asynchronous));
        } else {
          const auto came = torch::empty_like(x);
          works = dist::batch_isend_irecv(
              {{dist::P2POp::isend, x, in[(place + 1) % in.size()], group, step.tag},
               {dist::P2POp::irecv, came, in[(place + in.size() - 1) % in.size()], group, step.tag}});
          for (const auto& work : works) work->wait();
          works.clear();
          x = came;
        }
        for (const auto& work : works) {
          if (work) work->wait();
        }
        x.add_(rank);
      }
      EXPECT_EQ(x[39].item<float>(), static_cast<float>(value[static_cast<std::size_t>(rank)])) << "rank " << rank;
    });
  }
}

}  // namespace
}  // namespace kernbench::testing::shared_channels_test
