#include "hardware/hbm/hbm.h"

#include <string>

#include "base/text.h"

namespace kernbench::hardware {

ServerSpec hbm_channel_spec(const topology::HbmSpec& hbm, PeCoordinate slice, std::int32_t channel,
                            event::AgentId agent) {
  ServerSpec spec;
  spec.name = to_text(slice) + ".hbm.channel" + std::to_string(channel);
  spec.bandwidth = Bandwidth::bytes_per_second(hbm.bandwidth.count() / hbm.channels);
  spec.latency = hbm.latency;
  spec.credits = hbm.credits;
  spec.minimum = hbm.access;
  spec.agent = agent;
  return spec;
}

}  // namespace kernbench::hardware
