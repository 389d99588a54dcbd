// Copies from device to device: commands of the source's current stream, which the destination's waits for.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "addressing/interleaved_places.h"
#include "addressing/shard_pairs.h"
#include "base/name_format.h"
#include "runtime/context.h"
#include "runtime/devices/simulated_devices.h"
#include "runtime/devices/storage_places.h"
#include "runtime/streams/capture.h"
#include "runtime/streams/polling.h"
#include "sim/fiber.h"

namespace kernbench::runtime {

namespace {

struct BoxPair {
  const tensor::DeviceBox& source;
  const tensor::DeviceBox& destination;
};

/// Adds what one shard has of a box to the ranges of a leg.
void append_ranges(Simulation& simulation, const addressing::TensorDescriptor& tensor, std::uint32_t shard,
                   std::span<const std::int64_t> offset, std::span<const std::int64_t> shape,
                   std::vector<hardware::StridedRange>& ranges) {
  for (const auto& piece : addressing::locate_in_shard(tensor, shard, offset, shape)) {
    const auto target =
        simulation.environment().addresses.translate(piece.slice, piece.va, Bytes(addressing::span_bytes(piece)));
    ranges.push_back({target.address, piece.rows, Bytes(piece.row_bytes), piece.stride});
  }
}

/// Bytes of a box that follow each other in one slice.
struct Run {
  std::int64_t box_offset = 0, bytes = 0;
  SliceAddress at;
};

/// What one stored box has of a box, in the order of the latter.
std::vector<Run> runs_of(Simulation& simulation, const addressing::TensorDescriptor& tensor, std::uint32_t shard,
                         std::span<const std::int64_t> offset, std::span<const std::int64_t> shape) {
  std::vector<Run> runs;
  for (const auto& piece : addressing::locate_in_shard(tensor, shard, offset, shape)) {
    const auto target =
        simulation.environment().addresses.translate(piece.slice, piece.va, Bytes(addressing::span_bytes(piece)));
    for_each_place(piece, target, [&](const addressing::ShardPiece& part, const addressing::Translation& place) {
      for (std::int64_t row = 0; row < part.rows; ++row) {
        const auto distance = static_cast<std::uint64_t>(row * part.stride);
        runs.push_back(
            {part.box_offset + row * part.box_stride, part.row_bytes, {place.slice, place.address + distance}});
      }
    });
  }
  std::ranges::sort(runs, {}, &Run::box_offset);
  return runs;
}

using Legs = std::map<std::pair<PeCoordinate, PeCoordinate>, hardware::PeerLeg>;

hardware::PeerLeg& leg_between(Legs& legs, PeCoordinate source, PeCoordinate destination) {
  auto& leg = legs[{source, destination}];
  leg.source = source;
  leg.destination = destination;
  return leg;
}

/// Where one side is interleaved: cut where either side goes on in another slice.
void append_cut(const std::vector<Run>& from, const std::vector<Run>& to, Legs& legs) {
  std::size_t source = 0, destination = 0;
  std::int64_t sent = 0, received = 0;  // of the two runs
  while (source < from.size() && destination < to.size()) {
    const Run &out = from[source], &in = to[destination];
    const std::int64_t bytes = std::min(out.bytes - sent, in.bytes - received);
    auto& leg = leg_between(legs, out.at.slice, in.at.slice);
    leg.from.push_back({out.at.address + static_cast<std::uint64_t>(sent), 1, Bytes(bytes), 0});
    leg.to.push_back({in.at.address + static_cast<std::uint64_t>(received), 1, Bytes(bytes), 0});
    sent += bytes;
    received += bytes;
    if (sent == out.bytes) ++source, sent = 0;
    if (received == in.bytes) ++destination, received = 0;
  }
}

/// All that goes from one slice to another is one leg.
std::vector<hardware::PeerLeg> legs_between(Simulation& simulation, const addressing::TensorDescriptor& source,
                                            const addressing::TensorDescriptor& destination,
                                            const std::vector<BoxPair>& boxes) {
  Legs legs;
  const bool cut = source.is_interleaved() || destination.is_interleaved();
  for (const auto& [from, to] : boxes) {
    for (const auto& pair : addressing::pair_shards(source, from.offset, destination, to.offset, to.shape)) {
      if (cut) {
        append_cut(runs_of(simulation, source, pair.source, pair.source_offset, pair.shape),
                   runs_of(simulation, destination, pair.destination, pair.destination_offset, pair.shape), legs);
        continue;
      }
      auto& leg = leg_between(legs, source.shards[pair.source].owner, destination.shards[pair.destination].owner);
      append_ranges(simulation, source, pair.source, pair.source_offset, pair.shape, leg.from);
      append_ranges(simulation, destination, pair.destination, pair.destination_offset, pair.shape, leg.to);
    }
  }
  std::vector<hardware::PeerLeg> all;
  for (auto& [slices, leg] : legs) all.push_back(std::move(leg));
  return all;
}

/// The values of a copy under way: where they are read, and where they are written.
struct Movement {
  std::vector<BoxTransfer> from, to;
  sim::AgentId worker = {};  // who gave the copy
  sim::ProgramCall call = {};
};

void read_values(Simulation& simulation, DType dtype, Movement& movement) {
  if (!simulation.options().data) return;
  const numerics::SourceScope here(simulation.executor().sources(),
                                   {.operation = movement.call.name, .where = movement.call.where});
  for (BoxTransfer& box : movement.from) {
    box.value = numerics::gather(simulation.executor(), simulation.next_host_key(movement.worker), dtype,
                                 numerics::Shape{box.elements}, box.pieces);
  }
}

void write_values(Simulation& simulation, const Movement& movement) {
  if (!simulation.options().data) return;
  for (std::size_t i = 0; i < movement.to.size(); ++i) {
    numerics::scatter(simulation.executor(), simulation.next_host_key(movement.worker), movement.from[i].value,
                      movement.to[i].pieces);
  }
}

}  // namespace

void SimulatedDevices::copy_on_device(const std::shared_ptr<tensor::DeviceStorage>& destination,
                                      std::span<const tensor::DeviceBox> destination_boxes,
                                      const std::shared_ptr<tensor::DeviceStorage>& source,
                                      std::span<const tensor::DeviceBox> source_boxes) {
  const auto to = own(destination), from = own(source);
  if (to->device() == from->device()) {
    return tensor::DeviceBackend::copy_on_device(destination, destination_boxes, source, source_boxes);
  }
  if (HostContext& context = current_context("copy_"); context.capture) {
    refuse_while_capturing(
        context, fmt::format("copy of tensor {} to tensor {}", from->descriptor()->name, to->descriptor()->name),
        "a graph has launches of one device, and no copies between devices; copy before the capture or after the "
        "replay");
  }
  std::vector<BoxPair> boxes;
  for (std::size_t i = 0; i < source_boxes.size(); ++i) boxes.push_back({source_boxes[i], destination_boxes[i]});
  auto legs = legs_between(simulation_, *from->descriptor(), *to->descriptor(), boxes);
  if (legs.empty()) return;
  const auto movement = std::make_shared<Movement>();
  movement->from = locate(simulation_, *from, source_boxes, Replicas::lowest).boxes;
  movement->to = locate(simulation_, *to, destination_boxes, Replicas::all).boxes;
  note_work(current_context("copy_"));
  sim::this_fiber::sleep(simulation_.topology().host.launch_overhead);

  const Worker& worker = current_context("copy_").worker;
  movement->worker = worker.agent;
  movement->call = sim::this_fiber::current()->call();
  auto begin = [&simulation = simulation_, from, to, movement, legs = std::move(legs),
                owner = worker.owner()](Stream::Done done) mutable {
    const CopyUnderWay copy = simulation.begin_copy("between", from->device(), movement->call.where, bytes_of(legs));
    simulation.activity.begin_copy(to->device(), given_by_now(), copy.start);
    hardware::PeerCopyRequest request;
    request.owner = owner;
    request.source = SipId{from->device()};
    request.legs = std::move(legs);
    request.read = [&simulation, from, movement] { read_values(simulation, from->descriptor()->dtype, *movement); };
    request.written = [&simulation, to, movement] { write_values(simulation, *movement); };
    request.completed = [&simulation, to, copy, done = std::move(done)] {
      simulation.log().add_time(simulation.scheduler().now());
      simulation.end_copy(copy);
      simulation.activity.end_copy(to->device(), simulation.scheduler().now());
      done();
    };
    simulation.machine().copy(std::move(request));
    return std::shared_ptr<const sim::WaitNode>();
  };
  // As PyTorch does it: behind the earlier work of both streams, and before the later work of both.
  Stream& sender = current_stream("copy_", from->device());
  Stream& receiver = current_stream("copy_", to->device());
  if (auto earlier = receiver.last()) sender.enqueue_wait(std::move(earlier));
  auto copied = sender.enqueue("copy " + from->descriptor()->name + " to " + to->descriptor()->name, std::move(begin));
  receiver.enqueue_wait(copied);
  to->add_producer(std::move(copied));
}

}  // namespace kernbench::runtime
