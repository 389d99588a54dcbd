// The mixture of experts of one layer of a Mixtral over all devices: a router sends each token to a few of many
// feed-forward networks.
#include <kernbench/kernbench.h>
#include <kernbench/tp.h>

#include <cmath>
#include <string>
#include <tuple>

#include "check_divides.h"
#include "dtype_parameter.h"
#include "gpt/checks.h"
#include "gpt/experts.h"
#include "measure.h"

using namespace kernbench;
using namespace benches;

namespace {

using torch::Tensor;

struct Run {
  gpt::ModelConfig config;
  std::int64_t tokens;
  DType dtype;
  bool expert_parallel;
  gpt::AssumedRouting routing;
  double capacity;
};

const char* const kLayer = "model.layers.0";
constexpr std::int64_t kTokens = 512, kFfn = 1024, kExperts = 8;  // the defaults

Tensor tokens_of(const Run& run) {
  return (torch::arange(run.tokens * run.config.hidden, torch::kInt) * 7919)
                 .remainder(2003)
                 .to(torch::kFloat)
                 .view({run.tokens, 1, run.config.hidden}) /
             1001.5 -
         1;
}

void check_result(const Run& run, const gpt::Weights& weights, gpt::NotedChoices& noted, const Tensor& y) {
  if (!floating_point_enabled()) return;
  // In f32, with the device's choices: nearly equal scores may come in another order when they are rounded.
  gpt::Parallel host;
  host.noted = &noted;
  const Tensor expected =
      gpt::Experts(run.config, weights, host, kLayer)(tokens_of(run).to(run.dtype).to(torch::kFloat), false, 0);
  const double unit = run.dtype == DType::f32 ? 0x1p-20 : run.dtype == DType::f16 ? 0x1p-10 : 0x1p-7;
  check_close("tokens through their experts", y, expected,
              {.absolute = 8 * unit * expected.abs().max().item<double>(), .relative = 0});
}

void report(const Run& run, const gpt::NotedChoices& noted, int ranks, double nanoseconds) {
  const auto& config = run.config;
  const double rows = static_cast<double>(run.tokens * config.chosen_experts) * (1 - noted.dropped(1));
  const double flops = 2.0 * rows * static_cast<double>(3 * config.inner * config.hidden);
  report_metric("time", nanoseconds * 1e-3, "us");
  report_metric("products of the experts, each device", flops / ranks / nanoseconds * 1e-3, "TFLOP/s");
  report_metric("busiest expert, in even shares", noted.busiest(1, config.experts), "");
  if (run.capacity > 0) report_metric("dropped choices", noted.dropped(1) * 100, "%");
}

void worker(int rank, int world_size, const Run& run, gpt::NotedChoices* noted) {
  torch::ahbm::set_device(rank);
  torch::distributed::init_process_group("ahbm", rank, world_size);
  tp::initialize_model_parallel(world_size);
  const gpt::Weights weights(run.config);
  gpt::Parallel parallel{.rank = rank, .size = world_size, .device = "ahbm", .dtype = run.dtype};
  parallel.experts = run.expert_parallel;
  parallel.assumed = &run.routing;
  parallel.noted = noted;
  parallel.capacity = run.capacity;
  const gpt::Experts experts(run.config, weights, parallel, kLayer);
  // Without expert parallelism the sum over the ranks is a part of the mixture, as of each row; with it the tokens are
  // shared before and after.
  const bool shared = run.expert_parallel && world_size > 1;
  Tensor x = tokens_of(run).to(torch::dtype(run.dtype).device("ahbm").name("x"));
  if (shared) x = tp::scatter_to_sequence_parallel_region(x);
  torch::ahbm::synchronize();
  Tensor y;
  const double nanoseconds = device_ns([&] {
    y = experts(x, shared, 0);
    if (!shared && world_size > 1) y = tp::reduce_from_tensor_model_parallel_region(y);
  });
  if (shared) y = tp::gather_from_sequence_parallel_region(y);
  torch::distributed::barrier();  // all have noted their choices
  if (rank != 0) return;
  report(run, *noted, world_size, nanoseconds);
  check_result(run, weights, *noted, y);
}

/// Whole experts and tokens are shared out, or else the columns inside each expert.
int devices_for(const gpt::ModelConfig& config, std::int64_t tokens, bool expert_parallel) {
  if (!expert_parallel) return devices_that_share({{"ffn", config.inner, kFfn}});
  return devices_that_share(
      {{"experts", config.experts, kExperts, "expert_parallel=no"}, {"tokens", tokens, kTokens, "expert_parallel=no"}});
}

}  // namespace

KERNBENCH_BENCH(moe, "a mixture of experts over all devices: routing, exchange, experts, exchange",  //
                {"tokens", kTokens, "of the input"}, {"hidden", 1024, "columns of the input"},
                {"ffn", kFfn, "columns inside each expert"}, {"experts", kExperts, "feed-forward networks"},
                {"chosen", 2, "experts of a token"}, dtype_parameter("f16"),
                {"expert_parallel", "yes", "a device has whole experts, not a part of each: yes or no"},
                {"routing", "uniform", "assumed where values are not computed: uniform, zipf:S, or a file of weights"},
                {"capacity", 0, "rows of an expert at most, in even shares; 0: none is dropped"}) {
  constexpr std::int64_t kLargest = 1 << 20;
  const bool expert_parallel = parameter_choice("expert_parallel", {"yes", "no"}) == "yes";
  gpt::ModelConfig config;
  config.family = gpt::Family::mixtral;
  config.hidden = parameter<std::int64_t>("hidden", 1, kLargest);
  config.inner = parameter<std::int64_t>("ffn", 1, kLargest);
  config.experts = parameter<std::int64_t>("experts", 1, 1024);
  config.chosen_experts = parameter<std::int64_t>("chosen", 1, config.experts);
  const auto tokens = parameter<std::int64_t>("tokens", 1, kLargest);
  const int n = devices_for(config, tokens, expert_parallel);
  const Run run{config,
                tokens,
                dtype_of(),
                expert_parallel,
                gpt::AssumedRouting(parameter<std::string>("routing"), config.experts),
                parameter<double>("capacity", 0, 1e6)};
  gpt::NotedChoices noted;
  torch::multiprocessing::spawn(worker, std::tuple{n, run, &noted}, {.nprocs = n});
}
