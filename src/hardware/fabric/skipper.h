// Skips time in which whoever is alone in the fabric does the same again and again.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "hardware/fabric/coalescer.h"
#include "hardware/fabric/exact_engine.h"
#include "hardware/fabric/transfer.h"
#include "kernbench/units.h"
#include "sim/scheduler.h"

namespace kernbench::hardware::fabric {

/// From two equal states, times counted from now, the fabric goes on alike. So when a state has come again after a
/// period, it comes again after any number of periods, until somebody else does something.
///
/// States are compared without the names of transfers and without what channels do. Either is right only where nothing
/// depended on it meanwhile: no arbiter chose by names (`watch`), and memories took bursts when all their channels
/// stood idle. Then a burst needs of a memory what `Use` says.
class Skipper {
 public:
  /// `deliverer`: the object of the events with which transfers are delivered.
  Skipper(FabricState& state, ExactEngine& engine, Coalescer& coalescer, void* deliverer, bool exact)
      : state_(state), engine_(engine), coalescer_(coalescer), deliverer_(deliverer), exact_(exact) {}

  /// Begins to look at what depends on names and channels, and at what others begin, for one at a time: whose transfers
  /// have the operations from `first` to before `end` of an agent.
  void watch(const void* watcher, sim::AgentId agent, std::uint64_t first, std::uint64_t end);
  void stop(const void* watcher);
  /// Nothing has depended on them since watch(), nobody else has begun a transfer, and nobody else watches.
  bool undisturbed(const void* watcher) const {
    return state_.watching && watcher_ == watcher && state_.disturbances == 0;
  }

  struct Totals {
    ServerCounters work;
    RoomWaits waits;
  };
  struct Snapshot {
    std::vector<std::int64_t> state;
    std::vector<Totals> totals;            // by server
    std::vector<std::int64_t> not_landed;  // names of transfers that the memory at their end has not taken
  };
  /// What a transfer of this operation is, among those under way, in each state alike. Negative numbers only.
  using Names = std::function<std::int64_t(std::uint64_t operation)>;
  static constexpr std::int64_t kUnknown = 0;
  /// The state now. False where it cannot be told: others than `agent` have something under way, or a name is unknown;
  /// a transfer is more than a burst, or waits for the memory that it is read from; models have laws of their own.
  bool take(sim::AgentId agent, const Names& names, Snapshot& snapshot);

  /// What a burst needs of idle channels: the longest time in one of them, and the shortest if it needs all.
  struct Use {
    Time first_longest, first_shortest, last_longest, last_shortest;
    bool operator==(const Use&) const = default;
  };
  Use use_of(const TransferRequest& burst);
  /// Counts the burst as done `times` times by the channels of the memory at the beginning or end of its route.
  void count_first(const TransferRequest& burst, std::int64_t times) { count(burst, false, times); }
  void count_last(const TransferRequest& burst, std::int64_t times) { count(burst, true, times); }

  /// Until when nothing happens but what transfers do, and what calls `object`.
  Time quiet_until(void* object) const;
  /// It is `times` periods later, each as the one between the snapshots. The channels' work is not counted. REQUIRES:
  /// equal states, the later one that of now, and a time that is before quiet_until().
  void skip(Time period, std::int64_t times, const Snapshot& earlier, const Snapshot& now, void* object);

 private:
  class Writer;
  void load(const TransferRequest& burst, bool last);
  void count(const TransferRequest& burst, bool last, std::int64_t times);
  void shift(Buffer& buffer, Time by);

  FabricState& state_;
  ExactEngine& engine_;
  Coalescer& coalescer_;
  void* deliverer_;
  bool exact_;
  const void* watcher_ = nullptr;
  Load load_;
};

}  // namespace kernbench::hardware::fabric
