// The host-read barrier: copies from a device to the host, once what produces the storage has completed.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/name_format.h"
#include "base/text.h"
#include "kernbench/error.h"
#include "runtime/context.h"
#include "runtime/devices/simulated_devices.h"
#include "runtime/devices/storage_places.h"
#include "runtime/host_wait.h"
#include "runtime/streams/capture.h"
#include "runtime/streams/polling.h"
#include "sim/fiber.h"
#include "tile/explain/explanation.h"

namespace kernbench::runtime {

using addressing::ShardPiece;

namespace {

/// The same elements in the lowest replica and in another one.
struct ReplicaPair {
  PeCoordinate lowest, other;
  numerics::Value lowest_value, other_value;
};

void check_valid(const SimulatedStorage& storage, const tensor::DeviceBox& box, const numerics::TileView& view,
                 tensor::HostRead why) {
  if (view.all_valid()) return;
  std::int64_t lane = 0;
  while (view.valid(lane)) ++lane;
  const numerics::Source source = view.source(lane);
  const std::string reason = source.operation == nullptr && source.cause == numerics::Cause::never_written
                                 ? "was never written; initialise it"
                                 : "is invalid: " + tile::explanation(source);
  std::vector<std::int64_t> index(box.shape.size());
  for (std::size_t d = index.size(); d-- > 0;) {
    index[d] = box.offset[d] + lane % box.shape[d];
    lane /= box.shape[d];
  }
  throw InvalidValueError(fmt::format("{} read element [{}] of tensor {}, which {}", name(why), fmt::join(index, ", "),
                                      storage.descriptor()->name, reason));
}

/// The elements of one piece, as they are now.
numerics::Value contents_of(Simulation& simulation, const SimulatedStorage& storage, ShardPiece piece,
                            sim::AgentId worker) {
  piece.box_offset = 0;
  piece.box_stride = piece.row_bytes;
  std::vector<hardware::DmaLeg> legs;
  std::vector<numerics::Piece> pieces;
  append_place(simulation, storage, piece, legs, pieces);
  const DType dtype = storage.descriptor()->dtype;
  return numerics::gather(simulation.executor(), simulation.next_host_key(worker), dtype,
                          numerics::Shape{piece.rows * piece.row_bytes / item_size(dtype)}, pieces, std::nullopt,
                          numerics::Cause::outside, numerics::When::asked);
}

/// What is to be compared to find replicas of the box that differ.
std::vector<ReplicaPair> replicas_of(Simulation& simulation, const SimulatedStorage& storage,
                                     const tensor::DeviceBox& box, sim::AgentId worker) {
  std::vector<ReplicaPair> pairs;
  ShardPiece lowest;
  numerics::Value lowest_value;
  // Replicas of one piece follow each other, the lowest coordinate first.
  for (const ShardPiece& piece : addressing::locate_all_copies(*storage.descriptor(), box.offset, box.shape)) {
    const auto value = contents_of(simulation, storage, piece, worker);
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
                    tensor::HostRead why) {
  for (const auto& pair : pairs) {
    if (!pair.other_value.has_data() || !pair.lowest_value.has_data()) continue;
    const auto other = numerics::view(simulation.executor(), pair.other_value);
    const auto lowest = numerics::view(simulation.executor(), pair.lowest_value);
    if (other.all_valid() && std::ranges::equal(other.bytes, lowest.bytes)) continue;
    throw ProgramError("ReplicaMismatchError",
                       fmt::format("{} read tensor {}, whose replicas differ: the copies on {} and on {} hold other "
                                   "values; write all replicas alike, or place the tensor with a policy that splits it",
                                   name(why), storage.descriptor()->name, to_text(pair.lowest), to_text(pair.other)));
  }
}

/// What a cancelled worker gets that reads while it unwinds, which waits for nothing: zeros.
std::vector<tensor::HostBytes> unread(const SimulatedStorage& storage, std::span<const tensor::DeviceBox> boxes) {
  std::vector<tensor::HostBytes> contents;
  for (const tensor::DeviceBox& box : boxes) {
    contents.push_back(tensor::HostBytes::zeros(box.numel() * item_size(storage.descriptor()->dtype)));
  }
  return contents;
}

bool replicated(const addressing::TensorDescriptor& descriptor) {
  std::int64_t held = 0;
  for (const auto& shard : descriptor.shards) {
    std::int64_t elements = 1;
    for (const auto extent : shard.shape) elements *= extent;
    held += elements;
  }
  return held > descriptor.numel();
}

/// An interval of the calling worker, for the timeline.
class TracedRead {
 public:
  TracedRead(Simulation& simulation, const char* call, std::string subject)
      : simulation_(simulation), call_(call), subject_(std::move(subject)), start_(simulation.scheduler().now()) {}
  ~TracedRead() {
    const sim::Fiber* fiber = sim::this_fiber::current();
    if (simulation_.trace() == nullptr || fiber == nullptr) return;
    simulation_.trace()->host_call(fiber->name(), call_, subject_, sim::place_text(fiber->call().where), start_,
                                   simulation_.scheduler().now());
  }
  TracedRead(const TracedRead&) = delete;
  TracedRead& operator=(const TracedRead&) = delete;

 private:
  Simulation& simulation_;
  const char* call_;
  std::string subject_;
  Time start_;
};

}  // namespace

std::optional<std::vector<tensor::HostBytes>> SimulatedDevices::try_read(
    const std::shared_ptr<tensor::DeviceStorage>& storage, std::span<const tensor::DeviceBox> boxes,
    tensor::HostRead why) {
  const auto mine = own(storage);
  const TracedRead traced(simulation_, name(why), mine->descriptor()->name);
  HostContext& context = current_context(name(why));
  if (context.capture) {
    refuse_while_capturing(context, fmt::format("{} of tensor {}", name(why), mine->descriptor()->name),
                           "nothing runs before the replay, so there is nothing to read; read after the replay");
  }
  note_read(context, *mine, boxes, why);
  host_wait(context, WaitFor::device, [&] { mine->wait_for_producers(); });
  auto transfer = locate(simulation_, *mine, boxes, Replicas::lowest);
  const auto parts = std::make_shared<std::vector<BoxTransfer>>(std::move(transfer.boxes));
  const auto replicas = std::make_shared<std::vector<std::vector<ReplicaPair>>>(boxes.size());
  sim::this_fiber::sleep(simulation_.topology().host.launch_overhead);
  if (!transfer.legs.empty()) {
    auto done = std::make_shared<sim::Completion>();
    done->describe_as([text = "copy from " + mine->descriptor()->name] { return text; });
    hardware::CopyRequest request;
    request.sip = SipId{mine->device()};
    request.to_device = false;
    request.legs = std::move(transfer.legs);
    const Worker& worker = current_context(name(why)).worker;
    request.owner = worker.owner();
    request.effect = [&simulation = simulation_, mine, parts, replicas, agent = worker.agent,
                      all = std::vector<tensor::DeviceBox>(boxes.begin(), boxes.end())] {
      if (!simulation.options().data) return;
      const bool compare = replicated(*mine->descriptor());
      for (std::size_t i = 0; i < all.size(); ++i) {
        auto& part = (*parts)[i];
        // Many ranks may read at one time, and look at what they have read one after the other.
        part.value = numerics::gather(simulation.executor(), simulation.next_host_key(agent), mine->descriptor()->dtype,
                                      numerics::Shape{part.elements}, part.pieces, std::nullopt,
                                      numerics::Cause::outside, numerics::When::asked);
        if (compare) (*replicas)[i] = replicas_of(simulation, *mine, all[i], agent);
      }
    };
    const CopyUnderWay copy = simulation_.begin_copy("from", mine->device(), sim::this_fiber::current()->call().where,
                                                     bytes_of(request.legs));
    request.completed = [&simulation = simulation_, done, copy, work = current_work()] {
      simulation.log().add_time(simulation.scheduler().now());
      simulation.end_copy(copy);
      done->set();
    };
    simulation_.machine().copy(std::move(request));
    host_wait(context, WaitFor::device, [&] { done->wait(); });
    if (!done->is_set()) return unread(*mine, boxes);
  }
  if (!data_enabled()) return std::nullopt;
  std::vector<tensor::HostBytes> contents;
  for (std::size_t i = 0; i < parts->size(); ++i) {
    const BoxTransfer& part = (*parts)[i];
    if (part.elements == 0 || !part.value.has_data()) {
      contents.emplace_back();
      continue;
    }
    const auto view = numerics::view(simulation_.executor(), part.value);
    check_valid(*mine, boxes[i], view, why);
    check_replicas(simulation_, *mine, (*replicas)[i], why);
    contents.push_back(numerics::take_bytes(part.value));
  }
  return contents;
}

}  // namespace kernbench::runtime
