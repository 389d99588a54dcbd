#include "hardware/window/window_queue.h"

#include <algorithm>
#include <utility>

#include "hardware/agents.h"
#include "hardware/ipcq/ipcq.h"

namespace kernbench::hardware {

using topology::Endpoint;

namespace {

MemoryPlace place_of(const Command& command) {
  const WindowWork& work = command.window();
  return {work.buffer_kind, work.target, work.memory, work.bytes, work.chunk};
}

bool has_bytes(const Command& command) {
  return command.window().bytes > Bytes(0);
}

}  // namespace

WindowQueue::WindowQueue(IpcqEnvironment& environment, PeCoordinate pe)
    : CommandQueue(environment.scheduler, {PartKind::window_queue, pe}, environment.topology.pe.ipcq.depth),
      environment_(environment),
      pe_(pe),
      agent_(environment.layout.window_agent(pe)) {}

Sender WindowQueue::next_sender() {
  return {agent_, message_key(steps_++)};
}

void WindowQueue::begin(Command& command) {
  auto free = std::ranges::find(accesses_, nullptr, &Access::command);
  if (free == accesses_.end()) free = accesses_.insert(free, Access());
  const auto number = static_cast<std::uint64_t>(free - accesses_.begin());
  Access& access = *free;
  access = {&command, true, true};
  if (command.window().reads) {
    return environment_.memory.request(next_sender(), pe_, place_of(command),
                                       sim::call<&WindowQueue::requested>(this, number));
  }
  access.landed = !has_bytes(command);
  access.announced = !command.window().signals;
  if (access.landed) return announce(number);
  leaving_ = true;
  const MemoryPlace place = place_of(command);
  command.count_moved(environment_.memory.way(pe_, place), command.window().bytes);
  environment_.memory.write(next_sender(), pe_, place, sim::call<&WindowQueue::departed>(this, number),
                            sim::call<&WindowQueue::landed>(this, number));
}

void WindowQueue::requested(std::uint64_t access) {
  const Command& command = *accesses_[access].command;
  const auto way =
      environment_.memory.read(next_sender(), pe_, place_of(command), sim::call<&WindowQueue::read>(this, access),
                               sim::call<&WindowQueue::over>(this, access));
  command.count_moved(way, command.window().bytes);
}

void WindowQueue::read(std::uint64_t access) {
  effect(*accesses_[access].command);
}

// A signal follows its payload, as the announcement of a segment does.
void WindowQueue::departed(std::uint64_t access) {
  const CommandRef command(accesses_[access].command);
  leaving_ = false;
  if (command->window().signals) announce(access);
  start_next(*command);
}

void WindowQueue::landed(std::uint64_t access) {
  Access& at = accesses_[access];
  at.landed = true;
  effect(*at.command);
  const WindowWork& work = at.command->window();
  if (work.signals) return update_when_complete(access);
  acknowledge(environment_.memory.end_of(work.buffer_kind, work.target).at, access);
}

void WindowQueue::announce(std::uint64_t access) {
  environment_.transport.message(next_sender(), Endpoint::pe_port(pe_),
                                 Endpoint::pe_port(accesses_[access].command->window().target), VirtualNetwork::request,
                                 sim::call<&WindowQueue::announced>(this, access));
}

void WindowQueue::announced(std::uint64_t access) {
  accesses_[access].announced = true;
  update_when_complete(access);
}

void WindowQueue::update_when_complete(std::uint64_t access) {
  const Access& at = accesses_[access];
  if (!at.landed || !at.announced) return;
  const Time latency = environment_.topology.pe.ipcq.meta_latency;
  if (latency == Time::zero()) return update(access);
  scheduler().schedule(scheduler().now() + latency, sim::Phase::deliver, agent_, step_key(steps_++),
                       sim::call<&WindowQueue::update>(this, access));
}

void WindowQueue::update(std::uint64_t access) {
  Command& command = *accesses_[access].command;
  const WindowWork& work = command.window();
  environment_.ipcq_of(work.target).signals().update(work.word, work.epoch, work.update, work.value);
  if (!has_bytes(command)) effect(command);
  acknowledge(Endpoint::pe_port(work.target), access);
}

void WindowQueue::acknowledge(Endpoint from, std::uint64_t access) {
  environment_.transport.message(next_sender(), from, Endpoint::pe_port(pe_), VirtualNetwork::response,
                                 sim::call<&WindowQueue::over>(this, access));
}

void WindowQueue::over(std::uint64_t access) {
  finish(*std::exchange(accesses_[access].command, nullptr));
}

}  // namespace kernbench::hardware
