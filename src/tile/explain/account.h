// Sums of the waits and operations of all programs of a launch, added up as they pass.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/part.h"
#include "tile/explain/intervals.h"
#include "tile/explain/text_store.h"
#include "tile/program/program_step.h"

namespace kernbench::tile {

/// Waits of one kind: operations of a kind and a line that waited for one reason. The texts are the program's, or those
/// of the store.
struct WaitTotal {
  std::string_view reason, operation, where;  // operation "": the programs themselves
  std::string_view cause, cause_where;  // the operation that ended them, or the kind of server; "" where none is known
  Time time;
  std::int64_t count = 0;
};

/// All operations of one kind.
struct OperationTotal {
  std::string operation, engine;
  std::int64_t count = 0;
  Time waiting;  // from being requested to being started
  Time work;     // from then to the finish
  Time bound;    // the least that the work could have taken
  Bytes bytes;   // that DMA moved
};

class LaunchAccount {
 public:
  /// A command of one of its programs has finished.
  void add(const hardware::Command& command, const WorkSplit& split);
  /// A step of the program with this agent is over.
  void add(const ProgramStep& step, sim::AgentId agent);

  /// All of another launch's, too.
  void add(const LaunchAccount& other);

  /// The longest first; ties in the order of their texts.
  std::vector<WaitTotal> waits(TextStore& texts) const;
  std::vector<OperationTotal> operations() const;

 private:
  /// Compared by addresses: texts of the program, which are compared themselves at the end.
  struct Line {
    const char* kind = "";
    const char* file = "";
    std::uint32_t line = 0;
    bool operator==(const Line&) const = default;
  };
  struct WaitKey {
    Activity reason;
    hardware::EngineKind engine;
    PartKind server;  // that the wait is due to, if it is due to one
    Line operation, cause;
    bool operator==(const WaitKey&) const = default;
  };
  struct Hash {
    std::size_t operator()(const WaitKey& key) const;
  };
  struct Sum {
    Time time;
    std::int64_t count = 0;
  };
  struct KindSum {
    const char* kind;
    hardware::EngineKind engine;
    std::int64_t count = 0;
    Time waiting, work, bound;
    Bytes bytes;
  };
  static Line line_of(const hardware::Cause* cause, sim::AgentId agent);
  KindSum& sum_of(const char* kind, hardware::EngineKind engine);

  // Put into an order of their own at the end.
  std::unordered_map<WaitKey, Sum, Hash> waits_;
  std::vector<KindSum> kinds_;
};

}  // namespace kernbench::tile
