#include "tile/explain/record.h"

namespace kernbench::tile {

std::string_view name(Activity activity, hardware::EngineKind engine) {
  switch (activity) {
    case Activity::tcm:
      return "TCM full";
    case Activity::queue:
      return "queue full";
    case Activity::issue:
      return "issue";
    case Activity::operand:
      return "operand";
    case Activity::order:
      return "memory order";
    case Activity::engine:
      return "engine busy";
    case Activity::credit:
      return "credit";
    case Activity::message:
      return "message";
    case Activity::setup:
      return "dma setup";
    case Activity::translation:
      return "TLB miss";
    case Activity::request:
      return "dma request";
    case Activity::data:
      return engine == hardware::EngineKind::ipcq ? "queue data" : "dma data";
    case Activity::link_buffer:
      return "link buffer";
    case Activity::contention:
      return "contention";
    case Activity::compute:
      return name(engine);
    case Activity::value:
      return "value";
    case Activity::scalar_read:
      return "scalar read";
    case Activity::token:
      return "wait";
    case Activity::signal:
      return "signal";
    case Activity::delay:
      return "delay";
    case Activity::drain:
      return "drain";
    case Activity::sender:
      return "sender not started";
    case Activity::program:
      return "program";
    case Activity::dispatch:
      return "dispatch";
    case Activity::completion:
      return "completion";
  }
  return "?";
}

std::string_view name(hardware::EngineKind engine) {
  switch (engine) {
    case hardware::EngineKind::dma:
      return "dma";
    case hardware::EngineKind::gemm:
      return "gemm";
    case hardware::EngineKind::vector:
      return "vector";
    case hardware::EngineKind::ipcq:
      return "ipcq";
  }
  return "?";
}

std::string place(const tl::Where& where) {
  const std::string_view path = where.file_name();
  return std::string(path.substr(path.rfind('/') + 1)) + ":" + std::to_string(where.line());
}

PartId server_of(const OperationRecord& operation, Activity activity) {
  if (activity == Activity::link_buffer) return operation.buffer;
  return activity == Activity::contention ? operation.busiest : PartId();
}

OperationRecord record_of(const hardware::Operation& operation, const tl::Where& where,
                          const hardware::OperationBound& bound) {
  OperationRecord record;
  record.kind = operation.kind;
  record.where = where;
  record.number = operation.number;
  record.engine = operation.engine;
  record.sends = operation.ipcq.sends;
  record.waited = operation.waited;
  record.ready_in_order = operation.ready_in_order;
  record.requested = operation.requested;
  record.granted = operation.granted;
  record.placed = operation.placed;
  record.issued = operation.issued;
  record.ready = operation.ready;
  record.started = operation.started;
  record.finished = operation.finished;
  record.translation = operation.translation;
  record.granted_by = operation.granted_by;
  record.placed_by = operation.placed_by;
  record.ready_by = operation.ready_by;
  record.started_by = operation.started_by;
  record.bound = bound;
  return record;
}

void ProgramTrace::sort() {
  if (!std::ranges::is_sorted(operations, {}, &OperationRecord::number)) {
    std::ranges::sort(operations, {}, &OperationRecord::number);
  }
  if (!std::ranges::is_sorted(messages, {}, &MessageWay::number)) std::ranges::sort(messages, {}, &MessageWay::number);
}

const MessageWay* ProgramTrace::message(std::uint64_t receive) const {
  const auto found = std::ranges::lower_bound(messages, receive, {}, &MessageWay::number);
  return found != messages.end() && found->number == receive ? &*found : nullptr;
}

const OperationRecord* ProgramTrace::find(const hardware::OperationName& name) const {
  if (!name.known() || name.agent != agent) return nullptr;
  const auto found = std::ranges::lower_bound(operations, name.number, {}, &OperationRecord::number);
  return found != operations.end() && found->number == name.number ? &*found : nullptr;
}

}  // namespace kernbench::tile
