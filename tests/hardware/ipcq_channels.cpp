#include "ipcq_channels.h"

#include <algorithm>
#include <deque>
#include <functional>
#include <utility>
#include <vector>

#include "base/address.h"

namespace kernbench::hardware {

using topology::Endpoint;

Endpoint memory_of(const Bench& bench, const Channel& channel) {
  const PeCoordinate at = channel.receiver;
  if (channel.parameters.buffer_kind == BufferKind::hbm) return Endpoint::hbm_slice(at);
  if (channel.parameters.buffer_kind == BufferKind::sram) {
    const bool everywhere = bench.topology.cube.sram.ports == topology::SramPorts::every_router;
    return Endpoint::sram({at.sip, at.cube, everywhere ? at.pe : PeId{}});
  }
  return Endpoint::pe_port(channel.receiver);
}

Stage stage_of(const Bench& bench, const Channel& channel) {
  if (channel.parameters.buffer_kind == BufferKind::hbm) return bench.channels(channel.receiver);
  if (channel.parameters.buffer_kind == BufferKind::tcm) return bench.tcm_port(channel.receiver);
  // The SRAMs come after all else, by cube.
  const auto& t = bench.topology;
  const auto servers = static_cast<std::uint32_t>(const_cast<Machine&>(bench.machine).fabric().server_count());
  const auto cubes = static_cast<std::uint32_t>(t.system.sips * t.sip.cubes.count());
  const auto index =
      static_cast<std::uint32_t>(channel.receiver.sip.value * t.sip.cubes.count() + channel.receiver.cube.value);
  return {ServerId{servers - cubes + index}, 1, {}};
}

std::uint64_t address_of(const Bench& bench, const Channel& channel, std::int32_t slot) {
  if (channel.parameters.buffer_kind != BufferKind::hbm) return 0;
  const std::int64_t slice = bench.topology.cube.hbm.capacity.count() / bench.topology.cube.pes.count();
  return channel.slot(slot).decode().offset - static_cast<std::uint64_t>(slice * channel.receiver.pe.value);
}

std::vector<Stage> fill_route(const Bench& bench, const Channel& channel) {
  std::vector<Stage> route{bench.tcm_port(channel.sender)};
  for (const Stage& link : bench.links(Endpoint::pe_port(channel.sender), memory_of(bench, channel)))
    route.push_back(link);
  route.push_back(stage_of(bench, channel));
  return route;
}

namespace {

std::vector<Stage> drain_route(const Bench& bench, const Channel& channel) {
  std::vector<Stage> route;
  if (channel.parameters.buffer_kind != BufferKind::tcm) route.push_back(stage_of(bench, channel));
  for (const Stage& link : bench.links(memory_of(bench, channel), Endpoint::pe_port(channel.receiver)))
    route.push_back(link);
  route.push_back(bench.tcm_port(channel.receiver));
  return route;
}

/// When a queue knows of a credit that comes home at `home`, having waited since `since`.
Time noticed(const Bench& bench, const Channel& channel, Time since, Time home) {
  const topology::IpcqSpec& spec = bench.topology.pe.ipcq;
  if (channel.parameters.backpressure == Backpressure::sleep) return home + spec.wake;
  const std::int64_t interval = spec.poll_interval.count();
  std::int64_t polls = 0;
  while (since + Time::picoseconds(polls * interval) < home) ++polls;
  return since + Time::picoseconds(polls * interval);
}

}  // namespace

Time announced(const Bench& bench, const Channel& channel, Bytes bytes, Time start, Time departed) {
  const auto payload = bench.network.route(Endpoint::pe_port(channel.sender), memory_of(bench, channel));
  const auto header = bench.network.route(Endpoint::pe_port(channel.sender), Endpoint::pe_port(channel.receiver));
  Time head = start + ps(1);  // of the payload, behind the port
  Time ready = departed, tail;
  for (std::size_t i = 0; i < header.size(); ++i) {
    const topology::LinkSpec& link = bench.network.link(header[i].link).spec;
    Time begin = ready;
    if (i < payload.size() && payload[i] == header[i])
      begin = std::max(begin, head + transfer_time(bytes, link.bandwidth));
    const Time end = begin + transfer_time(bench.topology.cube.noc.header, link.bandwidth);
    tail = std::max(end, tail) + link.latency;
    ready = begin + link.latency;
    head += link.latency;
  }
  return tail;
}

Channel channel(const topology::Topology& topology, PeCoordinate sender, PeCoordinate receiver,
                const QueueParameters& parameters, std::int32_t send_entry, std::int32_t receive_entry,
                std::uint64_t offset) {
  Channel made{sender, receiver, send_entry, receive_entry, {}, 1, parameters};
  const Bytes slice(topology.cube.hbm.capacity.count() / topology.cube.pes.count());
  switch (parameters.buffer_kind) {
    case BufferKind::hbm:
      made.slots = hbm_slice_address(receiver, slice, offset);
      break;
    case BufferKind::sram:
      made.slots = PhysAddr::encode(
          {.sip = receiver.sip, .cube = receiver.cube, .space = AddressSpace::sram, .pe = {}, .offset = offset});
      break;
    case BufferKind::tcm:
      made.slots = PhysAddr::encode({.sip = receiver.sip,
                                     .cube = receiver.cube,
                                     .space = AddressSpace::ipcq,
                                     .pe = receiver.pe,
                                     .offset = offset});
      break;
  }
  return made;
}

std::vector<SegmentTimes> one_slot_law(const Bench& bench, const Channel& channel, std::int64_t segments, Time start) {
  const QueueParameters& parameters = channel.parameters;
  const StridedRange range{address_of(bench, channel, 0), 1, parameters.slot_size, 0};
  const Endpoint sender = Endpoint::pe_port(channel.sender), receiver = Endpoint::pe_port(channel.receiver);
  std::vector<SegmentTimes> times;
  for (std::int64_t i = 0; i < segments; ++i) {
    SegmentTimes t;
    t.started = i == 0 ? start : noticed(bench, channel, times.back().departed, times.back().credit_home);
    const TransferTimes payload = bench.transfer_times(fill_route(bench, channel), {range}, t.started);
    t.departed = payload.departed;
    const Time header = announced(bench, channel, parameters.slot_size, t.started, t.departed);
    t.arrived = std::max(payload.delivered, header) + bench.topology.pe.ipcq.meta_latency;
    Time begin = t.arrived;
    if (parameters.buffer_kind == BufferKind::sram) begin += bench.message_time(receiver, memory_of(bench, channel));
    t.drained = bench.transfer_times(drain_route(bench, channel), {range}, begin).delivered;
    t.credit_home = t.drained + bench.message_time(receiver, sender, parameters.ipcq_credit_size_bytes);
    times.push_back(t);
  }
  return times;
}

namespace {

/// One message by the law, as a handful of callbacks.
class Law {
 public:
  Law(const topology::Topology& topology, const Channel& channel, Bytes message)
      : bench_(topology), channel_(channel), left_to_send_(message), message_(message) {
    for (std::int32_t slot = 0; slot < channel.parameters.n_slots; ++slot) free_.push_back(slot);
  }

