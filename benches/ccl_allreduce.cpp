// An all-reduce over all SIPs, or over PEs: time, algbw and busbw as nccl-tests define them, and wrong elements.
#include <kernbench/kernbench.h>

#include <algorithm>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "dtype_parameter.h"
#include "measure.h"

using namespace kernbench;
using namespace benches;

namespace {

namespace dist = torch::distributed;

struct Settings {
  std::int64_t elements = 0, iterations = 1;
  DType dtype = DType::f32;
  DPPolicy placement;
  std::string algorithm;
  int ranks = 1;
};

/// What the ranks find out, by rank.
struct Findings {
  explicit Findings(int ranks) : ns(static_cast<std::size_t>(ranks)), wrong(static_cast<std::size_t>(ranks)) {}
  std::vector<double> ns, wrong;
};

/// Small whole numbers: every sum, in whatever order, is exact in every type.
torch::Tensor input(int rank, std::int64_t elements) {
  return torch::arange(elements, torch::kInt).remainder(5) + (rank % 3);
}

torch::Tensor sum_of_inputs(int ranks, std::int64_t elements) {
  std::int64_t offsets = 0;
  for (int rank = 0; rank < ranks; ++rank) offsets += rank % 3;
  return torch::arange(elements, torch::kInt).remainder(5) * ranks + offsets;
}

/// The sum of one all-reduce is checked; others are timed.
void worker(int rank, const Settings& settings, const std::shared_ptr<Findings>& findings) {
  if (rank < torch::ahbm::device_count()) torch::ahbm::set_device(rank);
  dist::init_process_group("ahbm", rank, settings.ranks, {.algorithm = settings.algorithm});
  const auto options = torch::dtype(settings.dtype).device("ahbm").placement(settings.placement);
  const auto index = static_cast<std::size_t>(rank);
  if (data_enabled()) {
    const auto x = input(rank, settings.elements).to(options);
    dist::all_reduce(x);
    const auto expected = sum_of_inputs(settings.ranks, settings.elements).to(settings.dtype);
    check_close("sum on rank " + std::to_string(rank), x, expected);
    findings->wrong[index] = (x.cpu() != expected).sum().item<double>();
  }
  const auto x = torch::zeros({settings.elements}, options);
  dist::all_reduce(x);  // the channels are set up by now
  dist::barrier();
  findings->ns[index] = device_ns([&] {
                          for (std::int64_t i = 0; i < settings.iterations; ++i) dist::all_reduce(x);
                        }) /
                        static_cast<double>(settings.iterations);
  dist::destroy_process_group();
}

}  // namespace

KERNBENCH_BENCH(ccl_allreduce,
                "all-reduce over all SIPs or PEs: time, algbw, busbw and wrong elements, as nccl-tests define them",  //
                {"size", 1 << 20, "bytes on each rank; 0: as the collectives file says (n_elem)"},
                {"ranks", 0,
                 "more than there are SIPs: a PE each; 0: as the collectives file says, else one on each SIP"},
                {"iterations", 2, "timed all-reduces"},
                {"cubes", 0, "where the tensors lie: the first so many cubes; 0: all"},
                {"pes", 0, "of each cube the first so many PEs; 0: all"},
                {"algorithm", "", "of the collectives file; empty: its default"}, dtype_parameter("f32")) {
  Settings settings;
  settings.dtype = dtype_of();
  settings.iterations = parameter<std::int64_t>("iterations", 1, 1000);
  settings.algorithm = parameter<std::string>("algorithm");
  const auto algorithm = dist::get_algorithm(settings.algorithm);
  const std::int64_t size = parameter<std::int64_t>("size", 0, std::int64_t{1} << 36);
  settings.elements = size == 0 ? algorithm.n_elem : size / item_size(settings.dtype);
  const auto ranks = static_cast<int>(parameter<std::int64_t>("ranks", 0, 1 << 20));
  settings.ranks = ranks == 0 ? algorithm.world_size : ranks;
  settings.placement.num_cubes = static_cast<int>(parameter<std::int64_t>("cubes", 0, 1 << 20));
  settings.placement.num_pes = static_cast<int>(parameter<std::int64_t>("pes", 0, 1 << 20));
  const auto findings = std::make_shared<Findings>(settings.ranks);
  torch::multiprocessing::spawn(worker, std::tuple{settings, findings}, {.nprocs = settings.ranks});

  const double ns = *std::ranges::max_element(findings->ns);
  const auto bytes = static_cast<double>(settings.elements * item_size(settings.dtype));
  report_metric("time", ns * 1e-3, "us");
  report_metric("algbw", bytes / ns, "GB/s");
  report_metric("busbw", bytes / ns * 2 * (settings.ranks - 1) / settings.ranks, "GB/s");
  if (data_enabled()) {
    double wrong = 0;
    for (const double count : findings->wrong) wrong += count;
    report_metric("#wrong", wrong, "elements");
  }
}
