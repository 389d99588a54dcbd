#include "hardware/fabric/recurrence.h"

#include <algorithm>
#include <cassert>

#include "hardware/fabric/chunks.h"

namespace kernbench::hardware::fabric {

void Recurrence::reset(const TransferRequest& request) {
  assert(!request.route.empty());
  request_ = &request;
  first_lane_.clear();
  count_ = 0;
  for (const Stage& stage : request.route) {
    first_lane_.push_back(count_);
    count_ += stage.group;
  }
  if (lanes_.size() < count_) lanes_.resize(count_);
}

void Recurrence::load_idle(std::size_t index, const ServerSpec& spec) {
  Lane& lane = lanes_[index];
  lane.service = ServiceTime(spec);
  lane.latency = forwarding_latency(spec);
  lane.free_at = Time::zero();
  lane.credits.reset(spec.credits);
  lane.last_start = Time::zero();
  lane.last_bytes = Bytes(0);
  lane.work = ServerCounters{};
  lane.starved = Time();
}

void Recurrence::run(Time start, Time until) {
  const std::size_t stages = request_->route.size();
  const std::uint32_t first_group = request_->route.front().group;
  const std::uint32_t last_group = stages > 1 ? request_->route.back().group : 1;
  ChunkCursor cursor(*request_);
  Interleaver first_member(request_->interleave_granule(), first_group);
  Interleaver last_member(request_->interleave_granule(), last_group);
  departed_ = delivered_ = start;
  started_first_ = started_last_ = 0;
  waiting_.clear();

  // Behind a group as first stage the chunks leave the response buffer in order, also for another group.
  const bool in_order = last_group == 1 || (first_group > 1 && stages == 2);
  Time last_stage_start;
  std::size_t limit = stages;  // the chunk before waits at this stage, so that this one cannot start there or later
  const std::size_t least_limit = first_group > 1 ? 1 : 0;
  Chunk chunk;
  for (std::uint32_t index = 0; limit > 0 && cursor.next(chunk); ++index) {
    Time ready = start;
    Time complete = start;
    Lane* previous = nullptr;
    std::size_t stage = 0;
    for (; stage < limit; ++stage) {
      const bool last = stage + 1 == stages;
      std::size_t at = first_lane_[stage];
      if (stage == 0) {
        at += first_member.server_of(chunk.address);
      } else if (last) {
        at += last_member.server_of(chunk.landing);
      }
      Lane& lane = lanes_[at];
      const Time could = std::max(ready, lane.free_at);
      Time begin = could;
      if (!last) {
        begin = std::max(begin, lane.credits.available());
      } else if (stage > 0 && in_order) {
        begin = std::max(begin, last_stage_start);
      }
      if (begin >= until) break;
      if (last) {
        last_stage_start = begin;
        ++started_last_;
      } else {
        lane.starved += starved(begin - could, lane.credits.take(begin));
      }
      const Time service = lane.service.of(chunk.bytes);
      lane.free_at = begin + service;
      lane.last_start = begin;
      lane.last_bytes = chunk.bytes;
      lane.work.busy += service;
      lane.work.bytes += chunk.bytes;
      ++lane.work.chunks;
      complete = std::max(complete, lane.free_at);
      if (previous != nullptr) previous->credits.give({complete + previous->latency, begin - ready});
      ready = begin + lane.latency;
      complete += lane.latency;
      if (stage == 0) {
        departed_ = std::max(departed_, complete);
        ++started_first_;
      }
      previous = &lane;
    }
    if (stage == stages) {
      delivered_ = std::max(delivered_, complete);
      continue;
    }
    const bool blocks = stage + 1 < stages || in_order;  // a write buffer has a queue for each server of its group
    if (blocks) limit = std::max(stage, least_limit);
    if (stage > 0) waiting_.push_back({index, static_cast<std::uint16_t>(stage), ready, complete});
  }
}

}  // namespace kernbench::hardware::fabric
