// The law as a pure function.
#include <cassert>

#include "hardware/fabric/fabric.h"
#include "hardware/fabric/recurrence.h"

namespace kernbench::hardware {

TransferTimes uncontended(std::span<const ServerSpec> servers, const TransferRequest& request, Time start) {
  fabric::Recurrence recurrence;
  recurrence.reset(request);
  std::size_t lane = 0;
  for (const Stage& stage : request.route) {
    for (std::uint32_t member = 0; member < stage.group; ++member) {
      assert(stage.server.value + member < servers.size());
      recurrence.load_idle(lane++, servers[stage.server.value + member]);
    }
  }
  recurrence.run(start);
  return {recurrence.departed(), recurrence.delivered()};
}

}  // namespace kernbench::hardware
