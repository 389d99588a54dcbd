#include "hardware/hbm/hbm.h"

#include <utility>

#include "base/text.h"
#include "hardware/models.h"
#include "kernbench/error.h"
#include "sim/errors.h"
#include "topology/buffers.h"

namespace kernbench::hardware {

ServerSpec hbm_channel_spec(const topology::CubeSpec& cube, PeCoordinate slice, std::int32_t channel,
                            sim::AgentId agent) {
  const topology::HbmSpec& hbm = cube.hbm;
  ServerSpec spec;
  spec.part = {PartKind::hbm_channel, slice, channel};
  spec.name = to_text(spec.part);
  spec.bandwidth = hbm.channel_bandwidth();
  spec.latency = hbm.latency;
  spec.buffer = topology::hbm_buffer(cube);
  spec.minimum = hbm.access;
  spec.agent = agent;
  return spec;
}

HbmChannelFigures hbm_channel_figures(const topology::HbmSpec& hbm, PeCoordinate slice, std::int32_t channel,
                                      std::int32_t channels) {
  HbmChannelFigures figures;
  figures.slice = slice;
  figures.channel = channel;
  figures.channels = channels;
  figures.bandwidth = hbm.channel_bandwidth();
  figures.latency = hbm.latency;
  figures.access = hbm.access;
  figures.interleave = hbm.interleave;
  return figures;
}

// Of each `channels` consecutive granules of the slice, every channel has one (fabric.h, interleave()).
ServiceLaw hbm_channel_law(const HbmChannelFigures& figures, std::shared_ptr<HbmChannelModel> model,
                           const std::string& name) {
  const auto granule = static_cast<std::uint64_t>(figures.interleave.count());
  const auto channels = static_cast<std::uint64_t>(figures.channels);
  const PartId part{PartKind::hbm_channel, figures.slice, figures.channel};
  return [granule, channels, model = std::move(model), name, part](const ServiceRequest& request) {
    const std::uint64_t address = request.address / granule / channels * granule + request.address % granule;
    const Time time = answer_of(name, part, request.start,
                                [&] { return model->service({address, request.bytes, request.write, request.start}); });
    if (time >= Time::picoseconds(1) && time <= Time::limit() - request.start) return time;
    const std::string answer = own_model_text(name, part) + " gave a service time of " + to_text(time) +
                               " for an access of " + to_text(request.bytes) + " at " + to_text(request.start);
    if (time > Time::zero()) sim::raise_too_long(answer);
    throw ProgramError("ModelError", answer + "; it must be at least 1 ps");
  };
}

}  // namespace kernbench::hardware
