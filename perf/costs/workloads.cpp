#include "perf/costs/workloads.h"

#include <algorithm>
#include <stdexcept>
#include <tuple>
#include <vector>

#include "kernbench/kernbench.h"

namespace kernbench::costs {

namespace {

namespace dist = torch::distributed;

constexpr std::int64_t kItems = 16 * 1024;  // f32 of a message or block of 64 KiB
constexpr std::int64_t kBlocks = 64;        // that loads go through, so that they differ

torch::TensorOptions on_first_pe() {
  return torch::dtype(torch::kFloat).device("ahbm").placement({.num_cubes = 1, .num_pes = 1});
}

/// An all-reduce over n ranks is 2 (n - 1) steps, with a message from each rank for every 64 KiB of its chunk.
void ring_worker(int rank, int ranks, std::int64_t messages_of_step) {
  torch::ahbm::set_device(rank);
  dist::init_process_group("ahbm", rank, ranks);
  const auto x = torch::empty({kItems * ranks * messages_of_step}, on_first_pe());
  dist::all_reduce(x);
  torch::ahbm::synchronize(rank);
}

void ring(int sips, std::int64_t count) {
  const std::int64_t steps = std::int64_t{2} * sips * (sips - 1);
  torch::multiprocessing::spawn(ring_worker, std::tuple{sips, count / steps}, {.nprocs = sips});
}

/// An all-reduce of `bytes` on each rank, with values, of which every element is compared.
void sum_worker(int rank, int ranks, std::int64_t bytes) {
  torch::ahbm::set_device(rank);
  dist::init_process_group("ahbm", rank, ranks);
  const auto x = torch::full({bytes / 4}, rank + 1, on_first_pe());
  dist::all_reduce(x);
  const auto sum = x.cpu();
  const float expected = static_cast<float>(ranks) * static_cast<float>(ranks + 1) / 2;
  const auto* const values = sum.data_ptr<float>();
  const bool right = std::all_of(values, values + bytes / 4, [&](float value) { return value == expected; });
  if (!right) throw std::runtime_error("the sum is wrong");
}

void sums(int sips, std::int64_t bytes) {
  torch::multiprocessing::spawn(sum_worker, std::tuple{sips, bytes}, {.nprocs = sips});
}

/// In a round each rank sends a message to every other one.
void pairs_worker(int rank, int ranks, std::int64_t rounds) {
  torch::ahbm::set_device(rank);
  dist::init_process_group("ahbm", rank, ranks);
  const auto x = torch::empty({kItems}, on_first_pe()), y = torch::empty({kItems}, on_first_pe());
  for (std::int64_t round = 0; round < rounds; ++round) {
    std::vector<dist::WorkRef> works;
    for (int step = 1; step < ranks; ++step) {
      works.push_back(dist::isend(x, (rank + step) % ranks));
      works.push_back(dist::irecv(y, (rank + ranks - step) % ranks));
    }
    for (const auto& work : works) work->wait();
  }
}

void pairs(int sips, std::int64_t count) {
  const std::int64_t messages = std::int64_t{sips} * (sips - 1);
  torch::multiprocessing::spawn(pairs_worker, std::tuple{sips, count / messages}, {.nprocs = sips});
}

/// The first `pes` PEs of cube 0.
torch::LaunchOptions on(int pes) {
  torch::LaunchOptions options;
  for (int pe = 0; pe < pes; ++pe) options.pes.emplace_back(CubeId{0}, PeId{pe});
  return options;
}

void load_blocks(tl::In x, std::int64_t count, bool waits) {
  for (std::int64_t i = 0; i < count; ++i) {
    const auto tile = tl::load(x, {i % kBlocks, 0}, {1, kItems});
    if (waits) tl::item_or(tl::sum(tile), 0.0F);
  }
}

void loads(int pes, std::int64_t count, bool waits) {
  const auto x = torch::empty({kBlocks, kItems}, on_first_pe());
  torch::launch(on(pes), "loads", load_blocks, x, count / pes, waits);
}

void load_rows(tl::In x, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) tl::load(x, {0, i % 2 * 16}, {kItems / 16, 16});
}

/// Blocks of 64 KiB in rows of 64 B.
void rows(int /*sips*/, std::int64_t count) {
  const auto x = torch::empty({kItems / 16, 64}, on_first_pe());
  torch::launch(on(1), "rows", load_rows, x, count);
}

void add_one(tl::Tensor x) {
  tl::store(x, {0, 0}, tl::load(x, {0, 0}, {1, 64}) + 1.0F);
}

/// Programs of three commands on each of `pes` PEs, one launch after the other.
void launches(int pes, std::int64_t count, std::int64_t between_waits) {
  const auto x = torch::empty({pes, 64}, on_first_pe());
  for (std::int64_t i = 0; i < count; ++i) {
    torch::launch(on(pes), "add", add_one, x);
    if (between_waits > 0 && (i + 1) % between_waits == 0) torch::ahbm::synchronize();
  }
}

void add_often(tl::Tensor x, std::int64_t count) {
  auto sum = tl::zeros({64}, x.dtype());
  const auto one = tl::full({64}, 1, x.dtype());
  for (std::int64_t i = 0; i < count; ++i) sum = sum + one;
}

/// One program of so many commands.
void commands(int /*sips*/, std::int64_t count) {
  const auto x = torch::empty({64}, on_first_pe());
  torch::launch(on(1), "adds", add_often, x, count);
}

/// One copy of so many MiB to the device.
void upload(int /*sips*/, std::int64_t count) {
  const auto x = torch::empty({count * kItems * 16}, torch::dtype(torch::kFloat));
  const auto y = x.to("ahbm");
  torch::ahbm::synchronize();
}

void matmul(int /*sips*/, std::int64_t count) {
  const auto options = torch::dtype(torch::kHalf).device("ahbm");
  const auto a = torch::empty({count, count}, options), b = torch::empty({count, count}, options);
  const auto c = torch::matmul(a, b);
  torch::ahbm::synchronize();
}

const std::vector<std::string> kFourPes{"cube.pes.mesh=[4, 1]"};

}  // namespace

