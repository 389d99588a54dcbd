// What a backward is given of its forward.
#pragma once

#include <cstddef>

#include "kernbench/tp/gradients.h"

namespace kernbench::tp {

/// ValueError unless `saved` has `needed` tensors, or up to `most` of them, all of them defined: "gelu_backward: it
/// needs the 1 tensor that its forward has kept, but `saved` has 0 …".
void check_saved(const char* call, const Saved& saved, std::size_t needed, std::size_t most);
inline void check_saved(const char* call, const Saved& saved, std::size_t needed) {
  check_saved(call, saved, needed, needed);
}

}  // namespace kernbench::tp
