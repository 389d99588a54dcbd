#include "runtime/functions/gemm_trial.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <chrono>
#include <cmath>
#include <latch>
#include <limits>
#include <memory>
#include <optional>
#include <thread>

#include "base/nanoseconds.h"
#include "runtime/context.h"
#include "runtime/devices/simulated_devices.h"
#include "runtime/functions/trial_meter.h"
#include "runtime/host_wait.h"
#include "runtime/simulation.h"
#include "tensor/tensor_impl.h"
#include "topology/models.h"

namespace kernbench::runtime {

namespace {

using tile::library::GemmPlan;
using tile::library::PlanTimes;
using torch::Tensor;

constexpr double kNever = std::numeric_limits<double>::infinity();

/// Another machine is not told apart by its SIPs unless some part of it is overridden.
topology::Topology one_sip(topology::Topology topology) {
  if (!topology.overrides.empty()) return topology;
  topology.system.sips = 1;
  topology.system.mesh.reset();
  return topology;
}

/// A model of the caller's own may remember whom it was asked by, and threads take the trials: built-in ones stand in.
void use_built_in(std::string& model, topology::ModelParameterTexts& parameters, topology::ModelKind kind) {
  const auto built_in = topology::built_in_models(kind);
  if (std::ranges::find(built_in, model) != built_in.end()) return;
  model = built_in.front();
  parameters.clear();
}

/// The machine of the trials: what a plan takes there does not depend on the models of the caller's own.
topology::Topology trial_machine(const topology::Topology& topology) {
  using topology::ModelKind;
  topology::Topology machine = one_sip(topology);
  use_built_in(machine.cube.hbm.model, machine.cube.hbm.parameters, ModelKind::hbm);
  use_built_in(machine.pe.gemm.model, machine.pe.gemm.parameters, ModelKind::gemm);
  use_built_in(machine.pe.vector.model, machine.pe.vector.parameters, ModelKind::vector);
  use_built_in(machine.pe.dma.model, machine.pe.dma.parameters, ModelKind::dma);
  return machine;
}

SimulateOptions trial_options() {
  SimulateOptions options;
  options.data = false;
  options.explain = false;
  options.debug = false;
  options.threads = 1;
  options.detailed_launches = 0;
  options.warn = [](std::string_view) {};
  return options;
}

/// Shards lie on the same PEs of their SIPs.
bool alike(const addressing::TensorDescriptor& one, const addressing::TensorDescriptor& other) {
  const auto same = [](const auto& a, const auto& b) {
    return a.owner.cube == b.owner.cube && a.owner.pe == b.owner.pe && a.offset == b.offset && a.shape == b.shape;
  };
  return one.interleaving == other.interleaving && std::ranges::equal(one.arrays, other.arrays, same) &&
         std::ranges::equal(one.shards, other.shards, same);
}

/// The same view of a fresh tensor, on device 0 of the calling fiber's simulation.
std::optional<Tensor> twin_of(const Tensor& tensor, SimulatedDevices& devices) {
  if (!tensor.defined()) return tensor;
  const tensor::TensorImpl& like = tensor::impl_of(tensor);
  if (!like.storage->device) return std::nullopt;
  const auto& descriptor = *like.storage->device->descriptor();
  Tensor twin = tensor::new_device_tensor(devices, descriptor.shape, descriptor.dtype, torch::Device(torch::kAHBM, 0),
                                          like.policy);
  tensor::TensorImpl& view = tensor::impl_of(twin);
  if (!alike(*view.storage->device->descriptor(), descriptor)) return std::nullopt;
  view.sizes = like.sizes, view.strides = like.strides, view.offset = like.offset;
  return twin;
}

/// A product on tensors of its own.
std::optional<TrialProduct> twin_of(const TrialProduct& product, SimulatedDevices& devices) {
  const auto a = twin_of(product.a, devices), b = twin_of(product.b, devices), out = twin_of(product.out, devices);
  const auto addend = twin_of(product.options.addend, devices);
  if (!a || !b || !out || !addend) return std::nullopt;
  TrialProduct twin{*a, *b, *out, product.options};
  twin.options.addend = *addend;
  return twin;
}

void add(std::vector<std::int64_t>& words, std::span<const std::int64_t> more) {
  words.push_back(static_cast<std::int64_t>(more.size()));
  words.insert(words.end(), more.begin(), more.end());
}

void add(std::vector<std::int64_t>& words, const Tensor& tensor) {
  words.push_back(tensor.defined() ? 1 : 0);
  if (!tensor.defined()) return;
  const tensor::TensorImpl& view = tensor::impl_of(tensor);
  add(words, view.sizes);
  add(words, view.strides);
  words.insert(words.end(), {view.offset, static_cast<std::int64_t>(view.dtype)});
  const auto& [cube, pe, num_cubes, num_pes, of_policy] = view.policy;
  words.insert(words.end(), {static_cast<std::int64_t>(cube), static_cast<std::int64_t>(pe), num_cubes, num_pes});
  if (pe == Placement::interleaved) words.push_back(of_policy.count());
  if (!view.storage->device) return words.push_back(0);
  const auto& descriptor = *view.storage->device->descriptor();
  add(words, descriptor.shape);
  if (descriptor.is_interleaved()) {
    words.insert(words.end(), {-1, std::ssize(descriptor.arrays)});
    const auto& [cubes, pes, spread] = descriptor.interleaving;
    words.insert(words.end(), {cubes, pes, spread.count(), descriptor.arrays.front().owner.cube.value});
  }
  words.push_back(static_cast<std::int64_t>(descriptor.shards.size()));
  for (const auto& shard : descriptor.shards) {
    words.insert(words.end(), {shard.owner.cube.value, shard.owner.pe.value});
    add(words, shard.offset);
    add(words, shard.shape);
  }
}

/// On a fiber of `simulation`: nanoseconds from the call to the completion.
double time_plan(Simulation& simulation, const TrialProduct& product, const GemmPlan& plan) {
  const auto trial = twin_of(product, simulation.devices());
  if (!trial) return kNever;
  auto& operations = static_cast<SimulatedOperations&>(simulation.devices().operations());
  const Time begin = simulation.scheduler().now();
  MatmulPlanOptions options;
  options.plan = std::shared_ptr<const GemmPlan>(std::shared_ptr<void>(), &plan);
  operations.matmul(trial->a, trial->b, trial->options, options, trial->out);
  simulation.devices().synchronize_current_stream(0);
  return nanoseconds(simulation.scheduler().now() - begin);
}

/// A trial has got so far that the rest of its time is estimated.
struct TrialIsOver {};

struct Trial {
  double ns = kNever;
  double cost = 0;  // see TrialMeter
};

/// How long a plan may take.
struct TrialLimits {
  double wanted;    // it is given up when it is not likely to be shorter
  double measured;  // it ends there: another one was as short
};

/// On a machine of its own, from time 0: what ran before, and whoever takes it, changes nothing. Infinite for what is
/// not within the limits, does not run, does not fit, or is stopped.
Trial simulate_plan(const TrialProduct& product, const topology::Topology& topology, const GemmPlan& plan,
                    TrialLimits limit, const std::atomic<bool>* stop_requested) {
  Trial trial;
  std::atomic<bool> over = false;
  std::optional<TrialMeter> meter;  // outlives the simulation's programs
  try {
    Simulation simulation(trial_options(), topology);
    meter.emplace(simulation, plan, limit.wanted, over);
    simulation.operations().subscribe(*meter, {tile::Topic::operations});
    simulation.scheduler().spawn(
        {.agent = simulation.machine().host_agent(-1), .name = "trial", .stack_bytes = 1 << 20}, [&] {
          enter_host_context(simulation);
          trial.ns = time_plan(simulation, product, plan);
          end_host_context();
        });
    sim::RunLimits limits;
    limits.stop_requested = stop_requested;
    limits.progress_due = &over;
    limits.on_progress = [] { throw TrialIsOver(); };
    if (limit.measured < kNever) limits.max_time = Time::picoseconds(std::llround(limit.measured * 1e3));
    try {
      simulation.scheduler().run(limits);
    } catch (const TrialIsOver&) {
      trial.ns = *meter->estimate();
    } catch (const std::exception&) {
      trial.cost = meter->cost();
      return trial;  // the product may have ended before; what did not run has no time
    }
    trial.cost = meter->cost();
  } catch (const std::exception&) {
    return trial;  // it cannot be set up
  }
  return trial;
}

/// By a quarter: assumption.
Time shortened(Time time) {
  return Time::picoseconds(time.count() * 3 / 4);
}

/// `machine` with shorter latencies, of two kinds at a time.
std::array<topology::Topology, 2> slightly_better(const topology::Topology& machine) {
  std::array<topology::Topology, 2> all{machine, machine};
  auto& [memory, links] = all;
  memory.cube.hbm.latency = shortened(machine.cube.hbm.latency);
  memory.pe.control.issue = shortened(machine.pe.control.issue);
  links.cube.noc.link.latency = shortened(machine.cube.noc.link.latency);
  links.pe.mmu.miss = shortened(machine.pe.mmu.miss);
  return all;
}

/// The trials of some plans, taken by several threads. Of one that costs little the longest time on this machine and
/// on those that are a little better is taken: the shortest of many plans is short by chance, too, and another machine
/// would not have that.
class Trials {
 public:
  Trials(const TrialProduct& product, const topology::Topology& topology, std::span<const GemmPlan> plans, double limit,
         const std::atomic<bool>* stop_requested)
      : product_(product),
        topology_(topology),
        near_(slightly_better(topology)),
        plans_(plans),
        limit_(limit),
        stop_requested_(stop_requested),
        times_(plans.size()),
        costs_(plans.size()) {
    for (auto& time : times_) time = kNever;
  }

