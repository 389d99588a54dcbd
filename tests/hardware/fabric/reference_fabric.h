// The law of the fabric once more, written as directly as possible and without regard to cost.
#pragma once

#include <vector>

#include "fabric_scenario.h"

namespace kernbench::hardware::testing {

/// Every instant looks at every chunk: nothing is kept that can be computed from what has started where and when.
std::vector<TransferTimes> reference_times(const Scenario& scenario);

}  // namespace kernbench::hardware::testing
