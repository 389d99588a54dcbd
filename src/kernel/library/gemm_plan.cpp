#include "kernel/library/gemm_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <optional>

#include "base/error.h"
#include "base/text.h"
#include "base/units.h"
#include "kernel/engine_work.h"

namespace kernbench::kernel::library {

namespace {

constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

/// What the links carry of what they could, because traffic is uneven: all programs walk k at the same pace. Measured
/// with 4096^3 on ahbm-1sip, both operands cut by rows: between cubes 0.25 to 0.3, within a cube 0.6.
constexpr double kMeshShare = 0.3, kNocShare = 0.6;
/// Of two plans that take equally long the one that moves less.
constexpr double kWeightOfTraffic = 0.1;
/// Launch overhead and latency of the second launch that adds the parts of k.
constexpr double kSecondLaunchNs = 5000;

// ---- tiles of one PE's block
// -----------------------------------------------------------------------------------------

struct Tiles {
  std::int64_t m = 0, n = 0, k = 0, bytes = 0;
  double ns = 0;  // of the block: the longer of the GEMM engine's and the DMA's work
};

class TileChooser {
 public:
  TileChooser(const GemmProblem& problem, const topology::Topology& topology)
      : problem_(problem),
        topology_(topology),
        item_(item_size(problem.dtype)),
        budget_(topology.pe.tcm.capacity.count() / std::max(topology.pe.contexts, 1)) {
    rate_ = topology.pe.gemm.rate[gemm_operand(problem.dtype)];
    cycle_ns_ = 1e9 / static_cast<double>(topology.pe.clock.count());
    const auto& hbm = topology.cube.hbm;
    bytes_per_ns_ = static_cast<double>(hbm.bandwidth.count()) * 1e-9 / topology.cube.pes.count();
  }

  /// What the live handles of a program hold. Plans have a depth of two: with more steps under way the loads of the
  /// first ones share the bandwidth with those of later ones, and the GEMM engine starts later (29 us instead of 25 us
  /// for 2048^3 on ahbm-1sip with four).
  std::int64_t bytes(std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t depth) const {
    const std::int64_t a = m * k * item_ * (problem_.transposed_a ? 2 : 1);
    const std::int64_t b = k * n * item_ * (problem_.transposed_b ? 2 : 1);
    const std::int64_t steps = 2 * m * n * 4 + depth * (a + b);
    return std::max(steps, problem_.epilogue ? kEpilogueTiles * m * n * 4 : 0);
  }

  double time_ns(std::int64_t m, std::int64_t n, std::int64_t k, const Tiles& tiles) const {
    const auto& array = topology_.pe.gemm.array;
    const std::int64_t across = ceil_div(m, tiles.m), along = ceil_div(n, tiles.n);
    const std::int64_t folds = edge_folds(m, tiles.m, array.height) * edge_folds(n, tiles.n, array.width);
    const std::int64_t commands = across * along * ceil_div(k, tiles.k);
    const double compute =
        static_cast<double>(rate_.cycles_for(folds * k) + commands * (2 * array.height + array.width - 2)) * cycle_ns_;
    const double loads = static_cast<double>((along * m + across * n) * k * item_) / bytes_per_ns_;
    // The first step is loaded before anything is multiplied, and the last tile is stored after.
    const double edges = (static_cast<double>((tiles.m + tiles.n) * std::min(tiles.k, k) * item_) / 4 +
                          static_cast<double>(tiles.m * tiles.n * item_)) /
                         bytes_per_ns_;
    return std::max(compute, loads) + kWeightOfTraffic * loads + edges;
  }

