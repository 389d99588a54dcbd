// Sums of the waits and operations of all programs of a launch, added up as they end.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "kernbench/coordinates.h"
#include "tile/explain/record.h"

namespace kernbench::tile {

/// Waits of one kind: operations of a kind and a line that waited for one reason.
struct WaitTotal {
  std::string reason, operation, where;  // operation "": the programs themselves
  std::string cause, cause_where;        // the operation that ended them, or the kind of server; "" where none is known
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
};

class LaunchAccount {
 public:
  /// A program has ended.
  void add(const ProgramTrace& trace);

  /// All of another launch's, too; the busiest program's figures are then those of the busiest of both.
  void add(const LaunchAccount& other);

  /// The longest first; ties in the order of their texts.
  std::vector<WaitTotal> waits() const;
  std::vector<OperationTotal> operations() const;

 private:
  /// Compared by addresses: texts of the program, which are compared themselves at the end.
  struct Line {
    const char* kind = "";
    const char* file = "";
    std::uint32_t line = 0;
    auto operator<=>(const Line&) const = default;
  };
  struct WaitKey {
    Activity reason;
    hardware::EngineKind engine;
    Line operation, cause;
    PartKind server;  // that the wait is due to, if it is due to one
    auto operator<=>(const WaitKey&) const = default;
  };
  struct Sum {
    Time time;
    std::int64_t count = 0;
  };
  struct KindSum {
    std::int64_t count = 0;
    Time waiting, work, bound;
  };
  static Line line_of(const ExplainedOperation* operation);
  void add_wait(const WaitKey& key, Time time, std::int64_t count);

  // Only looked up; put into an order of their own at the end.
  std::map<WaitKey, Sum> waits_;
  std::map<std::pair<const char*, hardware::EngineKind>, KindSum> kinds_;
};

}  // namespace kernbench::tile
