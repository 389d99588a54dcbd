// Channels of groups that take turns in the neighbour tables when they do not all fit.
//
// Channels are put into the tables when their group first communicates over them. While all channels find room, they
// stay there and nothing here costs time. From the first that finds none on, the pool shares: a transfer or a
// collective begins when all of its ranks have come to it in their streams. If its channels are not in the tables then,
// they are put there, in place of those that have been idle for longest; while none is idle, it waits, first come first
// served.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "kernbench/coordinates.h"
#include "kernbench/queues.h"
#include "runtime/queues/queue_set.h"
#include "runtime/simulation.h"
#include "sim/wait_graph.h"
#include "tensor/placement/device_part.h"

namespace kernbench::distributed {

class ChannelKeeper;
class ChannelPool;
class ChannelUse;

/// Entries to send, or to receive, of the PEs of a part, with the memory for slots.
struct TableShare {
  tensor::DevicePart part;
  bool receives = false;
  auto operator<=>(const TableShare&) const = default;
};

/// Entries of a PE that are left free by an operation that begins before all of its ranks have come to it. Ranks that
/// are late may have to do something else first, with ranks that are not among them: that must find its entries.
struct EntriesForOthers {
  std::int64_t count = 0;     // none: it needs none
  std::int64_t capacity = 0;  // of a PE
};

/// Channels from the PEs of parts to their counterparts, for as long as it lives; in the tables while there is room.
class SharedChannels : public std::enable_shared_from_this<SharedChannels> {
 public:
  struct Wanted {
    QueueParameters parameters;
    struct Need {
      TableShare share;
      std::int64_t entries = 0;  // of each of its PEs
    };
    std::vector<Need> shares;  // each share once
    std::function<std::shared_ptr<runtime::QueueSet>()>
        make;  // puts them into the tables; throws when there is no room
  };
  SharedChannels(std::shared_ptr<ChannelPool> pool, Wanted wanted);
  ~SharedChannels();
  SharedChannels(const SharedChannels&) = delete;
  SharedChannels& operator=(const SharedChannels&) = delete;
  /// Null while they are not in the tables.
  const std::shared_ptr<runtime::QueueSet>& set() const { return set_; }
  const std::shared_ptr<ChannelPool>& pool() const { return pool_; }
  /// They are in the tables, and nobody waits for a turn on any: whoever wants to use these begins at once.
  bool are_free(const EntriesForOthers& others = {}) const;

 private:
  friend class ChannelPool;
  std::shared_ptr<ChannelPool> pool_;
  Wanted wanted_;
  std::shared_ptr<runtime::QueueSet> set_;
  std::vector<ChannelUse*> uses_;  // that have begun and are not over
  std::int64_t most_entries_ = 0;  // of a PE
  /// Whether there was room beside them and what was in use, the last time that somebody looked.
  struct Looked {
    std::uint64_t at = 0;
    std::int64_t count = 0;
    bool room = false;
  };
  mutable Looked looked_;
  std::uint64_t number_ = 0;      // of the pool's
  std::uint64_t idle_since_ = 0;  // likewise; 0: not idle
};

class ChannelPool : public std::enable_shared_from_this<ChannelPool> {
 public:
  /// `simulation` must live until close().
  explicit ChannelPool(runtime::Simulation& simulation) : simulation_(simulation) {}
  /// Puts channels into the tables if there is room. ValueError and OutOfMemoryError when there never will be; `what`
  /// says in them what the channels are for.
  std::shared_ptr<SharedChannels> open(SharedChannels::Wanted wanted, const std::string& what);
  /// Some channels have found no room.
  bool shares() const { return shares_; }
  /// The simulation ends: nothing begins any more.
  void close() { closed_ = true; }
  bool closed() const { return closed_; }
  /// Entries of others, of launches, may have become free.
  void room_elsewhere();
  /// Takes the channels out of the tables that have been idle for longest; false: none are.
  bool give_back_idle();
  /// Channels in the tables, for as long as they are there.
  void keep(const std::shared_ptr<ChannelKeeper>& keeper);
  /// The run is over: what ranks that failed have left in the channels is not missing.
  void forget_messages_of_failed() const;

 private:
  friend class ChannelUse;
  friend class SharedChannels;
  using Need = SharedChannels::Wanted::Need;
  /// Whether there is room for a need, as far as somebody has found out since its share was last served.
  struct Room {
    std::int64_t none_for = 0;   // so many entries, or more; 0: nobody has found none
    std::size_t parameters = 0;  // of the slots; an index of known_
  };
  /// Somebody who waits, and one of the needs for which there was no room.
  struct Waiter {
    std::uint64_t number = 0;
    ChannelUse* use = nullptr;
    std::int64_t entries = 0;
    std::size_t lacks = 0, parameters = 0;  // indices of rooms_ and known_
  };
  /// Of a share: who waits and needs some of it, by their numbers.
  struct Queue {
    std::size_t room = 0;  // index of rooms_
    std::vector<Waiter> waiters;
  };

  void begin(ChannelUse& use);
  void request(ChannelUse& use);
  void give_up(ChannelUse& use);
  void over(ChannelUse& use);
  void forget(SharedChannels& channels);

  /// Those who have what somebody waits for.
  void append_holders(const ChannelUse& use, std::vector<sim::WaitEdge>& edges) const;

  /// So many entries are free beside these channels and those that are in use.
  bool leaves(const EntriesForOthers& others, const SharedChannels& channels) const;
  static void look_for_left_over(const ChannelUse& use);
  void count_in_use(const SharedChannels& channels, std::int64_t sign);
  bool try_begin(ChannelUse& use);
  void wait(ChannelUse& use, const TableShare& lack);
  void serve_later(const TableShare& share, const Queue& queue);
  Queue& queue_of(const TableShare& share);
  bool has_none(const Waiter& waiter) const;
  bool lacks_other(Waiter& waiter, const Queue& than) const;
  std::optional<TableShare> enter(SharedChannels& channels);
  bool put_in(SharedChannels& channels);
  bool lacks(const Need& need, const QueueParameters& parameters) const;
  SharedChannels* longest_idle(const TableShare& share) const;
  bool never_free(const TableShare& share) const;
  void settle(SharedChannels& channels);
  void leave_idle(SharedChannels& channels);
  void take_out(SharedChannels& channels);
  void wake(const SharedChannels& channels);
  void serve_soon();
  void serve(std::uint64_t);
  void serve(const TableShare& share);

  runtime::Simulation& simulation_;
  bool shares_ = false, closed_ = false, serves_soon_ = false;
  bool waits_for_memory_ = false;  // somebody has waited for memory that is in pieces, whoever has the others
  std::uint64_t clock_ = 0;
  std::map<TableShare, std::map<std::uint64_t, SharedChannels*>> idle_;       // by idle_since_
  std::map<TableShare, std::map<std::uint64_t, SharedChannels*>> in_tables_;  // by their numbers
  std::map<TableShare, std::int64_t> in_use_;  // entries of channels with an operation that has begun and is not over
  std::int64_t most_in_use_ = 0;               // the sum of what each of them has of a PE, at most
  std::uint64_t uses_changed_ = 1;
  std::map<TableShare, Queue> waiting_;
  std::vector<Room> rooms_;             // of the shares that somebody has waited for
  std::vector<QueueParameters> known_;  // of the channels that somebody has waited for
  std::size_t waiting_count_ = 0;
  std::set<TableShare> to_serve_;
  std::vector<std::weak_ptr<ChannelKeeper>> keepers_;
};

}  // namespace kernbench::distributed
