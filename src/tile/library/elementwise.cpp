#include "tile/library/elementwise.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <span>
#include <unordered_map>
#include <utility>

#include "addressing/tensor_descriptor.h"
#include "base/fingerprint.h"
#include "tile/library/pipeline.h"
#include "topology/spec.h"

namespace kernbench::tile::library {

namespace {

Box whole(const View& view) {
  Box box{view.sizes, view.sizes};
  for (std::size_t d = 0; d < view.rank(); ++d) box.offset[d] = 0;
  return box;
}

}  // namespace

std::vector<Box> share_of(const View& out, Share share) {
  if (share == Share::held) return local_boxes(out);
  Box box = whole(out);
  if (out.rank() == 0) return tl::program_id() == 0 ? std::vector{box} : std::vector<Box>{};
  std::size_t largest = 0;
  for (std::size_t d = 1; d < out.rank(); ++d)
    if (out.sizes[d] > out.sizes[largest]) largest = d;
  const std::int64_t piece = tl::cdiv(out.sizes[largest], tl::num_programs());
  box.offset[largest] = tl::program_id() * piece;
  box.shape[largest] = std::min(piece, out.sizes[largest] - box.offset[largest]);
  if (box.shape[largest] <= 0 || box.shape.numel() == 0) return {};
  return {box};
}

std::vector<Box> lines_of(const View& out, const std::vector<bool>& along, Share share) {
  if (share == Share::held) return local_boxes(out);
  tl::Extents lines = out.sizes;
  for (std::size_t d = 0; d < along.size(); ++d)
    if (along[d]) lines[d] = 1;
  const std::int64_t count = lines.numel(), program = tl::program_id(), programs = tl::num_programs();
  const std::int64_t end = count * (program + 1) / programs;
  std::vector<Box> boxes;
  for (std::int64_t at = count * program / programs; at < end;) {
    Box box = whole(out);
    // The largest box that begins here and is a part of the lines in their order.
    std::int64_t below = 1, left = at;
    bool grows = true;
    for (std::size_t d = lines.size(); d-- > 0;) {
      const std::int64_t index = left % lines[d];
      left /= lines[d];
      if (along[d]) continue;
      box.offset[d] = index;
      box.shape[d] = grows ? std::min(lines[d] - index, std::max<std::int64_t>((end - at) / below, 1)) : 1;
      grows = grows && box.shape[d] == lines[d];
      below *= box.shape[d];
    }
    boxes.push_back(box);
    at += below;
  }
  return boxes;
}

std::int64_t bytes_beside(const View& out, const MachineLimits& limits) {
  const std::int64_t lanes = lanes_of_store(out, limits);
  return lanes == 1 ? 0 : lanes * item_size(out.dtype());
}

std::vector<std::size_t> fast_dimensions(const View& out, const std::vector<View>& operands) {
  std::vector<std::size_t> fast;
  const auto add = [&](const View& view) {
    const auto dimension = fast_dimension(view);
    if (dimension && std::ranges::find(fast, *dimension) == fast.end()) fast.push_back(*dimension);
  };
  add(out);
  for (const View& operand : operands) add(operand);
  if (fast.size() < 2) fast.clear();  // all agree: whole rows
  return fast;
}

tl::Tile fill_out(const tl::Tile& tile, const tl::Extents& shape) {
  return tile.shape() == shape ? tile : tl::broadcast_to(tile, shape);
}

HeldBoxes held_boxes(const View& view) {
  HeldBoxes boxes;
  const auto parts = parts_by_shard(view);
  for (std::size_t shard = 0; shard < parts.size(); ++shard) {
    auto& mine = boxes[view.tensor.descriptor().shards[shard].owner];
    mine.insert(mine.end(), parts[shard].begin(), parts[shard].end());
  }
  return boxes;
}

namespace {

/// The blocks of boxes of a result, in the order in which a program makes them, and which dimensions have long rows.
struct BlockOrder {
  std::vector<Box> blocks;
  std::vector<bool> long_rows;
};

bool repeats(const View& operand) {
  for (std::size_t d = 0; d < operand.rank(); ++d)
    if (operand.strides[d] == 0 && operand.sizes[d] > 1) return true;
  return false;
}

/// Blocks with the same elements of the largest operand that repeats come one behind the other.
void keep_what_repeats(std::vector<Box>& blocks, const std::vector<View>& operands) {
  const View* largest = nullptr;
  std::int64_t most = 1;
  for (const View& operand : operands) {
    if (!repeats(operand)) continue;
    std::int64_t elements = 1;
    for (std::size_t d = 0; d < operand.rank(); ++d)
      if (operand.strides[d] != 0) elements *= blocks.front().shape[d];
    if (elements > most) most = elements, largest = &operand;
  }
  if (largest == nullptr) return;
  std::ranges::stable_sort(blocks, [&](const Box& a, const Box& b) {
    for (std::size_t d = 0; d < largest->rank(); ++d)
      if (largest->strides[d] != 0 && a.offset[d] != b.offset[d]) return a.offset[d] < b.offset[d];
    return false;
  });
}

std::int64_t item_of_tiles(const View& out, const std::vector<View>& operands) {
  return std::max(widest_item({&out, 1}), widest_item(operands));
}

std::int64_t largest_block_of(const View& out, const std::vector<View>& operands, int live_tiles,
                              const MachineLimits& limits) {
  const std::int64_t beside = bytes_beside(out, limits), room = limits.tcm - (beside == 0 ? 0 : kBytesOfMask);
  return std::clamp<std::int64_t>(room / (item_of_tiles(out, operands) * live_tiles + beside), 1, kLargestBlock);
}

/// How boxes of a result are cut into blocks.
struct Cutting {
  std::vector<std::size_t> fast;
  std::int64_t largest = 1;
};

Cutting cutting_of(const View& out, const std::vector<View>& operands, int live_tiles, const MachineLimits& limits) {
  return {fast_dimensions(out, operands), largest_block_of(out, operands, live_tiles, limits)};
}

BlockOrder blocks_of(const View& out, const std::vector<View>& operands, const std::vector<Box>& boxes,
                     const Cutting& cutting) {
  BlockOrder order{{}, std::vector<bool>(out.rank(), false)};
  for (const Box& box : boxes) append_blocks(order.blocks, box, block_shape(box.shape, cutting.largest, cutting.fast));
  if (!order.blocks.empty()) keep_what_repeats(order.blocks, operands);
  for (const std::size_t d : cutting.fast) order.long_rows[d] = true;
  return order;
}

bool has_replicas(const addressing::TensorDescriptor& tensor) {
  std::int64_t held = 0;
  for (const addressing::Shard& shard : tensor.shards) held += tl::Extents(std::span(shard.shape)).numel();
  return held > tensor.numel();
}

/// Bytes that accesses of a block of `shape` occupy in the HBM.
std::int64_t accessed_bytes(const View& view, const tl::Extents& shape, std::int64_t access) {
  const std::int64_t run = run_of(view, shape);
  std::int64_t elements = 1;
  for (std::size_t d = 0; d < view.rank(); ++d)
    if (view.strides[d] != 0) elements *= shape[d];
  return elements / run * std::max(run * item_size(view.dtype()), access);
}

/// Likewise of what store_with_gaps writes.
std::int64_t written_bytes(const View& out, const tl::Extents& shape, const MachineLimits& limits) {
  const std::int64_t beside = bytes_beside(out, limits);
  return beside == 0 ? accessed_bytes(out, shape, limits.access) : shape.numel() * beside;
}

/// Programs that load the same elements of some operands in the same order.
struct Readers {
  std::vector<std::int64_t> programs;
  std::int64_t bytes = 0;  // that each of them loads
};

/// What a program loads of some operands, one behind the other: operand, offsets and extents of each.
class LoadSequence {
 public:
  LoadSequence(const std::vector<Box>& blocks, const std::vector<View>& operands, const std::vector<bool>& which) {
    for (std::size_t b = 0; b < blocks.size(); ++b) {
      for (std::size_t o = 0; o < operands.size(); ++o) {
        if (!which[o] || (b > 0 && same_elements(operands[o], blocks[b - 1], blocks[b]))) continue;
        sequence_.add(o);
        add(operands[o], blocks[b]);
      }
    }
  }
  std::uint64_t hash() const { return sequence_.value(); }
  std::int64_t bytes() const { return bytes_; }

