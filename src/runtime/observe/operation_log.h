// The log of operations, if asked for, and the fingerprint of all times.
#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <source_location>
#include <string>
#include <string_view>

#include "base/fingerprint.h"
#include "kernbench/result.h"
#include "tile/stream/operation_stream.h"

namespace kernbench::runtime {

struct CompletedLaunch;

/// One line per operation, in simulated order of completion:
/// `finished_ps agent order operation issued=… ready=… started=… effect=… operands`; for a waypoint, when the program
/// gets there, `time_ps agent order waypoint "name" file:line`; for a launch that has completed,
/// `finished_ps sip/launch - launch requested=… programs=… at file:line`.
class OperationLog final : public tile::OperationConsumer {
 public:
  /// Opens `path` for writing; empty: no log. ConfigurationError when it cannot be opened.
  explicit OperationLog(const std::string& path);

  /// Times of operations are always added up; what else there is, if there is a file.
  void subscribe_to(tile::OperationStream& stream);
  void on_operation(const tile::OperationRecord& operation) override;
  void on_launch(const std::string& name, const CompletedLaunch& launch);
  void on_waypoint(const tile::Program& program, std::uint64_t number, std::string_view name, Time time,
                   const std::source_location& where) override;
  /// Adds a time that is not an operation's (a launch's start, a copy's end).
  void add_time(Time time) { times_.add(static_cast<std::uint64_t>(time.count())); }
  std::uint64_t times_fingerprint() const { return times_.value(); }
  /// Writes what is buffered; ProgramError when the file could not take it.
  void flush();

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  std::string path_;
  std::unique_ptr<std::FILE, Close> file_;
  Fingerprint times_;
};

}  // namespace kernbench::runtime
