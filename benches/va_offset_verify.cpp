// Every PE reads its own slice of a tensor through pointer + offset, under every placement; the bytes that the host
// wrote prove that each address leads to them.
#include <cmath>

#include "benches/benches.h"
#include "benches/va_offset.h"

namespace kernbench::benches {

namespace {

/// Copies what this PE holds of `x` to the same place of its own page of `seen` [PEs of the device, rows, columns].
void verify_kernel(tl::In x, tl::Tensor seen) {
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
std::pair<std::int64_t, std::int64_t> grid_of(std::int64_t parts) {
  auto rows = static_cast<std::int64_t>(std::sqrt(static_cast<double>(parts)));
  while (parts % rows != 0) --rows;
  return {rows, parts / rows};
}

/// Piece `index` of torch::chunk; undefined when there are fewer.
torch::Tensor piece(const torch::Tensor& box, std::int64_t parts, std::int64_t dimension, std::int64_t index) {
  if (!box.defined()) return {};
  const auto pieces = box.chunk(parts, dimension);
  return static_cast<std::size_t>(index) < pieces.size() ? pieces[static_cast<std::size_t>(index)] : torch::Tensor();
}

/// The view of a host tensor that part `index` of `parts` holds, as the words of Placement say; undefined when none.
torch::Tensor part_of(const torch::Tensor& box, Placement placement, std::int64_t parts, std::int64_t index) {
  const auto [rows, columns] = grid_of(parts);
  switch (placement) {
    case Placement::replicate:
      return box;
    case Placement::row_wise:
      return piece(box, parts, 0, index);
    case Placement::column_wise:
      return piece(box, parts, 1, index);
    case Placement::tiled_row_major:
      return piece(piece(box, rows, 0, index / columns), columns, 1, index % columns);
    case Placement::tiled_column_major:
      return piece(piece(box, rows, 0, index % rows), columns, 1, index / rows);
  }
  return {};
}

/// What all PEs must see, -1 where they hold nothing.
torch::Tensor expected_of(const torch::Tensor& x, const DPPolicy& policy, const Machine& machine) {
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

void run(const cli::Parameters& parameters) {
  constexpr std::int64_t kLargest = 1 << 12;
  const std::int64_t rows = parameters.integer("rows", 1, kLargest);
  const std::int64_t columns = parameters.integer("columns", 1, kLargest);
  const Machine machine = machine_of_current_device();
  const auto cubes = static_cast<int>(parameters.integer("cubes", 0, machine.cubes));
  const auto pes = static_cast<int>(parameters.integer("pes", 0, machine.pes));
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

}  // namespace

bool verify_own_slices(const std::string& name, const torch::Tensor& x, const torch::Tensor& host,
                       const DPPolicy& policy, const Machine& machine) {
  const auto seen = torch::full({machine.cubes * machine.pes, host.size(0), host.size(1)}, -1,
                                torch::dtype(torch::kInt).device("ahbm").name("seen"));
  {
    const torch::profiler::record_function region("verify");
    torch::launch("verify", verify_kernel, x, seen);
  }
  return check_close(name, seen, expected_of(host, policy, machine));
}

cli::Bench va_offset_verify() {
  return {"va_offset_verify",
          "every PE reads its own slice through pointer + offset, under every placement",
          {{"rows", "37", "rows of the tensor"},
           {"columns", "29", "columns of the tensor"},
           {"cubes", "0", "cubes that hold it; 0: all"},
           {"pes", "0", "PEs of each cube that hold it; 0: all"}},
          run};
}

}  // namespace kernbench::benches
