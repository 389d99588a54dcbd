// A language model over all devices, tensor parallel and in stages of a pipeline: the time to the first token, and
// tokens per second after it; or steps of its training.
#include <kernbench/kernbench.h>
#include <kernbench/tp.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "dtype_parameter.h"
#include "gpt/checks.h"
#include "gpt/config.h"
#include "gpt/model.h"
#include "gpt/token_terms.h"
#include "gpt/training.h"
#include "gpt/weights.h"
#include "idle_devices.h"

using namespace kernbench;
using namespace benches;

namespace {

using torch::Tensor;

constexpr std::int64_t kNewTokens = 4;  // where the user gives no number

struct Run {
  gpt::ModelConfig config;
  std::int64_t tokens, new_tokens, batch, train, sampled_layers, micro_batches;
  int tensor_size, stages;
  DType dtype;
  bool sequence_parallel, overlap, expert_parallel, checked;
  std::optional<gpt::AssumedRouting> routing;  // of a mixture of experts
  double capacity;
  gpt::NotedChoices* noted;
  std::set<std::string>* used;  // tensors of the files, of all ranks

  /// Of a prompt: those that the cache has room for.
  std::int64_t most_tokens() const { return tokens + (train > 0 ? 0 : new_tokens); }
  /// The first passes through the layers are the prompt's, one of each micro-batch.
  std::size_t prompt_passes() const { return static_cast<std::size_t>(micro_batches); }
  gpt::Parallel parallel(int rank, int stage) const {
    gpt::Parallel result{rank, tensor_size, sequence_parallel, "ahbm", dtype};
    result.stage = stage;
    result.stages = stages;
    result.micro_batches = micro_batches;
    result.overlap = overlap;
    result.experts = expert_parallel;
    result.assumed = routing ? &*routing : nullptr;
    result.noted = noted;
    result.capacity = capacity;
    return result;
  }
};

Tensor prompt_of(const Run& run) {
  return (torch::arange(run.tokens * run.batch) * 7919 + 17).remainder(run.config.words).view({run.tokens, run.batch});
}

/// Microseconds of simulated time that the current stream is busy with what `enqueue` puts into it.
template <class Function>
double timed(const char* region, const Function& enqueue) {
  const torch::profiler::record_function range(region);
  torch::ahbm::Event start, end;
  start.record();
  enqueue();
  end.record();
  end.synchronize();
  return start.elapsed_time(end) * 1e3;
}

/// The scores of the prompt's last token and of each new one, by one model without ranks on the host, in f32.
std::vector<Tensor> reference(const Run& run, const gpt::Weights& weights, const std::vector<Tensor>& ids) {
  gpt::Parallel host;
  host.noted = run.noted;  // nearly equal scores of a router may come in another order when they are rounded
  gpt::LanguageModel model(run.config, weights, host, run.batch, run.tokens + run.new_tokens);
  std::vector<Tensor> scores;
  for (const Tensor& each : ids) scores.push_back(model.forward(each.cpu()));
  return scores;
}

void check_scores(const Run& run, const gpt::Weights& weights, const std::vector<Tensor>& ids,
                  const std::vector<Tensor>& scores) {
  if (!run.checked || !floating_point_enabled()) return;
  const std::vector<Tensor> expected = reference(run, weights, ids);
  const double unit = run.dtype == DType::f32 ? 0x1p-24 : run.dtype == DType::f16 ? 0x1p-11 : 0x1p-8;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    // Every layer rounds its sums; their errors add up as a random walk.
    const double most = expected[i].abs().max().item<double>();
    const double absolute = most * unit * 16 * std::sqrt(static_cast<double>(run.config.layers + 1));
    check_close("scores of token " + std::to_string(run.tokens + static_cast<std::int64_t>(i)), scores[i], expected[i],
                {.absolute = absolute, .relative = 0});
  }
}

double mebibytes_of(int device) {
  return static_cast<double>(torch::ahbm::max_memory_allocated(device)) / (1 << 20);
}

