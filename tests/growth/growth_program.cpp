// How a program's cost grows: run one of them at several sizes under `valgrind --tool=callgrind`, or by the wall clock.
// Prints simulated time, events, wall time and peak memory.
//
//   growth_program launches N [K]        N launches of a kernel of three commands on "tiny"; K > 0: synchronize after K
//   growth_program long_launches N       N launches of a kernel that takes 1 ms: all are pending when the last is given
//   growth_program small_chunks BYTES    an all-reduce of three ranks in chunks of one byte
//   growth_program streams N             N new streams, with ten synchronizations after each
//   growth_program tensors N             writes and reads the header of a safetensors file of N tensors
//   growth_program part_overrides N      a clock for a PE of each of N SIPs, and a bandwidth for one of its links
//   growth_program all_to_all RANKS      every rank sends 64 KiB to every other one; a SIP of one PE for each rank
//   growth_program pairs RANKS MESSAGES  every rank sends MESSAGES of 64 KiB to the next one
#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include "kernbench/kernbench.h"
#include "nn/safetensors/header.h"
#include "topology/load.h"
#include "topology/overrides.h"
#include "topology/pe_specs.h"

namespace kernbench {
namespace {

namespace dist = torch::distributed;

constexpr std::int64_t kMessage = 16'384;  // elements of f32: 64 KiB

void add_one(tl::Tensor x) {
  tl::store(x, {0}, tl::load(x, {0}, {64}) + 1.0F);
}

void launches(std::int64_t count, std::int64_t synchronize_after) {
  const auto x = torch::empty({128}, torch::dtype(torch::kFloat32).device("ahbm"));
  for (std::int64_t i = 0; i < count; ++i) {
    torch::launch("add_one", add_one, x);
    if (synchronize_after > 0 && (i + 1) % synchronize_after == 0) torch::ahbm::synchronize();
  }
  torch::ahbm::synchronize();
}

void wait_long(tl::Tensor x) {
  tl::delay(1'000'000);
  tl::store(x, {0}, tl::full({64}, 1.0F, DType::f32));
}

void long_launches(std::int64_t count) {
  const auto x = torch::empty({128}, torch::dtype(torch::kFloat32).device("ahbm"));
  for (std::int64_t i = 0; i < count; ++i) torch::launch("wait_long", wait_long, x);
  torch::ahbm::synchronize();
}

void small_chunks(int rank, std::int64_t bytes) {
  constexpr int kRanks = 3;
  torch::ahbm::set_device(rank);
  dist::init_process_group("ahbm", rank, kRanks);
  dist::all_reduce(torch::empty({bytes / 2}, torch::dtype(torch::kFloat16).device("ahbm")));
  torch::ahbm::synchronize();
}

void streams(std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    const torch::ahbm::Stream stream;
    for (int times = 0; times < 10; ++times) torch::ahbm::synchronize();
  }
}

void tensors(std::int64_t count) {
  safetensors::Header header;
  for (std::int64_t i = 0; i < count; ++i) {
    header.tensors.push_back(
        {fmt::format("model.layers.{}.weight", i), &safetensors::element_type(DType::f32), {1}, 4 * i, 4 * i + 4});
  }
  safetensors::parse_header(safetensors::header_text(header), 4 * count, "header");
}

void part_overrides(std::int64_t count) {
  topology::Topology machine = topology::load_topology("tiny", {fmt::format("system.sips.count={}", count)});
  for (std::int64_t sip = 0; sip < count; ++sip) {
    topology::PartOverride pe, link;
    pe.part = fmt::format("sip{}.cube0.pe0", sip);
    pe.clock = Frequency::megahertz(900);
    link.part = pe.part + ".router.east";
    link.bandwidth = Bandwidth::bytes_per_second(1'000'000'000);
    machine.overrides.insert(machine.overrides.end(), {pe, link});
  }
  const auto findings = topology::check_overrides(machine);
  if (!findings.empty()) throw std::runtime_error(findings.front().path + ": " + findings.front().message);
  const topology::PeSpecs specs(machine);
  std::vector<topology::Link> links(static_cast<std::size_t>(count));
  for (std::int64_t sip = 0; sip < count; ++sip) {
    links[static_cast<std::size_t>(sip)].name = fmt::format("sip{}.cube0.pe0.router.east", sip);
  }
  topology::apply_overrides(machine.overrides, links);
  fmt::print("{} PEs, {} in all\n", specs.own().size(), machine.overrides.size());
}

SimulateOptions one_pe_machine(int sips) {
  SimulateOptions options;
  options.topology = "tiny";
  options.overrides = {"system.sips.count=" + std::to_string(sips),
                       "cube.pes.mesh=[1, 1]",
                       "cube.hbm.channels=4",
                       "cube.noc.burst=64KiB",
                       "cube.hbm.interleave=64KiB",
                       "system.sips.topology=switched",
                       "pe.ipcq.queues=" + std::to_string(std::max(8, 2 * sips))};
  options.data = false;
  return options;
}

void all_to_all(int rank, int ranks) {
  torch::ahbm::set_device(rank);
  dist::init_process_group("ahbm", rank, ranks);
  std::vector<torch::Tensor> tensors;
  std::vector<dist::P2POp> operations;
  const auto options = torch::dtype(torch::kFloat32).device("ahbm");
  for (int step = 1; step < ranks; ++step) {
    const int to = (rank + step) % ranks, from = (rank + ranks - step) % ranks;
    operations.push_back({dist::P2POp::isend, torch::empty({kMessage}, options), to});
    operations.push_back({dist::P2POp::irecv, torch::empty({kMessage}, options), from});
  }
  for (const auto& work : dist::batch_isend_irecv(operations)) work->wait();
  torch::ahbm::synchronize();
}

void pairs(int rank, int ranks, int messages) {
  torch::ahbm::set_device(rank);
  dist::init_process_group("ahbm", rank, ranks);
  const auto options = torch::dtype(torch::kFloat32).device("ahbm");
  const auto mine = torch::empty({kMessage}, options), theirs = torch::empty({kMessage}, options);
  for (int i = 0; i < messages; ++i) {
    for (const auto& work : dist::batch_isend_irecv({{dist::P2POp::isend, mine, (rank + 1) % ranks},
                                                     {dist::P2POp::irecv, theirs, (rank + ranks - 1) % ranks}})) {
      work->wait();
    }
  }
  torch::ahbm::synchronize();
}

int run(const std::vector<std::string>& arguments) {
  const auto number = [&](std::size_t i) { return arguments.size() > i ? std::atoll(arguments[i].c_str()) : 0; };
  const std::string what = arguments.empty() ? "" : arguments[0];
  if (what == "tensors") return tensors(number(1)), 0;
  if (what == "part_overrides") return part_overrides(number(1)), 0;
  SimulateOptions options;
  std::function<void()> program;
  if (what == "launches" || what == "long_launches" || what == "streams") {
    options.topology = "tiny";
    options.data = false;
    options.detailed_launches = 20;
    program = [&] {
      if (what == "launches") return launches(number(1), number(2));
      what == "streams" ? streams(number(1)) : long_launches(number(1));
    };
  } else if (what == "small_chunks") {
    options.topology = "tiny";
    options.overrides = {"system.sips.count=3"};
    options.collectives = KERNBENCH_ONE_BYTE_CHUNKS;
    options.data = false;
    program = [&] { torch::multiprocessing::spawn(small_chunks, std::tuple{number(1)}, {.nprocs = 3}); };
  } else if (what == "all_to_all" || what == "pairs") {
    const int ranks = static_cast<int>(number(1));
    options = one_pe_machine(ranks);
    program = [=] {
      if (what == "pairs") {
        torch::multiprocessing::spawn(pairs, std::tuple{ranks, static_cast<int>(number(2))}, {.nprocs = ranks});
      } else {
        torch::multiprocessing::spawn(all_to_all, std::tuple{ranks}, {.nprocs = ranks});
      }
    };
  } else {
    fmt::print(
        "usage: growth_program launches N [K] | long_launches N | small_chunks BYTES | streams N | tensors N | "
        "part_overrides N | all_to_all RANKS | pairs RANKS MESSAGES\n");
    return 2;
  }
  const RunResult result = simulate(options, program);
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  fmt::print("simulated {} ps, events {}, times {:016x}, wall {:.2f} s, user {}.{:02} s, peak memory {} MB\n",
             result.simulated_time.count(), result.events, result.times_fingerprint, result.wall_time_s,
             usage.ru_utime.tv_sec, usage.ru_utime.tv_usec / 10'000, usage.ru_maxrss / 1'024);
  return 0;
}

}  // namespace
}  // namespace kernbench

int main(int argc, char** argv) {
  return kernbench::run({argv + 1, argv + argc});
}
