// Streams: commands to one device that run one after the other, in the order in which they were given. Launches wait
// for their turn at the device where they can, all other commands at the host.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <source_location>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/ring.h"
#include "kernbench/coordinates.h"
#include "kernbench/units.h"
#include "runtime/streams/command_places.h"
#include "runtime/streams/worker_group.h"
#include "sim/waitable.h"

namespace kernbench::sim {
class Scheduler;
}

namespace kernbench::runtime {

using CompletionRef = std::shared_ptr<sim::Completion>;

/// The numbers of those of a device's streams that have commands which are not over.
using BusyStreams = std::set<std::uint64_t>;

/// What became of a command that was begun.
struct Begun {
  template <typename Node>
  Begun(Node waits_for, bool is_at_device = false)  // NOLINT(google-explicit-constructor): most commands return a node
      : node(std::move(waits_for)), at_device(is_at_device) {}
  std::shared_ptr<const sim::WaitNode> node;  // what a wait for it waits for; may be null
  bool at_device;                             // the device has it, and begins what comes to it later behind it
};

/// What held up a command after it had been given.
struct HeldUp {
  std::string_view reason = {};  // as LaunchResult::waited_for; empty: nothing
  Time time = {};
  const char* call = nullptr;
  std::source_location where = {};
  std::string cause = {};
  std::source_location cause_where = {};
};

/// What a stream has to know of a launch, or of a wait.
struct LaunchCommand {
  /// Whether it can be sent to the device before its turn; asked then, and not before its scope is settled.
  std::function<bool()> may_go_ahead;
  std::function<void()> is_first;      // told when all before it are over for the host
  CommandPlace place;                  // held until it is over
  std::uint64_t owner = 0;             // under which the machine knows it
  bool waits = false;                  // for an event
  std::source_location recorded = {};  // of a wait: the line for which it stands
};

/// A command belongs to the group of the worker that gives it. It begins when the one before it has completed. `begin`
/// starts it, and has `done` called when it is complete, at once or later.
class Stream : public std::enable_shared_from_this<Stream> {
 public:
  using Done = std::function<void()>;
  using Begin = std::function<Begun(Done done)>;

  /// For how long commands have stood at the front.
  struct FrontTimes {
    Time work, waits;  // what asks something of the device; waits for events and turns
  };
  /// What stands before a command that is given now.
  struct Given {
    FrontTimes at_front = {};
    std::string before = {};  // the last that asks something of the device; empty: none
    std::source_location before_where = {};
  };
  Given give() const;
  /// What has held it up longest until now.
  HeldUp held_up(const Given& given) const;

  /// Told when a command, of the program's call at `where`, begins and when it is complete.
  using Observer = std::function<void(const std::string& command, const std::source_location& where, bool begins)>;

  /// `number`: the device's queue for its launches, not 0; `places`: the launches that this queue takes; `busy` has the
  /// number while last() is not null.
  Stream(Name name, std::uint64_t number, std::int32_t places, std::shared_ptr<BusyStreams> busy,
         const sim::Scheduler& scheduler);
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  void observe_with(Observer observer) { observer_ = std::move(observer); }
  /// Adds a command; the result is set when it completes.
  CompletionRef enqueue(Name name, Begin begin);
  /// Adds one that takes no time and asks nothing of the device: launches behind it go ahead of it.
  CompletionRef enqueue_marker(Name name, std::function<void()> reached);
  /// Adds a launch. It begins when all before it are over, at the device or markers, if it may go ahead then.
  CompletionRef enqueue_launch(Name name, LaunchCommand launch, Begin begin);
  /// What is given to the stream later begins after `reached`; a launch passes when that has been.
  /// `recorded`: the line of the program for which it stands.
  CompletionRef enqueue_wait(CompletionRef reached, const std::source_location& recorded = {});
  /// Likewise; what is to be reached is asked for when it is the stream's turn. Null: nothing.
  CompletionRef enqueue_wait(std::function<CompletionRef()> reached, Name name = "wait for an event");
  /// Likewise; launches pass while there would be nothing to wait for.
  CompletionRef enqueue_turn(std::function<CompletionRef()> reached, std::function<bool()> may_be_passed, Name name);
  /// Drops the commands of cancelled groups that have not begun, and their waits for events; they count as completed,
  /// for whoever else waits for them.
  void drop_cancelled();
  /// Drops in this way all that stands behind the launch of `failed`. Returns the owners of the launches among them
  /// that the device has: they are to be taken back there.
  std::vector<std::uint64_t> drop_behind(std::uint64_t failed);
  /// Likewise what stands behind the command with this completion, which no launch has passed.
  void drop_behind(const sim::Completion& command);
  /// The completion of the last command, or null when none is outstanding.
  CompletionRef last() const;
  const Name& name() const { return *name_; }
  std::uint64_t number() const { return number_; }
  CommandPlaces& places() { return *places_; }

