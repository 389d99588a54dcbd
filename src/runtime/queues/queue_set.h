// A set of channels of a simulation: its members, their rows and slots, and its installation on the machine.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "kernbench/coordinates.h"
#include "kernbench/queues.h"
#include "runtime/queues/queue_resources.h"
#include "sim/waitable.h"
#include "tile/messages/queue_table.h"

namespace kernbench::hardware {
struct InstallRequest;
}

namespace kernbench::runtime {

class Simulation;

/// Made on any fiber or in an event; its installation is under way then, each SIP's part over its own link to the host.
/// Whoever launches programs on it waits for `installed` (LaunchPlan::queues does). Entries and slots are given back
/// with the last reference; nobody may use the channels then.
class QueueSet {
 public:
  /// Members may be PEs of several SIPs; their order is that of member_index. ValueError and OutOfMemoryError as for
  /// QueueTable and QueueResources.
  static std::shared_ptr<QueueSet> create(Simulation& simulation, Name name, std::vector<PeCoordinate> members,
                                          const QueueOptions& options);
  /// Use create().
  QueueSet(Simulation& simulation, Name name, std::vector<PeCoordinate> members, const QueueOptions& options);
  ~QueueSet();
  QueueSet(const QueueSet&) = delete;
  QueueSet& operator=(const QueueSet&) = delete;

  /// Who is a member and which channel leads where. Its check_all_received() says what was sent and never received.
  const std::shared_ptr<tile::QueueTable>& table() const { return table_; }
  bool is_installed() const { return installed_.is_set(); }
  sim::Completion& installed() { return installed_; }
  /// Calls `action` when the set is installed: now if it is.
  void when_installed(std::function<void()> action);
  /// Drops what is in the slots and on its way, for members that have been taken back (Machine::cancel): when nothing
  /// of their launches is left. The set must not be used after that.
  void close();
  /// The simulation ends: what waits for the installation waits no more.
  void abandon() { actions_.clear(); }

 private:
  void install(Simulation& simulation);
  std::vector<hardware::InstallRequest> requests();
  void part_installed();
  void run_actions(std::uint64_t);

  Simulation& simulation_;
  std::weak_ptr<QueueResources> resources_;  // the simulation may end first
  Name name_;
  std::shared_ptr<tile::QueueTable> table_;
  std::size_t open_parts_ = 0;
  Time begun_;  // to be installed
  sim::Completion installed_;
  std::vector<std::shared_ptr<const sim::WaitNode>> parts_;
  std::vector<std::function<void()>> actions_;
};

/// The sets that launches have asked for by LaunchOptions. A set stays installed until another launch needs its entries
/// or its memory; one with a window serves a single launch.
class LaunchQueues {
 public:
  /// `simulation` must outlive it.
  explicit LaunchQueues(Simulation& simulation) : simulation_(simulation) {}
  ~LaunchQueues();
  LaunchQueues(const LaunchQueues&) = delete;
  LaunchQueues& operator=(const LaunchQueues&) = delete;
  /// A set of these members and options that no launch uses: one that is installed, or a new one. What stands in the
  /// way of a new one and is not in use is removed, the oldest first.
  std::shared_ptr<QueueSet> acquire(const Name& name, const std::vector<PeCoordinate>& members,
                                    const QueueOptions& options);
  /// Closes a set that acquire() has given, and forgets it.
  void remove(const std::shared_ptr<QueueSet>& set);
  /// The first set of the simulation with messages that nobody has received throws its error (QueueTable).
  void check_all_received() const;
  /// Removes the oldest set that no launch uses; false: there is none.
  bool give_back_unused();
  bool any_in_use() const;
  /// Who else may make room for a set: called until it fits or there is nothing to be given back (false).
  void share_with(std::function<bool()> give_back) { give_back_ = std::move(give_back); }
  /// Called when a launch has left its set.
  void on_leaving(std::function<void()> left) { left_ = std::move(left); }
  void set_left() const {
    if (left_) left_();
  }

 private:
  friend class QueueSet;
  void add(const std::shared_ptr<QueueSet>& set);
  Simulation& simulation_;
  std::vector<std::weak_ptr<QueueSet>> all_;     // of the simulation, those that are not of launches too
  std::vector<std::shared_ptr<QueueSet>> sets_;  // in the order in which they were made
  std::size_t all_at_sweep_ = 0;
  std::function<bool()> give_back_;
  std::function<void()> left_;
};

}  // namespace kernbench::runtime
