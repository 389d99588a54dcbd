// torch::launch.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
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

namespace {

/// The PEs that the options name, in their order.
std::vector<PeCoordinate> named_pes(const std::string& name, const LaunchOptions& options, int device,
                                    const topology::Topology& topology) {
  std::vector<PeCoordinate> pes;
  for (const auto& [cube, pe] : options.pes) {
    if (cube.value < 0 || cube.value >= topology.sip.cubes.count() || pe.value < 0 ||
        pe.value >= topology.cube.pes.count()) {
      throw ValueError(fmt::format("torch::launch: cube {}, PE {} does not exist; {} has {} cubes of {} PEs",
                                   cube.value, pe.value, topology.name, topology.sip.cubes.count(),
                                   topology.cube.pes.count()));
    }
    pes.push_back({SipId{device}, cube, pe});
  }
  std::sort(pes.begin(), pes.end());
  if (const auto twice = std::adjacent_find(pes.begin(), pes.end()); twice != pes.end()) {
    throw ValueError(
        fmt::format("torch::launch: {} names {} twice in pes; name each PE once, and give a grid for more "
                    "programs than PEs",
                    name, to_text(*twice)));
  }
  return pes;
}

std::optional<tile::ProgramGrid> grid_of(const LaunchOptions& options, const std::string& kernel) {
  constexpr std::int64_t kMost = std::int64_t{1} << 31;  // CUDA's and Triton's limit of axis 0, here of the product
  if (options.grid.empty()) return std::nullopt;
  if (options.grid.size() > 3) {
    throw ValueError(fmt::format("torch::launch: the grid of {} has {} axes; a launch has one to three", kernel,
                                 options.grid.size()));
  }
  tile::ProgramGrid grid;
  std::int64_t programs = 1;
  for (std::size_t axis = 0; axis < options.grid.size(); ++axis) {
    const std::int64_t extent = options.grid[axis];
    if (extent < 0) {
      throw ValueError(fmt::format(
          "torch::launch: the grid of {} has {} programs along axis {}; an extent is 0 or more", kernel, extent, axis));
    }
    grid.extents[axis] = extent;
    if (programs > 0 && extent >= kMost / programs) {
      throw ValueError(
          fmt::format("torch::launch: the grid ({}) of {} has too many programs; at most 2^31 - 1 are valid: "
                      "let each do more work",
                      fmt::join(options.grid, ", "), kernel));
    }
    programs *= extent;
  }
  return grid;
}

/// Channels lead from PE to PE, and all programs must be there at once.
void check_resident(const runtime::LaunchPlan& plan, const QueueOptions& queues) {
  const auto pes = static_cast<std::int64_t>(plan.pes.size());
  if (!plan.grid || plan.grid->count() <= pes || !runtime::wants_queues(queues)) return;
  throw ValueError(
      fmt::format("torch::launch: {} has channels among its programs, but its grid has {} programs for {} PEs: a "
                  "program that waits "
                  "for one that starts later would wait for ever; use at most one program for each PE",
                  plan.name, plan.grid->count(), pes));
}

}  // namespace

void LaunchBuilder::enqueue(std::function<void()> body, const LaunchOptions& options) {
  auto& simulation = state_->context.simulation;
  auto& plan = state_->plan;
  if (!state_->has_device) plan.device = state_->context.device;
  const auto& topology = simulation.topology();
  if (options.all_pes && !options.pes.empty()) {
    throw ValueError(fmt::format("torch::launch: {} has both all_pes and pes; give one of them", plan.name));
  }
  plan.grid = grid_of(options, plan.name);
  plan.pes = named_pes(plan.name, options, plan.device, topology);
  if (options.all_pes || (plan.grid && plan.pes.empty())) {
    plan.pes = state_->context.part(SipId{plan.device}).pes(topology);
  }
  if (plan.pes.empty()) plan.pes = runtime::shard_owners(state_->all);
  if (plan.pes.empty()) {
    throw ValueError(
        fmt::format("torch::launch: {} has nowhere to run: no tensor argument has elements on a PE; name "
                    "the PEs in LaunchOptions, or set all_pes",
                    plan.name));
  }
  if (plan.grid) {
    if (plan.grid->count() == 0) return;
    const auto programs = static_cast<std::size_t>(plan.grid->count());
    if (programs < plan.pes.size()) plan.pes.resize(programs);
    check_resident(plan, options.queues);
  }
  plan.body = std::move(body);
  plan.users = true;
  plan.queue_options = options.queues;
  runtime::check_queues(plan, topology);
  runtime::enqueue_launch(simulation, std::move(plan));
}

}  // namespace detail

}  // namespace kernbench::torch