/// The ranks of a stage have equal parts, stages have not: the first one has the embedding, the last one the head.
void report_memory(const Run& run) {
  double most = 0;
  for (int stage = 0; stage < run.stages; ++stage) most = std::max(most, mebibytes_of(stage * run.tensor_size));
  const double capacity = static_cast<double>(torch::ahbm::get_memory_info(0).second) / (1 << 20);
  report_metric("memory of a device", most, "MiB");
  report_metric("memory of a device, of its capacity", most / capacity * 100, "%");
  if (run.stages == 1) return;
  for (int stage = 0; stage < run.stages; ++stage) {
    report_metric("memory of a device of stage " + std::to_string(stage), mebibytes_of(stage * run.tensor_size), "MiB");
  }
}

/// Adds what was left out to the times, and says so.
void add_left_out(const Run& run, const gpt::SampledLayers& sampled, double& prefill_us, double& decode_us) {
  if (!sampled.leaves_out()) return;
  prefill_us += sampled.left_out_us(0, run.prompt_passes());
  decode_us += sampled.left_out_us(run.prompt_passes(), sampled.passes());
  report_metric("layers simulated", static_cast<double>(sampled.simulated()), "");
  report_metric("layers estimated from these", static_cast<double>(sampled.left_out()), "");
  report_metric("spread of the layers simulated", sampled.spread() * 100, "%");
}

/// What a token after the prompt takes by the closed forms. None where there is no such token, of a pipeline (its
/// stages wait for each other) and of a mixture (which experts are read is not known before). Each micro-batch reads
/// all weights, but of the cache its own prompts', and reduces its own rows.
std::optional<gpt::TokenTerms> terms_of(const Run& run, const gpt::LanguageModel& model, std::int64_t launches) {
  if (run.new_tokens == 0 || run.stages > 1 || run.config.is_mixture()) return {};
  const auto tokens = static_cast<double>(run.new_tokens);
  const auto& sampled = model.sampled_layers();
  if (sampled.leaves_out()) launches += sampled.left_out_launches(run.prompt_passes(), sampled.passes());
  // The first of the new tokens sees the prompt and itself, each further one a token more.
  const double seen = static_cast<double>(run.tokens) + (tokens + 1) / 2;
  const double bytes =
      static_cast<double>(run.micro_batches * model.weight_bytes()) + seen * static_cast<double>(model.cache_bytes());
  const std::int64_t all_reduces = run.tensor_size > 1 ? run.micro_batches * (2 * run.config.layers + 1) : 0;
  const std::int64_t rows = run.batch / run.micro_batches;
  return gpt::TokenTerms(bytes, all_reduces, rows * run.config.hidden * item_size(run.dtype),
                         static_cast<double>(launches) / tokens);
}

/// The share of the prompt's choices of experts that were dropped.
double dropped_of(const Run& run) {
  return run.config.is_mixture() ? run.noted->dropped(static_cast<std::size_t>(run.config.layers)) : 0;
}

/// Of all products of the prompt, on all devices. Only the last token of each goes through the head, and a choice that
/// is dropped through no expert.
double prefill_flops(const Run& run) {
  const std::int64_t head = run.config.hidden * run.config.words;
  const double of_token = static_cast<double>(run.config.product_parameters() - head) -
                          dropped_of(run) * static_cast<double>(run.config.chosen_expert_parameters());
  return 2.0 * static_cast<double>(run.tokens * run.batch) * of_token + 2.0 * static_cast<double>(run.batch * head);
}

void report(const Run& run, int ranks, double prefill_us, double decode_us,
            const std::optional<gpt::TokenTerms>& terms) {
  report_metric("time to the first token", prefill_us, "us");
  report_metric("prefill of a layer", prefill_us / static_cast<double>(run.config.layers), "us");
  report_metric("products of the prefill, each device", prefill_flops(run) / ranks / prefill_us * 1e-6, "TFLOP/s");
  if (run.new_tokens > 0) {
    const double step = decode_us / static_cast<double>(run.new_tokens);
    report_metric("time of a token after it", step, "us");
    report_metric("tokens per second", static_cast<double>(run.batch) * 1e6 / step, "1/s");
    if (terms) terms->report(step);
  }
  if (run.config.is_mixture()) {
    report_metric("busiest expert, in even shares",
                  run.noted->busiest(static_cast<std::size_t>(run.config.layers), run.config.experts), "");
    if (run.capacity > 0) report_metric("dropped choices", dropped_of(run) * 100, "%");
  }
  report_memory(run);
}

