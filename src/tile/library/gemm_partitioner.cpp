#include "tile/library/gemm_partitioner.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "kernbench/error.h"
#include "kernbench/tl/program.h"
#include "tile/library/gemm_edges.h"
#include "tile/library/gemm_grid.h"
#include "tile/library/gemm_units.h"

namespace kernbench::tile::library {

namespace {

/// The second launch that adds the parts of k, but for what it moves: an empty launch on 128 PEs takes 2.0 us, the way
/// to the HBM and back some 0.5. Measured on ahbm-1sip; near plans are measured as a whole.
constexpr double kSecondLaunchNs = 2500;
/// The share of what the links between cubes could carry, that it has of them: what it reads is spread over all
/// holders. Measured on ahbm-1sip: of 8 and 16 parts of [128, 28672] it takes 16.4 and 31.2 us.
constexpr double kAddingShare = 0.5;
/// Loads take so many DMA queues in turn, at most: the shipped machines'. Of more, more loads are under way, and what
/// is needed first comes later. Measured with perf/credibility.
constexpr std::int64_t kDmaQueues = 4;
/// Edges are worth it where they leave at most so many of the array's folds, and cost so many times what the array
/// takes for theirs: their tiles are narrow, so that loads and the array's fill show. Measured with 4097^3 on
/// ahbm-1sip.
constexpr double kEdgesLeave = 0.9, kEdgesCost = 2;

/// Cubes with equally many PEs make two levels; anything else is one list.
std::int64_t pes_of_each_cube(std::span<const PeCoordinate> pes) {
  const auto cube_at = [&](std::size_t index) { return pes[index].cube; };
  std::size_t each = 0;
  while (each < pes.size() && cube_at(each) == cube_at(0)) ++each;
  bool equal = pes.size() % each == 0;
  for (std::size_t i = 0; equal && i < pes.size(); ++i) equal = cube_at(i) == cube_at(i / each * each);
  return static_cast<std::int64_t>(equal ? each : pes.size());
}

/// Elements that follow each other in the memory of the holders of an operand.
std::int64_t row_of(std::span<const GemmPart> parts, int axis, std::int64_t extent) {
  for (const auto& part : parts) extent = std::min(extent, part.end[axis] - part.begin[axis]);
  return std::max<std::int64_t>(extent, 1);
}

/// What one holder has of an operand of rows x columns; `readers` stands for the copies that there are.
OperandSharing sharing(std::span<const GemmPart> parts, std::int64_t batch, std::int64_t rows, std::int64_t columns,
                       std::int64_t pes) {
  if (parts.empty()) return {tl::cdiv(rows, pes), columns, 1};
  double held = 0;
  for (const auto& part : parts) {
    double volume = 1;
    for (int d = 0; d < 3; ++d) volume *= static_cast<double>(part.end[d] - part.begin[d]);
    held += volume;
  }
  const auto once = static_cast<double>(batch * rows * columns);
  return {row_of(parts, 1, rows), row_of(parts, 2, columns), std::max(1.0, held / once)};
}

/// Where along k a reader's own part of an operand begins, when the operand is split along it.
std::optional<std::int64_t> own_k(PeCoordinate reader, const GemmRange& range, std::span<const GemmPart> parts,
                                  int axis, std::int64_t whole_k) {
  for (const auto& part : parts) {
    if (!(part.owner == reader) || (part.begin[axis] == 0 && part.end[axis] == whole_k)) continue;
    if (part.begin[axis] >= range.k[0] && part.begin[axis] < range.k[1]) return part.begin[axis];
  }
  return std::nullopt;
}

GemmPlan::Nearby nearby(const OperandTraffic& traffic) {
  const double all = traffic.all();
  return all > 0 ? GemmPlan::Nearby{traffic.own / all, traffic.cube / all} : GemmPlan::Nearby{};
}

}  // namespace

GemmPartitioner::GemmPartitioner(const GemmProblem& problem, std::span<const PeCoordinate> pes,
                                 const GemmOperands& operands, const topology::Topology& topology)
    : problem_(problem),
      pes_(pes),
      operands_(operands),
      topology_(topology),
      law_(problem, topology,
           row_of(operands.a, problem.transposed_a ? 1 : 2, problem.transposed_a ? problem.shape.m : problem.shape.k),
           row_of(operands.b, problem.transposed_b ? 1 : 2, problem.transposed_b ? problem.shape.k : problem.shape.n)),
      locality_a_(operands.a, pes, topology),
      locality_b_(operands.b, pes, topology),
      sharing_a_(sharing(operands.a, problem.shape.batch, problem.shape.m, problem.shape.k, pe_count())),
      sharing_b_(sharing(operands.b, problem.shape.batch, problem.shape.k, problem.shape.n, pe_count())),
      pes_of_cube_(pes_of_each_cube(pes)) {}

bool GemmPartitioner::allowed(const GemmCandidate& candidate) const {
  const std::int64_t split = candidate.cubes.k * candidate.pes.k;
  if (problem_.split_k > 0) return split == problem_.split_k;
  return split == 1 || (problem_.order == KOrder::any && split * 64 <= problem_.shape.k);
}

std::vector<GemmCandidate> GemmPartitioner::candidates() {
  const bool batched = problem_.shape.batch > 1 && problem_.split_k <= 1;
  const auto grid = [&](const std::array<std::int64_t, 3>& parts) {
    return GemmPlan::Grid{.batch = batched ? parts[0] : 1, .m = parts[1], .n = parts[2], .k = batched ? 1 : parts[0]};
  };
  std::vector<GemmCandidate> all;
  const std::int64_t cubes = pe_count() / pes_of_cube_;
  const auto inner_factorings = factorings(pes_of_cube_);
  for (const auto& outer : factorings(cubes)) {
    for (const auto& inner : inner_factorings) {
      GemmCandidate candidate;
      candidate.cubes = grid(outer), candidate.pes = grid(inner);
      if (!allowed(candidate)) continue;
      candidate.whole = problem_.shape;
      measure(candidate);
      all.push_back(candidate);
      if (leave_edges(candidate)) all.push_back(candidate);
    }
  }
  if (all.empty()) {
    throw ValueError(
        fmt::format("matrix product: k cannot be split into {} parts over {} cubes of {} PEs; the parts "
                    "over cubes and over PEs must divide these numbers",
                    problem_.split_k, cubes, pes_of_cube_));
  }
  std::ranges::stable_sort(all, {}, &GemmCandidate::at_least);
  return all;
}

/// Lets the programs work on whole arrays, and share what is left; false where that saves little.
bool GemmPartitioner::leave_edges(GemmCandidate& candidate) {
  if (problem_.shape.batch > 1 || candidate.cubes.k * candidate.pes.k > 1) return false;
  const MeshExtent& array = topology_.pe.gemm.array;
  const GemmEdges edges =
      fewest_folds(problem_.shape, candidate.cubes.m * candidate.pes.m, candidate.cubes.n * candidate.pes.n, array);
  const std::int64_t folds = tl::cdiv(candidate.block.m, array.height) * tl::cdiv(candidate.block.n, array.width);
  if (!edges.any(problem_.shape) || static_cast<double>(edges.folds) > kEdgesLeave * static_cast<double>(folds))
    return false;
  candidate.whole = edges.whole;
  measure(candidate);
  const double more = kEdgesCost * static_cast<double>(edges.more) * law_.product(1, 1, problem_.shape.k);
  candidate.more += more, candidate.at_least += more;
  return true;
}

/// What the programs of a grid work on and read.
void GemmPartitioner::measure(GemmCandidate& candidate) {
  measure_block(candidate);
  sample_traffic(candidate);
  candidate.more = sum_ns(candidate.cubes.k * candidate.pes.k);
  candidate.at_least = law_.at_least(candidate.block) + candidate.more;
}

void GemmPartitioner::measure_block(GemmCandidate& candidate) const {
  const auto& shape = candidate.whole;
  const GemmPlan::Grid &cubes = candidate.cubes, &pes = candidate.pes;
  GemmBlock& block = candidate.block;
  const GemmRange first = range_of(shape, cubes, pes, 0, 0);
  block.batch = first.batch[1] - first.batch[0];
  block.m = first.m[1] - first.m[0], block.n = first.n[1] - first.n[0], block.k = first.k[1] - first.k[0];
  const UsedParts used_m = used_parts(shape.m, cubes.m, pes.m), used_n = used_parts(shape.n, cubes.n, pes.n);
  block.programs = block.cubes = 1;
  for (const UsedParts& used :
       {used_parts(shape.batch, cubes.batch, pes.batch), used_m, used_n, used_parts(shape.k, cubes.k, pes.k)}) {
    block.programs *= static_cast<double>(used.parts), block.cubes *= static_cast<double>(used.cubes);
  }
  block.sharing_a = sharing_a_, block.sharing_b = sharing_b_;
  // Those beside each other ask one holder too, for other rows of A (columns of B) that it has, unless each begins
  // at a part of k of its own.
  const auto beside = [&](double parts, std::int64_t held, std::int64_t read) {
    if (problem_.order == KOrder::any) return 1.0;
    return std::clamp(static_cast<double>(held) / static_cast<double>(read), 1.0, parts);
  };
  const auto across = static_cast<double>(used_m.parts), along = static_cast<double>(used_n.parts);
  const double ask_a = along * beside(across, sharing_a_.rows, block.m);
  const double ask_b = across * beside(along, sharing_b_.columns, block.n);
  block.sharing_a.readers = std::max(1.0, ask_a / sharing_a_.readers);
  block.sharing_b.readers = std::max(1.0, ask_b / sharing_b_.readers);
}

/// The traffic of a few cubes, one in each row and column of the mesh, stands for that of all.
void GemmPartitioner::sample_traffic(GemmCandidate& candidate) {
  const std::int64_t cubes = pe_count() / pes_of_cube_, step = std::max<std::int64_t>(cubes / 4, 1);
  readers_a_.clear(), readers_b_.clear();
  std::int64_t sampled = 0;
  for (std::int64_t i = 0; i < cubes; i += step, ++sampled) {
    const std::int64_t cube = std::min(i + sampled % step, cubes - 1);
    add_readers(candidate, cube);
  }
  const double scale = static_cast<double>(cubes) / static_cast<double>(sampled);
  candidate.block.a = locality_a_.traffic(readers_a_, scale);
  candidate.block.b = locality_b_.traffic(readers_b_, scale);
}

void GemmPartitioner::add_readers(const GemmCandidate& candidate, std::int64_t cube) {
  for (std::int64_t pe = 0; pe < pes_of_cube_; ++pe) {
    const GemmRange range = range_of(candidate.whole, candidate.cubes, candidate.pes, cube, pe);
    if (range.empty()) continue;
    const PeCoordinate reader = pes_[static_cast<std::size_t>(cube * pes_of_cube_ + pe)];
    readers_a_.push_back(
        {reader, {{range.batch[0], range.m[0], range.k[0]}, {range.batch[1], range.m[1], range.k[1]}}});
    readers_b_.push_back(
        {reader, {{range.batch[0], range.k[0], range.n[0]}, {range.batch[1], range.k[1], range.n[1]}}});
  }
}

void GemmPartitioner::measure_links(GemmCandidate& candidate) {
  readers_a_.clear(), readers_b_.clear();
  for (std::int64_t cube = 0; cube < pe_count() / pes_of_cube_; ++cube) add_readers(candidate, cube);
  candidate.block.links = busiest_link(locality_a_.link_loads(readers_a_), locality_b_.link_loads(readers_b_));
  candidate.at_least = law_.at_least(candidate.block) + candidate.more;
}

/// The parts' sums are written and read once, by whoever happens to hold them, in a launch of its own.
double GemmPartitioner::sum_ns(std::int64_t split) const {
  if (split == 1) return 0;
  const auto& shape = problem_.shape;
  const auto& mesh = topology_.sip.cubes;
  const double bytes = static_cast<double>(shape.m * shape.n * shape.batch * 8 * split);
  const double slices = bytes_per_ns(topology_.cube.slice_bandwidth()) * static_cast<double>(pe_count());
  const double links = links_of(mesh);
  const double between =
      links > 0 ? bytes * mean_distance(mesh) / (bytes_per_ns(topology_.sip.link.payload_rate()) * links * 0.3) : 0;
  return kSecondLaunchNs + bytes / slices + between;
}

/// The second launch alone, which reads the sums.
double GemmPartitioner::adding_ns(std::int64_t split) const {
  if (split == 1) return 0;
  const auto& mesh = topology_.sip.cubes;
  const double bytes = static_cast<double>(problem_.shape.m * problem_.shape.n * problem_.shape.batch * 4 * split);
  const double slices = bytes_per_ns(topology_.cube.slice_bandwidth()) * static_cast<double>(pe_count());
  const double links = links_of(mesh) * bytes_per_ns(topology_.sip.link.payload_rate()) * kAddingShare;
  return kSecondLaunchNs + std::max(bytes / slices, links > 0 ? bytes * mean_distance(mesh) / links : 0);
}

std::vector<GemmRange> GemmPartitioner::ranges(const GemmCandidate& candidate, const GemmTiles& tiles) const {
  std::vector<GemmRange> all;
  for (std::int64_t i = 0; i < pe_count(); ++i) all.push_back(range(candidate, tiles, i));
  return all;
}

GemmRange GemmPartitioner::range(const GemmCandidate& candidate, const GemmTiles& tiles, std::int64_t index) const {
  GemmRange range =
      range_of(candidate.whole, candidate.cubes, candidate.pes, index / pes_of_cube_, index % pes_of_cube_);
  if (problem_.order == KOrder::exact) return range;
  const PeCoordinate reader = pes_[static_cast<std::size_t>(index)];
  auto start = own_k(reader, range, operands_.b, 1, problem_.shape.k);
  if (!start) start = own_k(reader, range, operands_.a, 2, problem_.shape.k);
  // On a whole step, so that programs which share one read it at one time or far apart.
  if (start) range.k_start = std::max(range.k[0], *start / tiles.k * tiles.k);
  return range;
}

GemmPlan GemmPartitioner::plan(const GemmChoice& choice) const {
  GemmPlan plan;
  plan.shape = problem_.shape;
  plan.cubes = choice.candidate->cubes, plan.pes = choice.candidate->pes;
  plan.split_k = plan.cubes.k * plan.pes.k;
  set_tiles(plan, choice.tiles);
  plan.fold = {topology_.pe.gemm.array.height, topology_.pe.gemm.array.width};
  plan.dma_queues = std::min<std::int64_t>(topology_.pe.dma.queues, kDmaQueues);
  plan.tcm_bytes = law_.tcm_bytes(choice.tiles);
  plan.a = nearby(choice.candidate->block.a), plan.b = nearby(choice.candidate->block.b);
  plan.estimated_ns = choice.ns;
  plan.second_launch_ns = adding_ns(plan.split_k);
  plan.ranges = ranges(*choice.candidate, choice.tiles);
  const GemmShape& whole = choice.candidate->whole;
  if (whole.m < plan.shape.m || whole.n < plan.shape.n)
    for (const GemmRange& range : plan.ranges) plan.edges.push_back(edges_of(plan.shape, whole, range));
  return plan;
}

}  // namespace kernbench::tile::library