  /// The best tiles for a block of m x n and k.
  Tiles choose(std::int64_t m, std::int64_t n, std::int64_t k) const {
    Tiles best;
    for (const std::int64_t tile_m : sizes(m, problem_.tile_m)) {
      for (const std::int64_t tile_n : sizes(n, problem_.tile_n)) {
        for (const std::int64_t tile_k : sizes(k, problem_.tile_k)) {
          Tiles tiles{tile_m, tile_n, tile_k, bytes(tile_m, tile_n, tile_k, 2), 0};
          if (tiles.bytes > budget_) continue;
          tiles.ns = time_ns(m, n, k, tiles);
          if (best.m == 0 || tiles.ns < best.ns) best = tiles;
        }
      }
    }
    if (best.m == 0) {
      throw OutOfMemoryError(fmt::format(
          "matrix product: no tile fits into {} of the TCM ({} shared by {} contexts); tiles of {} x {} x {} "
          "need {}",
          to_text(Bytes(budget_)), to_text(topology_.pe.tcm.capacity), topology_.pe.contexts,
          std::max<std::int64_t>(problem_.tile_m, 1), std::max<std::int64_t>(problem_.tile_n, 1),
          std::max<std::int64_t>(problem_.tile_k, 1),
          to_text(Bytes(bytes(std::max<std::int64_t>(problem_.tile_m, 1), std::max<std::int64_t>(problem_.tile_n, 1),
                              std::max<std::int64_t>(problem_.tile_k, 1), 2)))));
    }
    return best;
  }

 private:
  /// Rows of the array that a block occupies, one after the other: all whole tiles and the last.
  static std::int64_t edge_folds(std::int64_t extent, std::int64_t tile, std::int64_t array) {
    return extent / tile * ceil_div(tile, array) + ceil_div(extent % tile, array);
  }
  static std::vector<std::int64_t> sizes(std::int64_t extent, std::int64_t wanted) {
    if (wanted > 0) return {std::min(wanted, extent)};
    std::vector<std::int64_t> all;
    for (const std::int64_t size : {1024, 512, 256, 128, 64, 32, 16, 8, 4, 2, 1})
      if (size < 2 * extent) all.push_back(std::min<std::int64_t>(size, extent));
    all.erase(std::unique(all.begin(), all.end()), all.end());
    return all;
  }

  const GemmProblem& problem_;
  const topology::Topology& topology_;
  std::int64_t item_, budget_;
  topology::Rate rate_;
  double cycle_ns_ = 1, bytes_per_ns_ = 1;
};

// ---- the grid of programs
// --------------------------------------------------------------------------------------------

struct Axis {
  std::int64_t begin, end;
};

Axis cut(Axis axis, std::int64_t index, std::int64_t parts) {
  const std::int64_t piece = ceil_div(axis.end - axis.begin, parts);
  return {std::min(axis.begin + index * piece, axis.end), std::min(axis.begin + (index + 1) * piece, axis.end)};
}

/// Part `index` of the grid: batch counts slowest, then k, m, n.
std::array<std::int64_t, 4> position(const GemmPlan::Grid& grid, std::int64_t index) {
  const std::int64_t n = index % grid.n, m = index / grid.n % grid.m;
  const std::int64_t k = index / (grid.n * grid.m) % grid.k;
  return {index / (grid.n * grid.m * grid.k), k, m, n};
}

GemmRange range_of(const GemmShape& shape, const GemmPlan::Grid& cubes, const GemmPlan::Grid& pes, std::int64_t cube,
                   std::int64_t pe) {
  const auto outer = position(cubes, cube), inner = position(pes, pe);
  const auto both = [&](std::int64_t extent, std::size_t axis, std::int64_t over_cubes, std::int64_t over_pes) {
    return cut(cut({0, extent}, outer[axis], over_cubes), inner[axis], over_pes);
  };
  const Axis batch = both(shape.batch, 0, cubes.batch, pes.batch), k = both(shape.k, 1, cubes.k, pes.k);
  const Axis m = both(shape.m, 2, cubes.m, pes.m), n = both(shape.n, 3, cubes.n, pes.n);
  GemmRange range;
  std::copy_n(std::array{batch.begin, batch.end}.data(), 2, range.batch);
  std::copy_n(std::array{m.begin, m.end}.data(), 2, range.m);
  std::copy_n(std::array{n.begin, n.end}.data(), 2, range.n);
  std::copy_n(std::array{k.begin, k.end}.data(), 2, range.k);
  range.split = outer[1] * pes.k + inner[1];
  range.k_start = range.k[0];
  return range;
}

/// Ways to write `count` as a product of parts for (batch or k, m, n).
std::vector<std::array<std::int64_t, 3>> factorings(std::int64_t count) {
  std::vector<std::array<std::int64_t, 3>> all;
  for (std::int64_t x = 1; x <= count; ++x) {
    if (count % x != 0) continue;
    for (std::int64_t m = 1; m <= count / x; ++m)
      if (count / x % m == 0) all.push_back({x, m, count / x / m});
  }
  return all;
}

// ---- what a program reads, and from how far
// ----------------------------------------------------------------------------

struct Traffic {
  double own = 0, cube = 0, remote = 0, hops = 0;  // bytes; hops: of the remote ones, times their distance
};

struct Needed {
  std::int64_t begin[3], end[3];
};

double overlap(const GemmPart& part, const Needed& needed) {
  double volume = 1;
  for (int d = 0; d < 3; ++d) {
    const std::int64_t extent = std::min(part.end[d], needed.end[d]) - std::max(part.begin[d], needed.begin[d]);
    if (extent <= 0) return 0;
    volume *= static_cast<double>(extent);
  }
  return volume;
}

class Locality {
 public:
  explicit Locality(const topology::Topology& topology) : width_(topology.sip.cubes.width) {}

