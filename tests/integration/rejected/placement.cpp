// Placements that must not compile; each test compiles this file with one CASE and looks for the compiler's message.
#include "kernbench/placement.h"

namespace kernbench {

DPPolicy policy() {
#if CASE == 0  // the control: what is right compiles
  return DPPolicy{.cube = Placement::row_wise, .pe = Placement::replicate, .num_cubes = 2, .num_pes = 4};
#elif CASE == 1
  return DPPolicy{.sip = Placement::row_wise};
#elif CASE == 2
  return DPPolicy{.cube = Placement::row_wise, .num_sips = 2};
#endif
}

}  // namespace kernbench
