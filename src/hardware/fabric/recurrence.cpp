#include "hardware/fabric/recurrence.h"

#include <algorithm>
#include <cassert>

namespace kernbench::hardware::fabric {

void Recurrence::reset(const TransferRequest& request) {
  assert(!request.route.empty());
  request_ = &request;
  first_channel_.clear();
  std::size_t channels = 0;
  for (const Stage& stage : request.route) {
    first_channel_.push_back(channels);
    channels += stage.group;
  }
  first_channel_of_ = ChannelSelector(request.granule, request.route.front().group);
  last_channel_of_ = ChannelSelector(request.granule, request.route.back().group);
  if (lanes_.size() < request.route.size()) lanes_.resize(request.route.size());
  if (channels_.size() < channels) channels_.resize(channels);
}

void Recurrence::load_idle(std::size_t stage, std::span<const ServerSpec> servers) {
  const ServerSpec& spec = servers[0];
  Lane& lane = lanes_[stage];
  lane.service = ServiceTime(spec.bandwidth, spec.packets);
  lane.latency = forwarding_latency(spec);
  lane.memory = servers.size() > 1 || spec.minimum > Bytes(0);
  lane.free_at = lane.last_start = lane.first = lane.first_held = Time();
  lane.waits = RoomWaits();
  lane.last_bytes = Bytes(0);
  lane.work = ServerCounters{};
  lane.bursts = 0;
  Bytes buffer;
  for (std::size_t i = 0; i < servers.size(); ++i) {
    buffer += servers[i].buffer;
    channels_[first_channel_[stage] + i] = Channel(servers[i]);
  }
  lane.room.reset(buffer);
}

Recurrence::Service Recurrence::serve(std::size_t stage, std::int64_t bytes, Time begin) {
  Lane& lane = lanes_[stage];
  if (!lane.memory) {
    const Time service = lane.service.of(Bytes(bytes));
    lane.free_at = begin + service;
    lane.last_bytes = Bytes(bytes);
    lane.work.busy += service;
    lane.work.bytes += Bytes(bytes);
    ++lane.work.bursts;
    return {begin, lane.free_at};
  }
  const MemoryService service = serve_memory(stage, bytes, begin);
  lane.free_at = takes_next(channels(stage), begin);
  return {service.head, service.end};
}

MemoryService Recurrence::serve_memory(std::size_t stage, std::int64_t bytes, Time begin) {
  const std::span<Channel> of_stage = channels(stage);
  const bool at_first = stage == 0, at_last = !at_first && stage + 1 == stages();
  if (at_first && accesses_.size() == 1) {
    const std::optional<std::uint32_t> only = first_channel_of_.only_one(accesses_.front());
    if (only) return occupy(of_stage[*only], accesses_.front(), begin);
  }
  load_.reset(of_stage.size());
  if (!at_first && !at_last) {
    load_.add(0, bytes, of_stage[0].minimum.count(), 1);
  } else if (at_first) {
    for (const Accesses& accesses : accesses_) load_.add(accesses, accesses.address, first_channel_of_, of_stage);
  } else {
    last_.next([&](const Accesses& accesses) { load_.add(accesses, accesses.landing, last_channel_of_, of_stage); });
  }
  return occupy(of_stage, load_, begin, [](std::size_t, Time, Time, Bytes) {});
}

void Recurrence::run(Time start, Time until) {
  const std::size_t count = stages();
  first_ = last_ = BurstCursor(*request_);
  departed_ = delivered_ = start;
  started_first_ = started_last_ = 0;
  waiting_.clear();

  const bool partial = until != Time::max();
  BurstCursor before;         // at the burst that is to start
  std::size_t limit = count;  // the burst before waits at this stage, so that this one cannot start there or later
  while (limit > 0) {
    if (partial) before = first_;
    const std::int64_t bytes = first_.next_into(accesses_);
    if (bytes == 0) return;
    Time ready = start;
    Time complete = start;
    Lane* previous = nullptr;
    std::size_t stage = 0;
    for (; stage < limit; ++stage) {
      const bool last = stage + 1 == count;
      Lane& lane = lanes_[stage];
      const Time could = std::max(ready, lane.free_at);
      const Time begin = last ? could : std::max(could, lane.room.available(bytes));
      if (begin >= until) break;
      if (!last) lane.waits += room_waits(begin - could, lane.room.take(bytes, begin));
      if (lane.bursts == 0) {
        lane.first = begin - ready;
        lane.first_held = begin - could;
      }
      const Service service = serve(stage, bytes, begin);
      lane.last_start = begin;
      ++lane.bursts;
      complete = std::max(complete, service.end);
      if (previous != nullptr) previous->room.give({complete + previous->latency, begin - ready, bytes});
      ready = service.head + lane.latency;
      complete += lane.latency;
      if (stage == 0) {
        departed_ = std::max(departed_, complete);
        started_first_ += bytes;
      }
      if (last) started_last_ += bytes;
      previous = &lane;
    }
    if (stage == count) {
      delivered_ = std::max(delivered_, complete);
      continue;
    }
    limit = stage;
    if (stage == 0) {
      first_ = before;
    } else {
      waiting_.push_back({static_cast<std::uint16_t>(stage), bytes, ready, complete});
    }
  }
}

}  // namespace kernbench::hardware::fabric
