// What each rank hands to the fabric, to the byte, on shipped machines: payload by the formulas of docs/collectives.md,
// even and ragged; and the links' own counters, payload over each hop and the headers and credits of its segments.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include "every_algorithm.h"
#include "hardware/server_kind.h"
#include "kernbench/kernbench.h"
#include "runtime/context.h"
#include "runtime/simulation.h"
#include "sim/fiber.h"
#include "support/all_cases.h"
#include "support/sanitizers.h"

namespace kernbench::testing::payload {
namespace {

namespace dist = torch::distributed;
using distributed::CollectiveOperation;
using hardware::SentPayload;

constexpr std::int64_t kItem = 4;

/// Of one call: what each rank sent, and all bytes that links between SIPs have counted.
struct Sent {
  std::vector<SentPayload> ranks;
  std::int64_t sip_links = 0;
  Bytes header, credit;

  std::vector<std::int64_t> bytes() const {
    std::vector<std::int64_t> all;
    for (const SentPayload& each : ranks) all.push_back(each.bytes.count());
    return all;
  }
  /// What the segments cost besides: an announcement there, a credit back.
  std::int64_t around() const {
    std::int64_t segments = 0;
    for (const SentPayload& each : ranks) segments += each.segments;
    return segments * (header + credit).count();
  }
  std::int64_t payload() const {
    const auto all = bytes();
    return std::accumulate(all.begin(), all.end(), std::int64_t{0});
  }
};

SentPayload sent_by_rank() {
  const auto& context = runtime::current_context("test");
  const hardware::Machine& machine = context.simulation.machine();
  return context.pe ? machine.sent(*context.pe) : machine.sent(SipId{torch::ahbm::current_device()});
}

/// So many SIPs of ahbm-2sip; ranks are the SIPs, or PEs where there are more of them.
SimulateOptions shipped(int sips, const std::vector<std::string>& overrides = {}) {
  SimulateOptions options;
  options.topology = "ahbm-2sip";
  options.overrides = {"system.sips.count=" + std::to_string(sips)};
  options.overrides.insert(options.overrides.end(), overrides.begin(), overrides.end());
  options.data = false;
  return options;
}

/// One all-reduce after another one that has opened the channels.
Sent all_reduce(const SimulateOptions& options, const std::string& algorithm, int ranks, std::int64_t elements,
                const DPPolicy& policy = {}) {
  Sent sent;
  sent.ranks.resize(static_cast<std::size_t>(ranks));
  const auto outcome = run_ranks(options, ranks, [&](int rank) {
    dist::init_process_group("ahbm", rank, ranks, {.algorithm = algorithm});
    const auto& topology = runtime::current_context("test").simulation.topology();
    sent.header = topology.cube.noc.header;
    sent.credit = Bytes(16);  // of the shipped file
    const auto x = ranks > topology.system.sips ? torch::empty({elements}, torch::device("ahbm"))
                                                : torch::empty({elements}, torch::device("ahbm").placement(policy));
    dist::all_reduce(x);
    torch::ahbm::synchronize();
    sim::this_fiber::sleep(Time::milliseconds(1));  // credits are home
    dist::monitored_barrier();
    const SentPayload before = sent_by_rank();
    const torch::ahbm::TrafficMeter meter;
    dist::all_reduce(x);
    torch::ahbm::synchronize();
    sim::this_fiber::sleep(Time::milliseconds(1));
    const SentPayload after = sent_by_rank();
    sent.ranks[static_cast<std::size_t>(rank)] = {after.segments - before.segments, after.bytes - before.bytes};
    dist::monitored_barrier();
    if (rank == 0) sent.sip_links = meter.read().sip_bytes;
  });
  expect_ok(outcome, algorithm);
  return sent;
}

/// Chunk c of n of a row of elements.
std::int64_t chunk(std::int64_t elements, std::int64_t n, std::int64_t c) {
  const std::int64_t each = (elements + n - 1) / n;
  return std::clamp<std::int64_t>(elements - c * each, 0, each);
}

/// Of many SIPs each is one cube, which saves the simulator nearly all the work.
SimulateOptions shipped_by_number(int sips, std::vector<std::string> overrides = {}) {
  if (sips > 5) overrides.emplace_back("sip.cubes.mesh=[1, 1]");
  return shipped(sips, overrides);
}

constexpr DPPolicy kOnePe{.num_cubes = 1, .num_pes = 1};

TEST(CollectivePayload, OfARingIsTwiceAllButOneNthFromEachRank) {
  for (const int n : {2, 3, 4, 5, 8, 16}) {
    if ((kSanitized && n > 2) || ((n == 3 || n > 4) && !takes_all_cases())) continue;
    const std::int64_t bytes = n * 128 * 64 * kItem;  // chunks of 64 elements on each of 128 PEs
    for (const char* algorithm : {"ring_allreduce", "bidirectional_ring_allreduce"}) {
      const Sent sent = all_reduce(shipped_by_number(n), algorithm, n, bytes / kItem);
      EXPECT_THAT(sent.bytes(), ::testing::Each(2 * (n - 1) * bytes / n)) << algorithm << ", " << n;
      EXPECT_EQ(sent.sip_links, sent.payload() + sent.around()) << algorithm << ", " << n << ": one hop each";
    }
  }
}

/// On all links between pairs of ranks, as many bytes on each: of four ranks, but for a PE of the 128.
TEST(CollectivePayload, OfSeveralRingsGoesOneHopFromEachRank) {
  for (const int n : {3, 4, 5}) {
    if (n > 3 && (kSanitized || (n == 5 && !takes_all_cases()))) continue;
    const std::int64_t bytes = n * 128 * 64 * kItem;
    const auto machine = shipped_by_number(n, {"system.sips.topology=fully_connected"});
    const Sent sent = all_reduce(machine, "multi_ring_allreduce", n, bytes / kItem);
    EXPECT_THAT(sent.bytes(), ::testing::Each(2 * (n - 1) * bytes / n)) << n;
    EXPECT_EQ(sent.sip_links, sent.payload() + sent.around()) << n;
  }
}

/// Rank r does not send the chunk that it ends the sum of, nor the result that the next rank has.
TEST(CollectivePayload, OfARingWithRaggedChunksIsAllChunksTwiceButTwo) {
  for (const int n : {3, 5, 8}) {
    if (kSanitized && n != 3) continue;
    for (const std::int64_t elements : {std::int64_t{1}, std::int64_t{7}, std::int64_t{1023}, std::int64_t{100'003}}) {
      const Sent sent = all_reduce(shipped_by_number(n), "ring_allreduce", n, elements, kOnePe);
      std::vector<std::int64_t> wanted;
      for (int r = 0; r < n; ++r)
        wanted.push_back(kItem * (2 * elements - chunk(elements, n, r) - chunk(elements, n, (r + 1) % n)));
      EXPECT_EQ(sent.bytes(), wanted) << elements << " elements, " << n << " ranks";
      EXPECT_EQ(sent.sip_links, sent.payload() + sent.around());
    }
  }
}

TEST(CollectivePayload, OfHalvingAndDoublingIsTwiceAllButOneNthFromEachRank) {
  for (const int n : {2, 4, 8, 16}) {
    if (n > 2 && (kSanitized || (n > 4 && !takes_all_cases()))) continue;
    const std::int64_t bytes = n * 128 * 64 * kItem;
    const auto machine = shipped_by_number(n, {"system.sips.topology=fully_connected"});
    const Sent sent = all_reduce(machine, "halving_doubling_allreduce", n, bytes / kItem);
    EXPECT_THAT(sent.bytes(), ::testing::Each(2 * (n - 1) * bytes / n)) << n;
    EXPECT_EQ(sent.sip_links, sent.payload() + sent.around()) << n;
  }
}

/// The chunks of a half follow each other in the tensor: they go in as few messages as they fill slots.
TEST(CollectivePayload, OfHalvingIsOneMessageToEachPartnerEachWay) {
  constexpr int kRanks = 8;
  SimulateOptions machine = shipped(kRanks);
  machine.topology = "tiny";
  struct Case {
    std::int64_t elements, there;  // messages of a rank on the way to chunks, and as many back
  };
  // Of halves of 4, 2 and 1 chunks of 4 B, 1 KiB, and 6 KiB, of which two and a half fill a slot.
  for (const auto& [elements, there] : {Case{8, 3}, Case{8 * 256, 3}, Case{8 * 1536, 2 + 1 + 1}}) {
    const Sent sent = all_reduce(machine, "halving_doubling_allreduce", kRanks, elements, kOnePe);
    for (const SentPayload& rank : sent.ranks) EXPECT_EQ(rank.segments, 2 * there) << elements << " elements";
    EXPECT_THAT(sent.bytes(), ::testing::Each(2 * (kRanks - 1) * elements * kItem / kRanks));
  }
}

/// Halving, the other half of a place's chunks at each distance; doubling, those that it has.
TEST(CollectivePayload, OfHalvingWithRaggedChunksIsTheHalvesOfEachDistance) {
  constexpr int kRanks = 8;
  for (const std::int64_t elements : {std::int64_t{1}, std::int64_t{7}, std::int64_t{1023}, std::int64_t{100'003}}) {
    const auto machine = shipped_by_number(kRanks, {"system.sips.topology=fully_connected"});
    const Sent sent = all_reduce(machine, "halving_doubling_allreduce", kRanks, elements, kOnePe);
    std::vector<std::int64_t> wanted;
    for (int v = 0; v < kRanks; ++v) {
      std::int64_t sum = elements - chunk(elements, kRanks, v);
      for (int distance = 1; distance < kRanks; distance *= 2) {
        for (int c = v / distance * distance; c < v / distance * distance + distance; ++c)
          sum += chunk(elements, kRanks, c);
      }
      wanted.push_back(kItem * sum);
    }
    EXPECT_EQ(sent.bytes(), wanted) << elements << " elements";
    EXPECT_EQ(sent.sip_links, sent.payload() + sent.around());
  }
}

/// A message from SIP to SIP passes as many links as the way has, its credit as many back.
TEST(CollectivePayload, CountsOnEachLinkOfItsWay) {
  NOT_UNDER_SANITIZERS("times only");
  constexpr int kRanks = 4;
  const std::int64_t bytes = kRanks * 128 * 64 * kItem;
  const Sent sent = all_reduce(shipped(kRanks), "direct_allreduce", kRanks, bytes / kItem);
  EXPECT_THAT(sent.bytes(), ::testing::Each(2 * (kRanks - 1) * bytes / kRanks));
  // Of three messages around a ring of four two go to neighbours, one to the rank across.
  EXPECT_EQ(3 * sent.sip_links, 4 * (sent.payload() + sent.around()));
  const Sent behind =
      all_reduce(shipped(kRanks, {"system.sips.topology=switched"}), "ring_allreduce", kRanks, bytes / kItem);
  EXPECT_EQ(behind.sip_links, 2 * (behind.payload() + behind.around())) << "to the switch, and from there";
}

TEST(CollectivePayload, OfRanksThatArePesIsTwiceAllButOneNthFromEachOfThem) {
  NOT_UNDER_SANITIZERS("long");
  struct Case {
    int sips, ranks;
    std::vector<std::string> overrides;
    std::vector<std::string> algorithms;
  };
  const std::vector<std::string> one_cube{"sip.cubes.mesh=[1, 1]"};
  const Case cases[] = {{1, 128, {}, {"ring_allreduce"}},
                        {4, 32, one_cube, {"ring_allreduce", "hierarchical_allreduce", "halving_doubling_allreduce"}},
                        {16, 128, one_cube, {"hierarchical_allreduce"}}};
  for (const auto& [sips, ranks, overrides, algorithms] : cases) {
    if (sips != 4 && !takes_all_cases()) continue;
    const std::int64_t bytes = ranks * 16 * kItem;
    for (const std::string& algorithm : algorithms) {
      const Sent sent = all_reduce(shipped(sips, overrides), algorithm, ranks, bytes / kItem);
      EXPECT_THAT(sent.bytes(), ::testing::Each(2 * (ranks - 1) * bytes / ranks)) << algorithm << ", " << ranks;
    }
  }
}

}  // namespace
}  // namespace kernbench::testing::payload
