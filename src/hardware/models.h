// The laws of the component models that a topology file can name (topology::ModelRegistry).
#pragma once

#include <string>

#include "hardware/pe/compute_engine.h"

namespace kernbench::hardware {

/// The law of a model. Throws ConfigurationError that names the key, the value and the models there are.
ComputeLaw gemm_law(const std::string& model);
ComputeLaw vector_law(const std::string& model);

/// Throws ConfigurationError when the topology names a model that does not exist.
void require_known_models(const topology::Topology& topology);

}  // namespace kernbench::hardware