  /// Elements of `needed` by where `reader` finds them: of replicas it takes the nearest.
  Traffic traffic(PeCoordinate reader, const Needed& needed, std::span<const GemmPart> parts) const {
    Traffic result;
    double far = 0, far_hops = 0, all = 1;
    for (int d = 0; d < 3; ++d) all *= static_cast<double>(std::max<std::int64_t>(needed.end[d] - needed.begin[d], 0));
    for (const auto& part : parts) {
      const double volume = overlap(part, needed);
      if (volume == 0) continue;
      if (part.owner == reader)
        result.own += volume;
      else if (part.owner.cube == reader.cube)
        result.cube += volume;
      else
        far += volume, far_hops += volume * static_cast<double>(distance(part.owner.cube, reader.cube));
    }
    result.cube = std::min(result.cube, std::max(all - result.own, 0.0));
    result.remote = std::max(all - result.own - result.cube, 0.0);
    result.hops = far > 0 ? result.remote * far_hops / far : result.remote * static_cast<double>(width_) / 1.5;
    return result;
  }

 private:
  std::int64_t distance(CubeId a, CubeId b) const {
    return std::abs(a.value % width_ - b.value % width_) + std::abs(a.value / width_ - b.value / width_);
  }
  std::int32_t width_;
};

class Planner {
 public:
  Planner(const GemmProblem& problem, std::span<const PeCoordinate> pes, std::span<const GemmPart> a,
          std::span<const GemmPart> b, const topology::Topology& topology)
      : problem_(problem),
        pes_(pes),
        a_(a),
        b_(b),
        topology_(topology),
        tiles_(problem, topology),
        locality_(topology) {
    // Cubes with equally many PEs make two levels; anything else is one list.
    while (per_cube_ < count() && pes[static_cast<std::size_t>(per_cube_)].cube == pes[0].cube) ++per_cube_;
    for (std::int64_t i = 0; i < count(); ++i) {
      const auto first = i / per_cube_ * per_cube_;
      const bool same = pes[static_cast<std::size_t>(i)].cube == pes[static_cast<std::size_t>(first)].cube;
      if (!same || count() % per_cube_ != 0) {
        per_cube_ = count();
        break;
      }
    }
  }

