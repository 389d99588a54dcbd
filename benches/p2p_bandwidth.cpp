// Bandwidth of send and recv from one SIP to another against the size.
#include <kernbench/kernbench.h>

#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "measure.h"

using namespace kernbench;
using namespace benches;

namespace {

namespace dist = torch::distributed;

struct Settings {
  std::int64_t smallest = 0, largest = 0, factor = 2;
  int from = 0, to = 1;
};

void transfer(int rank, const Settings& settings, const dist::ProcessGroup& pair, std::int64_t size) {
  const std::int64_t elements = size / item_size(DType::i32);
  const auto options = torch::dtype(torch::kInt).device("ahbm");
  const bool sends = rank == settings.from;
  const auto x = torch::full({elements}, sends ? 7 : 0, options);
  torch::ahbm::synchronize();
  dist::barrier(pair);
  const double ns = device_ns([&] { sends ? dist::send(x, settings.to) : void(dist::recv(x, settings.from)); });
  if (sends) return;
  const std::string at = std::to_string(size) + " B";
  check_close(at, x, torch::full({1}, 7, torch::kInt).expand({elements}));
  report_metric("bandwidth, " + at, static_cast<double>(size) / ns, "GB/s");
}

void worker(int rank, int ranks, const Settings& settings) {
  torch::ahbm::set_device(rank);
  dist::init_process_group("ahbm", rank, ranks);
  // A barrier of all ranks would cost the simulator more than the transfers: messages by the square of the ranks.
  const auto pair = dist::new_group({settings.from, settings.to});
  if (rank != settings.from && rank != settings.to) return;
  for (std::int64_t size = settings.smallest; size <= settings.largest; size *= settings.factor) {
    transfer(rank, settings, pair, size);
  }
}

}  // namespace

KERNBENCH_BENCH(p2p_bandwidth, "bandwidth of send and recv from one SIP to another, against the size",  //
                {"smallest", 4 << 10, "bytes of the smallest transfer"},
                {"largest", 16 << 20, "bytes of the largest transfer"}, {"factor", 4, "of one size to the next"},
                {"from", 0, "rank that sends"}, {"to", 1, "rank that receives"}) {
  constexpr std::int64_t kItem = item_size(DType::i32), kLargest = std::int64_t{1} << 34;
  const int ranks = torch::accelerator::device_count();
  if (ranks < 2)
    throw ConfigurationError("p2p_bandwidth needs two SIPs: --topology ahbm-2sip, or --set system.sips.count=2");
  Settings settings;
  settings.smallest = parameter<std::int64_t>("smallest", kItem, kLargest);
  settings.largest = parameter<std::int64_t>("largest", settings.smallest, kLargest);
  settings.factor = parameter<std::int64_t>("factor", 2, kLargest);
  settings.from = static_cast<int>(parameter<std::int64_t>("from", 0, ranks - 1));
  settings.to = static_cast<int>(parameter<std::int64_t>("to", 0, ranks - 1));
  if (settings.from == settings.to) throw ConfigurationError("p2p_bandwidth: from and to must be two SIPs");
  torch::multiprocessing::spawn(worker, std::tuple{ranks, settings}, {.nprocs = ranks});
}
