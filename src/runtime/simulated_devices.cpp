#include "runtime/simulated_devices.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "data/memory.h"
#include "event/fiber.h"
#include "kernel/access.h"
#include "kernel/library/fill.h"
#include "kernel/locate.h"
#include "runtime/context.h"
#include "runtime/launches.h"

namespace kernbench::runtime {

using kernel::ShardPiece;

void check_device(const Simulation& simulation, int device) {
  const int count = simulation.topology().system.sips;
  if (device >= 0 && device < count) return;
  throw ValueError(fmt::format("The device index is out of range. It must be in [0, {}), but got {}", count, device));
}

SimulatedStorage::SimulatedStorage(std::shared_ptr<const DeviceAllocation> allocation, int device,
                                   const std::shared_ptr<StorageRegistry>& registry)
    : allocation_(std::move(allocation)), descriptor_(allocation_->descriptor()), device_(device), registry_(registry) {
  registry->live.insert(this);
}

SimulatedStorage::~SimulatedStorage() {
  if (const auto registry = registry_.lock()) registry->live.erase(this);
}

void SimulatedStorage::add_producer(CompletionRef writer) {
  std::erase_if(producers_, [](const CompletionRef& earlier) { return earlier->is_set(); });
  if (!writer->is_set()) producers_.push_back(std::move(writer));
}

void SimulatedStorage::wait_for_producers() {
  const auto producers = producers_;
  for (const auto& producer : producers) producer->wait();
}

SimulatedDevices::~SimulatedDevices() {
  for (SimulatedStorage* storage : registry_->live) storage->detach();
}

SimulatedStorageRef SimulatedDevices::own(const std::shared_ptr<DeviceStorage>& storage) const {
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

std::shared_ptr<DeviceStorage> SimulatedDevices::allocate(std::string name, std::span<const std::int64_t> sizes,
                                                          DType dtype, int device, const DPPolicy& policy) {
  check_device(simulation_, device);
  if (!device_supports(dtype)) {
    throw ValueError("devices have no double-precision lanes: use f32, f16 or bf16 (for example .to(torch::kFloat))");
  }
  if (name.empty()) name = simulation_.unique_name("tensor");
  auto allocation = simulation_.memory().allocate(SipId{device}, std::move(name), dtype, sizes, policy);
  return std::make_shared<SimulatedStorage>(std::move(allocation), device, registry_);
}

namespace {

void append(Simulation& simulation, const SimulatedStorage& storage, const std::vector<ShardPiece>& located,
            std::vector<hardware::DmaLeg>& legs, std::vector<data::Piece>& pieces) {
  const std::int64_t item = item_size(storage.descriptor()->dtype);
  for (const ShardPiece& piece : located) {
    const auto target = simulation.environment().addresses.translate(piece.slice, piece.va, Bytes(span_bytes(piece)));
    kernel::append_leg(legs, piece, target);
    pieces.push_back(kernel::data_piece(simulation.environment(), piece, target, item));
  }
}

/// The same elements in the lowest replica and in another one.
struct ReplicaPair {
  PeCoordinate lowest, other;
  data::Value lowest_value, other_value;
};

/// Bytes of `box` on its way from or to the device.
struct BoxTransfer {
  std::int64_t elements = 0;
  std::vector<data::Piece> pieces;
  data::Value value;
  std::vector<ReplicaPair> replicas;
};

std::vector<hardware::DmaLeg> locate(Simulation& simulation, const SimulatedStorage& storage,
                                     std::span<const DeviceBox> boxes, bool all_copies,
                                     std::vector<BoxTransfer>& transfers) {
  std::vector<hardware::DmaLeg> legs;
  for (const DeviceBox& box : boxes) {
    const auto located = all_copies ? kernel::locate_all_copies(*storage.descriptor(), box.offset, box.shape)
                                    : kernel::locate_box(*storage.descriptor(), box.offset, box.shape);
    transfers.push_back({box.numel(), {}, {}, {}});
    append(simulation, storage, located, legs, transfers.back().pieces);
  }
  return legs;
}

void check_valid(const SimulatedStorage& storage, const DeviceBox& box, const data::TileView& view, HostRead why) {
  if (view.all_valid()) return;
  std::int64_t lane = 0;
  while (view.valid(lane)) ++lane;
  std::vector<std::int64_t> index(box.shape.size());
  for (std::size_t d = index.size(); d-- > 0;) {
    index[d] = box.offset[d] + lane % box.shape[d];
    lane /= box.shape[d];
  }
  throw InvalidValueError(
      fmt::format("{} read element [{}] of tensor {}, which was never written, or was written with an invalid value "
                  "(from uninitialised memory, or from lanes outside of a tensor)",
                  name(why), fmt::join(index, ", "), storage.descriptor()->name));
}

/// The contents of one piece, as they are now.
data::Value contents_of(Simulation& simulation, const SimulatedStorage& storage, ShardPiece piece) {
  piece.box_offset = 0;
  piece.box_stride = piece.row_bytes;
  std::vector<hardware::DmaLeg> legs;
  std::vector<data::Piece> pieces;
  append(simulation, storage, {piece}, legs, pieces);
  const DType dtype = storage.descriptor()->dtype;
  return data::gather(simulation.executor(), simulation.next_host_key(), dtype,
                      data::Shape{piece.rows * piece.row_bytes / item_size(dtype)}, pieces);
}

/// What is to be compared to find replicas of the box that differ.
std::vector<ReplicaPair> replicas_of(Simulation& simulation, const SimulatedStorage& storage, const DeviceBox& box) {
  std::vector<ReplicaPair> pairs;
  ShardPiece lowest;
  data::Value lowest_value;
  // Replicas of one piece follow each other, the lowest coordinate first.
  for (const ShardPiece& piece : kernel::locate_all_copies(*storage.descriptor(), box.offset, box.shape)) {
    const auto value = contents_of(simulation, storage, piece);
    if (lowest_value.defined() && piece.box_offset == lowest.box_offset) {
      pairs.push_back({lowest.slice, piece.slice, lowest_value, value});
    } else {
      lowest = piece;
      lowest_value = value;
    }
  }
  return pairs;
}

/// Replicas that a kernel has made different have no one value to read.
void check_replicas(Simulation& simulation, const SimulatedStorage& storage, const std::vector<ReplicaPair>& pairs,
                    HostRead why) {
  for (const auto& pair : pairs) {
    const auto other = data::view(simulation.executor(), pair.other_value);
    const auto lowest = data::view(simulation.executor(), pair.lowest_value);
    if (other.all_valid() && std::ranges::equal(other.bytes, lowest.bytes)) continue;
    throw ProgramError("ReplicaMismatchError",
                       fmt::format("{} read tensor {}, whose replicas differ: the copies on {} and on {} hold other "
                                   "values; write all replicas alike, or place the tensor with a policy that splits it",
                                   name(why), storage.descriptor()->name, to_text(pair.lowest), to_text(pair.other)));
  }
}

bool replicated(const kernel::TensorDescriptor& descriptor) {
  std::int64_t held = 0;
  for (const auto& shard : descriptor.shards) {
    std::int64_t elements = 1;
    for (const auto extent : shard.shape) elements *= extent;
    held += elements;
  }
  return held > descriptor.numel();
}

/// An interval of the calling worker, for the timeline.
class HostCall {
 public:
  HostCall(Simulation& simulation, const char* call, std::string subject)
      : simulation_(simulation), call_(call), subject_(std::move(subject)), start_(simulation.scheduler().now()) {}
  ~HostCall() {
    const event::Fiber* fiber = event::this_fiber::current();
    if (simulation_.trace() == nullptr || fiber == nullptr) return;
    simulation_.trace()->host_call(fiber->name(), call_, subject_, start_, simulation_.scheduler().now());
  }
  HostCall(const HostCall&) = delete;
  HostCall& operator=(const HostCall&) = delete;

 private:
  Simulation& simulation_;
  const char* call_;
  std::string subject_;
  Time start_;
};

}  // namespace

void SimulatedDevices::initialise(const std::shared_ptr<DeviceStorage>& storage, const ElementSource& source) {
  const auto& descriptor = *storage->descriptor();
  const DeviceBox whole{std::vector<std::int64_t>(descriptor.shape.size(), 0), descriptor.shape};
  std::vector<HostBytes> contents(1);
  if (data_enabled()) {
    contents[0].resize(static_cast<std::size_t>(descriptor.numel() * item_size(descriptor.dtype)));
    source(0, descriptor.numel(), contents[0].data());
  }
  write(storage, {&whole, 1}, std::move(contents));
}

void SimulatedDevices::fill(const std::shared_ptr<DeviceStorage>& storage, std::span<const DeviceBox> boxes,
                            std::span<const std::byte> element) {
  const auto mine = own(storage);
  const auto& descriptor = mine->descriptor();
  if (descriptor->shards.empty()) return;
  std::vector<tl::Tensor::Box> kernel_boxes;
  for (const DeviceBox& box : boxes) {
    kernel_boxes.push_back({tl::Extents(std::span(box.offset)), tl::Extents(std::span(box.shape))});
  }
  const data::TileView view{descriptor->dtype, {}, element, {}};
  const data::Scalar scalar = view.element(0);
  const bool floating = scalar.kind() == data::Scalar::Kind::floating;
  const tl::Scalar value = floating ? tl::Scalar(scalar.as_double()) : tl::Scalar(scalar.as_integer());
  LaunchPlan plan;
  plan.name = "fill";
  plan.device = mine->device();
  plan.pes = shard_owners({mine});
  plan.written = {mine};
  plan.body = [tensor = tl::Tensor(descriptor), kernel_boxes = std::move(kernel_boxes), value] {
    kernel::library::fill(tensor, kernel_boxes, value);
  };
  enqueue_launch(simulation_, std::move(plan));
}

void SimulatedDevices::write(const std::shared_ptr<DeviceStorage>& storage, std::span<const DeviceBox> boxes,
                             std::vector<HostBytes> contents) {
  const auto mine = own(storage);
  auto transfers = std::make_shared<std::vector<BoxTransfer>>();
  auto legs = locate(simulation_, *mine, boxes, true, *transfers);
  if (legs.empty()) return;
  const DType dtype = mine->descriptor()->dtype;
  if (data_enabled()) {
    for (std::size_t i = 0; i < transfers->size(); ++i) {
      (*transfers)[i].value =
          data::from_bytes(simulation_.executor(), dtype, data::Shape{(*transfers)[i].elements}, contents[i]);
    }
  }
  event::this_fiber::sleep(simulation_.topology().host.launch_overhead);
  auto& simulation = simulation_;
  auto begin = [&simulation, mine, transfers, legs = std::move(legs)](Stream::Done done) mutable {
    hardware::CopyRequest request;
    request.sip = SipId{mine->device()};
    request.to_device = true;
    request.legs = std::move(legs);
    request.effect = [&simulation, transfers] {
      if (!simulation.options().data) return;
      for (const auto& transfer : *transfers) {
        data::scatter(simulation.executor(), simulation.next_host_key(), transfer.value, transfer.pieces);
      }
    };
    request.completed = [&simulation, mine, done = std::move(done)] {
      simulation.log().add_time(simulation.scheduler().now());
      done();
    };
    simulation.machine().copy(std::move(request));
    return std::shared_ptr<const event::WaitNode>();
  };
  mine->add_producer(current_stream("copy to device", mine->device())
                         .enqueue("copy to " + mine->descriptor()->name, std::move(begin)));
}

void SimulatedDevices::synchronize_current_stream(int device) {
  if (const auto last = current_stream("copy_", device).last()) last->wait();
}

std::optional<std::vector<HostBytes>> SimulatedDevices::try_read(const std::shared_ptr<DeviceStorage>& storage,
                                                                 std::span<const DeviceBox> boxes, HostRead why) {
  const auto mine = own(storage);
  const HostCall call(simulation_, name(why), mine->descriptor()->name);
  mine->wait_for_producers();
  auto transfers = std::make_shared<std::vector<BoxTransfer>>();
  auto legs = locate(simulation_, *mine, boxes, false, *transfers);
  event::this_fiber::sleep(simulation_.topology().host.launch_overhead);
  if (!legs.empty()) {
    auto done = std::make_shared<event::Completion>();
    done->describe_as([text = "copy from " + mine->descriptor()->name] { return text; });
    hardware::CopyRequest request;
    request.sip = SipId{mine->device()};
    request.to_device = false;
    request.legs = std::move(legs);
    request.effect = [&simulation = simulation_, mine, transfers,
                      all = std::vector<DeviceBox>(boxes.begin(), boxes.end())] {
      if (!simulation.options().data) return;
      const bool compare = replicated(*mine->descriptor());
      for (std::size_t i = 0; i < all.size(); ++i) {
        auto& transfer = (*transfers)[i];
        transfer.value = data::gather(simulation.executor(), simulation.next_host_key(), mine->descriptor()->dtype,
                                      data::Shape{transfer.elements}, transfer.pieces);
        if (compare) transfer.replicas = replicas_of(simulation, *mine, all[i]);
      }
    };
    request.completed = [&simulation = simulation_, done] {
      simulation.log().add_time(simulation.scheduler().now());
      done->set();
    };
    simulation_.machine().copy(std::move(request));
    done->wait();
  }
  if (!data_enabled()) return std::nullopt;
  std::vector<HostBytes> contents;
  for (std::size_t i = 0; i < transfers->size(); ++i) {
    if ((*transfers)[i].elements == 0) {
      contents.emplace_back();
      continue;
    }
    const auto view = data::view(simulation_.executor(), (*transfers)[i].value);
    check_valid(*mine, boxes[i], view, why);
    check_replicas(simulation_, *mine, (*transfers)[i].replicas, why);
    contents.emplace_back(view.bytes.begin(), view.bytes.end());
  }
  return contents;
}

}  // namespace kernbench::runtime
