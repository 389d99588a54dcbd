#include "tile/memory/pointer_lanes.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "addressing/tensor_descriptor.h"
#include "base/name_format.h"
#include "kernbench/error.h"
#include "sim/fiber.h"
#include "tile/explain/explanation.h"
#include "tile/program/conversion.h"
#include "tile/program/known.h"

namespace kernbench::tile {

namespace {

/// A call that needs the values of tiles to know its addresses.
class Resolver {
 public:
  Resolver(Program& program, const char* call, const tl::Where& where)
      : program_(program), call_(call), where_(where) {}

  /// Makes the values of both tiles readable: at once, or after waiting for them.
  void await(const TileState& offsets, const TileState* mask) {
    const bool known = known_value(offsets) != nullptr && (mask == nullptr || known_value(*mask) != nullptr);
    const bool assumed = offsets.assumed || (mask != nullptr && mask->assumed);
    if (known && !assumed) return;
    const auto& environment = program_.environment();
    if (!environment.data_enabled && !known) {
      throw ProgramError(
          "NoDataError",
          fmt::format("tl::{} needs the values of its {}, which depend on memory, but the run has no data (--no-data); "
                      "run with data, or make them of tl::arange, tl::full and scalars only",
                      call_, known_value(offsets) == nullptr ? "offsets" : "mask"),
          program_.place(where_));
    }
    for (const TileState* tile : {&offsets, mask}) {
      if (tile == nullptr || !tile->producer) continue;
      const Program::Step step(program_, Activity::value, where_, tile->producer.get());
      tile->producer->done.wait();
    }
    {
      const Program::Step step(program_, Activity::scalar_read, where_);
      sim::this_fiber::sleep(environment.machine.topology().pe.control.scalar_read);
    }
    check_computed(offsets, "offsets");
    if (mask != nullptr) check_computed(*mask, "mask");
  }

  /// REQUIRES: await() of it.
  numerics::TileView view(const TileState& tile) const {
    if (auto known = known_view(tile)) return *known;
    return numerics::view(program_.environment().executor, tile.value()->value);
  }

 private:
  void check_computed(const TileState& tile, const char* role) const {
    if (known_value(tile) != nullptr || tile.value()->value.has_data()) return;
    throw ProgramError(
        "SkippedValueError",
        fmt::format("tl::{} needs the values of its {}, which derive from floating-point operations that "
                    "--skip-floating-point-ops leaves out; run with them, or make addresses of integers only",
                    call_, role),
        program_.place(where_));
  }

  Program& program_;
  const char* call_;
  const tl::Where& where_;
};

/// Steps through the lanes of `shape`, and with them through a tile that broadcasts to it.
class BroadcastWalk {
 public:
  BroadcastWalk(const tl::Extents& shape, const tl::Extents& tile) : shape_(shape), strides_(shape), index_(shape) {
    std::int64_t stride = 1;
    for (std::size_t i = shape.size(); i-- > 0;) {
      index_[i] = 0;
      const std::size_t missing = shape.size() - tile.size();
      const std::int64_t extent = i < missing ? 1 : tile[i - missing];
      strides_[i] = extent == 1 ? 0 : stride;
      stride *= extent;
    }
  }
  std::int64_t at() const { return at_; }
  void step() {
    for (std::size_t i = shape_.size(); i-- > 0;) {
      at_ += strides_[i];
      if (++index_[i] < shape_[i]) return;
      at_ -= strides_[i] * shape_[i];
      index_[i] = 0;
    }
  }

