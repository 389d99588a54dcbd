// Skips time in which whoever is alone in the fabric does the same again and again.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
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
  Skipper(FabricState& state, ExactEngine& engine, Coalescer& coalescer, bool exact)
      : state_(state), engine_(engine), coalescer_(coalescer), exact_(exact) {}

  /// Begins to look at what depends on names and channels, and at what others begin, for one at a time: whose transfers
  /// have the operations from `first` to before `end` of an agent.
  void watch(const void* watcher, sim::AgentId agent, std::uint64_t first, std::uint64_t end);
  void stop(const void* watcher);
  /// Nothing has depended on them since watch(), nobody else has begun a transfer, and nobody else watches.
  bool undisturbed(const void* watcher) const {
    return state_.watching && watcher_ == watcher && state_.disturbances == 0;
  }

  struct Snapshot {
    std::vector<std::int64_t> state;
    std::vector<ServerCounters> work;      // by server
    std::vector<std::int64_t> not_landed;  // names of transfers that the memory at their end has not taken
  };
  /// What a transfer of this operation is, among those under way, in each state alike. Negative numbers only.
  using Names = std::function<std::int64_t(std::uint64_t operation)>;
  static constexpr std::int64_t kUnknown = 0;
  /// The state now. False where it cannot be told: others than `agent` have something under way, or a name is unknown;
  /// a transfer is more than a burst, or waits for the memory that it is read from; models have laws of their own.
  bool take(sim::AgentId agent, const Names& names, Snapshot& snapshot);

  enum class End { first, last };  // of a route
  /// What a burst asks of a memory whose channels stand idle: how long it takes, and the time until the next one.
  struct Use {
    Time service, next;
    bool operator==(const Use&) const = default;
  };
  /// Of the memory at an end of the burst's route; nothing where there is none.
  Use use_of(const TransferRequest& burst, End end);
  /// The channels of the memory at this end count the burst as done `times` times.
  void count(const TransferRequest& burst, End end, std::int64_t times);

  /// Until go_on() is called there are no events of the fabric. Gives the time of the next one of others.
  Time hold();
  /// It is so much later than it was at hold(), whose time is later still.
  void go_on(Time by);
  /// The operations that transfers have from now on, by those that they had.
  using Renamed = std::map<std::uint64_t, std::uint64_t>;
  /// Between hold() and go_on(period * times): the state is that after `times` periods more, each as the one between
  /// the snapshots. The channels' work is not counted. REQUIRES: equal states, the later one that of now.
  void skip(Time period, std::int64_t times, const Snapshot& earlier, const Snapshot& now, const Renamed& operations);

 private:
  class Writer;
  struct Held {
    TransferSlot slot;
    bool departs, delivers;
  };
  void load(const TransferRequest& burst, const Stage& memory, End end);

  FabricState& state_;
  ExactEngine& engine_;
  Coalescer& coalescer_;
  bool exact_;
  const void* watcher_ = nullptr;
  Load load_;
  std::vector<Held> held_;  // whose events go_on() makes again
};

}  // namespace kernbench::hardware::fabric