// ---- training ----------------------------------------------------------------------------------------------------

/// The mean loss of each token after the first, by one model without ranks on the host, in f32.
double loss_on_the_host(const Run& run, const gpt::Weights& weights) {
  gpt::LanguageModel model(run.config, weights, {}, run.batch, run.tokens);
  const Tensor ids = prompt_of(run);
  const Tensor scores = model.forward(ids, /*all_tokens=*/true).narrow(0, 0, run.tokens - 1).to(torch::kDouble);
  const Tensor next = ids.narrow(0, 1, run.tokens - 1).to(torch::kLong).unsqueeze(-1);
  return -scores.log_softmax(-1).gather(-1, next).mean().item<double>();
}

void train(const Run& run, const gpt::Weights& weights, gpt::LanguageModel& model, int rank) {
  constexpr double kLearningRate = 1e-3, kDecay = 0.01;
  gpt::Training training(model);
  const Tensor ids = prompt_of(run).to("ahbm");
  torch::ahbm::synchronize();
  torch::distributed::barrier();
  std::vector<Tensor> losses;
  double forward = 0, backward = 0, optimizer = 0;
  for (std::int64_t i = 0; i < run.train; ++i) {
    forward += timed("forward", [&] { losses.push_back(training.forward(ids)); });
    backward += timed("backward", [&] { training.backward(); });
    optimizer += timed("optimizer", [&] {
      training.step({.lr = kLearningRate, .weight_decay = kDecay, .decoupled_weight_decay = true});
    });
  }
  if (rank != 0) return;
  const auto steps = static_cast<double>(run.train);
  const double step = (forward + backward + optimizer) / steps;
  report_metric("time of a step", step, "us");
  report_metric("forward of a step", forward / steps, "us");
  report_metric("backward of a step", backward / steps, "us");
  report_metric("optimizer of a step", optimizer / steps, "us");
  report_metric("tokens per second", static_cast<double>(run.tokens * run.batch) * 1e6 / step, "1/s");
  report_memory(run);
  if (!floating_point_enabled()) return;
  report_metric("loss of the first step", losses.front().item<double>(), "");
  report_metric("loss of the last step", losses.back().item<double>(), "");
  if (!run.checked) return;
  // The first step has the model's own weights; a mean of many logarithms rounds less than each.
  const double expected = loss_on_the_host(run, weights);
  const double unit = run.dtype == DType::f32 ? 0x1p-20 : run.dtype == DType::f16 ? 0x1p-9 : 0x1p-6;
  check_close("loss of the first step", losses.front(), torch::full({}, expected), {.absolute = 0, .relative = unit});
}

/// What stands against leaving layers out.
void check_sampling(const Run& run) {
  if (run.sampled_layers == 0) return;
  if (run.sampled_layers < gpt::SampledLayers::kLeast) {
    throw ConfigurationError("sample_layers (" + std::to_string(run.sampled_layers) + ") must be 0 or at least " +
                             std::to_string(gpt::SampledLayers::kLeast) +
                             ": the first layer, one between, and the last");
  }
  const char* why = data_enabled()            ? "values need every layer: run it with --no-data"
                    : run.train > 0           ? "a step of training needs every layer"
                    : run.stages > 1          ? "the stages of a pipeline wait for each other"
                    : run.config.is_mixture() ? "the experts that are chosen differ from layer to layer"
                                              : nullptr;
  if (why != nullptr) throw ConfigurationError(std::string("sample_layers: ") + why);
  if (run.sampled_layers > run.config.layers) {
    throw ConfigurationError("sample_layers (" + std::to_string(run.sampled_layers) + ") is more than the " +
                             std::to_string(run.config.layers) + " layers that the run has; leave it away for all");
  }
}

/// What only a mixture of experts knows.
void check_routing(const Run& run, const std::string& routing) {
  if (run.config.is_mixture()) return;
  const char* const given = routing != "uniform" ? "routing" : run.capacity != 0 ? "capacity" : nullptr;
  if (given != nullptr)
    throw ConfigurationError(std::string(given) + ": " + run.config.name + " is no mixture of experts");
}

