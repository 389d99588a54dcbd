// A PE's HBM slice: its own channels of the cube's HBM stack.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "hardware/fabric/fabric.h"
#include "kernbench/coordinates.h"
#include "kernbench/models.h"
#include "topology/spec.h"

namespace kernbench::hardware {

/// One channel of a slice. Reads and writes share it.
ServerSpec hbm_channel_spec(const topology::CubeSpec& cube, PeCoordinate slice, std::int32_t channel,
                            sim::AgentId agent);

/// What a model of one's own is told of channel `channel` of a slice that has `channels` of them.
HbmChannelFigures hbm_channel_figures(const topology::HbmSpec& hbm, PeCoordinate slice, std::int32_t channel,
                                      std::int32_t channels);

/// The law of a channel that `model` gives: accesses at the channel's own addresses, its granules one after the other.
/// `name` is that of the model, for the error when it throws.
ServiceLaw hbm_channel_law(const HbmChannelFigures& figures, std::shared_ptr<HbmChannelModel> model,
                           const std::string& name);

}  // namespace kernbench::hardware