const std::vector<Workload>& workloads() {
  static const std::vector<Workload> all{
      {"ring", "messages of 64 KiB in an all-reduce", "onepe", {}, ring},
      {"sums", "bytes on each rank of an all-reduce, with values, checked", "onepe", {}, sums, true},
      {"pairs", "messages of 64 KiB, all to all", "onepe", {}, pairs},
      {"loads-waited",
       "loads of 64 KiB, one at a time",
       "tiny",
       {},
       [](int, std::int64_t count) { loads(1, count, true); }},
      {"loads", "loads of 64 KiB, one PE", "tiny", {}, [](int, std::int64_t count) { loads(1, count, false); }},
      {"loads-shared", "loads of 64 KiB, four PEs at one slice", "tiny", kFourPes,
       [](int, std::int64_t count) { loads(4, count, false); }},
      {"rows", "loads of 64 KiB in rows of 64 B", "tiny", {}, rows},
      {"bursts",
       "loads of 64 KiB, a burst each, one PE",
       "onepe",
       {},
       [](int, std::int64_t count) { loads(1, count, false); }},
      {"bursts-shared", "loads of 64 KiB, a burst each, four PEs at one slice", "onepe", kFourPes,
       [](int, std::int64_t count) { loads(4, count, false); }},
      {"bursts-of-rows", "loads of 64 KiB in rows of 64 B, a burst each", "onepe", {}, rows},
      {"launches", "launches on one PE, no wait", "tiny", {}, [](int, std::int64_t count) { launches(1, count, 0); }},
      {"launches-waited",
       "launches on one PE, a wait after ten",
       "tiny",
       {},
       [](int, std::int64_t count) { launches(1, count, 10); }},
      {"commands", "vector commands of one program", "tiny", {}, commands},
      {"upload", "MiB of one copy to the device", "ahbm-1sip", {}, upload},
      {"matmul", "rows, columns and terms of a product of f16", "ahbm-1sip", {}, matmul},
  };
  return all;
}

}  // namespace kernbench::costs