  GemmPlan plan() const {
    std::optional<GemmPlan> best;
    for (const auto& outer : factorings(count() / per_cube_)) {
      for (const auto& inner : factorings(per_cube_)) {
        GemmPlan candidate;
        if (!grids(outer, inner, candidate)) continue;
        estimate(candidate);
        if (!best || candidate.estimated_ns < best->estimated_ns) best = std::move(candidate);
      }
    }
    if (!best) {
      throw ValueError(
          fmt::format("matrix product: k cannot be split into {} parts over {} cubes of {} PEs; the parts "
                      "over cubes and over PEs must divide these numbers",
                      problem_.split_k, count() / per_cube_, per_cube_));
    }
    finish(*best);
    return std::move(*best);
  }

 private:
  std::int64_t count() const { return static_cast<std::int64_t>(pes_.size()); }

  /// The grids of a candidate; false when the problem does not want them.
  bool grids(const std::array<std::int64_t, 3>& outer, const std::array<std::int64_t, 3>& inner, GemmPlan& plan) const {
    const bool batched = problem_.shape.batch > 1 && problem_.split_k <= 1;
    plan.shape = problem_.shape;
    plan.cubes = {.batch = batched ? outer[0] : 1, .m = outer[1], .n = outer[2], .k = batched ? 1 : outer[0]};
    plan.pes = {.batch = batched ? inner[0] : 1, .m = inner[1], .n = inner[2], .k = batched ? 1 : inner[0]};
    plan.split_k = plan.cubes.k * plan.pes.k;
    if (problem_.split_k > 0) return plan.split_k == problem_.split_k;
    return plan.split_k == 1 || (problem_.order == KOrder::any && plan.split_k * 64 <= problem_.shape.k);
  }

  /// Time of the slowest of: the PEs' own work, the slices, the links in a cube, the links between cubes.
  void estimate(GemmPlan& plan) const {
    const auto& shape = problem_.shape;
    const GemmRange first = range_of(shape, plan.cubes, plan.pes, 0, 0);
    const std::int64_t m = first.m[1] - first.m[0], n = first.n[1] - first.n[0], k = first.k[1] - first.k[0];
    const Tiles tiles = tiles_.choose(m, n, k);
    plan.tile_m = tiles.m, plan.tile_n = tiles.n, plan.tile_k = tiles.k;
    plan.tcm_bytes = tiles.bytes;
    const std::int64_t cubes = count() / per_cube_;
    double in_cubes = 0, hops = 0, slices = 0;
    const std::int64_t step = std::max<std::int64_t>(cubes / 4, 1);
    std::int64_t sampled = 0;
    for (std::int64_t cube = 0; cube < cubes; cube += step, ++sampled) {
      for (std::int64_t pe = 0; pe < per_cube_; ++pe) {
        const GemmRange range = range_of(shape, plan.cubes, plan.pes, cube, pe);
        if (range.empty()) continue;
        const PeCoordinate reader = pes_[static_cast<std::size_t>(cube * per_cube_ + pe)];
        const auto add = [&](const Traffic& traffic, std::int64_t times) {
          const auto bytes = static_cast<double>(times * item_size(problem_.dtype));
          slices += (traffic.own + traffic.cube + traffic.remote) * bytes;
          in_cubes += (traffic.cube + 2 * traffic.remote) * bytes;
          hops += traffic.hops * bytes;
        };
        add(locality_.traffic(reader,
                              {{range.batch[0], range.m[0], range.k[0]}, {range.batch[1], range.m[1], range.k[1]}}, a_),
            ceil_div(range.n[1] - range.n[0], tiles.n));
        add(locality_.traffic(reader,
                              {{range.batch[0], range.k[0], range.n[0]}, {range.batch[1], range.k[1], range.n[1]}}, b_),
            ceil_div(range.m[1] - range.m[0], tiles.m));
      }
    }
    const auto scale = static_cast<double>(cubes) / static_cast<double>(std::max<std::int64_t>(sampled, 1));
    const double work = tiles.ns * static_cast<double>(first.batch[1] - first.batch[0]);
    const std::array<double, 4> parts{work, slice_ns(slices * scale), noc_ns(in_cubes * scale), mesh_ns(hops * scale)};
    plan.estimated_ns = *std::ranges::max_element(parts);
    for (const double part : parts) plan.estimated_ns += 0.02 * part;
    if (plan.split_k > 1) {
      const auto elements = static_cast<double>(shape.m * shape.n * shape.batch);
      // The parts' sums are written and read once, by whoever happens to hold them.
      const double bytes = elements * 8 * static_cast<double>(plan.split_k);
      const auto& mesh = topology_.sip.cubes;
      plan.estimated_ns += kSecondLaunchNs + slice_ns(bytes) + mesh_ns(bytes * (mesh.width + mesh.height) / 3.0);
    }
  }

