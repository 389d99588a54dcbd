// Streams: commands to one device that run one after the other, in the order in which they were given.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <source_location>
#include <string>
#include <utility>

#include "kernbench/coordinates.h"
#include "runtime/streams/worker_group.h"
#include "sim/waitable.h"

namespace kernbench::runtime {

using CompletionRef = std::shared_ptr<sim::Completion>;

/// A command belongs to the group of the worker that gives it. It begins when the one before it has completed. `begin`
/// starts it, says what a wait for it waits for (may be null), and has `done` called when it is complete, at once or
/// later.
class Stream {
 public:
  using Done = std::function<void()>;
  using Begin = std::function<std::shared_ptr<const sim::WaitNode>(Done done)>;

  /// Told when a command, of the program's call at `where`, begins and when it is complete.
  using Observer = std::function<void(const std::string& command, const std::source_location& where, bool begins)>;

  explicit Stream(Name name) : name_(std::make_shared<const Name>(std::move(name))) {}
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  void observe_with(Observer observer) { observer_ = std::move(observer); }
  /// Adds a command; the result is set when it completes.
  CompletionRef enqueue(Name name, Begin begin);
  /// What is given to the stream later begins after `reached`.
  CompletionRef enqueue_wait(CompletionRef reached);
  /// Likewise; what is to be reached is asked for when it is the stream's turn. Null: nothing.
  CompletionRef enqueue_wait(std::function<CompletionRef()> reached, Name name = "wait for an event");
  /// Drops the commands of cancelled groups that have not begun, and their waits for events; they count as completed,
  /// for whoever else waits for them.
  void drop_cancelled();
  /// The completion of the last command, or null when none is outstanding.
  CompletionRef last() const;
  const Name& name() const { return *name_; }

 private:
  struct Command {
    Name name;
    std::source_location where;  // of the program's call that gave it; line 0: not known
    Begin begin;
    CompletionRef completion;
    std::weak_ptr<const sim::WaitNode> node;  // the machine owns it, and it owns what calls this command done
    GroupWorkRef work;
    bool begun = false;
    bool done = false;
    bool dropped() const { return work && work->cancelled(); }
  };
  void begin_next();
  void go_on(std::uint64_t wait);

  std::shared_ptr<const Name> name_;  // completions may outlive the stream
  Observer observer_;
  std::deque<std::shared_ptr<Command>> commands_;
  bool beginning_ = false;
  // The command in front waits for this; then it is done.
  CompletionRef awaited_;
  Done after_awaited_;
  std::uint64_t waits_ = 0;  // completions of an abandoned wait are ignored
};

}  // namespace kernbench::runtime