  SendReceiveTimes run(Time send, Time receive) {
    at(send, [this] { next_segment(); });
    at(receive, [this] {
      receiving_ = true;
      drain();
    });
    bench_.scheduler.run();
    return times_;
  }

 private:
  struct Segment {
    std::int32_t slot;
    Bytes bytes;
    int parts = 0;  // of payload and announcement that are there
    bool arrived = false;
  };

  Time now() const { return bench_.scheduler.now(); }

  sim::Callback later(std::function<void()> what) {
    actions_.push_back(std::move(what));
    return {[](void* self, std::uint64_t index) { static_cast<Law*>(self)->actions_[index](); }, this,
            actions_.size() - 1};
  }
  void at(Time when, std::function<void()> what) {
    if (when == now()) return what();
    bench_.scheduler.schedule(when, sim::Phase::deliver, {1}, steps_++, later(std::move(what)));
  }
  void transfer(std::uint32_t agent, std::vector<Stage> route, const StridedRange& range, Bytes burst,
                std::function<void()> departed, std::function<void()> delivered) {
    TransferRequest request;
    request.agent = {agent};
    request.operation = transfers_++;
    request.route = routes_.emplace_back(std::move(route));
    request.ranges = Ranges(range);
    request.burst = burst;
    request.granule = bench_.topology.cube.hbm.interleave;
    if (departed) request.departed = later(std::move(departed));
    if (delivered) request.delivered = later(std::move(delivered));
    bench_.machine.fabric().start(request);
  }
  void message(std::uint32_t agent, Endpoint from, Endpoint to, VirtualNetwork network, Bytes bytes,
               std::function<void()> delivered) {
    auto route = bench_.links(from, to);
    for (Stage& stage : route) stage.traffic.network = network;
    transfer(agent, std::move(route), {0, 1, bytes, 0}, bytes, {}, std::move(delivered));
  }
  Bytes chunk() const { return channel_.parameters.vc_chunk_size; }