 private:
  enum class Kind : std::uint8_t { ordinary, marker, wait, launch };
  struct Command {
    Kind kind = Kind::ordinary;
    Name name;
    std::source_location where;     // of the program's call that gave it; line 0: not known
    std::source_location recorded;  // of a wait; likewise
    bool waits = false;             // for an event, or its turn
    Begin begin;
    LaunchCommand launch;  // of a launch; of a wait, whether it can be passed
    CompletionRef completion;
    std::weak_ptr<const sim::WaitNode> node;  // the machine owns it, and it owns what calls this command done
    GroupWorkRef work;
    bool first = false;  // all before it are over
    bool begun = false;
    bool at_device = false;
    bool done = false;
    bool taken_back = false;
    bool told_when_settled = false;
    bool dropped() const { return taken_back || (work && work->cancelled()); }
    /// What may yet take it back, and what stands behind it; null: nothing may.
    CommandScope* open_scope() const { return work && !done ? work->open_scope() : nullptr; }
  };
  using CommandRef = std::shared_ptr<Command>;
  CompletionRef add(Kind kind, Name name, LaunchCommand launch, Begin begin);
  /// A command that is complete when what `ask` tells of is.
  Begin waiting(std::function<CompletionRef()> ask);
  void begin(const CommandRef& command);
  /// The place of the first that is so; commands_.size(): none is.
  template <class Predicate>
  std::size_t find_command(Predicate is_so) const {
    std::size_t n = 0;
    while (n < commands_.size() && !is_so(*commands_[n])) ++n;
    return n;
  }
  FrontTimes front_times() const;
  void front_is(const CommandRef& command);
  void completed(Command& command);
  /// After commands_ has changed.
  void tell_whether_busy();
  /// Begins all commands that can begin now.
  void go_through();
  void begin_first();
  void begin_ahead();
  bool may_be_passed(const CommandRef& command);
  bool is_settled(const CommandRef& command);
  void go_on(std::uint64_t wait);

  std::shared_ptr<const Name> name_;  // completions may outlive the stream
  std::uint64_t number_;
  std::shared_ptr<CommandPlaces> places_;
  std::shared_ptr<BusyStreams> busy_;
  bool is_busy_ = false;  // as busy_ has it
  const sim::Scheduler& scheduler_;
  Observer observer_;
  Ring<CommandRef> commands_;  // an empty std::deque would hold 576 bytes
  CommandRef front_;           // null: none
  Time front_since_;
  FrontTimes before_front_;
  HeldUp last_wait_;        // that took time, but for how long
  std::size_t passed_ = 0;  // of those in front, how many are known to be such that a launch may pass them
  bool going_through_ = false;
  // The command in front waits for this; then it is done.
  CompletionRef awaited_;
  Done after_awaited_;
  std::uint64_t waits_ = 0;  // completions of an abandoned wait are ignored
};

}  // namespace kernbench::runtime