void check_training(const Run& run) {
  if (run.train == 0) return;
  if (run.tokens < 2) throw ConfigurationError("tokens: a loss takes at least 2 tokens");
  if (run.new_tokens != 0 && run.new_tokens != kNewTokens)
    throw ConfigurationError("new_tokens: a step of training decodes none; leave it away, or train");
  gpt::check_training(run.config, run.parallel(0, 0));
}

/// The first layers alone, if `layers` is not 0.
void take_layers(gpt::ModelConfig& config, std::int64_t layers) {
  if (layers == 0) return;
  if (layers > config.layers) {
    throw ConfigurationError("layers (" + std::to_string(layers) + ") is more than the " +
                             std::to_string(config.layers) + " layers of " + config.name + "; leave it away for all");
  }
  config.layers = layers;
}

void warn_of_tokens_not_shared(const Run& run) {
  if (!run.sequence_parallel || run.tensor_size == 1 || run.parallel(0, 0).shares(run.tokens)) return;
  report_warning("sequence_parallel=yes: the prompt's tokens (" + std::to_string(run.tokens) +
                 ") are not divisible by the devices of a stage (" + std::to_string(run.tensor_size) +
                 "), so that they were not shared and all is as with sequence_parallel=no; give a multiple");
}

void warn_of_unused_weights(const Run& run) {
  constexpr std::size_t kNamed = 3;
  const std::vector<std::string> unused = gpt::Weights(run.config).unused(*run.used);
  if (unused.empty()) return;
  std::string names;
  for (std::size_t i = 0; i < std::min(kNamed, unused.size()); ++i) names += (i == 0 ? "" : ", ") + unused[i];
  if (unused.size() > kNamed) names += ", …";
  report_warning(run.config.folder + ": the model of config.json does not use " + std::to_string(unused.size()) +
                 " of the tensors in the files: " + names + "; does config.json lack a key?");
}

void worker(int rank, int world_size, const Run& run) {
  torch::ahbm::set_device(rank);
  torch::distributed::init_process_group("ahbm", rank, world_size);
  tp::initialize_model_parallel(run.tensor_size, run.stages);
  const gpt::Weights weights(run.config);
  const gpt::Parallel parallel =
      run.parallel(tp::get_tensor_model_parallel_rank(), tp::get_pipeline_model_parallel_rank());
  gpt::LanguageModel model(run.config, weights, parallel, run.batch, run.most_tokens());
  run.used->insert(weights.used().begin(), weights.used().end());
  if (run.train > 0) return train(run, weights, model, rank);
  if (run.sampled_layers > 0) model.sample_layers(run.sampled_layers);
  std::vector<Tensor> ids{prompt_of(run).to("ahbm")}, scores;
  torch::ahbm::synchronize();
  if (run.stages > 1) torch::distributed::barrier();  // the first token is late by what a stage waits for another one
  const auto step = [&] { scores.push_back(model.forward(ids.back())); };
  double prefill = timed("prefill", step);
  double decode = 0;
  const std::int64_t launches = torch::ahbm::launches_given();
  if (run.new_tokens > 0) {
    decode = timed("decode", [&] {
      for (std::int64_t i = 0; i < run.new_tokens; ++i) {
        ids.push_back(model.best_words(scores.back()));
        step();
      }
    });
  }
  const std::int64_t decode_launches = torch::ahbm::launches_given() - launches;
  // All have noted their choices, and the stages their memory.
  if (run.config.is_mixture() || run.stages > 1) torch::distributed::barrier();
  if (run.checked && floating_point_enabled())
    for (Tensor& each : scores) each = model.of_all_words(each);
  if (!parallel.is_last() || parallel.rank != 0) return;
  add_left_out(run, model.sampled_layers(), prefill, decode);
  report(run, world_size, prefill, decode, terms_of(run, model, decode_launches));
  check_scores(run, weights, ids, scores);
}