  /// Blocks the calling fiber; a fiber that waits for its trials is not stuck.
  PlanTimes run() {
    const std::size_t workers = std::clamp<std::size_t>(std::thread::hardware_concurrency(), 1, plans_.size());
    std::latch ended(static_cast<std::ptrdiff_t>(workers));
    // A thread has a scheduler of its own; the calling fiber's stays as it is.
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < workers; ++i) {
      threads.emplace_back([&] {
        take_plans();
        ended.count_down();
      });
    }
    while (!ended.try_wait()) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      sim::this_fiber::note_alive();
    }
    return {std::vector<double>(times_.begin(), times_.end()), std::move(costs_)};
  }

 private:
  /// One after the other, until there is none. Times are written once, by whoever takes the plan.
  void take_plans() {
    for (std::size_t i = next_++; i < plans_.size(); i = next_++) {
      if (stop_requested_ != nullptr && *stop_requested_) return;
      // One that takes longer than one before it is not chosen, whatever the margin. Which of those have been timed by
      // now depends on the threads; that it is not chosen does not.
      // So it is not given up by those, but by the limit of all.
      TrialLimits limit{limit_, limit_};
      for (std::size_t j = 0; j < i; ++j) limit.measured = std::min(limit.measured, times_[j].load());
      Trial trial = simulate_plan(product_, topology_, plans_[i], limit, stop_requested_);
      for (const topology::Topology& machine : near_) {
        if (trial.ns == kNever || trial.cost > tile::library::kCheapMeasurement) break;
        trial.ns = std::max(trial.ns, simulate_plan(product_, machine, plans_[i], limit, stop_requested_).ns);
      }
      times_[i] = trial.ns;
      costs_[i] = trial.cost;
    }
  }

  const TrialProduct& product_;
  const topology::Topology& topology_;
  const std::array<topology::Topology, 2> near_;
  std::span<const GemmPlan> plans_;
  double limit_;
  const std::atomic<bool>* stop_requested_;
  std::atomic<std::size_t> next_{0};
  std::vector<std::atomic<double>> times_;
  std::vector<double> costs_;
};

}  // namespace

tile::library::PlanTimer trial_timer(const TrialProduct& product, const topology::Topology& topology,
                                     const std::atomic<bool>* stop_requested) {
  return [&product, &topology, stop_requested](std::span<const GemmPlan> plans, double limit) {
    const topology::Topology machine = trial_machine(topology);
    return Trials(product, machine, plans, limit, stop_requested).run();
  };
}

std::vector<std::int64_t> identity_of(const TrialProduct& product) {
  std::vector<std::int64_t> words;
  for (const Tensor& tensor : {product.a, product.b, product.out, product.options.addend}) add(words, tensor);
  const auto& [alpha, beta, addend, activation] = product.options;
  words.insert(words.end(), {std::bit_cast<std::int64_t>(alpha), std::bit_cast<std::int64_t>(beta),
                             static_cast<std::int64_t>(activation)});
  return words;
}

}  // namespace kernbench::runtime
