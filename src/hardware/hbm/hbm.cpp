#include "hardware/hbm/hbm.h"

#include <utility>

#include "hardware/models.h"
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
    return answer_of(name, part, request.start,
                     [&] { return model->service({address, request.bytes, request.write, request.start}); });
  };
}

}  // namespace kernbench::hardware