  void next_segment() {
    if (free_.empty()) {
      waiting_ = true;
      since_ = now();
      return;
    }
    const std::int32_t slot = free_.front();
    free_.pop_front();
    const std::size_t index = segments_.size();
    segments_.push_back({slot, std::min(channel_.parameters.slot_size, left_to_send_)});
    left_to_send_ = left_to_send_ - segments_[index].bytes;
    transfer(
        kSender, fill_route(bench_, channel_), {address_of(bench_, channel_, slot), 1, segments_[index].bytes, 0},
        chunk(), [this, index] { departed(index); }, [this, index] { part(index); });
  }
  void departed(std::size_t index) {
    message(kSender, Endpoint::pe_port(channel_.sender), Endpoint::pe_port(channel_.receiver), VirtualNetwork::request,
            bench_.topology.cube.noc.header, [this, index] { part(index); });
    if (left_to_send_ > Bytes(0)) return next_segment();
    times_.sent = now();
  }
  void part(std::size_t index) {
    ++segments_[index].parts;
    for (; counted_ < segments_.size() && segments_[counted_].parts == 2; ++counted_) {
      at(now() + bench_.topology.pe.ipcq.meta_latency, [this, segment = counted_] {
        segments_[segment].arrived = true;
        drain();
      });
    }
  }
  void drain() {
    if (!receiving_ || draining_ || drained_ == segments_.size() || !segments_[drained_].arrived) return;
    draining_ = true;
    const std::size_t index = drained_++;
    const auto start = [this, index] {
      auto route = drain_route(bench_, channel_);
      for (Stage& stage : route) stage.traffic.network = VirtualNetwork::response;
      transfer(
          kReceiver, std::move(route),
          {address_of(bench_, channel_, segments_[index].slot), 1, segments_[index].bytes, 0}, chunk(),
          [this] {
            draining_ = false;
            drain();
          },
          [this, index] { drained(index); });
    };
    if (channel_.parameters.buffer_kind != BufferKind::sram) return start();
    message(kReceiver, Endpoint::pe_port(channel_.receiver), memory_of(bench_, channel_), VirtualNetwork::request,
            bench_.topology.cube.noc.header, start);
  }
  void drained(std::size_t index) {
    received_ = received_ + segments_[index].bytes;
    if (received_ == message_) times_.received = now();
    message(kReceiver, Endpoint::pe_port(channel_.receiver), Endpoint::pe_port(channel_.sender),
            VirtualNetwork::response, channel_.parameters.ipcq_credit_size_bytes, [this, index] {
              free_.push_back(segments_[index].slot);
              if (!std::exchange(waiting_, false)) return;
              at(noticed(bench_, channel_, since_, now()), [this] { next_segment(); });
            });
  }

  static constexpr std::uint32_t kSender = 2, kReceiver = 3;
  Bench bench_;
  Channel channel_;
  Bytes left_to_send_, message_, received_;
  std::deque<std::int32_t> free_;
  std::vector<Segment> segments_;
  std::deque<std::function<void()>> actions_;
  std::deque<std::vector<Stage>> routes_;  // of its transfers
  std::uint64_t steps_ = 0, transfers_ = 0;
  std::size_t counted_ = 0, drained_ = 0;
  bool waiting_ = false, receiving_ = false, draining_ = false;
  Time since_;
  SendReceiveTimes times_;
};

}  // namespace

SendReceiveTimes message_law(const topology::Topology& topology, const Channel& channel, Bytes message, Time send,
                             Time receive) {
  return Law(topology, channel, message).run(send, receive);
}

}  // namespace kernbench::hardware
