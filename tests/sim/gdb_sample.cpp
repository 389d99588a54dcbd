// A program for gdb to stop in: some fibers are suspended when it reaches stop_here().
#include "sim/fiber.h"
#include "sim/scheduler.h"
#include "sim/waitable.h"
#include "support/fiber_queues.h"

namespace {

using kernbench::sim::AgentId;
using kernbench::sim::Mailbox;
using kernbench::sim::Scheduler;

[[gnu::noinline]] void stop_here() {
  asm volatile("");
}

[[gnu::noinline]] int wait_for_message(Mailbox<int>& box, int depth) {
  const int message = depth == 0 ? box.receive() : wait_for_message(box, depth - 1);
  asm volatile("");
  return message + 1;
}

}  // namespace

int main() {
  Scheduler scheduler;
  Mailbox<int> box;
  scheduler.spawn({.agent = AgentId{1}, .name = "rank 1"}, [&] { wait_for_message(box, 3); });
  scheduler.spawn({.agent = AgentId{2}, .name = "rank 2"}, [&] { wait_for_message(box, 0); });
  scheduler.spawn({.agent = AgentId{3}, .name = "stopper"}, [&] {
    stop_here();
    box.send(1);
    box.send(2);
  });
  scheduler.run();
}
