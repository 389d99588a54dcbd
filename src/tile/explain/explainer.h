// The consumer of the stream that explains launches.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "hardware/machine.h"
#include "tile/explain/account.h"
#include "tile/explain/breakdown.h"
#include "tile/explain/command_explanation.h"
#include "tile/explain/intervals.h"
#include "tile/explain/path_tree.h"
#include "tile/program/launch_record.h"
#include "tile/stream/operation_stream.h"

namespace kernbench::tile {

/// A launch of a stream, and when the last of its programs to end so far did.
struct EndedLaunch {
  std::shared_ptr<const std::string> name;  // null: none
  Time end;
};

/// What is known of a launch when its programs have ended.
struct LaunchExplanation {
  LaunchAccount account;
  // Of the program that stands for the launch.
  Breakdown breakdown;
  Path path;
  Time start, end;
  PathTree::Cut cut;  // for programs that exchange messages: their paths may come from others
  bool begun = false;
  EndedLaunch before;  // in its stream
};

/// What is kept of a program while it runs.
struct ProgramExplanation {
  ProgramExplanation(Time now, PeCoordinate runs_on) : pe(PartKind::none, runs_on), start(now), at(now), busy(now) {}

  /// What the program does now itself: a step.
  struct Doing {
    bool open = false;
    std::uint32_t key = 0;
    Time start;
  };
  PartId pe;  // for segments without a server
  Time start;
  Path path;  // of its instruction stream, until `at`
  Time at;
  bool may_extend = false;  // the path ends with a step that waited for no command
  Doing doing;
  BusyTime busy;
  PathTree::Cut cut;
};

/// Makes a LaunchExplanation of each launch that begins after it subscribed. README.md has the rules. It must outlive
/// the commands.
class Explainer final : public OperationConsumer {
 public:
  /// The machine must outlive the programs.
  explicit Explainer(hardware::Machine& machine) : machine_(machine) {}
  void subscribe_to(OperationStream& stream) {
    stream.subscribe(*this, {Topic::operations, Topic::programs, Topic::steps, Topic::stages});
  }

  /// A launch goes out: its record gets an explanation.
  static void begin_launch(LaunchRecord& record) { record.explanation = std::make_shared<LaunchExplanation>(); }
  /// The critical path of a launch whose programs have ended: of the one that stands for it.
  FoundPath critical_path(const LaunchExplanation& launch) const { return paths_->find(launch.path, launch.start); }
  const PathTree& paths() const { return *paths_; }

  void on_operation(const OperationRecord& operation) override;
  void on_program_begin(Program& program) override;
  void on_program_end(Program& program, bool stands) override;
  void on_program_abandoned(Program& program) override;
  void on_step_begun(Program& program, const ProgramStep& step) override;
  void on_step(Program& program, const ProgramStep& step, const hardware::Command* cause) override;
  void on_made(KernelCommand& command, KernelCommand* granted_by) override;
  void on_placed(KernelCommand& command, KernelCommand* by) override;
  void on_issued(KernelCommand& command) override;
  void on_ready(KernelCommand& command, KernelCommand& last) override;
  void on_start(KernelCommand& command, KernelCommand* before) override;
  void on_arrival(KernelCommand& receive, KernelCommand& send, const hardware::MessageArrival& arrival) override;

 private:
  std::uint32_t key_of(Activity activity, const KernelCommand& command, PartKind on = PartKind::none);
  std::uint32_t key_of(const ProgramStep& step);
  void fill(Path& path, Time from, Time to);
  void append(Path& path, const KernelCommand& command, const Interval& interval, Time until);
  void go_on(ProgramExplanation& program, std::uint32_t key, Time start, Time end, const EndedPath& cause);
  WorkSplit split_of(const KernelCommand& command) const;
  void append_work(Path& path, const KernelCommand& command, const WorkSplit& split);
  bool through_message(Path& path, const KernelCommand& receive, Time until);
  Path path_within(const KernelCommand& command, Time until);
  EndedLaunch& last_of_stream(const Program& program);

  hardware::Machine& machine_;
  PathTree::Owner paths_ = PathTree::make();
  std::map<std::pair<SipId, std::uint64_t>, EndedLaunch> last_;  // by SIP and stream
};

}  // namespace kernbench::tile
