#include "runtime/devices/simulated_devices.h"

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <utility>

#include "base/name_format.h"
#include "kernbench/error.h"
#include "runtime/context.h"
#include "runtime/streams/capture.h"
#include "runtime/streams/launches.h"
#include "tile/library/fill.h"

namespace kernbench::runtime {

void check_device(const Simulation& simulation, int device) {
  const int count = simulation.topology().system.sips;
  if (device >= 0 && device < count) return;
  const std::string fix =
      device < 0 ? "" : fmt::format("; more devices: --set system.sips.count={}", std::int64_t{device} + 1);
  throw ValueError(
      fmt::format("The device index is out of range. It must be in [0, {}), but got {}{}", count, device, fix));
}

SimulatedDevices::~SimulatedDevices() {
  for (SimulatedStorage* storage : registry_->live) storage->detach();
}

SimulatedStorageRef SimulatedDevices::own(const std::shared_ptr<tensor::DeviceStorage>& storage) const {
  auto mine = std::dynamic_pointer_cast<SimulatedStorage>(storage);
  if (!mine || !mine->belongs_to(registry_)) {
    throw ValueError(fmt::format("tensor {} belongs to a simulation that has ended; its memory is gone",
                                 storage->descriptor()->name));
  }
  return mine;
}

int SimulatedDevices::device_count() const {
  return simulation_.topology().system.sips;
}
int SimulatedDevices::current_device() const {
  return current_context("current_device").device;
}
bool SimulatedDevices::data_enabled() const {
  return simulation_.options().data;
}

std::shared_ptr<tensor::DeviceStorage> SimulatedDevices::allocate(std::string name, std::span<const std::int64_t> sizes,
                                                                  DType dtype, int device, const DPPolicy& policy) {
  check_device(simulation_, device);
  if (!device_supports(dtype)) {
    throw ValueError("devices have no double-precision lanes: use f32, f16 or bf16 (for example .to(torch::kFloat))");
  }
  HostContext& context = current_context("a device tensor");
  const Worker& worker = context.worker;
  Name known = name.empty() ? simulation_.unique_name("tensor", worker.path) : Name(std::move(name));
  if (!worker.group) simulation_.warn_unbound(known);
  auto allocation = simulation_.memory().allocate(context.part(SipId{device}), std::move(known), dtype, sizes, policy);
  auto storage = std::make_shared<SimulatedStorage>(std::move(allocation), device, registry_);
  if (Capture* capture = capture_on_current_stream(context, device)) capture->keep(storage);
  return storage;
}

void SimulatedDevices::initialise(const std::shared_ptr<tensor::DeviceStorage>& storage,
                                  const tensor::ElementSource& source) {
  const auto& descriptor = *storage->descriptor();
  const tensor::DeviceBox whole{std::vector<std::int64_t>(descriptor.shape.size(), 0), descriptor.shape};
  std::vector<tensor::HostBytes> contents(1);
  if (data_enabled()) {
    contents[0] = tensor::HostBytes(descriptor.numel() * item_size(descriptor.dtype));
    source(0, descriptor.numel(), contents[0].data());
  }
  write(storage, {&whole, 1}, std::move(contents));
}

void SimulatedDevices::fill(const std::shared_ptr<tensor::DeviceStorage>& storage,
                            std::span<const tensor::DeviceBox> boxes, std::span<const std::byte> element) {
  const auto mine = own(storage);
  const auto& descriptor = mine->descriptor();
  if (descriptor->shards.empty()) return;
  std::vector<tl::Tensor::Box> kernel_boxes;
  for (const tensor::DeviceBox& box : boxes) {
    kernel_boxes.push_back({tl::Extents(std::span(box.offset)), tl::Extents(std::span(box.shape))});
  }
  const numerics::TileView view{descriptor->dtype, {}, element, {}};
  const numerics::Scalar scalar = view.element(0);
  const bool floating = scalar.kind() == numerics::Scalar::Kind::floating;
  const tl::Scalar value = floating ? tl::Scalar(scalar.as_double()) : tl::Scalar(scalar.as_integer());
  LaunchPlan plan;
  plan.name = "fill";
  plan.device = mine->device();
  plan.pes = shard_owners({mine});
  plan.written = {mine};
  plan.body = [tensor = tl::Tensor(descriptor), kernel_boxes = std::move(kernel_boxes), value] {
    tile::library::fill(tensor, kernel_boxes, value);
  };
  enqueue_launch(simulation_, std::move(plan));
}

}  // namespace kernbench::runtime
