// What the bench va_offset_verify checks of one tensor.
#pragma once

#include <kernbench/kernbench.h>

#include <array>
#include <cmath>
#include <string>
#include <utility>

#include "measure.h"

namespace benches {

inline constexpr std::array<std::pair<kernbench::Placement, const char*>, 5> kPlacements{
    {{kernbench::Placement::replicate, "replicate"},
     {kernbench::Placement::row_wise, "row_wise"},
     {kernbench::Placement::column_wise, "column_wise"},
     {kernbench::Placement::tiled_row_major, "tiled_row_major"},
     {kernbench::Placement::tiled_column_major, "tiled_column_major"}}};

/// Copies what this PE holds of `x` to the same place of its own page of `seen` [PEs of the device, rows, columns].
inline void verify_kernel(tl::In x, tl::Tensor seen) {
  const std::int64_t columns = x.size(1);
  const std::int64_t page = (tl::cube_id() * tl::num_pes() + tl::pe_id()) * x.numel();
  for (std::size_t shard = 0; shard < x.local_shard_count(); ++shard) {
    const auto box = x.local_shard(shard);
    const std::int64_t offset = box.offset[0] * columns + box.offset[1];
    const auto slice = tl::load(x.data_ptr() + offset, box.shape, {columns, 1});
    tl::store(seen.data_ptr() + (page + offset), {columns, 1}, slice);
  }
}

/// Rows and columns of the most square grid of `parts` cells, not taller than wide.
inline std::pair<std::int64_t, std::int64_t> grid_of(std::int64_t parts) {
  auto rows = static_cast<std::int64_t>(std::sqrt(static_cast<double>(parts)));
  while (parts % rows != 0) --rows;
  return {rows, parts / rows};
}

/// Piece `index` of torch::chunk; undefined when there are fewer.
inline torch::Tensor piece(const torch::Tensor& box, std::int64_t parts, std::int64_t dimension, std::int64_t index) {
  if (!box.defined()) return {};
  const auto pieces = box.chunk(parts, dimension);
  return static_cast<std::size_t>(index) < pieces.size() ? pieces[static_cast<std::size_t>(index)] : torch::Tensor();
}

/// The view of a host tensor that part `index` of `parts` holds, as the words of Placement say; undefined
/// when none.
inline torch::Tensor part_of(const torch::Tensor& box, kernbench::Placement placement, std::int64_t parts,
                             std::int64_t index) {
  const auto [rows, columns] = grid_of(parts);
  switch (placement) {
    case kernbench::Placement::replicate:
      return box;
    case kernbench::Placement::row_wise:
      return piece(box, parts, 0, index);
    case kernbench::Placement::column_wise:
      return piece(box, parts, 1, index);
    case kernbench::Placement::tiled_row_major:
      return piece(piece(box, rows, 0, index / columns), columns, 1, index % columns);
    case kernbench::Placement::balanced:  // none of the bench's choices
    case kernbench::Placement::interleaved:
      break;
    case kernbench::Placement::tiled_column_major:
      return piece(piece(box, rows, 0, index % rows), columns, 1, index / rows);
  }
  return {};
}

/// What all PEs must see, -1 where they hold nothing.
inline torch::Tensor expected_of(const torch::Tensor& x, const kernbench::DPPolicy& policy, const Machine& machine) {
  auto seen = torch::full({machine.cubes * machine.pes, x.size(0), x.size(1)}, -1, torch::kInt);
  const std::int64_t cubes = policy.num_cubes != 0 ? policy.num_cubes : machine.cubes;
  const std::int64_t pes = policy.num_pes != 0 ? policy.num_pes : machine.pes;
  for (std::int64_t cube = 0; cube < cubes; ++cube) {
    for (std::int64_t pe = 0; pe < pes; ++pe) {
      const auto held = [&](const torch::Tensor& whole) {
        const auto of_cube = part_of(whole, policy.cube, cubes, cube);
        return of_cube.defined() ? part_of(of_cube, policy.pe, pes, pe) : of_cube;
      };
      const auto mine = held(x);
      if (mine.defined()) held(seen.select(0, cube * machine.pes + pe)).copy_(mine);
    }
  }
  return seen;
}

/// Every PE reads its own slice of `x` (i32, 2-D) through pointer + offset; checks, under `name`, that they see what
/// `policy` gives them of `host`, the values that were written to `x`.
inline bool verify_own_slices(const std::string& name, const torch::Tensor& x, const torch::Tensor& host,
                              const kernbench::DPPolicy& policy, const Machine& machine) {
  const auto seen = torch::full({machine.cubes * machine.pes, host.size(0), host.size(1)}, -1,
                                torch::dtype(torch::kInt).device("ahbm").name("seen"));
  {
    const torch::profiler::record_function region("verify");
    torch::launch("verify", verify_kernel, x, seen);
  }
  return kernbench::check_close(name, seen, expected_of(host, policy, machine));
}

}  // namespace benches
