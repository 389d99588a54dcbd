// Every PE reads its own slice of a tensor through pointer + offset, under every placement; the bytes that the host
// wrote prove that each address leads to them.
#include <kernbench/kernbench.h>

#include "measure.h"
#include "va_offset.h"

using namespace kernbench;
using namespace benches;

namespace {}  // namespace

KERNBENCH_BENCH(va_offset_verify, "every PE reads its own slice through pointer + offset, under every placement",  //
                {"rows", 37, "rows of the tensor"}, {"columns", 29, "columns of the tensor"},
                {"cubes", 0, "cubes that hold it; 0: all"}, {"pes", 0, "PEs of each cube that hold it; 0: all"}) {
  constexpr std::int64_t kLargest = 1 << 12;
  const std::int64_t rows = parameter<std::int64_t>("rows", 1, kLargest);
  const std::int64_t columns = parameter<std::int64_t>("columns", 1, kLargest);
  const Machine machine = machine_of_current_device();
  const auto cubes = static_cast<int>(parameter<std::int64_t>("cubes", 0, machine.cubes));
  const auto pes = static_cast<int>(parameter<std::int64_t>("pes", 0, machine.pes));
  const auto host = torch::arange(rows * columns, torch::kInt).view({rows, columns});
  const auto options = torch::dtype(torch::kInt).device("ahbm");
  for (const auto& [cube, cube_name] : kPlacements) {
    for (const auto& [pe, pe_name] : kPlacements) {
      const DPPolicy policy{.cube = cube, .pe = pe, .num_cubes = cubes, .num_pes = pes};
      const auto x = host.to(options.placement(policy).name("x"));
      verify_own_slices(std::string("cubes ") + cube_name + ", PEs " + pe_name, x, host, policy, machine);
    }
  }
}
