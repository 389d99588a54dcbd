#include "tile/library/gemm_estimate.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <tuple>
#include <utility>

#include "hardware/gemm/systolic.h"
#include "kernbench/tl/program.h"
#include "tile/compute/engine_work.h"
#include "tile/library/gemm_units.h"
#include "tile/library/gemm_vector_share.h"
#include "topology/models.h"

namespace kernbench::tile::library {

namespace {

/// Achieved fraction of link bandwidth; traffic is uneven, because all programs walk k at the same pace. Measured
/// with 4096^3 on ahbm-1sip, both operands cut by rows: between cubes 0.25 to 0.3, within a cube 0.6.
constexpr double kMeshShare = 0.3, kNocShare = 0.6;
/// What is added to it where all holders of an operand are read at a time, not one after the other.
constexpr double kMeshMore = 0.3, kNocMore = 0.2;
/// The same of the busiest link: how uneven the routes are is known there, how uneven the times are is not.
constexpr double kLinkShare = 0.4, kLinkMore = 0.4;
/// Of the shorter one of the engine's and the DMA's work: they meet, and neither hides the other entirely. So of two
/// plans that take equally long the one is chosen that moves less.
constexpr double kWeightOfOther = 0.1;
/// Vector commands on each element of a tile that an epilogue takes.
constexpr double kEpilogueCycles = 4;

/// Rows (or columns) of the array that an extent occupies, tile by tile.
std::int64_t folds_of(std::int64_t extent, std::int64_t tile, std::int64_t array) {
  return extent / tile * tl::cdiv(tile, array) + tl::cdiv(extent % tile, array);
}

/// The short steps at a program's start: how many, and how much of k they cover.
struct Ramp {
  std::int64_t steps = 0, covered = 0;
  explicit Ramp(const GemmTiles& tiles) {
    for (std::int64_t length = tiles.first_k; length < tiles.k; length *= 2, ++steps) covered += length;
  }
};

}  // namespace

GemmEstimate::GemmEstimate(const GemmProblem& problem, const topology::Topology& topology, std::int64_t row_a,
                           std::int64_t row_b)
    : problem_(problem),
      topology_(topology),
      row_a_(row_a),
      row_b_(row_b),
      item_(item_size(problem.dtype)),
      out_item_(std::max<std::int64_t>(item_, 2)),
      budget_(topology.pe.tcm.capacity.count() / std::max(topology.pe.contexts, 1)),
      alignment_(std::max<std::int64_t>(topology.pe.tcm.alignment.count(), 1)),
      operand_(gemm_operand(problem.dtype)),
      cycle_(1e9 / static_cast<double>(topology.pe.clock.count())),
      fills_each_fold_(topology::gemm_model(topology.pe.gemm.model) == topology::GemmModel::scale_sim_os) {
  const auto& cube = topology.cube;
  const auto& mesh = topology.sip.cubes;
  slice_ = bytes_per_ns(cube.slice_bandwidth());
  channel_ = bytes_per_ns(cube.hbm.channel_bandwidth());
  router_link_ = bytes_per_ns(cube.noc.link.payload_rate());
  cube_links_ = bytes_per_ns(topology.sip.link.payload_rate());
  tcm_ = bytes_per_ns(topology.pe.tcm.bandwidth);
  issue_ = ns(topology.pe.control.issue);
  setup_ = ns(topology.pe.dma.setup);
  hbm_latency_ = ns(cube.hbm.latency);
  // There and back: a PE and a slice each have a link to their router.
  route_in_cube_ = 2 * (mean_distance(cube.pes) + 2) * ns(cube.noc.link.latency);
  route_between_ = 2 * (ns(topology.sip.link.latency) +
                        (mesh.width > 1 ? cube.pes.width - 1 : cube.pes.height - 1) * ns(cube.noc.link.latency));
  capacity_ = topology.pe.tcm.capacity.count();
  under_way_ =
      std::max(1.0, topology.pe.dma.queues * std::min(topology.pe.dma.outstanding, topology.pe.dma.depth) / 2.0);
}

std::int64_t GemmEstimate::tcm_bytes(const GemmTiles& tiles) const {
  const auto aligned = [&](std::int64_t bytes) { return tl::cdiv(bytes, alignment_) * alignment_; };
  const std::int64_t a = aligned(tiles.m * tiles.k * item_) * (problem_.transposed_a ? 2 : 1);
  const std::int64_t b = aligned(tiles.k * tiles.n * item_) * (problem_.transposed_b ? 2 : 1);
  const std::int64_t sums = sum_bytes(tiles);
  return std::max(2 * sums + tiles.depth * (a + b), problem_.epilogue ? kEpilogueTiles * sums : 0);
}

std::int64_t GemmEstimate::sum_bytes(const GemmTiles& tiles) const {
  return tl::cdiv(tiles.m * tiles.n * 4, alignment_) * alignment_;
}

double GemmEstimate::run_bytes(double bytes) const {
  const auto granule = static_cast<double>(topology_.cube.hbm.interleave.count());
  const double whole = std::floor(bytes / granule) * granule, rest = bytes - whole;
  return whole + (rest > 0 ? std::max(rest, static_cast<double>(topology_.cube.hbm.access.count())) : 0);
}

GemmEstimate::Access GemmEstimate::access(std::int64_t rows, std::int64_t columns, std::int64_t row) const {
  // Whole rows of a holder follow each other in its memory.
  const bool whole = columns >= row;
  const double runs = whole ? static_cast<double>(tl::cdiv(columns, row)) : static_cast<double>(rows);
  const double run = static_cast<double>(rows * columns * item_) / runs;
  const auto page = static_cast<double>(topology_.pe.mmu.page.count());
  Access result;
  result.bytes = run * runs;
  result.occupied = run_bytes(run) * runs;
  result.chunk = run_bytes(std::min(run, static_cast<double>(topology_.cube.hbm.interleave.count())));
  const double pitch = static_cast<double>(row * item_);
  result.pages = whole ? runs + run / page : std::min(runs * (1 + run / page), 1 + runs * pitch / page);
  return result;
}

GemmEstimate::Step GemmEstimate::step(const GemmTiles& tiles, std::int64_t k) const {
  Step step;
  step.a = problem_.transposed_a ? access(k, tiles.m, row_a_) : access(tiles.m, k, row_a_);
  step.b = problem_.transposed_b ? access(tiles.n, k, row_b_) : access(k, tiles.n, row_b_);
  step.service = std::max({(step.a.occupied + step.b.occupied) / slice_, (step.a.bytes + step.b.bytes) / tcm_,
                           std::max(step.a.chunk, step.b.chunk) / channel_});
  return step;
}

double GemmEstimate::step_cycles(std::int64_t m, std::int64_t n, std::int64_t k) const {
  const hardware::GemmWork work{1, m, n, k, operand_};
  const topology::GemmSpec& gemm = topology_.pe.gemm;
  return static_cast<double>(fills_each_fold_ ? hardware::scale_sim_cycles(gemm, work)
                                              : hardware::systolic_cycles(gemm, work));
}

double GemmEstimate::follow_cycles(std::int64_t m, std::int64_t n, std::int64_t k, bool same_tile) const {
  if (fills_each_fold_) return step_cycles(m, n, k);
  const hardware::GemmWork work{1, m, n, k, operand_};
  return static_cast<double>(hardware::follow_cycles(topology_.pe.gemm, work, work, same_tile));
}

double GemmEstimate::products_ns(const GemmBlock& block, const GemmTiles& tiles, std::int64_t commands) const {
  const auto& array = topology_.pe.gemm.array;
  const auto folds = static_cast<double>(folds_of(block.m, tiles.m, array.height) *
                                         folds_of(block.n, tiles.n, array.width) * block.batch);
  const auto results = block.batch * tl::cdiv(block.m, tiles.m) * tl::cdiv(block.n, tiles.n);
  const auto steps = static_cast<double>(hardware::fold_cycles(topology_.pe.gemm, operand_, block.k));
  const double steady = folds * steps / topology_.pe.gemm.efficiency.value();
  if (fills_each_fold_) {
    const double fills = folds * static_cast<double>(commands) / static_cast<double>(results);
    const std::int64_t fill = hardware::edge_cycles(topology_.pe.gemm, array.height, array.width);
    return (steady + fills * static_cast<double>(fill)) * cycle_;
  }
  const std::int64_t m = std::min(tiles.m, block.m), n = std::min(tiles.n, block.n), k = std::min(tiles.k, block.k);
  const double gap = follow_cycles(m, n, k, true) - follow_cycles(m, n, k, false);
  const auto edge = static_cast<double>(hardware::edge_cycles(topology_.pe.gemm, m, n));
  return (steady + gap * static_cast<double>(commands - results) + edge) * cycle_;
}

/// `rows` x `columns`: of the operand, loaded at a time. The holder that has the most of it takes longest: of 192 rows
/// one that holds 128 has 128, as if one and a half served.
GemmEstimate::Passes GemmEstimate::passes(const Access& access, double times, const OperandSharing& sharing,
                                          std::int64_t rows, std::int64_t columns) const {
  Passes passes;
  passes.times = times;
  passes.swelling = access.occupied / access.bytes;
  const auto parts = [](std::int64_t extent, std::int64_t part) {
    return std::max(1.0, static_cast<double>(extent) / static_cast<double>(part));
  };
  passes.holders = parts(rows, sharing.rows) * parts(columns, sharing.columns);
  const auto requests = static_cast<double>(tl::cdiv(rows, sharing.rows) * tl::cdiv(columns, sharing.columns));
  passes.headers =
      static_cast<double>(topology_.cube.noc.header.count()) * requests / static_cast<double>(rows * columns * item_);
  return passes;
}

double GemmEstimate::traffic_ns(const GemmBlock& block, const Passes& a, const Passes& b) const {
  const auto& cube = topology_.cube;
  const auto& mesh = topology_.sip.cubes;
  const auto item = static_cast<double>(item_);
  const double stores = static_cast<double>(block.batch * block.m * block.n * out_item_);
  double slice = stores, shared = 0, crossing = 0, hops = 0, foreign = 0, all = 0;
  for (const auto& [traffic, sharing, pass] :
       {std::tuple{&block.a, &block.sharing_a, &a}, std::tuple{&block.b, &block.sharing_b, &b}}) {
    const double bytes = pass->times * item, on_links = bytes * (1 + pass->headers);
    slice += bytes * traffic->hottest * pass->swelling;
    // Those who ask the same holders at one time.
    const double rate = sharing->readers > 1 ? std::min(slice_, router_link_) : slice_;
    shared = std::max(
        shared, bytes * traffic->all() / block.programs * pass->swelling * sharing->readers / (pass->holders * rate));
    // Over the mesh of the cube; what comes from another cube crosses one at either end.
    crossing += on_links * (traffic->cube + 2 * traffic->remote) / (kNocShare + kNocMore * pass->spread);
    hops += on_links * traffic->hops / (kMeshShare + kMeshMore * pass->spread);
    foreign += on_links * (traffic->cube + traffic->remote);
    all += bytes * traffic->all();
  }
  const double routers = links_of(cube.pes) * block.cubes * router_link_;
  const double between = links_of(mesh) * cube_links_;
  const auto on_link = [&](const Passes& pass, double once) {
    return pass.times * item * (1 + pass.headers) * once / (kLinkShare + kLinkMore * pass.spread);
  };
  const double busiest = std::max({on_link(a, block.links.a), on_link(b, block.links.b),
                                   std::min(on_link(a, block.links.both), on_link(b, block.links.both))});
  const std::array<double, 7> parts{slice / slice_,
                                    busiest,
                                    shared,
                                    routers > 0 ? crossing * mean_distance(cube.pes) / routers : 0,
                                    between > 0 ? hops / between : 0,
                                    foreign / (block.programs * router_link_),  // into one PE
                                    all / (block.programs * tcm_)};
  double sum = 0;
  for (const double part : parts) sum += part;
  const double longest = *std::ranges::max_element(parts);
  return longest + 0.02 * (sum - longest);
}

/// All that moves, if all steps were of `step_k`: `depth` of them ask their holders at one time.
double GemmEstimate::traffic_ns(const GemmBlock& block, const GemmTiles& tiles, std::int64_t step_k) const {
  const std::int64_t across = tl::cdiv(block.m, tiles.m), along = tl::cdiv(block.n, tiles.n);
  const std::int64_t k = std::min(tiles.depth * step_k, block.k);
  const Step one = step(tiles, std::min(tiles.k, block.k));
  Passes a = passes(one.a, static_cast<double>(along), block.sharing_a, std::min(tiles.m, block.m), k);
  Passes b = passes(one.b, static_cast<double>(across), block.sharing_b, k, std::min(tiles.n, block.n));
  const double together = static_cast<double>(k) / static_cast<double>(block.k);
  a.spread = block.sharing_a.columns < block.k ? together : 0;
  b.spread = block.sharing_b.rows < block.k ? together : 0;
  return traffic_ns(block, a, b);
}

/// The first tile of the result begins with short steps, whose holders are few.
double GemmEstimate::moving_ns(const GemmBlock& block, const GemmTiles& tiles) const {
  const auto results = static_cast<double>(block.batch * tl::cdiv(block.m, tiles.m) * tl::cdiv(block.n, tiles.n));
  const double all = static_cast<double>(block.k) * results;
  double sum = 0, left = all;
  for (std::int64_t k = tiles.first_k; k < std::min(tiles.k, block.k) && left > 0; k *= 2) {
    const double covered = std::min(static_cast<double>(k), left);
    sum += covered * traffic_ns(block, tiles, k);
    left -= covered;
  }
  if (left > 0) sum += left * traffic_ns(block, tiles, tiles.k);
  return sum / all;
}

std::int64_t GemmEstimate::steps_in_tcm(const GemmTiles& tiles) const {
  GemmTiles other = tiles;
  other.depth = 0;
  const std::int64_t sums = tcm_bytes(other);
  other.depth = 1;
  const std::int64_t step = tcm_bytes(other) - sums;
  return step > 0 ? (capacity_ - sums) / step : tiles.depth + 1;
}

std::int64_t GemmEstimate::commands(const GemmBlock& block, const GemmTiles& tiles) const {
  const Ramp ramp(tiles);
  const std::int64_t more = ramp.steps + tl::cdiv(block.k - ramp.covered, tiles.k) - tl::cdiv(block.k, tiles.k);
  const std::int64_t results = block.batch * tl::cdiv(block.m, tiles.m) * tl::cdiv(block.n, tiles.n);
  return results * tl::cdiv(block.k, tiles.k) + std::max<std::int64_t>(more, 0);
}

/// Steps under way: those that the plan allows, the DMA queues hold, and the TCM has room for beside the one that is
/// multiplied. 0: a step is loaded when the one before it has been multiplied.
double GemmEstimate::ahead(const GemmTiles& tiles) const {
  const auto room = static_cast<double>(steps_in_tcm(tiles) - 1);
  return std::max(std::min({static_cast<double>(tiles.depth), under_way_, room}), 0.0);
}

double GemmEstimate::latency_ns(const OperandTraffic& traffic) const {
  double route = 0;
  if (traffic.remote > 0) {
    route = 2 * route_in_cube_ + traffic.hops / traffic.remote * route_between_;
  } else if (traffic.cube > 0) {
    route = route_in_cube_;
  }
  return hbm_latency_ + route;
}

double GemmEstimate::vector_ns(double elements, double cycles_each, double bytes) const {
  const auto& vector = topology_.pe.vector;
  return std::max((vector.startup_cycles + elements / vector.lanes * cycles_each) * cycle_, bytes / tcm_);
}

double GemmEstimate::on_lanes(std::int64_t m, std::int64_t n) const {
  const auto& vector = topology_.pe.vector;
  const auto each = [&](topology::VectorOperation operation) {
    return static_cast<double>(topology::cycles(vector, operation));
  };
  // As multiply_on_lanes (gemm.cpp) goes: the smaller operand is cast, and both are taken apart for chains.
  const auto rows = static_cast<double>(m), columns = static_cast<double>(n);
  const auto chain = static_cast<double>(chain_on_lanes(m, n, 0));
  const double first = each(chain == 1 ? topology::VectorOperation::multiply : topology::VectorOperation::fma);
  const double products = first + each(topology::VectorOperation::reduce) / chain;
  const double copy = each(topology::VectorOperation::copy), copies = std::log2(chain) * copy;
  const double casts = item_ == 4 ? 0 : std::min(rows, columns) * each(topology::VectorOperation::cast);
  const double permuted = chain == 1 || problem_.transposed_b ? 0 : columns * copy;
  return (rows * columns * products + (rows + columns) * copies + casts + permuted) / vector.lanes * cycle_;
}

double GemmEstimate::permutation_ns(const GemmTiles& tiles) const {
  double sum = 0;
  for (const auto& [transposed, elements] :
       {std::pair{problem_.transposed_a, tiles.m * tiles.k}, std::pair{problem_.transposed_b, tiles.k * tiles.n}}) {
    if (!transposed) continue;
    const auto copied = static_cast<double>(elements);
    sum += vector_ns(copied, topology::cycles(topology_.pe.vector, topology::VectorOperation::copy),
                     2 * copied * static_cast<double>(item_));
  }
  return sum;
}

/// Walks of the page table for a descriptor with so many pages that are not held.
double GemmEstimate::walks_ns(double pages) const {
  const auto& mmu = topology_.pe.mmu;
  return std::ceil(pages / mmu.walkers) * ns(mmu.miss) * std::min(1.0, pages);
}

GemmEstimate::StepWalks GemmEstimate::walks_of_each_step(const GemmBlock& block, const GemmTiles& tiles) const {
  const std::int64_t m = std::min(tiles.m, block.m), n = std::min(tiles.n, block.n), k = std::min(tiles.k, block.k);
  const double a = (problem_.transposed_a ? access(k, m, row_a_) : access(m, k, row_a_)).pages;
  const double b = (problem_.transposed_b ? access(n, k, row_b_) : access(k, n, row_b_)).pages;
  if (a + b <= topology_.pe.mmu.tlb_entries) return {};
  return {walks_ns(a), walks_ns(b)};
}

/// Walks of the page table in each step: every page of the block once, or at each pass when the TLB does not hold them,
/// or in each step.
double GemmEstimate::walks_ns(const GemmBlock& block, const GemmTiles& tiles, double steps) const {
  if (const double each = walks_of_each_step(block, tiles).longest(); each > 0) return each;
  const auto& mmu = topology_.pe.mmu;
  const Access a = problem_.transposed_a ? access(block.k, block.m, row_a_) : access(block.m, block.k, row_a_);
  const Access b = problem_.transposed_b ? access(block.n, block.k, row_b_) : access(block.k, block.n, row_b_);
  const bool held = a.pages + b.pages <= mmu.tlb_entries;
  const auto passes = [&](std::int64_t extent, std::int64_t tile) {
    return held ? 1.0 : static_cast<double>(tl::cdiv(extent, tile));
  };
  const double pages =
      (a.pages * passes(block.n, tiles.n) + b.pages * passes(block.m, tiles.m)) * static_cast<double>(block.batch);
  return walks_ns(pages / steps);
}

double GemmEstimate::epilogue_ns(const GemmTiles& tiles) const {
  const auto elements = static_cast<double>(tiles.m * tiles.n);
  return problem_.epilogue ? vector_ns(elements, kEpilogueCycles, 12 * elements) : 0;
}

double GemmEstimate::store_ns(const GemmTiles& tiles) const {
  const auto elements = static_cast<double>(tiles.m * tiles.n);
  return epilogue_ns(tiles) + setup_ + elements * static_cast<double>(out_item_) / std::min(slice_, tcm_) +
         hbm_latency_;
}

double GemmEstimate::time(const GemmBlock& block, const GemmTiles& tiles) const {
  return time(block, tiles, traffic_ns(block, tiles, tiles.k));
}

double GemmEstimate::time_with_first_steps(const GemmBlock& block, const GemmTiles& tiles) const {
  return time(block, tiles, moving_ns(block, tiles));
}

double GemmEstimate::time(const GemmBlock& block, const GemmTiles& tiles, double traffic) const {
  const std::int64_t results = block.batch * tl::cdiv(block.m, tiles.m) * tl::cdiv(block.n, tiles.n);
  const std::int64_t commands = this->commands(block, tiles);
  const auto steps = static_cast<double>(commands);

  const Step full = step(tiles, std::min(tiles.k, block.k)), first = step(tiles, tiles.first_k);
  const double products = products_ns(block, tiles, commands);
  const double last =
      step_cycles(std::min(tiles.m, block.m), std::min(tiles.n, block.n), std::min(tiles.k, block.k)) * cycle_;
  const double alone = full.service * static_cast<double>(results * block.k) / static_cast<double>(tiles.k);
  const double moving = std::max(alone, traffic);
  const double first_service = first.service * moving / alone;
  const double latency =
      2 * issue_ + setup_ + walks_ns(block, tiles, steps) + std::max(latency_ns(block.a), latency_ns(block.b));
  const double permutation = permutation_ns(tiles);
  const double under_way = ahead(tiles);
  const double begin = latency + first_service * std::max(under_way, 1.0) + permutation;
  if (under_way < 1) return begin + moving - first_service + (steps - 1) * latency + products + store_ns(tiles);
  // Loads, products and permutations at their own pace; each load takes its latency, for `under_way` steps at a time.
  const double queues = std::max(1.0, topology_.pe.dma.queues / 2.0);  // of one operand
  const double period = std::max({3 * issue_ + permutation, (latency + moving / steps) / under_way,
                                  walks_of_each_step(block, tiles).longest() / queues});
  const double loads = std::max(moving - first_service, (steps - 1) * period);
  const double body = std::max(products, loads + last) + kWeightOfOther * std::min(products, loads);
  return begin + body + store_ns(tiles);
}

double GemmEstimate::at_least(const GemmBlock& block) const {
  return at_least(block, block.m, block.n);
}

double GemmEstimate::at_least(const GemmBlock& block, std::int64_t tile_m, std::int64_t tile_n) const {
  const std::int64_t across = tl::cdiv(block.m, tile_m), along = tl::cdiv(block.n, tile_n);
  GemmTiles tiles;
  tiles.m = tile_m, tiles.n = tile_n;
  const double products = products_ns(block, tiles, block.batch * across * along);
  const auto once = [](std::int64_t times) {
    return Passes{.times = static_cast<double>(times), .holders = std::numeric_limits<double>::infinity()};
  };
  const double moving = traffic_ns(block, once(along), once(across));
  return std::max(products, moving) + kWeightOfOther * std::min(products, moving);
}

}  // namespace kernbench::tile::library
