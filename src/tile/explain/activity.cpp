#include "tile/explain/activity.h"

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
    case Activity::members:
      return "group";
    case Activity::setup:
      return "dma setup";
    case Activity::translation:
      return "TLB miss";
    case Activity::request:
      return "dma request";
    case Activity::data:
      return engine == hardware::EngineKind::ipcq ? "queue data" : "dma data";
    case Activity::latency:
      return engine == hardware::EngineKind::ipcq ? "latency" : "dma latency";
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
    case Activity::next_program:
      return "next program";
    case Activity::sender:
      return "sender not started";
    case Activity::sender_busy:
      return "sender busy";
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

std::string place(std::string_view file, std::uint32_t line) {
  const std::string_view base = file.substr(file.rfind('/') + 1);
  const std::string number = std::to_string(line);
  std::string text;
  text.reserve(base.size() + 1 + number.size());
  return text.append(base).append(1, ':').append(number);
}

std::string place(const tl::Where& where) {
  return place(where.file_name(), where.line());
}

}  // namespace kernbench::tile
