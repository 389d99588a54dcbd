// Bandwidth of one PE's DMA against the size of a block: to its own HBM slice, to another one of its cube, and to one
// of the farthest cube.
#include <kernbench/kernbench.h>

#include <string>
#include <vector>

#include "measure.h"

using namespace kernbench;
using namespace benches;

namespace {

/// Loads or stores `blocks` blocks of one row, one after the other. Nothing waits for them: as many are under way as
/// the DMA and the TCM allow.
void sweep_kernel(tl::Tensor x, std::int64_t row, std::int64_t block, std::int64_t blocks, bool stores) {
  const auto tile = stores ? tl::full({1, block}, 1, x.dtype()) : tl::Tile();
  for (std::int64_t i = 0; i < blocks; ++i) {
    const std::int64_t column = i * block;
    if (stores)
      tl::store(x, {row, column}, tile);
    else
      tl::load(x, {row, column}, {1, block});
  }
}

}  // namespace

KERNBENCH_BENCH(memory_sweep, "bandwidth of one PE's DMA against block size: own slice, same cube, other cube",  //
                {"smallest", 64, "bytes of the smallest block"},
                {"largest", 256 << 10, "bytes of the largest block; sizes double from one to the next"},
                {"bytes", 1 << 20, "bytes that are moved for each figure"}, {"access", "load", "load or store"}) {
  constexpr std::int64_t kItem = item_size(DType::f32), kLargest = std::int64_t{1} << 30;
  const std::int64_t smallest = parameter<std::int64_t>("smallest", kItem, kLargest);
  const std::int64_t largest = parameter<std::int64_t>("largest", smallest, kLargest);
  const std::int64_t bytes = parameter<std::int64_t>("bytes", largest, kLargest);
  const bool stores = parameter_choice("access", {"load", "store"}) == "store";
  // One row for each PE, long enough that no block is accessed twice: row 0 is the measuring PE's own, row 1 its
  // neighbour's, the last row the farthest cube's.
  const auto [cubes, pes] = machine_of_current_device();
  auto x = torch::empty({pes * cubes, 2 * bytes / kItem}, torch::dtype(torch::kFloat).device("ahbm").name("x"));
  const torch::LaunchOptions one_pe{.pes = {{CubeId{0}, PeId{0}}}};
  std::vector<std::pair<std::string, std::int64_t>> places{{"own slice", 0}};
  if (pes > 1) places.emplace_back("same cube", 1);
  if (cubes > 1) places.emplace_back("other cube", pes * cubes - 1);
  for (const auto& [place, row] : places) {
    for (std::int64_t size = smallest; size <= largest; size *= 2) {
      const double ns = step_ns(bytes / size, [&](std::int64_t blocks) {
        torch::launch(one_pe, "sweep", sweep_kernel, x, row, size / kItem, blocks, stores);
      });
      report_metric(place + ", " + std::to_string(size) + " B", static_cast<double>(size) / ns, "GB/s");
    }
  }
}
