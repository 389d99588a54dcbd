#include "tile/stream/operation_record.h"

#include <fmt/format.h>

#include <iterator>
#include <string_view>

#include "addressing/locate.h"
#include "tile/program/program.h"

namespace kernbench::tile {

namespace {

constexpr std::string_view name(tl::Scope scope) {
  switch (scope) {
    case tl::Scope::pe:
      return "pe";
    case tl::Scope::cube:
      return "cube";
    case tl::Scope::sip:
      return "sip";
    case tl::Scope::system:
      break;
  }
  return "system";
}

}  // namespace

sim::AgentId OperationRecord::agent() const {
  return command_.agent;
}
std::uint64_t OperationRecord::number() const {
  return command_.number;
}
const char* OperationRecord::kind() const {
  return command_.kind;
}
hardware::EngineKind OperationRecord::engine() const {
  return command_.engine();
}
const hardware::Work& OperationRecord::work() const {
  return command_.work;
}
const hardware::CommandQueue* OperationRecord::queue() const {
  return command_.queue;
}
const Program& OperationRecord::program() const {
  return *command_.program;
}
const std::source_location& OperationRecord::where() const {
  return command_.where;
}
const hardware::Timeline& OperationRecord::times() const {
  return command_.times;
}

bool OperationRecord::writes() const {
  if (const auto* dma = std::get_if<hardware::DmaWork>(&command_.work)) return dma->writes();
  if (const auto* window = std::get_if<hardware::WindowWork>(&command_.work)) return !window->reads;
  return command_.buffer && command_.buffer->writes;
}

std::span<const std::uint64_t> OperationRecord::reads_tiles() const {
  return command_.reads_tiles;
}
std::uint64_t OperationRecord::makes_tile() const {
  return command_.makes_tile;
}
std::span<const HappensBefore> OperationRecord::happens_before() const {
  return command_.happens_before;
}

void OperationRecord::visit_ranges(RangeVisitor& visitor) const {
  ByteRange each;
  each.writes = writes();
  if (const auto* dma = std::get_if<hardware::DmaWork>(&command_.work)) {
    if (!dma->accesses_memory()) return;
    for (const hardware::DmaLeg& leg : dma->legs) {
      each.memory = leg.in_sram() ? MemoryKind::sram : MemoryKind::hbm;
      each.owner = leg.slice;
      if (leg.in_sram()) each.owner.pe = PeId{};
      for (const hardware::StridedRange& range : leg.ranges) {
        each.range = range;
        visitor.on_range(each);
      }
    }
  } else if (const auto* window = std::get_if<hardware::WindowWork>(&command_.work)) {
    if (window->bytes == Bytes(0)) return;
    each.memory = MemoryKind::window;
    each.owner = window->target;
    each.range = {command_.window_offset, 1, window->bytes, 0};
    visitor.on_range(each);
  }
  if (!command_.buffer) return;
  const BufferAccess& access = *command_.buffer;
  each.memory = MemoryKind::buffer;
  each.owner = command_.program->coordinate();
  each.buffer = access.number;
  for (const auto& piece : locate_box(access.bytes->layout, access.offsets.span(), access.shape.span())) {
    each.range = {piece.va, piece.rows, Bytes(piece.row_bytes), piece.stride};
    visitor.on_range(each);
  }
}

std::string operand_text(const OperationRecord& operation) {
  fmt::memory_buffer text;
  const auto to = std::back_inserter(text);
  for (const std::uint64_t tile : operation.reads_tiles()) fmt::format_to(to, " tcm:tile{}", tile);
  if (operation.makes_tile() != OperationRecord::kNoTile) {
    fmt::format_to(to, " -> tcm:tile{}", operation.makes_tile());
  }
  const auto* dma = std::get_if<hardware::DmaWork>(&operation.work());
  if (dma != nullptr && dma->kind == hardware::DmaKind::atomic) {
    fmt::format_to(to, " scope:{}", name(operation.command().scope));
  }
  return fmt::to_string(text);
}

}  // namespace kernbench::tile
