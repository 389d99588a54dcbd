// Writes the timeline of a run. docs/trace.md says what a reader finds there.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "hardware/fabric/activity_observer.h"
#include "hardware/layout.h"
#include "hardware/machine.h"
#include "runtime/observe/trace_tracks.h"
#include "tile/program/kernel_command.h"
#include "tile/program/program_step.h"
#include "tile/stream/operation_stream.h"
#include "topology/spec.h"
#include "trace/timeline_writer.h"

namespace kernbench::runtime {

/// Listens to kernels, engines, servers, processors, streams and the host, and writes the timeline as it comes. Holds
/// one interval for each server and what is under way, nothing of the past. What is under way where the timeline, or a
/// window of it, begins or ends, is shown as far as it lies in it.
class TraceRecorder final : public tile::OperationConsumer, public hardware::ActivityObserver {
 public:
  /// Opens `path`. ConfigurationError when it cannot be opened. `facts` are shown with the file's first event.
  TraceRecorder(const std::string& path, const topology::Topology& topology, const trace::Arguments& facts);

  /// The machine whose servers it hears of; to be called once, before it runs.
  void attach(hardware::Machine& machine) { machine_ = &machine; }

  void on_operation(const tile::OperationRecord& operation) override;
  void on_waypoint(const tile::Program& program, std::uint64_t number, std::string_view name, Time time,
                   const std::source_location& where) override;
  void subscribe_to(tile::OperationStream& stream);
  void on_program_begin(tile::Program& program) override;
  void on_program_end(tile::Program& program, bool stands) override;
  void on_program_left(tile::Program& program) override { on_program_end(program, false); }
  void on_program_next(tile::Program& program) override { on_program_begin(program); }
  void on_program_abandoned(tile::Program& program) override { on_program_end(program, false); }
  void on_step_begun(tile::Program& program, const tile::ProgramStep& step) override;
  void on_step(tile::Program& program, const tile::ProgramStep& step, const hardware::Command* cause) override;
  void on_issue(tile::KernelCommand& command) override;
  void on_service(hardware::ServerId server, sim::AgentId agent, std::uint64_t operation, Time start, Time end,
                  Bytes bytes) override;
  void on_message(sim::AgentId processor, Time start, Time end) override;

  /// A command of a stream begins, and is complete.
  void begin_command(const std::string& stream, const std::string& command, std::string_view place, Time now);
  void end_command(const std::string& stream, Time now);
  /// The host fiber `worker` was in the program's call `call` from `start` to `end`; a read within it, of the tensor
  /// `subject`, has been told of before and stands for it.
  void host_call(const std::string& worker, std::string_view call, std::string_view subject, std::string_view place,
                 Time start, Time end);

  /// A range of host code (profiler.h) of `worker`, `depth` ranges within others, has ended.
  void host_range(const std::string& worker, int depth, std::string_view name, Time start, Time end);
  /// A window of the region of interest begins or ends. From the first one on, only what passes in windows is kept.
  void region(bool begins, Time now);

  /// Ends what is still open at the run's end, and writes what is left. ProgramError ("OutputError") when the file
  /// could not take everything.
  void finish(Time now);

 private:
  /// What one operation, message or copy has done on a server without a gap.
  struct Service {
    Time start, end;
    sim::AgentId agent;
    std::uint64_t operation = 0;
    Bytes bytes;
    std::int64_t chunks = 0;
    std::string name, kernel;
  };
  struct ServerTrack {
    trace::TrackId track;           // 0: none yet
    std::vector<Service> services;  // in their order: those that are not over, or just one that a burst may go on with
  };
  /// A track of a queue, and until when it is taken.
  struct Lane {
    trace::TrackId track;
    Time free;
  };
  struct OpenStep {
    trace::TrackId track;
    sim::AgentId agent;
    tile::ProgramStep step;
  };
  struct OpenSlice {
    trace::TrackId track;
    std::string name;
    std::int64_t program = -1;
    std::string source = {};  // line of the call that gave a command
  };

  void write_facts();
  /// Ends what is open in the file.
  void finish_open(Time now);
  void begin_open(const OpenSlice& slice, Time now);
  /// The lane for an operation that is shown from `start` until `until`.
  trace::TrackId lane_for(const tile::OperationRecord& operation, Time start, Time until);
  void write_operation(const tile::OperationRecord& operation, Time until);
  /// Those that have started and not ended, until now.
  void write_operations_under_way(Time now);
  void write_step(const OpenStep& open, Time until);
  trace::TrackId control_track(const tile::Program& program);
  /// Writes the services of a server that are over.
  void leave_services(ServerTrack& at, hardware::ServerId server, Time now);
  /// Writes all services until now, and keeps the rest of those that go on.
  void cut_services(Time now);
  void write_service(ServerTrack& at, hardware::ServerId server, const Service& service, Time until);
  void name_service(Service& service) const;
  std::string agent_name(sim::AgentId agent) const;
  std::string cause_text(const hardware::Cause& cause, sim::AgentId asking) const;

  trace::TimelineWriter writer_;
  TraceTracks tracks_;
  hardware::Layout layout_;
  std::int32_t contexts_, sips_;
  hardware::Machine* machine_ = nullptr;
  std::vector<ServerTrack> servers_;
  /// By queue: as many tracks as it has had commands under way at a time. Looked up only.
  std::unordered_map<const void*, std::vector<Lane>> lanes_;
  std::unordered_map<std::uint64_t, tile::KernelCommandRef> under_way_;  // given to an engine; by agent and number
  std::map<std::uint32_t, OpenStep> open_steps_;                         // by agent
  std::map<std::uint32_t, OpenSlice> open_programs_;                     // by agent
  std::map<std::string, OpenSlice> open_commands_;                       // by stream
  std::vector<std::pair<std::string, std::string>> facts_;
  bool regional_ = false;  // there has been a region of interest
  bool recording_ = true;  // now is in it, or there is none so far
  Time recording_since_;
  std::map<std::string, Time> last_calls_;  // end of the latest of a worker
};

}  // namespace kernbench::runtime
