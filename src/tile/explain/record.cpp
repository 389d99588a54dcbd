#include "tile/explain/record.h"

namespace kernbench::tile {

PartId server_of(const ExplainedOperation& operation, Activity activity) {
  if (activity == Activity::link_buffer) return operation.buffer;
  return activity == Activity::contention ? operation.busiest : PartId();
}

ExplainedOperation record_of(const hardware::Command& command, const hardware::CommandBound& bound) {
  const hardware::Timeline& times = command.times;
  ExplainedOperation record;
  record.kind = command.kind;
  record.where = command.where;
  record.number = command.number;
  record.engine = command.engine();
  record.sends = command.sends();
  record.waited = times.waited;
  record.ready_in_order = times.ready_in_order;
  record.requested = times.requested;
  record.granted = times.granted;
  record.placed = times.placed;
  record.issued = times.issued;
  record.ready = times.ready;
  record.started = times.started;
  record.finished = times.finished;
  record.translation = times.translation;
  record.granted_by = times.granted_by.name;
  record.placed_by = times.placed_by.name;
  record.ready_by = times.ready_by.name;
  record.started_by = times.started_by.name;
  record.bound = bound;
  return record;
}

void ProgramTrace::sort() {
  if (!std::ranges::is_sorted(operations, {}, &ExplainedOperation::number)) {
    std::ranges::sort(operations, {}, &ExplainedOperation::number);
  }
  if (!std::ranges::is_sorted(messages, {}, &MessageWay::number)) std::ranges::sort(messages, {}, &MessageWay::number);
}

const MessageWay* ProgramTrace::message(std::uint64_t receive) const {
  const auto found = std::ranges::lower_bound(messages, receive, {}, &MessageWay::number);
  return found != messages.end() && found->number == receive ? &*found : nullptr;
}

const ExplainedOperation* ProgramTrace::find(const hardware::CommandName& name) const {
  if (!name.known() || name.agent != agent) return nullptr;
  const auto found = std::ranges::lower_bound(operations, name.number, {}, &ExplainedOperation::number);
  return found != operations.end() && found->number == name.number ? &*found : nullptr;
}

}  // namespace kernbench::tile