 private:
  const tl::Extents& shape_;
  tl::Extents strides_, index_;
  std::int64_t at_ = 0;
};

}  // namespace

std::string lane_text(std::int64_t lane, const tl::Extents& shape) {
  tl::Extents index = shape;
  for (std::size_t i = shape.size(); i-- > 0;) {
    index[i] = lane % shape[i];
    lane /= shape[i];
  }
  return to_text(index);
}

PointerLanes resolve_lanes(Program& program, const char* call, const tl::PointerTile& pointers, const TileState* mask,
                           const tl::Where& where, bool write) {
  const auto& offsets = *program.own(pointers.offsets(), call, where);
  if (is_floating_point(offsets.dtype()) || offsets.dtype() == DType::boolean) {
    throw ValueError(fmt::format("tl::{}: the offsets of pointers must be integers, got {}; cast them to i32 or i64",
                                 call, name(offsets.dtype())),
                     program.place(where));
  }
  Resolver resolver(program, call, where);
  resolver.await(offsets, mask);
  const tl::Extents& shape = offsets.shape();
  // What was cancelled and unwinds does not wait, so there may be no values: its accesses are dropped anyhow.
  if (sim::this_fiber::unwinding()) {
    const auto none = static_cast<std::size_t>(shape.numel());
    return {std::vector<std::int64_t>(none), std::vector<std::uint8_t>(none)};
  }
  const auto fail = [&](const char* what, const numerics::TileView& view, std::int64_t lane, const tl::Extents& tile) {
    throw InvalidValueError(fmt::format("tl::{}: lane {} of the {} is invalid: {}", call, lane_text(lane, tile), what,
                                        explanation(view.source(lane))),
                            program.place(where));
  };
  PointerLanes lanes;
  const auto count = static_cast<std::size_t>(shape.numel());
  if (mask != nullptr) {
    const numerics::TileView view = resolver.view(*mask);
    BroadcastWalk walk(shape, mask->shape());
    lanes.active.resize(count);
    for (std::size_t lane = 0; lane < count; ++lane, walk.step()) {
      if (!view.valid(walk.at())) fail("mask", view, walk.at(), mask->shape());
      lanes.active[lane] = view.element(walk.at()).as_boolean() ? 1 : 0;
    }
  }
  const numerics::TileView view = resolver.view(offsets);
  const addressing::TensorDescriptor& tensor = pointers.base().tensor().descriptor();
  const std::int64_t elements = tensor.numel(), base = pointers.base().offset();
  lanes.offsets.resize(count);
  for (std::size_t lane = 0; lane < count; ++lane) {
    if (!lanes.is_active(lane)) continue;
    const auto number = static_cast<std::int64_t>(lane);
    if (!view.valid(number)) fail("offsets", view, number, shape);
    const std::int64_t step = view.element(number).as_integer();
    if (__builtin_add_overflow(base, step, &lanes.offsets[lane]) || lanes.offsets[lane] < 0 ||
        lanes.offsets[lane] >= elements) {
      if (!write && program.environment().reads_may_leave_tensors) {
        if (lanes.active.empty()) lanes.active.assign(count, 1);
        lanes.active[lane] = 0;
        continue;
      }
      throw OutOfBoundsError(
          fmt::format("tl::{}: lane {} points to element {} + {} of tensor {} of shape {}; {}; mask the "
                      "lane or correct its offset",
                      call, lane_text(number, shape), base, step, tensor.name,
                      to_text(pointers.base().tensor().shape()), valid_text(elements)),
          program.place(where));
    }
  }
  return lanes;
}

namespace {

/// A lane that is active, and how many before it name its element.
struct NamedLane {
  std::int64_t lane, offset, repeats;
};

std::vector<NamedLane> active_lanes(const PointerLanes& lanes) {
  std::vector<NamedLane> active;
  active.reserve(lanes.offsets.size());
  for (std::size_t lane = 0; lane < lanes.offsets.size(); ++lane) {
    if (lanes.is_active(lane)) active.push_back({static_cast<std::int64_t>(lane), lanes.offsets[lane], 0});
  }
  return active;
}

/// By their elements' places in memory. Of lanes that name one element each has a turn of its own, in their order.
void sort_by_address(std::vector<NamedLane>& lanes) {
  std::ranges::stable_sort(lanes, {}, &NamedLane::offset);
  for (std::size_t i = 1; i < lanes.size(); ++i) {
    if (lanes[i].offset == lanes[i - 1].offset) lanes[i].repeats = lanes[i - 1].repeats + 1;
  }
  std::ranges::stable_sort(lanes, {}, &NamedLane::repeats);
}

/// Runs of lanes at equal distances whose elements follow each other.
std::vector<LaneRun> runs_by_address(const std::vector<NamedLane>& lanes) {
  std::vector<LaneRun> runs;
  for (const NamedLane& next : lanes) {
    if (!runs.empty()) {
      LaneRun& last = runs.back();
      const std::int64_t step = last.length == 1 ? next.lane - last.lane : last.lane_step;
      if (next.lane == last.lane + last.length * step && next.offset == last.offset + last.length) {
        last.lane_step = step;
        ++last.length;
        continue;
      }
    }
    runs.push_back({.lane = next.lane, .offset = next.offset});
  }
  return runs;
}

/// Runs of neighbouring lanes whose elements follow each other.
std::vector<LaneRun> runs_by_lane(const PointerLanes& lanes) {
  std::vector<LaneRun> runs;
  for (std::size_t lane = 0; lane < lanes.offsets.size(); ++lane) {
    if (!lanes.is_active(lane)) continue;
    const auto number = static_cast<std::int64_t>(lane);
    if (!runs.empty()) {
      LaneRun& last = runs.back();
      if (number == last.lane + last.length && lanes.offsets[lane] == last.offset + last.length) {
        ++last.length;
        continue;
      }
    }
    runs.push_back({.lane = number, .offset = lanes.offsets[lane]});
  }
  return runs;
}

/// In the order of lanes, or of addresses where the tile's own order hardly follows the memory, as that of a transposed
/// or a reversed tile: a DMA engine takes its lanes as they lie.
std::vector<LaneRun> simple_runs(const PointerLanes& lanes) {
  std::vector<LaneRun> by_lane = runs_by_lane(lanes);
  std::int64_t active = 0;
  for (const LaneRun& run : by_lane) active += run.length;
  if (2 * std::ssize(by_lane) <= active) return by_lane;
  std::vector<NamedLane> named = active_lanes(lanes);
  sort_by_address(named);
  std::vector<LaneRun> by_address = runs_by_address(named);
  return 2 * by_address.size() <= by_lane.size() ? by_address : by_lane;
}

/// How many of the runs from `first` on are rows of one.
std::size_t rows_from(const std::vector<LaneRun>& runs, std::size_t first) {
  const auto is_like_first = [&](const LaneRun& run) {
    return run.length == runs[first].length && run.lane_step == runs[first].lane_step;
  };
  if (first + 1 >= runs.size() || !is_like_first(runs[first + 1])) return 1;
  const std::int64_t stride = runs[first + 1].offset - runs[first].offset;
  const std::int64_t lane_stride = runs[first + 1].lane - runs[first].lane;
  if (stride < runs[first].length) return 1;  // rows may not overlap
  std::size_t rows = 2;
  for (std::size_t next = first + 2; next < runs.size(); ++next, ++rows) {
    if (!is_like_first(runs[next]) || runs[next].offset - runs[next - 1].offset != stride ||
        runs[next].lane - runs[next - 1].lane != lane_stride)
      break;
  }
  return rows < 3 ? 1 : rows;
}

}  // namespace

std::vector<LaneRun> runs_of(const PointerLanes& lanes) {
  const std::vector<LaneRun> simple = simple_runs(lanes);
  std::vector<LaneRun> runs;
  for (std::size_t i = 0; i < simple.size();) {
    const std::size_t rows = rows_from(simple, i);
    LaneRun run = simple[i];
    if (rows > 1) {
      run.rows = static_cast<std::int64_t>(rows);
      run.stride = simple[i + 1].offset - simple[i].offset;
      run.lane_stride = simple[i + 1].lane - simple[i].lane;
    }
    runs.push_back(run);
    i += rows;
  }
  return runs;
}

PointerLanes lanes_of_block(std::int64_t offset, const tl::Extents& shape, const tl::Extents& strides) {
  PointerLanes lanes;
  tl::Extents index = shape;
  for (std::size_t i = 0; i < shape.size(); ++i) index[i] = 0;
  for (std::int64_t left = shape.numel(); left > 0; --left) {
    lanes.offsets.push_back(offset);
    for (std::size_t i = shape.size(); i-- > 0;) {
      offset += strides[i];
      if (++index[i] < shape[i]) break;
      offset -= strides[i] * shape[i];
      index[i] = 0;
    }
  }
  return lanes;
}

}  // namespace kernbench::tile