  double slice_ns(double bytes) const {
    return bytes / (static_cast<double>(topology_.cube.hbm.bandwidth.count()) * 1e-9 / topology_.cube.pes.count() *
                    static_cast<double>(count()));
  }
  /// Bytes from one slice of a cube to another PE: over the mesh of the cube, a third of its extents on average.
  double noc_ns(double bytes) const {
    const auto& mesh = topology_.cube.pes;
    const std::int32_t links = 2 * ((mesh.width - 1) * mesh.height + (mesh.height - 1) * mesh.width);
    if (links == 0) return 0;
    const double hops = (mesh.width + mesh.height) / 3.0;
    const auto cubes = static_cast<double>(count()) / static_cast<double>(per_cube_);
    return bytes * hops /
           (static_cast<double>(topology_.cube.noc.link.bandwidth.count()) * 1e-9 * links * cubes * kNocShare);
  }
  double mesh_ns(double bytes_times_hops) const {
    const auto& mesh = topology_.sip.cubes;
    const std::int32_t links = 2 * ((mesh.width - 1) * mesh.height + (mesh.height - 1) * mesh.width);
    if (links == 0) return 0;
    return bytes_times_hops / (static_cast<double>(topology_.sip.link.bandwidth.count()) * 1e-9 * links * kMeshShare);
  }

  /// Where along k a reader's own part of an operand begins, when the operand is split along it.
  std::optional<std::int64_t> own_k(PeCoordinate reader, const GemmRange& range, std::span<const GemmPart> parts,
                                    int axis) const {
    for (const auto& part : parts) {
      if (!(part.owner == reader) || (part.begin[axis] == 0 && part.end[axis] == problem_.shape.k)) continue;
      if (part.begin[axis] >= range.k[0] && part.begin[axis] < range.k[1]) return part.begin[axis];
    }
    return std::nullopt;
  }

  void finish(GemmPlan& plan) const {
    plan.first_k = std::clamp<std::int64_t>(plan.tile_k / 4, std::min<std::int64_t>(32, plan.tile_k), plan.tile_k);
    for (std::int64_t i = 0; i < count(); ++i) {
      GemmRange range = range_of(problem_.shape, plan.cubes, plan.pes, i / per_cube_, i % per_cube_);
      if (problem_.order == KOrder::any) {
        const PeCoordinate reader = pes_[static_cast<std::size_t>(i)];
        auto start = own_k(reader, range, b_, 1);
        if (!start) start = own_k(reader, range, a_, 2);
        // On a whole step, so that programs which share one read it at one time or far apart.
        if (start) range.k_start = std::max(range.k[0], *start / plan.tile_k * plan.tile_k);
      }
      plan.ranges.push_back(range);
    }
  }

  const GemmProblem& problem_;
  std::span<const PeCoordinate> pes_;
  std::span<const GemmPart> a_, b_;
  const topology::Topology& topology_;
  TileChooser tiles_;
  Locality locality_;
  std::int64_t per_cube_ = 0;
};

}  // namespace

GemmPlan plan_gemm(const GemmProblem& problem, std::span<const PeCoordinate> pes, std::span<const GemmPart> a,
                   std::span<const GemmPart> b, const topology::Topology& topology) {
  return Planner(problem, pes, a, b, topology).plan();
}

}  // namespace kernbench::kernel::library
