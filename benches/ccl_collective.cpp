// A collective of blocks, or a reduce, over all SIPs, or over PEs: time, algbw and busbw as nccl-tests define them, and
// wrong elements.
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
using torch::Tensor;

struct Settings {
  std::string operation, algorithm;
  std::int64_t count = 0, iterations = 1;  // elements of a block
  DType dtype = DType::f32;
  DPPolicy placement;
  int ranks = 1;
};

/// What the ranks find out, by rank.
struct Findings {
  explicit Findings(int ranks) : ns(static_cast<std::size_t>(ranks)), wrong(static_cast<std::size_t>(ranks)) {}
  std::vector<double> ns, wrong;
};

/// What rank `from` has for rank `to`: small whole numbers, of which every sum is exact in every type.
Tensor block(int from, int to, std::int64_t count) {
  return torch::arange(count, torch::kInt).remainder(5) + (from + 2 * to) % 3;
}
Tensor blocks(int ranks, std::int64_t count, const std::function<Tensor(int)>& each) {
  std::vector<Tensor> all;
  for (int rank = 0; rank < ranks; ++rank) all.push_back(each(rank));
  return torch::cat(all).reshape({ranks * count});
}
Tensor sum(int to, const Settings& settings) {
  Tensor all = block(0, to, settings.count);
  for (int from = 1; from < settings.ranks; ++from) all = all + block(from, to, settings.count);
  return all;
}

/// The tensors of a rank, what it ends with, and the call.
class Collective {
 public:
  Collective(const Settings& settings, int rank, bool with_values) : settings_(settings), rank_(rank) {
    const std::int64_t all = settings.count * settings.ranks, one = settings.count;
    const auto& name = settings.operation;
    const bool whole_in = name == "reduce_scatter" || name == "all_to_all" || name == "scatter";
    const bool whole_out = name == "all_gather" || name == "all_to_all" || name == "gather";
    const auto options = torch::dtype(settings.dtype).device("ahbm").placement(settings.placement);
    if (!with_values) {
      in_ = torch::zeros({whole_in ? all : one}, options);
    } else {
      in_ = (whole_in ? blocks(settings.ranks, one, [&](int to) { return block(rank, to, one); }) : block(rank, 0, one))
                .to(options);
    }
    out_ = name == "reduce" ? in_ : torch::zeros({whole_out ? all : one}, options);
  }

  void call() const {
    const auto& name = settings_.operation;
    const auto parts = [&](const Tensor& tensor) {
      std::vector<Tensor> list;
      for (int i = 0; i < settings_.ranks && rank_ == 0; ++i) {
        list.push_back(tensor.narrow(0, i * settings_.count, settings_.count));
      }
      return list;
    };
    if (name == "reduce_scatter") dist::reduce_scatter_tensor(out_, in_);
    if (name == "all_gather") dist::all_gather_into_tensor(out_, in_);
    if (name == "all_to_all") dist::all_to_all_single(out_, in_);
    if (name == "reduce") dist::reduce(in_, 0);
    if (name == "gather") dist::gather(in_, parts(out_), 0);
    if (name == "scatter") dist::scatter(out_, parts(in_), 0);
  }

  /// Wrong elements, and a check of the result where the rank has one.
  double wrong() const {
    const auto& name = settings_.operation;
    if (rank_ != 0 && (name == "reduce" || name == "gather")) return 0;
    const Tensor wanted = expected().to(settings_.dtype);
    check_close(name + " on rank " + std::to_string(rank_), out_, wanted);
    return (out_.cpu() != wanted).sum().item<double>();
  }

 private:
  Tensor expected() const {
    const auto& name = settings_.operation;
    const std::int64_t count = settings_.count;
    if (name == "reduce_scatter") return sum(rank_, settings_);
    if (name == "reduce") return sum(0, settings_);
    if (name == "scatter") return block(0, rank_, count);
    const bool exchanges = name == "all_to_all";
    return blocks(settings_.ranks, count, [&](int from) { return block(from, exchanges ? rank_ : 0, count); });
  }

  const Settings& settings_;
  int rank_;
  Tensor in_, out_;
};

/// One collective is checked; others are timed.
void worker(int rank, const Settings& settings, const std::shared_ptr<Findings>& findings) {
  if (rank < torch::ahbm::device_count()) torch::ahbm::set_device(rank);
  dist::init_process_group("ahbm", rank, settings.ranks, {.algorithm = settings.algorithm});
  const auto index = static_cast<std::size_t>(rank);
  if (data_enabled()) {
    const Collective checked(settings, rank, true);
    checked.call();
    findings->wrong[index] = checked.wrong();
  }
  const Collective timed(settings, rank, false);
  timed.call();  // the channels are set up by now
  dist::barrier();
  findings->ns[index] = device_ns([&] {
                          for (std::int64_t i = 0; i < settings.iterations; ++i) timed.call();
                        }) /
                        static_cast<double>(settings.iterations);
  dist::destroy_process_group();
}

}  // namespace

KERNBENCH_BENCH(ccl_collective,
                "another collective than all-reduce: time, algbw, busbw and wrong elements, as nccl-tests define them",
                {"operation", "all_gather", "all_gather, reduce_scatter, all_to_all, reduce, gather or scatter"},
                {"size", 1 << 20, "bytes of the larger of a rank's input and output"},
                {"ranks", 0,
                 "more than there are SIPs: a PE each; 0: as the collectives file says, else one on each SIP"},
                {"iterations", 2, "timed collectives"},
                {"cubes", 0, "where the tensors lie: the first so many cubes; 0: all"},
                {"pes", 0, "of each cube the first so many PEs; 0: all"},
                {"algorithm", "", "of the collectives file; empty: its default"}, dtype_parameter("f32")) {
  Settings settings;
  settings.operation =
      parameter_choice("operation", {"all_gather", "reduce_scatter", "all_to_all", "reduce", "gather", "scatter"});
  settings.dtype = dtype_of();
  settings.iterations = parameter<std::int64_t>("iterations", 1, 1000);
  settings.algorithm = parameter<std::string>("algorithm");
  const auto ranks = static_cast<int>(parameter<std::int64_t>("ranks", 0, 1 << 20));
  settings.ranks = ranks == 0 ? dist::get_algorithm(settings.algorithm).world_size : ranks;
  const bool of_blocks = settings.operation != "reduce";
  const std::int64_t size = parameter<std::int64_t>("size", 1, std::int64_t{1} << 36);
  settings.count = size / item_size(settings.dtype) / (of_blocks ? settings.ranks : 1);
  settings.placement.num_cubes = static_cast<int>(parameter<std::int64_t>("cubes", 0, 1 << 20));
  settings.placement.num_pes = static_cast<int>(parameter<std::int64_t>("pes", 0, 1 << 20));
  const auto findings = std::make_shared<Findings>(settings.ranks);
  torch::multiprocessing::spawn(worker, std::tuple{settings, findings}, {.nprocs = settings.ranks});

  const double ns = *std::ranges::max_element(findings->ns);
  const auto bytes = static_cast<double>(settings.count * item_size(settings.dtype) * (of_blocks ? settings.ranks : 1));
  const double factor = of_blocks ? static_cast<double>(settings.ranks - 1) / settings.ranks : 1;
  report_metric("time", ns * 1e-3, "us");
  report_metric("algbw", bytes / ns, "GB/s");
  report_metric("busbw", bytes / ns * factor, "GB/s");
  if (data_enabled()) {
    double wrong = 0;
    for (const double count : findings->wrong) wrong += count;
    report_metric("#wrong", wrong, "elements");
  }
}
