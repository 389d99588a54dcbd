// What each key of a collectives file costs, to the picosecond: the laws of docs/collectives.md, worked out from the
// figures of the machine and compared with the operations of a run.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <functional>
#include <map>
#include <sstream>
#include <string>
#include <tuple>
#include <vector>

#include "../hardware/ipcq_channels.h"
#include "distributed/algorithm_spec.h"
#include "ranks.h"
#include "spawning.h"

namespace kernbench::testing {
namespace {

namespace dist = torch::distributed;
using Keys = std::map<std::string, std::string>;

struct Logged {
  std::string program, kind;
  Time issued, ready, started, finished;
};

Time time_of(const std::string& field) {
  return Time::picoseconds(std::stoll(field.substr(field.find('=') + 1)));
}

/// A file that is removed in the end.
class TemporaryFile {
 public:
  TemporaryFile() {
    const int file = ::mkstemp(path_);
    EXPECT_GE(file, 0);
    ::close(file);
  }
  ~TemporaryFile() { std::remove(path_); }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  std::string path() const { return path_; }

 private:
  char path_[32] = "/tmp/kernbench_law_XXXXXX";
};

/// The operations of one program, in the order in which it issued them.
struct LoggedRun {
  topology::Topology topology;
  std::vector<Logged> all;
  dist::Algorithm algorithm;

