// The region of interest of a run: what the resources did while any range was open.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "hardware/machine.h"
#include "kernbench/result.h"
#include "kernbench/units.h"
#include "runtime/streams/stream.h"

namespace kernbench::runtime {

struct HostContext;
struct OpenRange;
class Simulation;

/// Counts in windows: from the opening of a first hold to the closing of the last one. A window costs a look at every
/// resource of the machine, twice; holds within it cost nothing.
class RegionRecorder {
 public:
  /// Told when a window begins and ends.
  using Observer = std::function<void(bool begins, Time now)>;

  explicit RegionRecorder(hardware::Machine& machine) : machine_(machine) {}
  void observe_with(Observer observer) { observers_.push_back(std::move(observer)); }

  void open();
  void close();
  bool is_open() const { return holds_ > 0; }
  /// Whether the program has marked anything.
  bool is_used() const { return region_.windows > 0 || is_open(); }

  /// The run is over: ranges that end later count for nothing.
  void finish() { finished_ = true; }
  bool is_finished() const { return finished_; }

  /// A range is complete: what it adds to those of its name.
  void add_range(const RangeResult& one);
  /// A launch that was given within a range.
  void add_launch(const std::string& range, Time duration);

  /// By name.
  const std::map<std::string, RangeResult>& ranges() const { return ranges_; }

  /// Keeps a range until it is complete.
  void keep(std::shared_ptr<OpenRange> range) {
    const OpenRange* key = range.get();
    closing_.emplace(key, std::move(range));
  }
  std::shared_ptr<OpenRange> release(const OpenRange& range);

  /// Ends a window that is still open, and hands over what was counted. `names` are the resources' at the end of the
  /// run, with their places.
  void collect(RunResult& result, const std::vector<hardware::ResourceUsage>& names);

 private:
  void begin_window();
  void end_window();

  hardware::Machine& machine_;
  std::vector<Observer> observers_;
  std::int64_t holds_ = 0;
  bool finished_ = false;
  RegionResult region_;
  Time window_start_;
  std::vector<hardware::ResourceCounters> before_, total_;
  std::map<std::string, RangeResult> ranges_;
  std::unordered_map<const OpenRange*, std::shared_ptr<OpenRange>> closing_;  // only looked up
};

/// Which launches are under way, as a range sees them: of each state the time that passes in it. Takes no memory for a
/// launch, whatever their number.
class RangeActivity {
 public:
  /// From now on time counts.
  void open(Time now);
  void begin(bool communicates, Time now);
  void end(bool communicates, Time now);
  /// Until now, with neither: index 0; computing: 1; communicating: 2; both: 3.
  const std::array<Time, 4>& until(Time now);

 private:
  void pass(Time now);

  std::int64_t computing_ = 0, communicating_ = 0;  // launches under way
  bool open_ = false;
  Time since_;
  std::array<Time, 4> spent_;
};

/// A range that has not completed. The guard, the ranges within it and the recorder's callbacks share it.
struct OpenRange : std::enable_shared_from_this<OpenRange> {
  std::string name;  // with those around it; empty: from profiler::start to stop
  std::shared_ptr<OpenRange> around;
  std::weak_ptr<RegionRecorder> recorder;
  Simulation* simulation = nullptr;
  std::string worker;    // "main", "rank 1"
  int depth = 0;         // ranges around it
  Time start, host_end;  // of the guard
  Time begun;            // when what was outstanding at its start had completed
  bool ended = false;    // the guard has

  /// False when the simulation is over.
  bool is_live() const;
  /// The guard begins; `last` are the last commands of the streams that are outstanding then.
  void begin(const std::vector<CompletionRef>& last);
  /// The guard ends; likewise.
  void end(const std::vector<CompletionRef>& last);
  /// A launch that was given in it has come to the front of its stream; it has completed. Ranges around it see it too.
  void launch_begins(bool communicates);
  void launch_ends(bool communicates, double flops, Bytes hbm_bytes);

 private:
  void before_completed(std::uint64_t);
  void completed(std::uint64_t);
  void open();
  void complete();

  std::int64_t before_ = 0, outstanding_ = 0;  // commands that have not completed
  RangeActivity activity_;
  double flops_ = 0;
  Bytes hbm_bytes_;
  bool open_ = false, complete_ = false;
};

/// Begins a range of the calling worker, within those that are open.
std::shared_ptr<OpenRange> open_range(HostContext& context, const std::string& name);
/// What is outstanding on the streams that the worker's synchronize() would wait for: of its current device, and for
/// the main program of all devices.
std::vector<CompletionRef> outstanding_work(const HostContext& context);
/// The innermost range of the worker that has not ended; null: none.
std::shared_ptr<OpenRange> current_range(HostContext& context);

}  // namespace kernbench::runtime
