#include "runtime/functions/gemm_trial.h"

#include <algorithm>
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

/// Plans `first`, `first + step` ... of all, one after the other.
struct Share {
  std::span<const GemmPlan> plans;
  std::size_t first, step;
};

/// On a fiber of `simulation`.
void time_plans(Simulation& simulation, const TrialProduct& product, const Share& share, std::vector<double>& times) {
  std::vector<TrialProduct> used;  // no plan finds pages of one before it
  auto& operations = static_cast<SimulatedOperations&>(simulation.devices().operations());
  for (std::size_t i = share.first; i < share.plans.size(); i += share.step) {
    auto twin = twin_of(product, simulation.devices());
    if (!twin) return;
    used.push_back(std::move(*twin));
    const TrialProduct& trial = used.back();
    const Time begin = simulation.scheduler().now();
    MatmulPlanOptions options;
    options.plan = std::shared_ptr<const GemmPlan>(std::shared_ptr<void>(), &share.plans[i]);
    operations.matmul(trial.a, trial.b, trial.options, options, trial.out);
    simulation.devices().synchronize_current_stream(0);
    times[i] = static_cast<double>((simulation.scheduler().now() - begin).count()) * 1e-3;
  }
}

void simulate_plans(const TrialProduct& product, const topology::Topology& topology, const Share& share,
                    std::vector<double>& times) {
  try {
    Simulation simulation(trial_options(), topology);
    const auto main = simulation.scheduler().spawn(
        {.agent = simulation.machine().host_agent(-1), .name = "trial", .stack_bytes = 1 << 20}, [&] {
          enter_host_context(simulation);
          time_plans(simulation, product, share, times);
          end_host_context();
        });
    simulation.scheduler().run();
  } catch (const std::exception&) {
    return;  // what does not run, or does not fit, is not chosen: its time stays infinite
  }
}

}  // namespace

tile::library::PlanTimer trial_timer(const TrialProduct& product, const topology::Topology& topology) {
  return [&product, &topology](std::span<const GemmPlan> plans) {
    std::vector<double> times(plans.size(), std::numeric_limits<double>::infinity());
    const topology::Topology machine = one_sip(topology);
    const std::size_t workers = std::clamp<std::size_t>(std::thread::hardware_concurrency(), 1, plans.size());
    // A thread has a scheduler of its own; the calling fiber's stays as it is. Each plan's time is its own, whoever
    // takes it.
    std::vector<std::jthread> threads;
    for (std::size_t first = 0; first < workers; ++first)
      threads.emplace_back([&, first] { simulate_plans(product, machine, {plans, first, workers}, times); });
    threads.clear();  // waits for them
    return times;
  };
}

}  // namespace kernbench::runtime
