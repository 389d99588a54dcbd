#include "runtime/functions/gemm_trial.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <thread>

#include "runtime/context.h"
#include "runtime/devices/simulated_devices.h"
#include "runtime/host_wait.h"
#include "runtime/simulation.h"
#include "tensor/tensor_impl.h"

namespace kernbench::runtime {

namespace {

using tile::library::GemmPlan;
using torch::Tensor;

constexpr double kNever = std::numeric_limits<double>::infinity();

/// Another machine is not told apart by its SIPs unless some part of it is overridden.
topology::Topology one_sip(topology::Topology topology) {
  if (!topology.overrides.empty()) return topology;
  topology.system.sips = 1;
  topology.system.mesh.reset();
  return topology;
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
  return std::ranges::equal(one.shards, other.shards, [](const auto& a, const auto& b) {
    return a.owner.cube == b.owner.cube && a.owner.pe == b.owner.pe && a.offset == b.offset && a.shape == b.shape;
  });
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
  const auto& [cube, pe, num_cubes, num_pes] = view.policy;
  words.insert(words.end(), {static_cast<std::int64_t>(cube), static_cast<std::int64_t>(pe), num_cubes, num_pes});
  if (!view.storage->device) return words.push_back(0);
  const auto& descriptor = *view.storage->device->descriptor();
  add(words, descriptor.shape);
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
  return static_cast<double>((simulation.scheduler().now() - begin).count()) * 1e-3;
}

/// On a machine of its own, from time 0: what ran before, and whoever takes it, changes nothing. Infinite for what
/// takes longer than `limit` (which ends it there), does not run, does not fit, or is stopped.
double simulate_plan(const TrialProduct& product, const topology::Topology& topology, const GemmPlan& plan,
                     double limit, const std::atomic<bool>* stop_requested) {
  double time = kNever;
  try {
    Simulation simulation(trial_options(), topology);
    const auto main = simulation.scheduler().spawn(
        {.agent = simulation.machine().host_agent(-1), .name = "trial", .stack_bytes = 1 << 20}, [&] {
          enter_host_context(simulation);
          time = time_plan(simulation, product, plan);
          end_host_context();
        });
    sim::RunLimits limits;
    limits.stop_requested = stop_requested;
    if (limit < kNever) limits.max_time = Time::picoseconds(std::llround(limit * 1e3));
    simulation.scheduler().run(limits);
  } catch (const std::exception&) {
    return time;  // the product may have ended before; what did not run has none
  }
  return time;
}

/// Takes plans from `next` on, one after the other, until there is none. Times are written once, by whoever takes the
/// plan.
void take_plans(const TrialProduct& product, const topology::Topology& topology, std::span<const GemmPlan> plans,
                const std::atomic<bool>* stop_requested, std::atomic<std::size_t>& next,
                std::vector<std::atomic<double>>& times) {
  for (std::size_t i = next++; i < plans.size(); i = next++) {
    if (stop_requested != nullptr && *stop_requested) return;
    // One that takes longer than one before it is not chosen, whatever the margin. Which of those have been timed by
    // now depends on the threads; that it is not chosen does not.
    double limit = kNever;
    for (std::size_t j = 0; j < i; ++j) limit = std::min(limit, times[j].load());
    times[i] = simulate_plan(product, topology, plans[i], limit, stop_requested);
  }
}

}  // namespace

tile::library::PlanTimer trial_timer(const TrialProduct& product, const topology::Topology& topology,
                                     const std::atomic<bool>* stop_requested) {
  return [&product, &topology, stop_requested](std::span<const GemmPlan> plans) {
    std::vector<std::atomic<double>> times(plans.size());
    for (auto& time : times) time = kNever;
    const topology::Topology machine = one_sip(topology);
    const std::size_t workers = std::clamp<std::size_t>(std::thread::hardware_concurrency(), 1, plans.size());
    std::atomic<std::size_t> next{0};
    // A thread has a scheduler of its own; the calling fiber's stays as it is.
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < workers; ++i)
      threads.emplace_back([&] { take_plans(product, machine, plans, stop_requested, next, times); });
    threads.clear();  // waits for them
    return std::vector<double>(times.begin(), times.end());
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
