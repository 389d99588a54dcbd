#include "runtime/streams/stream.h"

#include <utility>
#include <vector>

#include "sim/fiber.h"
#include "sim/scheduler.h"

namespace kernbench::runtime {
namespace {

std::string completion_text(const std::source_location& where) {
  const std::string place = sim::place_text(where);
  return place.empty() ? "its completion" : "its completion, called at " + place;
}

}  // namespace

Stream::Stream(Name name, std::uint64_t number, std::int32_t places, std::shared_ptr<BusyStreams> busy,
               const sim::Scheduler& scheduler)
    : name_(std::make_shared<const Name>(std::move(name))),
      number_(number),
      places_(std::make_shared<CommandPlaces>(places)),
      busy_(std::move(busy)),
      scheduler_(scheduler) {
  places_->describe_as([on = name_] { return named("a place for a launch in the device's queue of {}", *on); });
  places_->provided_by([this](auto& edges) {
    const std::size_t n = find_command([](const Command& each) { return each.kind == Kind::launch && !each.done; });
    if (n < commands_.size()) edges.push_back({commands_[n]->completion.get(), "its completion"});
  });
}

CompletionRef Stream::enqueue(Name name, Begin begin) {
  return add(Kind::ordinary, std::move(name), {}, std::move(begin));
}

CompletionRef Stream::enqueue_marker(Name name, std::function<void()> reached) {
  return add(Kind::marker, std::move(name), {}, [reached = std::move(reached)](const Done& done) {
    reached();
    done();
    return nullptr;
  });
}

CompletionRef Stream::enqueue_launch(Name name, LaunchCommand launch, Begin begin) {
  return add(Kind::launch, std::move(name), std::move(launch), std::move(begin));
}

CompletionRef Stream::add(Kind kind, Name name, LaunchCommand launch, Begin begin) {
  auto command = std::make_shared<Command>();
  command->kind = kind;
  command->name = std::move(name);
  command->begin = std::move(begin);
  command->launch = std::move(launch);
  command->completion = std::make_shared<sim::Completion>();
  command->work = current_work();
  command->waits = kind == Kind::wait || command->launch.waits;
  command->recorded = command->launch.recorded;
  if (const sim::Fiber* fiber = sim::this_fiber::current()) command->where = fiber->call().where;
  if (command->dropped()) {
    command->completion->set();
    return command->completion;
  }
  command->completion->describe_as([name = command->name, on = name_] { return named("{} on {}", name, *on); },
                                   sim::WaitRole::command);
  // Weak references: a command that is over has nothing left to wait for.
  command->completion->provided_by(
      [self = std::weak_ptr<Command>(command), before = std::weak_ptr<sim::Completion>(last())](auto& edges) {
        const auto previous = before.lock();
        if (previous && !previous->is_set()) return edges.push_back({previous.get(), "its turn in the stream"});
        const auto mine = self.lock();
        if (const auto node = mine ? mine->node.lock() : nullptr)
          edges.push_back({node.get(), completion_text(mine->where)});
      });
  auto completion = command->completion;
  commands_.push_back(std::move(command));
  tell_whether_busy();
  if (!going_through_) go_through();
  return completion;
}

CompletionRef Stream::enqueue_wait(CompletionRef reached, const std::source_location& recorded) {
  LaunchCommand command;
  command.may_go_ahead = [reached] { return reached->is_set(); };
  command.recorded = recorded;
  return add(Kind::wait, "wait for an event", std::move(command),
             waiting([reached = std::move(reached)] { return reached; }));
}

CompletionRef Stream::enqueue_wait(std::function<CompletionRef()> ask, Name name) {
  LaunchCommand command;
  command.waits = true;
  return add(Kind::ordinary, std::move(name), std::move(command), waiting(std::move(ask)));
}

CompletionRef Stream::enqueue_turn(std::function<CompletionRef()> ask, std::function<bool()> may_be_passed, Name name) {
  LaunchCommand command;
  command.may_go_ahead = std::move(may_be_passed);
  return add(Kind::wait, std::move(name), std::move(command), waiting(std::move(ask)));
}

Stream::Begin Stream::waiting(std::function<CompletionRef()> ask) {
  return [this, ask = std::move(ask)](Done done) {
    const CompletionRef reached = ask();
    if (!reached || reached->is_set()) {
      done();
      return std::shared_ptr<const sim::WaitNode>();
    }
    awaited_ = reached;
    after_awaited_ = std::move(done);
    reached->on_set(sim::call<&Stream::go_on>(this, ++waits_));
    return std::shared_ptr<const sim::WaitNode>(reached);
  };
}

void Stream::go_on(std::uint64_t wait) {
  if (wait != waits_ || !awaited_) return;
  awaited_.reset();
  std::exchange(after_awaited_, nullptr)();
}

void Stream::drop_cancelled() {
  std::vector<CommandRef> dropped;
  Ring<CommandRef> kept;
  while (!commands_.empty()) {
    CommandRef command = commands_.take_front();
    if (command->begun || !command->dropped()) {
      kept.push_back(std::move(command));
    } else {
      dropped.push_back(std::move(command));
    }
  }
  commands_ = std::move(kept);
  tell_whether_busy();
  passed_ = 0;
  for (const auto& command : dropped) {
    command->begin = nullptr;
    command->launch = {};
    command->work.reset();
    command->completion->set();
  }
  if (awaited_ && commands_.front()->dropped()) go_on(waits_);
}

std::vector<std::uint64_t> Stream::drop_behind(std::uint64_t failed) {
  std::vector<std::uint64_t> owners;
  std::size_t n = find_command([&](const Command& each) { return each.launch.owner == failed; });
  if (n == commands_.size()) return owners;
  for (++n; n < commands_.size(); ++n) {
    Command& command = *commands_[n];
    command.taken_back = true;
    if (command.at_device && !command.done) owners.push_back(command.launch.owner);
  }
  drop_cancelled();
  return owners;
}

void Stream::drop_behind(const sim::Completion& command) {
  std::size_t n = find_command([&](const Command& each) { return each.completion.get() == &command; });
  if (n == commands_.size()) return;
  for (++n; n < commands_.size(); ++n) commands_[n]->taken_back = true;
  drop_cancelled();
}

CompletionRef Stream::last() const {
  return commands_.empty() ? nullptr : commands_.back()->completion;
}

void Stream::tell_whether_busy() {
  if (is_busy_ == !commands_.empty()) return;
  is_busy_ = !is_busy_;
  if (is_busy_) {
    busy_->insert(number_);
  } else {
    busy_->erase(number_);
    commands_ = {};  // a stream that nobody uses any more keeps no room
  }
}

// ---- what holds commands up

Stream::FrontTimes Stream::front_times() const {
  FrontTimes times = before_front_;
  if (front_) (front_->waits ? times.waits : times.work) += scheduler_.now() - front_since_;
  return times;
}

void Stream::front_is(const CommandRef& command) {
  const FrontTimes until = front_times();
  if (until.waits > before_front_.waits) {
    const bool known = front_->recorded.line() > 0;
    last_wait_ = {"event", {}, nullptr, front_->where, known ? "event" : front_->name.text(), front_->recorded};
  }
  before_front_ = until;
  front_since_ = scheduler_.now();
  front_ = command;
}

Stream::Given Stream::give() const {
  Given given{front_times(), {}, {}};
  for (std::size_t n = commands_.size(); n-- > 0;) {
    const Command& before = *commands_[n];
    if (before.kind == Kind::marker || before.waits || before.done) continue;
    given.before = before.name.text();
    given.before_where = before.where;
    break;
  }
  return given;
}

HeldUp Stream::held_up(const Given& given) const {
  const FrontTimes until = front_times();
  const Time work = until.work - given.at_front.work, waits = until.waits - given.at_front.waits;
  HeldUp held;
  if (waits >= work && waits > Time::zero()) {
    held = last_wait_;
    held.time = waits;
  } else if (work > Time::zero()) {
    // With nothing before it, it stood at the front itself.
    held = {given.before.empty() ? "channels" : "stream", work, nullptr, {}, given.before, given.before_where};
  }
  return held;
}

// ---- beginning

void Stream::begin(const CommandRef& command) {
  command->begun = true;
  const auto begun = std::exchange(command->begin, nullptr)([this, command] { completed(*command); });
  if (command->done) return;
  command->node = begun.node;
  command->at_device = begun.at_device;
}

void Stream::completed(Command& command) {
  command.done = true;
  if (observer_) observer_(command.name, command.where, false);
  command.node.reset();
  command.work.reset();
  command.launch = {};
  command.completion->set();
  if (!going_through_) go_through();
}

void Stream::go_through() {
  going_through_ = true;
  begin_first();
  begin_ahead();
  going_through_ = false;
}

// A command may complete while it begins; the loop then goes on instead of recursing.
void Stream::begin_first() {
  while (!commands_.empty()) {
    const CommandRef command = commands_.front();
    if (!std::exchange(command->first, true)) {
      front_is(command);
      if (observer_) observer_(command->name, command->where, true);
      if (command->launch.is_first) command->launch.is_first();
    }
    if (!command->begun) begin(command);
    if (!command->done) return;
    commands_.pop_front();
    tell_whether_busy();
    if (passed_ > 0) --passed_;
  }
  if (front_) front_is(nullptr);
}

void Stream::begin_ahead() {
  for (; passed_ < commands_.size(); ++passed_) {
    const CommandRef command = commands_[passed_];
    if (may_be_passed(command)) continue;
    if (command->begun || command->kind != Kind::launch) return;
    if (!is_settled(command) || !command->launch.may_go_ahead()) return;
    begin(command);
    if (!may_be_passed(command)) return;
  }
}

/// Whether a launch behind it may begin.
bool Stream::may_be_passed(const CommandRef& command) {
  if (command->done || command->kind == Kind::marker) return true;
  if (command->kind == Kind::wait) return !command->begun && is_settled(command) && command->launch.may_go_ahead();
  return command->at_device && is_settled(command);
}

/// Whether nothing can take it back but what takes back its whole group; if something can, the stream goes on when
/// that is over.
bool Stream::is_settled(const CommandRef& command) {
  CommandScope* scope = command->open_scope();
  if (scope == nullptr) return true;
  if (std::exchange(command->told_when_settled, true)) return false;
  scope->when_settled([self = weak_from_this()] {
    if (const auto stream = self.lock(); stream && !stream->going_through_) stream->go_through();
  });
  return false;
}

}  // namespace kernbench::runtime
