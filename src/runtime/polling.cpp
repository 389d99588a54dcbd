#include "runtime/polling.h"

#include "event/fiber.h"
#include "runtime/simulation.h"

namespace kernbench::runtime {

bool ask(const HostContext& context, bool reached) {
  if (reached) {
    event::this_fiber::note_progress();
    return true;
  }
  event::this_fiber::sleep(context.simulation.topology().host.launch_overhead);
  event::this_fiber::note_poll();
  return false;
}

}  // namespace kernbench::runtime
