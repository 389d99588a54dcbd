// Indices that come from memory are checked on the device.
#pragma once

#include <cstdint>

#include "kernbench/tl.h"

namespace kernbench::tile::library {

/// The vector engine compares the elements of `index` with 0 and `extent`, as for a tl::device_assert; the first one
/// that is outside is the launch's error ("DeviceAssertionError"), in PyTorch's words. `given`: what the program has
/// given for them, which the error names; another tile of the same shape where negative ones count from the end.
void check_indices(const tl::Tile& given, const tl::Tile& index, std::int64_t extent);

}  // namespace kernbench::tile::library
