#include "runtime/observe/operation_log.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>

#include "base/text.h"
#include "kernbench/error.h"
#include "runtime/observe/launch_log.h"
#include "runtime/streams/launches.h"
#include "sim/program_call.h"
#include "tile/program/program.h"

namespace kernbench::runtime {

namespace {

void append_ranges(fmt::memory_buffer& line, const tile::OperationRecord& operation) {
  const auto& addresses = operation.program().environment().machine.addresses();
  operation.for_each_range([&](const tile::ByteRange& each) {
    if (each.memory != tile::MemoryKind::hbm && each.memory != tile::MemoryKind::sram) return;
    const hardware::StridedRange& range = each.range;
    const PhysAddr first = each.memory == tile::MemoryKind::hbm
                               ? addresses.hbm(each.owner, range.address)
                               : sram_address({each.owner.sip, each.owner.cube}, range.address);
    fmt::format_to(std::back_inserter(line), " {}[{}x{}B/{}]", to_text(first), range.rows, range.row_bytes.count(),
                   range.stride);
  });
}

}  // namespace

OperationLog::OperationLog(const std::string& path) : path_(path) {
  if (path.empty()) return;
  file_.reset(std::fopen(path.c_str(), "w"));
  if (!file_) throw ConfigurationError(fmt::format("cannot write the operation log: {}", std::strerror(errno)), path);
}

void OperationLog::subscribe_to(tile::OperationStream& stream) {
  stream.subscribe(*this, {tile::Topic::operations});
  if (file_) stream.subscribe(*this, {tile::Topic::waypoints});
}

void OperationLog::on_operation(const tile::OperationRecord& operation) {
  const hardware::Timeline& times = operation.times();
  times_.add((static_cast<std::uint64_t>(operation.agent().value) << 32) ^ operation.number());
  for (const Time time : {times.issued, times.ready, times.started, times.effect, times.finished}) add_time(time);
  if (!file_) return;
  fmt::memory_buffer line;
  fmt::format_to(std::back_inserter(line), "{} {}/{} {} {} issued={} ready={} started={} effect={}",
                 times.finished.count(), operation.program().pe().name(), operation.program().launch().name,
                 operation.number(), operation.kind(), times.issued.count(), times.ready.count(), times.started.count(),
                 times.effect.count());
  const bool arrow = operation.writes() && !std::holds_alternative<hardware::WindowWork>(operation.work());
  if (!arrow) append_ranges(line, operation);
  line.append(tile::operand_text(operation));
  if (arrow) {
    line.append(std::string_view(" ->"));
    append_ranges(line, operation);
  }
  line.push_back('\n');
  std::fwrite(line.data(), 1, line.size(), file_.get());
}

void OperationLog::on_launch(const std::string& name, const CompletedLaunch& launch) {
  if (!file_) return;
  fmt::memory_buffer line;
  fmt::format_to(std::back_inserter(line), "{} sip{}/{} - launch requested={} programs={}",
                 launch.times.completed.count(), launch.plan.device, name, launch.times.requested.count(),
                 launch.record.grid.count());
  const std::string where = sim::place_text(launch.where);
  if (!where.empty()) fmt::format_to(std::back_inserter(line), " at {}", where);
  line.push_back('\n');
  std::fwrite(line.data(), 1, line.size(), file_.get());
}

void OperationLog::on_waypoint(const tile::Program& program, std::uint64_t number, std::string_view name, Time time,
                               const std::source_location& where) {
  const std::string_view path = where.file_name();
  fmt::memory_buffer line;
  fmt::format_to(std::back_inserter(line), "{} {}/{} {} waypoint \"", time.count(), program.pe().name(),
                 program.launch().name, number);
  for (const char c : name) {
    if (c == '"' || c == '\\') line.push_back('\\');
    line.push_back(static_cast<unsigned char>(c) < ' ' ? ' ' : c);
  }
  fmt::format_to(std::back_inserter(line), "\" {}:{}\n", path.substr(path.rfind('/') + 1), where.line());
  std::fwrite(line.data(), 1, line.size(), file_.get());
}

void OperationLog::flush() {
  if (!file_) return;
  if (std::fflush(file_.get()) != 0 || std::ferror(file_.get()) != 0) {
    throw ProgramError("OutputError", fmt::format("cannot write the operation log: {}", std::strerror(errno)), path_);
  }
}

}  // namespace kernbench::runtime