 private:
  void add(const View& operand, const Box& block) {
    std::int64_t elements = 1;
    for (std::size_t d = 0; d < operand.rank(); ++d) {
      if (operand.strides[d] == 0) continue;
      sequence_.add(static_cast<std::uint64_t>(block.offset[d]));
      sequence_.add(static_cast<std::uint64_t>(block.shape[d]));
      elements *= block.shape[d];
    }
    bytes_ += elements * item_size(operand.dtype());
  }

  Fingerprint sequence_;
  std::int64_t bytes_ = 0;
};

/// All programs that load something of the operands `which`, in the order of the first ones.
std::vector<Readers> readers_of(const std::vector<std::vector<Box>>& programs, const std::vector<View>& operands,
                                const std::vector<bool>& which) {
  std::vector<Readers> all;
  std::unordered_map<std::uint64_t, std::size_t> known;
  for (std::size_t program = 0; program < programs.size(); ++program) {
    if (programs[program].empty()) continue;
    const LoadSequence loads(programs[program], operands, which);
    const auto [at, is_new] = known.emplace(loads.hash(), all.size());
    if (is_new) all.push_back({{}, loads.bytes()});
    all[at->second].programs.push_back(static_cast<std::int64_t>(program));
  }
  return all;
}

/// Bytes that are not loaded a second time when each group loads together.
std::int64_t bytes_saved(const std::vector<Readers>& groups) {
  std::int64_t saved = 0;
  for (const Readers& group : groups) saved += group.bytes * static_cast<std::int64_t>(group.programs.size() - 1);
  return saved;
}

/// By the rule of shared_loads, for the first of what `readers` programs load.
bool is_worth_sharing(const View& operand, Box box, std::int64_t readers, const topology::Topology& topology) {
  for (std::size_t d = 0; d < operand.rank(); ++d)
    if (operand.strides[d] == 0) box.shape[d] = 1;
  const auto& mmu = topology.pe.mmu;
  std::int64_t pages = 0, busiest = 0;
  for (const std::vector<Box>& parts : parts_by_shard(operand)) {
    std::int64_t elements = 0, accessed = 0;
    for (const Box& part : parts) {
      const auto common = intersection(part, box);
      if (!common) continue;
      elements += common->shape.numel();
      accessed += accessed_bytes(operand, common->shape, topology.cube.hbm.access.count());
    }
    pages += tl::cdiv(elements * item_size(operand.dtype()), mmu.page.count());
    busiest = std::max(busiest, accessed);
  }
  const double walk = mmu.miss.in_seconds();
  const double once = static_cast<double>(busiest) / static_cast<double>(topology.cube.slice_bandwidth().count());
  const double alone = walk * static_cast<double>(tl::cdiv(pages, std::int64_t{mmu.walkers}));
  return alone + once * static_cast<double>(readers) > walk + once + walk;
}

/// Blocks of each program.
std::vector<std::vector<Box>> blocks_by_program(const View& out, const std::vector<View>& operands,
                                                const HeldBoxes& made, int live_tiles, const MachineLimits& limits) {
  const Cutting cutting = cutting_of(out, operands, live_tiles, limits);
  std::vector<std::vector<Box>> all;
  for (const auto& [pe, boxes] : made) {
    BlockOrder order = blocks_of(out, operands, boxes, cutting);
    all.push_back(growing(std::move(order.blocks), order.long_rows));
  }
  return all;
}

/// An operand that is worth sharing, and what that saves by itself.
struct SharedOperand {
  std::size_t operand = 0;
  std::int64_t saved = 0;
  std::vector<Readers> groups;
};

/// One group for all operands that a program shares: members then call in one order, and none waits for one that waits
/// for it. Operands that repeat along different dimensions have few readers in common, or none: from the one that saves
/// most on, each is shared with those before it only if that saves more.
SharedLoads groups_of(const std::vector<std::vector<Box>>& programs, const std::vector<View>& operands,
                      std::vector<SharedOperand> candidates) {
  if (candidates.empty()) return {};
  std::ranges::stable_sort(candidates, std::ranges::greater{}, &SharedOperand::saved);
  std::vector<bool> which(operands.size());
  which[candidates.front().operand] = true;
  std::int64_t saved = candidates.front().saved;
  std::vector<Readers> groups = std::move(candidates.front().groups);
  for (const SharedOperand& next : std::span(candidates).subspan(1)) {
    which[next.operand] = true;
    auto together = readers_of(programs, operands, which);
    const std::int64_t by_all = bytes_saved(together);
    which[next.operand] = by_all > saved;
    if (by_all > saved) saved = by_all, groups = std::move(together);
  }
  SharedLoads shared{which, std::vector<std::shared_ptr<const tl::MulticastGroup>>(programs.size())};
  for (const Readers& readers : groups) {
    if (readers.programs.size() < 2) continue;
    tl::MulticastGroup group;
    group.name = fmt::format("operands of program {}", readers.programs.front());
    group.programs = readers.programs;
    const auto of_all = std::make_shared<const tl::MulticastGroup>(std::move(group));
    for (const std::int64_t program : readers.programs) shared.groups[static_cast<std::size_t>(program)] = of_all;
  }
  return shared;
}

}  // namespace

SharedLoads shared_loads(const View& out, const std::vector<View>& operands, const HeldBoxes& made, int live_tiles,
                         const topology::Topology& topology) {
  const bool replicas = has_replicas(out.tensor.descriptor());
  std::vector<bool> which(operands.size());
  for (std::size_t o = 0; o < operands.size(); ++o) {
    const addressing::TensorDescriptor& tensor = operands[o].tensor.descriptor();
    which[o] = (replicas || repeats(operands[o])) && !tensor.is_interleaved() && !has_replicas(tensor);
  }
  if (std::ranges::find(which, true) == which.end()) return {};
  const auto programs = blocks_by_program(out, operands, made, live_tiles, limits_of(topology));
  std::vector<SharedOperand> candidates;
  for (std::size_t o = 0; o < operands.size(); ++o) {
    if (!which[o]) continue;
    std::vector<bool> alone(operands.size());
    alone[o] = true;
    auto groups = readers_of(programs, operands, alone);
    const auto most = std::ranges::max_element(groups, {}, [](const Readers& group) { return group.programs.size(); });
    if (most == groups.end() || most->programs.size() < 2) continue;
    const Box& first = programs[static_cast<std::size_t>(most->programs.front())].front();
    if (!is_worth_sharing(operands[o], first, static_cast<std::int64_t>(most->programs.size()), topology)) continue;
    candidates.push_back({o, bytes_saved(groups), std::move(groups)});
  }
  return groups_of(programs, operands, std::move(candidates));
}

bool copies_by_source(const View& out, const View& source, const HeldBoxes& made, int live_tiles,
                      const MachineLimits& limits, double least) {
  if (repeats(source) || has_replicas(out.tensor.descriptor()) || has_replicas(source.tensor.descriptor()))
    return false;
  const Cutting cutting = cutting_of(out, {source}, live_tiles, limits);
  bool short_pieces = false;
  const auto busiest = [&](const HeldBoxes& holders) {
    std::int64_t most = 0, both = 0;
    tl::Extents known;  // the block of which `both` speaks: most holders have the same
    for (const auto& [pe, boxes] : holders) {
      std::int64_t bytes = 0;
      for (const Box& box : boxes) {
        const tl::Extents block = block_shape(box.shape, cutting.largest, cutting.fast);
        if (!(block == known)) {
          known = block;
          both = accessed_bytes(source, block, limits.access) + written_bytes(out, block, limits);
          short_pieces = short_pieces || run_of(source, block) * item_size(source.dtype()) < limits.access;
        }
        bytes += both * tl::cdiv(box.shape.numel(), block.numel());
      }
      most = std::max(most, bytes);
    }
    return most;
  };
  const std::int64_t by_result = busiest(made);
  return short_pieces && static_cast<double>(by_result - busiest(held_boxes(source))) > least;
}

SliceFinder::SliceFinder(const View& view)
    : view_(view), is_known_(!view.tensor.descriptor().is_interleaved() && !has_replicas(view.tensor.descriptor())) {}

bool SliceFinder::add(const Box& box, std::set<PeCoordinate>& slices) {
  if (!is_known_) return false;
  const addressing::TensorDescriptor& tensor = view_.tensor.descriptor();
  // The box of the tensor between the first and the last element.
  Box between{tl::Extents(std::span<const std::int64_t>(tensor.shape)),
              tl::Extents(std::span<const std::int64_t>(tensor.shape))};
  std::int64_t first = view_.offset, last = view_.offset;
  for (std::size_t d = 0; d < view_.rank(); ++d) {
    first += box.offset[d] * view_.strides[d];
    last += (box.offset[d] + box.shape[d] - 1) * view_.strides[d];
  }
  for (std::size_t d = between.shape.size(); d-- > 0; first /= tensor.shape[d], last /= tensor.shape[d]) {
    between.offset[d] = std::min(first % tensor.shape[d], last % tensor.shape[d]);
    between.shape[d] = std::max(first % tensor.shape[d], last % tensor.shape[d]) - between.offset[d] + 1;
  }
  const std::size_t begin = next_;
  std::int64_t left = between.shape.numel();
  for (std::size_t i = 0; i < tensor.shards.size() && left > 0; ++i) {
    const std::size_t at = (begin + i) % tensor.shards.size();
    const addressing::Shard& shard = tensor.shards[at];
    std::int64_t common = 1;
    for (std::size_t d = 0; d < between.shape.size() && common > 0; ++d) {
      const std::int64_t end = std::min(between.offset[d] + between.shape[d], shard.offset[d] + shard.shape[d]);
      common *= std::max<std::int64_t>(end - std::max(between.offset[d], shard.offset[d]), 0);
    }
    if (common == 0) continue;
    if (left == between.shape.numel()) next_ = at;
    left -= common;
    slices.insert(shard.owner);
  }
  return true;
}

bool programs_meet(const HeldBoxes& made, std::size_t slices, std::span<const std::size_t> fast,
                   std::int64_t largest_block, const SlicesOfBlock& add_slices) {
  std::set<PeCoordinate> read;
  std::size_t programs = 0;
  for (const auto& [pe, boxes] : made) {
    if (boxes.empty()) continue;
    if (!add_slices({boxes.front().offset, block_shape(boxes.front().shape, largest_block, fast)}, read)) return false;
    if (2 * read.size() >= slices) return false;
    ++programs;
  }
  return 2 * read.size() < programs;
}

/// Whether each element of two views lies in the same slices as the other's, by their descriptions alone.
static bool lie_alike(const View& a, const View& b) {
  const addressing::TensorDescriptor &of_a = a.tensor.descriptor(), &of_b = b.tensor.descriptor();
  return a.sizes == b.sizes && a.strides == b.strides && a.offset == b.offset && of_a.shape == of_b.shape &&
         std::ranges::equal(of_a.shards, of_b.shards, [](const addressing::Shard& x, const addressing::Shard& y) {
           return x.owner == y.owner && x.offset == y.offset && x.shape == y.shape;
         });
}

bool reads_meet(const View& out, const std::vector<View>& operands, const HeldBoxes& made, int live_tiles,
                const MachineLimits& limits) {
  const Cutting cutting = cutting_of(out, operands, live_tiles, limits);
  return std::ranges::any_of(operands, [&](const View& operand) {
    if (repeats(operand) || lie_alike(out, operand)) return false;
    SliceFinder finder(operand);
    return programs_meet(made, operand.tensor.descriptor().shards.size(), cutting.fast, cutting.largest,
                         [&](const Box& block, auto& found) { return finder.add(block, found); });
  });
}

void begin_apart(std::vector<Box>& blocks) {
  const auto count = static_cast<std::int64_t>(blocks.size());
  std::ranges::rotate(blocks, blocks.begin() + tl::program_id() * tl::cdiv(count, tl::num_programs()) % count);
}

void elementwise(const View& out, const std::vector<View>& operands, const TileFunction& function,
                 const ElementwiseOptions& options) {
  const MachineLimits limits = machine_limits();
  const auto boxes = options.by_source ? local_boxes(operands.front()) : share_of(out, options.share);
  BlockOrder order = blocks_of(out, operands, boxes, cutting_of(out, operands, options.live_tiles, limits));
  const auto program = static_cast<std::size_t>(tl::program_id());
  PipelineOptions loads{
      .shared = options.shared.operands, .beside = bytes_beside(out, limits), .item = widest_item({&out, 1})};
  if (program < options.shared.groups.size()) loads.mates = options.shared.groups[program].get();
  if (options.apart && loads.mates == nullptr && !order.blocks.empty()) begin_apart(order.blocks);
  pipeline(
      growing(std::move(order.blocks), order.long_rows), operands,
      [&](const Box& block, std::vector<tl::Tile> tiles) {
        const tl::Tile result =
            tl::fuse([&] { return fill_out(tl::cast(function(tiles, block), out.dtype()), block.shape); });
        tiles.clear();
        store_with_gaps(out, block.offset, result);
      },
      loads);
}

}  // namespace kernbench::tile::library
