#include "distributed/call_timer.h"

#include <utility>

#include "runtime/host_wait.h"
#include "sim/scheduler.h"
#include "sim/waitable.h"

namespace kernbench::distributed {
namespace {

/// Calls `body` when something is set. Nobody waits for the fiber, so it keeps nothing alive.
std::shared_ptr<sim::Fiber> when_set(const runtime::CompletionRef& finished, std::function<void()> body) {
  return sim::this_fiber::scheduler().spawn(
      {.agent = sim::this_fiber::current()->agent(), .name = "end of a call", .background = true},
      [finished, body = std::move(body)] {
        if (!finished->is_set()) finished->wait();
        body();
      });
}

}  // namespace

CallTimer::CallTimer(Time timeout, std::function<void()> late)
    : sleeper_(sim::this_fiber::scheduler().spawn(
          {.agent = sim::this_fiber::current()->agent(), .name = "timeout of a call"},
          [timeout, late = std::move(late)] {
            sim::this_fiber::sleep(timeout);
            late();
          })) {}

void CallTimer::stop_at(const runtime::CompletionRef& finished) const {
  when_set(finished, [sleeper = sleeper_] { sleeper->cancel(); });
}

bool wait_at_most(runtime::HostContext& context, const runtime::CompletionRef& finished, Time timeout,
                  const std::string& what) {
  if (finished->is_set()) return true;
  const auto either = std::make_shared<sim::Completion>();
  either->describe_as([what] { return Name(what); });
  const auto watcher = when_set(finished, [either] { either->set(); });
  const CallTimer timer(timeout, [either] { either->set(); });
  struct Leaving {
    const CallTimer& timer;
    const std::shared_ptr<sim::Fiber>& watcher;
    ~Leaving() {
      timer.stop();
      watcher->cancel();
    }
  };
  const Leaving leaving{timer, watcher};
  runtime::host_wait(context, runtime::WaitFor::device, [&] { either->wait(); });
  return finished->is_set();
}

}  // namespace kernbench::distributed
