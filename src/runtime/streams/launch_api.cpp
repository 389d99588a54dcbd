// torch::launch.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "kernbench/error.h"
#include "kernbench/launch.h"
#include "runtime/context.h"
#include "runtime/devices/simulated_devices.h"
#include "runtime/streams/launches.h"
#include "sim/fiber.h"
#include "tensor/host_call.h"
#include "tensor/tensor_impl.h"

namespace kernbench::torch {

using runtime::current_context;
using runtime::HostContext;

namespace detail {

struct LaunchBuilder::State {
  explicit State(const Where& where) : call("torch::launch", where), context(current_context("torch::launch")) {}
  tensor::HostCall call;
  HostContext& context;
  runtime::LaunchPlan plan;
  std::vector<runtime::SimulatedStorageRef> all;
  std::string first_tensor;
  int arguments = 0;
  bool has_device = false;
};

LaunchBuilder::LaunchBuilder(const LaunchName& name) : state_(std::make_unique<State>(name.where())) {
  if (name.text().empty()) throw ValueError("torch::launch: the kernel's name is empty; reports need one");
  state_->plan.name = std::string(name.text());
}
LaunchBuilder::~LaunchBuilder() = default;

std::shared_ptr<const addressing::TensorDescriptor> LaunchBuilder::add(const Tensor& tensor, bool written) {
  const std::string parameter = fmt::format("tensor argument {} of {}", state_->arguments++, state_->plan.name);
  if (!tensor.defined()) throw ValueError(fmt::format("torch::launch: {} is undefined", parameter));
  if (!tensor.device().is_ahbm()) {
    throw ValueError(fmt::format("torch::launch: {} is on the host; move it with .to(\"ahbm\")", parameter));
  }
  auto descriptor = tensor::launch_descriptor(tensor, parameter);
  const auto storage = state_->context.simulation.devices().own(tensor::device_storage(tensor));
  if (state_->has_device && storage->device() != state_->plan.device) {
    throw ValueError(
        fmt::format("torch::launch: {} is on ahbm:{}, but {} is on ahbm:{}; all tensors of a launch must "
                    "be on one device",
                    parameter, storage->device(), state_->first_tensor, state_->plan.device));
  }
  if (!state_->has_device) state_->first_tensor = parameter;
  state_->has_device = true;
  state_->plan.device = storage->device();
  (written ? state_->plan.written : state_->plan.read).push_back(storage);
  state_->all.push_back(storage);
  return descriptor;
}

void LaunchBuilder::enqueue(std::function<void()> body, const LaunchOptions& options) {
  auto& simulation = state_->context.simulation;
  auto& plan = state_->plan;
  if (!state_->has_device) plan.device = state_->context.device;
  const auto& topology = simulation.topology();
  for (const auto& [cube, pe] : options.pes) {
    if (cube.value < 0 || cube.value >= topology.sip.cubes.count() || pe.value < 0 ||
        pe.value >= topology.cube.pes.count()) {
      throw ValueError(fmt::format("torch::launch: cube {}, PE {} does not exist; {} has {} cubes of {} PEs",
                                   cube.value, pe.value, topology.name, topology.sip.cubes.count(),
                                   topology.cube.pes.count()));
    }
    plan.pes.push_back({SipId{plan.device}, cube, pe});
  }
  std::sort(plan.pes.begin(), plan.pes.end());
  plan.pes.erase(std::unique(plan.pes.begin(), plan.pes.end()), plan.pes.end());
  if (plan.pes.empty()) plan.pes = runtime::shard_owners(state_->all);
  if (plan.pes.empty()) {
    throw ValueError(
        fmt::format("torch::launch: {} has nowhere to run: no tensor argument has elements on a PE; name "
                    "the PEs in LaunchOptions",
                    plan.name));
  }
  plan.body = std::move(body);
  plan.users = true;
  plan.queue_options = options.queues;
  runtime::check_queues(plan, topology);
  runtime::enqueue_launch(simulation, std::move(plan));
}

}  // namespace detail

}  // namespace kernbench::torch