/// How many ranks there are: tensor parallel ones times stages. All devices, if `tp` is not given.
int settle_ranks(Run& run) {
  const int devices = torch::accelerator::device_count();
  const auto text = [](int number) { return std::to_string(number); };
  if (run.tensor_size == 0 && devices % run.stages != 0) {
    throw ConfigurationError("pp: " + text(devices) + " devices are no multiple of " + text(run.stages) +
                             " stages; give tp, the devices of a stage");
  }
  if (run.tensor_size == 0) run.tensor_size = devices / run.stages;
  const std::int64_t ranks = std::int64_t{run.tensor_size} * run.stages;
  if (ranks <= devices) return static_cast<int>(ranks);
  throw ConfigurationError("tp (" + text(run.tensor_size) + ") times pp (" + text(run.stages) + ") is more than the " +
                           text(devices) + " devices; add some with --set system.sips.count=" + std::to_string(ranks));
}

}  // namespace

KERNBENCH_BENCH(
    gpt, "a language model, tensor parallel over all devices: prefill and decode, or training",  //
    {"model", "tiny",
     "tiny, tiny-moe, gpt2, llama-3-8b, llama-3-70b, mixtral-8x7b, or a folder with config.json (and safetensors)"},
    {"tokens", 64, "of each prompt"}, {"new_tokens", kNewTokens, "decoded after it, one by one"},
    {"batch", 1, "prompts"}, {"train", 0, "steps of training (loss, gradients, AdamW) instead of prefill and decode"},
    {"layers", 0, "the first layers only; 0: all"},
    {"sample_layers", 0, "simulate so many, estimate the others from them (--no-data); 0: all"}, dtype_parameter("f16"),
    {"sequence_parallel", "no", "share the tokens between the layers: yes or no"},
    {"tp", 0, "devices of a stage; 0: as many as pp leaves"},
    {"pp", 1, "stages of a pipeline, each with as many consecutive layers"},
    {"micro_batches", 1, "in which the prompts go through the stages"},
    {"overlap", "no", "communicate beside the products: yes or no"},
    {"expert_parallel", "no", "a device has whole experts, not a part of each: yes or no"},
    {"routing", "uniform", "assumed where values are not computed: uniform, zipf:S, or a file of weights"},
    {"capacity", 0, "rows of an expert at most, in even shares; 0: none is dropped"},
    {"check", "yes", "compare the scores with the host's: yes or no"}) {
  constexpr std::int64_t kLargest = 1 << 24;
  gpt::NotedChoices noted;
  std::set<std::string> used;
  Run run{gpt::read_config(parameter<std::string>("model")),
          parameter<std::int64_t>("tokens", 1, kLargest),
          parameter<std::int64_t>("new_tokens", 0, kLargest),
          parameter<std::int64_t>("batch", 1, kLargest),
          parameter<std::int64_t>("train", 0, kLargest),
          parameter<std::int64_t>("sample_layers", 0, kLargest),
          parameter<std::int64_t>("micro_batches", 1, kLargest),
          static_cast<int>(parameter<std::int64_t>("tp", 0, kLargest)),
          static_cast<int>(parameter<std::int64_t>("pp", 1, kLargest)),
          dtype_of(),
          parameter_choice("sequence_parallel", {"yes", "no"}) == "yes",
          parameter_choice("overlap", {"yes", "no"}) == "yes",
          parameter_choice("expert_parallel", {"yes", "no"}) == "yes",
          parameter_choice("check", {"yes", "no"}) == "yes",
          {},
          parameter<double>("capacity", 0, 1e6),
          &noted,
          &used};
  take_layers(run.config, parameter<std::int64_t>("layers", 0, kLargest));
  const auto routing = parameter<std::string>("routing");
  check_routing(run, routing);
  if (run.config.is_mixture()) run.routing.emplace(routing, run.config.experts);
  const int n = settle_ranks(run);
  check_training(run);
  check_sampling(run);
  gpt::Weights::check_files(run.config);
  const bool pipeline = run.train == 0 && run.sampled_layers == 0;
  gpt::check_cut(run.config, run.parallel(0, 0), run.batch, run.most_tokens(), pipeline);
  warn_of_tokens_not_shared(run);
  warn_of_idle_devices(n, "tp times pp takes " + std::to_string(n));
  torch::multiprocessing::spawn(worker, std::tuple{n, run}, {.nprocs = n});
  warn_of_unused_weights(run);
}
