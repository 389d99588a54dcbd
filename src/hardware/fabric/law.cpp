// The law as a pure function.
#include <cassert>

#include "hardware/fabric/fabric.h"
#include "hardware/fabric/recurrence.h"

namespace kernbench::hardware {

TransferTimes uncontended(std::span<const ServerSpec> servers, const TransferRequest& request, Time start) {
  fabric::Recurrence recurrence;
  recurrence.reset(request);
  for (std::size_t stage = 0; stage < request.route.size(); ++stage) {
    const Stage& at = request.route[stage];
    assert(std::size_t{at.server.value} + at.group <= servers.size());
    recurrence.load_idle(stage, servers.subspan(at.server.value, at.group));
  }
  recurrence.run(start);
  return {recurrence.departed(), recurrence.delivered()};
}

}  // namespace kernbench::hardware
