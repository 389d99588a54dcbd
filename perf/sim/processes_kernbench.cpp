// N processes in a ring; each step of each is one delay, one message sent and one received. On KernBench.
// Usage: processes_kernbench N STEPS; prints the CPU time of a step of one process in nanoseconds, and the end of
// simulated time.
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <vector>

#include "sim/fiber.h"
#include "sim/scheduler.h"
#include "sim/waitable.h"
#include "support/fiber_queues.h"

int main(int argc, char** argv) {
  using namespace kernbench;
  using namespace kernbench::sim;
  if (argc != 3) return 2;
  const int count = std::atoi(argv[1]);
  const int steps = std::atoi(argv[2]);

  Scheduler scheduler;
  std::vector<Mailbox<int>> boxes(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) {
    Mailbox<int>& own = boxes[static_cast<std::size_t>(i)];
    Mailbox<int>& next = boxes[static_cast<std::size_t>((i + 1) % count)];
    scheduler.spawn({.agent = AgentId{static_cast<std::uint32_t>(i)}, .name = "process"}, [&own, &next, i, steps] {
      for (int step = 0; step < steps; ++step) {
        this_fiber::sleep(Time::nanoseconds(1 + (i * 7 + step * 13) % 50));
        next.send(step);
        own.receive();
      }
    });
  }
  const std::clock_t begin = std::clock();
  scheduler.run();
  const double seconds = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  std::printf("%.2f %.9f\n", seconds * 1e9 / count / steps, scheduler.now().in_seconds());
}
