#include "hardware/window/window_queue.h"

#include <utility>

#include "hardware/agents.h"
#include "hardware/ipcq/ipcq.h"

namespace kernbench::hardware {

using topology::Endpoint;

namespace {

MemoryPlace place_of(const Operation& operation) {
  const WindowWork& work = *operation.window;
  return {work.buffer_kind, work.target, work.memory, operation.ipcq.bytes, work.chunk};
}

bool has_bytes(const Operation& operation) {
  return operation.ipcq.bytes > Bytes(0);
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

void WindowQueue::begin(Operation& operation) {
  const std::uint64_t number = next_++;
  Access& access = accesses_[number];
  access.operation = &operation;
  if (operation.window->reads) {
    return environment_.memory.request(next_sender(), pe_, place_of(operation),
                                       sim::call<&WindowQueue::requested>(this, number));
  }
  access.landed = !has_bytes(operation);
  access.announced = !operation.window->signals;
  if (access.landed) return announce(number);
  leaving_ = true;
  environment_.memory.write(next_sender(), pe_, place_of(operation), sim::call<&WindowQueue::departed>(this, number),
                            sim::call<&WindowQueue::landed>(this, number));
}

void WindowQueue::requested(std::uint64_t access) {
  environment_.memory.read(next_sender(), pe_, place_of(*accesses_[access].operation),
                           sim::call<&WindowQueue::read>(this, access), sim::call<&WindowQueue::over>(this, access));
}

void WindowQueue::read(std::uint64_t access) {
  effect(*accesses_[access].operation);
}

// A signal follows its payload, as the announcement of a segment does.
void WindowQueue::departed(std::uint64_t access) {
  const Operation& operation = *accesses_[access].operation;
  leaving_ = false;
  if (operation.window->signals) announce(access);
  start_next(operation.operation_name());
}

void WindowQueue::landed(std::uint64_t access) {
  Access& at = accesses_[access];
  at.landed = true;
  effect(*at.operation);
  const WindowWork& work = *at.operation->window;
  if (work.signals) return update_when_complete(access);
  acknowledge(memory_of(work.buffer_kind, work.target), access);
}

void WindowQueue::announce(std::uint64_t access) {
  environment_.transport.message(next_sender(), Endpoint::pe_port(pe_),
                                 Endpoint::pe_port(accesses_[access].operation->window->target),
                                 VirtualNetwork::request, sim::call<&WindowQueue::announced>(this, access));
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
  Operation& operation = *accesses_[access].operation;
  const WindowWork& work = *operation.window;
  environment_.ipcq_of(work.target).signals().update(work.word, work.epoch, work.update, work.value);
  if (!has_bytes(operation)) effect(operation);
  acknowledge(Endpoint::pe_port(work.target), access);
}

void WindowQueue::acknowledge(Endpoint from, std::uint64_t access) {
  environment_.transport.message(next_sender(), from, Endpoint::pe_port(pe_), VirtualNetwork::response,
                                 sim::call<&WindowQueue::over>(this, access));
}

void WindowQueue::over(std::uint64_t access) {
  Operation& operation = *accesses_[access].operation;
  accesses_.erase(access);
  finish(operation);
}

}  // namespace kernbench::hardware
