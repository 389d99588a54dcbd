#include "runtime/streams/stream.h"

#include <utility>
#include <vector>

#include "sim/fiber.h"

namespace kernbench::runtime {
namespace {

std::string completion_text(const std::source_location& where) {
  const std::string place = sim::place_text(where);
  return place.empty() ? "its completion" : "its completion, called at " + place;
}

}  // namespace

CompletionRef Stream::enqueue(Name name, Begin begin) {
  auto command = std::make_shared<Command>();
  command->name = std::move(name);
  command->begin = std::move(begin);
  command->completion = std::make_shared<sim::Completion>();
  command->work = current_work();
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
        const auto mine = self.lock();
        if (const auto node = mine ? mine->node.lock() : nullptr)
          edges.push_back({node.get(), completion_text(mine->where)});
        else if (const auto previous = before.lock())
          edges.push_back({previous.get(), "its turn in the stream"});
      });
  auto completion = command->completion;
  commands_.push_back(std::move(command));
  if (!beginning_ && commands_.size() == 1) begin_next();
  return completion;
}

CompletionRef Stream::enqueue_wait(CompletionRef reached) {
  return enqueue_wait([reached = std::move(reached)] { return reached; });
}

CompletionRef Stream::enqueue_wait(std::function<CompletionRef()> ask, Name name) {
  return enqueue(std::move(name), [this, ask = std::move(ask)](Done done) {
    const CompletionRef reached = ask();
    if (!reached || reached->is_set()) {
      done();
      return std::shared_ptr<const sim::WaitNode>();
    }
    awaited_ = reached;
    after_awaited_ = std::move(done);
    reached->on_set(sim::call<&Stream::go_on>(this, ++waits_));
    return std::shared_ptr<const sim::WaitNode>(reached);
  });
}

void Stream::go_on(std::uint64_t wait) {
  if (wait != waits_ || !awaited_) return;
  awaited_.reset();
  std::exchange(after_awaited_, nullptr)();
}

void Stream::drop_cancelled() {
  std::vector<std::shared_ptr<Command>> dropped;
  std::erase_if(commands_, [&](const auto& command) {
    if (command->begun || !command->dropped()) return false;
    dropped.push_back(command);
    return true;
  });
  for (const auto& command : dropped) {
    command->begin = nullptr;
    command->work.reset();
    command->completion->set();
  }
  if (awaited_ && commands_.front()->dropped()) go_on(waits_);
}

CompletionRef Stream::last() const {
  return commands_.empty() ? nullptr : commands_.back()->completion;
}

void Stream::begin_next() {
  // A command may complete while it begins; the loop then goes on instead of recursing.
  beginning_ = true;
  while (!commands_.empty()) {
    const auto command = commands_.front();
    const auto begin = std::exchange(command->begin, nullptr);
    command->begun = true;
    if (observer_) observer_(command->name, command->where, true);
    const auto node = begin([this, command] {
      command->done = true;
      if (observer_) observer_(command->name, command->where, false);
      command->node.reset();
      command->work.reset();
      command->completion->set();
      if (beginning_) return;
      commands_.pop_front();
      begin_next();
    });
    if (!command->done) {
      command->node = node;
      break;
    }
    commands_.pop_front();
  }
  beginning_ = false;
}

}  // namespace kernbench::runtime