  /// Those of `kind` in the launches on `sip` whose name begins with `launch`.
  std::vector<Logged> of(int sip, const std::string& launch, const std::string& kind = "") const {
    const std::string program = "sip" + std::to_string(sip) + ".cube0.pe0/" + launch + "#";
    std::vector<Logged> found;
    for (const Logged& each : all) {
      if (each.program.starts_with(program) && (kind.empty() || each.kind == kind)) found.push_back(each);
    }
    std::ranges::sort(found, {}, &Logged::issued);
    return found;
  }
};

/// Two ranks on `tiny`, each a SIP, with such a collectives file.
LoggedRun run_with(const Keys& keys, const std::function<void(int rank)>& body) {
  const TemporaryFile collectives, log;
  {
    std::ofstream file(collectives.path());
    file << "defaults:\n  algorithm: a\n";
    for (const auto& [key, value] : keys) file << "  " << key << ": " << value << "\n";
    file << "algorithms:\n  a:\n    module: ring_allreduce\n";
  }
  // With that long between two commands of a program nothing else is under way when a message is.
  SimulateOptions options = devices(2, {"pe.mmu.miss=0ps", "pe.control.issue=1us"});
  options.collectives = collectives.path();
  options.operation_log = log.path();
  LoggedRun run;
  const auto outcome = run_ranks(options, 2, [&](int rank) {
    run.topology = simulation().topology();
    dist::init_process_group("ahbm", rank, 2);
    run.algorithm = dist::get_algorithm("");
    body(rank);
  });
  EXPECT_EQ(outcome.run.status, RunStatus::ok) << outcome.error.message;
  EXPECT_THAT(outcome.errors, ::testing::Each(""));
  std::ifstream lines(log.path());
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string finished, number, issued, ready, started;
    Logged operation;
    words >> finished >> operation.program >> number >> operation.kind >> issued >> ready >> started;
    if (operation.kind == "launch") continue;
    operation.finished = Time::picoseconds(std::stoll(finished));
    operation.issued = time_of(issued);
    operation.ready = time_of(ready);
    operation.started = time_of(started);
    run.all.push_back(operation);
  }
  return run;
}

/// What moves a tensor from rank 0 to rank 1, and its kernels there.
struct Call {
  std::string name, sender, receiver;
  std::function<void(int rank, const torch::Tensor& x)> run;
  bool in_pieces = false;  // 32nds of the tensor, or of what is under way, in whole KiB; at most a slot
};
std::vector<Call> calls() {
  return {
      {"send", "send", "recv",
       [](int rank, const torch::Tensor& x) { rank == 0 ? dist::send(x, 1) : static_cast<void>(dist::recv(x, 0)); }},
      {"broadcast", "ring_broadcast", "ring_broadcast", [](int, const torch::Tensor& x) { dist::broadcast(x, 0); },
       true}};
}

/// The messages of a tensor of `elements` f32 on one PE, whose program on rank `late` begins long after the other.
struct Messages {
  LoggedRun run;
  std::vector<Logged> loads, sends, receives;
};
Messages messages(const Keys& keys, const Call& call, std::int64_t elements, int late) {
  Messages made;
  made.run = run_with(keys, [&](int rank) {
    dist::barrier();  // the channels are there, and both ranks begin at one time
    const auto x = torch::zeros({elements}, one_pe());
    torch::ahbm::synchronize();
    if (rank == late) {
      const auto small = torch::ones({64}, one_pe()), out = torch::empty_like(small);
      torch::launch("busy", busy, small, out, 1);
    }
    call.run(rank, x);
  });
  made.loads = made.run.of(0, call.sender, "load");
  made.sends = made.run.of(0, call.sender, "send");
  made.receives = made.run.of(1, call.receiver, "recv");
  return made;
}

constexpr PeCoordinate kSender{SipId{0}, CubeId{0}, PeId{0}}, kReceiver{SipId{1}, CubeId{0}, PeId{0}};

std::int64_t count_of(const Keys& keys, const std::string& key, std::int64_t fallback) {
  const auto found = keys.find(key);
  return found == keys.end() ? fallback : std::stoll(found->second);
}

/// The parameters that the file gives the channels.
QueueParameters parameters_of(const Keys& keys) {
  QueueParameters parameters;
  const auto kind = keys.contains("buffer_kind") ? keys.at("buffer_kind") : "tcm";
  parameters.buffer_kind = kind == "hbm" ? BufferKind::hbm : kind == "sram" ? BufferKind::sram : BufferKind::tcm;
  const bool polls = keys.contains("backpressure") && keys.at("backpressure") == "poll";
  parameters.backpressure = polls ? Backpressure::poll : Backpressure::sleep;
  parameters.n_slots = static_cast<std::int32_t>(count_of(keys, "n_slots", 8));
  parameters.slot_size = Bytes(count_of(keys, "slot_size", 16 * 1024));
  parameters.vc_chunk_size = Bytes(count_of(keys, "vc_chunk_size", 1024));
  parameters.ipcq_credit_size_bytes = Bytes(count_of(keys, "ipcq_credit_size_bytes", 16));
  return parameters;
}

/// Largest tile in bytes.
std::int64_t tile_bytes(const Keys& keys) {
  return count_of(keys, "slot_size", 16 * 1024) / 4 * 4;
}

// ---- slot_size: ceil(bytes / slot_size) messages, all but the last of slot_size bytes; of a chain in pieces more ----

TEST(CollectivesLaw, ATensorGoesInTilesOfASlotOrAPiece) {
  // A 32nd is 6250 bytes. Two PEs share two links of 200 GB/s, and a port has 128: 125 KiB in all slots cover the way
  // there and back.
  constexpr std::int64_t kElements = 50000;
  for (const Call& call : calls()) {
    for (const auto& [slot, slots, piece] : {std::tuple{"1000B", "8", 16 << 10},
                                             {"20000B", "8", 16 << 10},
                                             {"30000B", "8", 16 << 10},
                                             {"4096B", "32", 7 << 10},
                                             {"6002B", "32", 7 << 10},
                                             {"30000B", "32", 7 << 10}}) {
      const Keys keys{{"slot_size", slot}, {"n_slots", slots}, {"vc_chunk_size", "500B"}};
      const Messages m = messages(keys, call, kElements, 0);
      const std::int64_t tile = call.in_pieces ? std::min<std::int64_t>(tile_bytes(keys), piece) : tile_bytes(keys);
      const std::int64_t tiles = (4 * kElements + tile - 1) / tile;
      EXPECT_EQ(m.sends.size(), static_cast<std::size_t>(tiles)) << call.name << ", " << slot;
      EXPECT_EQ(m.receives.size(), static_cast<std::size_t>(tiles)) << call.name << ", " << slot;
    }
  }
}

// ---- buffer_kind, vc_chunk_size, slot_size: the law of one message (src/hardware/ipcq/README.md) ----

TEST(CollectivesLaw, OneTileTakesTheTimeOfOneMessageThroughItsMemory) {
  for (const Call& call : calls()) {
    const std::int64_t bytes = call.in_pieces ? 2048 : 12000;
    std::map<std::string, Time> received;
    for (const std::string kind : {"tcm", "hbm", "sram"}) {
      for (const std::string chunk : {"256B", "1024B", "4096B"}) {
        const Keys keys{{"buffer_kind", kind}, {"vc_chunk_size", chunk}};
        const Messages m = messages(keys, call, bytes / 4, 0);
        ASSERT_EQ(m.sends.size(), 1u) << call.name;
        ASSERT_EQ(m.receives.size(), 1u) << call.name;
        const auto channel = hardware::channel(m.run.topology, kSender, kReceiver, parameters_of(keys));
        const Logged &send = m.sends.front(), &receive = m.receives.front();
        const auto law = hardware::message_law(m.run.topology, channel, Bytes(bytes), send.started, receive.started);
        EXPECT_EQ(send.finished, law.sent) << call.name << ", " << kind << ", chunk " << chunk;
        EXPECT_EQ(receive.finished, law.received) << call.name << ", " << kind << ", chunk " << chunk;
        received[kind + chunk] = receive.finished - send.started;
      }
    }
    EXPECT_LT(received["tcm1024B"], received["sram1024B"]) << call.name;
    EXPECT_LT(received["sram1024B"], received["hbm1024B"]) << call.name;
    // Short bursts go on while others wait for a channel: no later but for the rounding of each.
    EXPECT_LE(received["hbm256B"], received["hbm1024B"] + Time::picoseconds(bytes / 256)) << call.name;
  }
}

// ---- n_slots, backpressure, ipcq_credit_size_bytes: when a tile sets out ----

/// When the sender knows of a credit that comes home at `home`, having waited since `since`.
Time noticed(const Keys& keys, const topology::Topology& topology, Time since, Time home) {
  if (home <= since) return since;
  if (parameters_of(keys).backpressure == Backpressure::sleep) return home + topology.pe.ipcq.wake;
  const std::int64_t interval = topology.pe.ipcq.poll_interval.count();
  const std::int64_t looks = ((home - since).count() + interval - 1) / interval;
  return since + Time::picoseconds(looks * interval);
}

/// By the law: tile i sets out when the one before has left and the credit of tile i - n_slots has been noticed.
void expect_credits_by_the_law(const Keys& keys, const Call& call, const std::string& what) {
  const std::int64_t tile = tile_bytes(keys);
  const Messages m = messages(keys, call, 7 * tile / 4, 1);
  ASSERT_EQ(m.sends.size(), 7u) << what;
  const hardware::Bench bench(m.run.topology);
  const Time credit = bench.message_time(topology::Endpoint::pe_port(kReceiver), topology::Endpoint::pe_port(kSender),
                                         parameters_of(keys).ipcq_credit_size_bytes);
  const Time port = transfer_time(Bytes(tile), m.run.topology.pe.tcm.bandwidth) + Time::picoseconds(1);
  const auto slots = static_cast<std::size_t>(parameters_of(keys).n_slots);
  for (std::size_t i = 0; i < m.sends.size(); ++i) {
    const Time since = m.sends[i].started;
    Time sets_out = since;
    if (i >= slots) sets_out = noticed(keys, m.run.topology, since, m.receives[i - slots].finished + credit);
    EXPECT_EQ(m.sends[i].finished, sets_out + port) << what << ", tile " << i;
    EXPECT_TRUE(i != slots || sets_out > since) << what;
  }
}

TEST(CollectivesLaw, ATileSetsOutWhenTheCreditOfTheTileSoManySlotsBeforeIsNoticed) {
  for (const Call& call : calls()) {
    for (const std::string slots : {"1", "2", "3", "7"}) {
      for (const std::string backpressure : {"sleep", "poll"}) {
        for (const std::string credit : {"16B", "1000B"}) {
          const Keys keys{{"n_slots", slots},
                          {"backpressure", backpressure},
                          {"ipcq_credit_size_bytes", credit},
                          {"slot_size", "768B"},
                          {"vc_chunk_size", "768B"}};
          expect_credits_by_the_law(keys, call,
                                    call.name + ", " + slots + " slots, " + backpressure + ", credit " + credit);
        }
      }
    }
  }
}

// ---- the window: how many tiles a rank issues ahead ----

TEST(CollectivesLaw, ASenderIssuesATileWhenTheOneAWindowBeforeHasLeft) {
  for (const Call& call : calls()) {
    for (const std::size_t slots : {1, 2, 3}) {
      const Keys keys{{"n_slots", std::to_string(slots)}, {"slot_size", "768B"}, {"vc_chunk_size", "768B"}};
      const Messages m = messages(keys, call, 10 * 192, 1);
      ASSERT_EQ(m.loads.size(), 10u);
      const Time begins = m.receives.front().started;
      const auto before = static_cast<std::size_t>(
          std::ranges::count_if(m.sends, [&](const Logged& send) { return send.issued < begins; }));
      EXPECT_EQ(before, 2 * slots + 1) << call.name;  // in the slots, waiting for a credit, and the one being issued
      for (std::size_t i = slots + 1; i < m.loads.size(); ++i) {
        EXPECT_GE(m.loads[i].issued, m.sends[i - slots - 1].finished) << call.name << ", tile " << i;
      }
    }
  }
}

TEST(CollectivesLaw, ARankOfAnAllReduceSendsAtMostSlotsTilesAheadOfWhatItReceives) {
  for (const std::size_t slots : {1, 2, 4}) {
    const Keys keys{{"n_slots", std::to_string(slots)}, {"slot_size", "768B"}, {"vc_chunk_size", "768B"}};
    const LoggedRun run = run_with(keys, [](int) {
      const auto x = torch::zeros({2 * 12 * 192}, one_pe());  // chunks of 12 tiles
      dist::all_reduce(x);
    });
    for (const int sip : {0, 1}) {
      std::size_t sent = 0, received = 0, most = 0;
      for (const Logged& each : run.of(sip, "ring_allreduce")) {
        sent += each.kind == "send" ? 1 : 0;
        received += each.kind == "recv" ? 1 : 0;
        most = std::max(most, sent - std::min(sent, received));
      }
      EXPECT_EQ(sent, 24u);
      EXPECT_EQ(received, 24u);
      EXPECT_EQ(most, slots) << "rank " << sip;
    }
  }
}

// ---- keys that cost nothing ----

TEST(CollectivesLaw, ElementsAndRanksAreWhatTheFileSays) {
  const LoggedRun run = run_with({{"n_elem", "1234"}, {"world_size", "3"}}, [](int) {});
  EXPECT_EQ(run.algorithm.n_elem, 1234);
  EXPECT_EQ(run.algorithm.world_size, 3);
  EXPECT_EQ(run.algorithm.module, "ring_allreduce");
}

TEST(CollectivesLaw, AValidatorTakesNoTime) {
  const auto issues = [](const Keys& keys) {
    const LoggedRun run = run_with(keys, [](int) {
      const auto x = torch::ones({512}, torch::device("ahbm"));
      dist::all_reduce(x);
      torch::ahbm::synchronize();
    });
    std::vector<Time> times;
    for (const Logged& each : run.of(0, "ring_allreduce")) times.push_back(each.issued);
    return times;
  };
  const auto times = issues({});
  EXPECT_FALSE(times.empty());
  EXPECT_EQ(issues({{"validator", "multi_pe_sip_local"}}), times);
}

struct KeyNames {
  std::vector<std::string> names;
  template <class T>
  void field(const topology::Field& field, T&) {
    names.emplace_back(field.key);
  }
};

TEST(CollectivesLaw, EveryKeyHasOne) {
  KeyNames keys;
  const distributed::AlgorithmSpec spec;
  distributed::describe(keys, spec);
  EXPECT_THAT(keys.names, ::testing::UnorderedElementsAre(
                              "topology", "broadcast", "barrier", "reduce_scatter", "all_gather", "reduce", "gather",
                              "scatter", "all_to_all", "all_reduce_partials",  // see algorithm_table_test
                              "buffer_kind", "backpressure", "n_slots", "slot_size", "vc_chunk_size",
                              "ipcq_credit_size_bytes", "n_elem", "world_size", "validator",
                              "mapper",        // see mapper_test
                              "msccl", "tune"  // see msccl_test, automatic_tuning_test
                              ));
}

}  // namespace
}  // namespace kernbench::testing
