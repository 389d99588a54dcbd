#include "memory_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "addressing/locate.h"
#include "kernbench/error.h"
#include "programs.h"
#include "support/interleaved.h"
#include "tile/program/program.h"

namespace kernbench::testing {

namespace {

using Shape = std::vector<std::int64_t>;

struct Lane {
  bool valid = false;
  double value = 0;
};
using Lanes = std::vector<Lane>;

std::int64_t product(const Shape& shape) {
  std::int64_t n = 1;
  for (const auto extent : shape) n *= extent;
  return n;
}

tl::Extents extents(const Shape& values) {
  return tl::Extents(std::span(values));
}

/// The index of a lane in a tile of `shape`.
Shape index_of(std::int64_t lane, const Shape& shape) {
  Shape index(shape.size());
  for (std::size_t i = shape.size(); i-- > 0;) {
    index[i] = lane % shape[i];
    lane /= shape[i];
  }
  return index;
}

/// The lane of `tile` that broadcasts to `lane` of `shape`.
std::size_t source_lane(std::int64_t lane, const Shape& shape, const Shape& tile) {
  const Shape index = index_of(lane, shape);
  std::int64_t source = 0;
  for (std::size_t i = 0; i < tile.size(); ++i) {
    const std::int64_t at = index[i + shape.size() - tile.size()];
    source = source * tile[i] + (tile[i] == 1 ? 0 : at);
  }
  return static_cast<std::size_t>(source);
}

std::string text_of(const Shape& index) {
  std::string text = "[";
  for (std::size_t i = 0; i < index.size(); ++i) text += (i == 0 ? "" : ", ") + std::to_string(index[i]);
  return text + "]";
}

/// A tile and what its lanes must be.
struct Expected {
  tl::Tile tile;
  Shape shape;
  Lanes lanes;
  std::string what;
};

constexpr DType kTypes[] = {DType::boolean, DType::u8,  DType::i8,   DType::i32, DType::i64,
                            DType::f8e4m3,  DType::f16, DType::bf16, DType::f32, DType::f8e5m2};
constexpr std::int64_t kPool = 512;

/// What the kernel's tensors are and hold, and the choices that make a kernel. All choices follow from the seed alone.
class Case {
 public:
  Case(std::uint32_t seed, const MemoryMode& mode) : random_(seed), mode_(mode), seed_(seed) {
    dtype_ = kTypes[pick(0, 9)];
    const std::int64_t rank = pick(0, 3);
    for (std::int64_t i = 0; i < rank; ++i) shape_.push_back(pick(1, 12));
    const auto count = static_cast<std::size_t>(product(shape_));
    contents_.resize(count);
    const bool filled = chance(4, 5);
    for (auto& lane : contents_) lane = {filled, value()};
    for (std::int64_t i = 0; i < kPool; ++i) {
      pool_.push_back(static_cast<double>(pick(0, 7)));
      flags_.push_back(chance(3, 4) ? 1.0 : 0.0);
    }
    filled_ = filled;
  }

  void run() {
    auto x = make_tensor();
    auto pool = host(pool_, {kPool}).to(one_pe(DType::f32)), flags = host(flags_, {kPool}).to(one_pe(DType::boolean));
    auto numbers = torch::arange(0, 4096, torch::dtype(chance(1, 2) ? torch::kInt : torch::kLong)).to(one_pe_index());
    torch::LaunchOptions where;
    where.pes = {{CubeId{static_cast<int>(pick(0, mode_.cubes - 1))}, PeId{static_cast<int>(pick(0, 1))}}};
    torch::launch(
        where, "random", [this](tl::Tensor t, tl::In v, tl::In f, tl::In n) { kernel(t, v, f, n); }, x, pool, flags,
        numbers);
    torch::ahbm::synchronize();
  }

  std::int64_t moved() const { return moved_; }

 private:
  // ---- choices ----
  std::int64_t pick(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(random_() % static_cast<std::uint32_t>(high - low + 1));
  }
  bool chance(std::uint32_t of, std::uint32_t in) { return random_() % in < of; }
  double value() {
    return dtype_ == DType::boolean ? static_cast<double>(pick(0, 1)) : static_cast<double>(pick(0, 7));
  }
  double as_element(double v) const { return dtype_ == DType::boolean ? (v != 0 ? 1 : 0) : v; }

  static torch::Tensor host(std::vector<double>& values, const Shape& shape) {
    return torch::from_blob(values.data(), shape, torch::kDouble);
  }
  static torch::TensorOptions one_pe_index() { return torch::device("ahbm").placement({.num_cubes = 1, .num_pes = 1}); }
  torch::Tensor make_tensor() {
    constexpr Placement kAll[] = {Placement::replicate,       Placement::row_wise,           Placement::column_wise,
                                  Placement::tiled_row_major, Placement::tiled_column_major, Placement::balanced};
    const auto policy = testing::maybe_interleaved({.cube = kAll[pick(0, 5)], .pe = kAll[pick(0, 5)]}, random_());
    const auto options = torch::dtype(dtype_).device("ahbm").placement(policy).name("x");
    if (!filled_) return torch::empty(shape_, options);
    std::vector<double> values;
    for (const auto& lane : contents_) values.push_back(lane.value);
    return host(values, shape_).to(options);
  }

  // ---- tiles to mask with, to store, to pad with ----
  Shape partner(const Shape& shape) {
    Shape tile(shape.begin() +
                   static_cast<std::ptrdiff_t>(shape.empty() ? 0 : pick(0, static_cast<std::int64_t>(shape.size()))),
               shape.end());
    for (auto& extent : tile)
      if (chance(1, 4)) extent = 1;
    return tile;
  }
  /// Lanes from the pool of small numbers, or of flags; some may be invalid.
  Expected from_pool(const tl::Tensor& tensor, const std::vector<double>& pool, const Shape& shape, bool some_invalid) {
    Expected result{{}, shape, {}, "pool"};
    const std::int64_t first = pick(0, kPool - product(shape));
    Shape strides(shape.size(), 1);
    for (std::size_t i = shape.size(); i-- > 1;) strides[i - 1] = strides[i] * shape[i];
    tl::LoadOptions options;
    const std::int64_t limit = some_invalid ? pick(0, product(shape)) : product(shape);
    if (some_invalid) options.mask = tl::reshape(tl::arange(0, product(shape)) < limit, extents(shape));
    result.tile = tl::load(tensor.data_ptr() + first, extents(shape), extents(strides), options);
    moved_ += product(shape) * item_size(tensor.dtype());
    for (std::int64_t i = 0; i < product(shape); ++i)
      result.lanes.push_back({i < limit, pool[static_cast<std::size_t>(first + i)]});
    return result;
  }
  /// A boolean tile that broadcasts to `shape`.
  Expected mask(const tl::Tensor& flags, const Shape& shape, bool known) {
    const Shape own = partner(shape);
    if (!known) return from_pool(flags, flags_, own, false);
    Expected result{{}, own, {}, "mask"};
    const std::int64_t modulus = pick(2, 5), count = product(own);
    result.tile =
        tl::reshape(tl::arange(0, count) - tl::idiv(tl::arange(0, count), modulus) * modulus != 0, extents(own));
    for (std::int64_t i = 0; i < count; ++i) result.lanes.push_back({true, i % modulus != 0 ? 1.0 : 0.0});
    return result;
  }
  struct LoadLanes {
    tl::LoadOptions options;
    std::optional<Expected> mask, other;
    std::optional<double> scalar;

    bool active(std::int64_t lane, const Shape& shape) const {
      return !mask || mask->lanes[source_lane(lane, shape, mask->shape)].value != 0;
    }
    Lane rest(std::int64_t lane, const Shape& shape) const {
      if (scalar) return {true, *scalar};
      if (other) return other->lanes[source_lane(lane, shape, other->shape)];
      return {};
    }
  };
  LoadLanes load_lanes(const tl::Tensor& pool, const tl::Tensor& flags, const Shape& shape, bool known) {
    LoadLanes lanes;
    if (chance(1, 2)) {
      lanes.mask = mask(flags, shape, known);
      lanes.options.mask = lanes.mask->tile;
    }
    if (chance(1, 3)) {
      lanes.scalar = static_cast<double>(pick(0, 7));
      lanes.options.other = static_cast<float>(*lanes.scalar);
    } else if (chance(1, 2)) {
      lanes.other = from_pool(pool, pool_, partner(shape), chance(1, 3));
      lanes.options.other = lanes.other->tile;
    }
    return lanes;
  }

  // ---- accesses: lane -> element, or none ----
  using Element = std::function<std::optional<std::int64_t>(std::int64_t lane)>;  // absent: outside, and padded

  void expect_load(tl::Tile tile, const Shape& shape, const Element& element, const LoadLanes& lanes,
                   std::string what) {
    Expected result{std::move(tile), shape, {}, std::move(what)};
    for (std::int64_t lane = 0; lane < product(shape); ++lane) {
      const auto at = element(lane);
      Lane seen = at && lanes.active(lane, shape) ? contents_[static_cast<std::size_t>(*at)] : lanes.rest(lane, shape);
      seen.value = as_element(seen.value);
      result.lanes.push_back(seen);
    }
    loads_.push_back(std::move(result));
  }
  void model_store(const Shape& shape, const Element& element, const Expected& value, const LoadLanes& lanes) {
    for (std::int64_t lane = 0; lane < product(shape); ++lane) {
      const auto at = element(lane);
      if (!at || !lanes.active(lane, shape)) continue;
      Lane stored = value.lanes[source_lane(lane, shape, value.shape)];
      stored.value = as_element(stored.value);
      contents_[static_cast<std::size_t>(*at)] = stored;
    }
  }
  void expect_out_of_bounds(const std::function<void()>& access, const Shape& lane) {
    try {
      access();
      ADD_FAILURE() << "seed " << seed_ << ": an access outside of the tensor was not refused";
    } catch (const OutOfBoundsError& error) {
      EXPECT_THAT(error.what(), ::testing::HasSubstr(lane.empty() ? "the pointer " : "lane " + text_of(lane) + " "))
          << "seed " << seed_;
      EXPECT_THAT(error.where(), ::testing::HasSubstr("kernel random#0")) << "seed " << seed_;
    }
  }
  /// The first lane that is accessed and lies outside.
  std::optional<Shape> first_outside(const Shape& shape, const Element& element, const LoadLanes& lanes, bool masked) {
    for (std::int64_t lane = 0; lane < product(shape); ++lane) {
      if (masked && !lanes.active(lane, shape)) continue;
      const auto at = element(lane);
      if (at && (*at < 0 || *at >= product(shape_))) return index_of(lane, shape);
    }
    return std::nullopt;
  }

  /// Carries out one access in one form: a load or a store, checked against the bounds.
  struct Access {
    std::string what;
    Shape shape;
    Element element;
    LoadLanes lanes;
    bool masked = false;  // what is masked off is not accessed at all
    std::function<tl::Tile()> load;
    std::function<void(const Expected&)> store;
  };
  /// The descriptor's ranges are exactly the elements of the lanes that move.
  void expect_legs(const tl::Tensor& x, const tl::Tile& tile, const Access& access) const {
    using Address = std::pair<PeCoordinate, std::uint64_t>;
    const auto& program = tile::Program::current("test");
    const auto item = static_cast<std::uint64_t>(item_size(dtype_));
    std::vector<Address> expected, found;
    for (std::int64_t lane = 0; lane < product(access.shape); ++lane) {
      const auto at = access.element(lane);
      if (!at || (access.masked && !access.lanes.active(lane, access.shape))) continue;
      const Shape index = index_of(*at, shape_), one(shape_.size(), 1);
      const auto piece = addressing::locate_box(x.descriptor(), index, one, program.coordinate()).front();
      const auto to = program.environment().addresses.translate(program.coordinate(), piece.va, Bytes(piece.row_bytes));
      const auto byte = to.region ? to.region->decode(to.address) : SliceAddress{to.slice, to.address};
      expected.emplace_back(byte.slice, byte.address);
    }
    for (const auto& leg : tile.state()->producer->dma().legs) {
      for (const auto& range : leg.ranges) {
        for (std::int64_t row = 0; row < range.rows; ++row) {
          for (std::uint64_t byte = 0; byte < static_cast<std::uint64_t>(range.row_bytes.count()); byte += item)
            found.emplace_back(leg.slice, range.address + static_cast<std::uint64_t>(row * range.stride) + byte);
        }
      }
    }
    std::ranges::sort(expected);
    std::ranges::sort(found);
    ASSERT_EQ(found == expected, true) << "seed " << seed_ << ", " << access.what;
  }
  void perform(const tl::Tensor& x, const tl::Tensor& pool, const Access& access) {
    const auto outside = first_outside(access.shape, access.element, access.lanes, access.masked);
    const bool loads = chance(1, 2);
    const Expected value = from_pool(pool, pool_, access.shape, chance(1, 4));
    if (outside) {
      return expect_out_of_bounds([&] { loads ? void(access.load()) : access.store(value); }, *outside);
    }
    for (std::int64_t lane = 0; lane < product(access.shape); ++lane) {
      const bool moves = access.element(lane) && (!access.masked || access.lanes.active(lane, access.shape));
      if (moves) moved_ += item_size(dtype_);
    }
    if (loads) {
      const tl::Tile tile = access.load();
      expect_legs(x, tile, access);
      expect_load(tile, access.shape, access.element, access.lanes, access.what);
    } else {
      access.store(value);
      model_store(access.shape, access.element, value, access.lanes);
    }
  }

  /// Waits for an asynchronous access now, or leaves it for later.
  tl::Tile later(tl::AsyncLoad load) {
    later(load.token);
    return load.tile;
  }
  void later(const tl::Token& token) {
    if (chance(1, 2)) return tl::wait(token);
    tokens_.push_back(token);
  }

  void block(const tl::Tensor& x, const tl::Tensor& pool, const tl::Tensor& flags) {
    Access access;
    access.what = "block";
    Shape at;
    for (const auto extent : shape_) {
      at.push_back(pick(0, extent - 1));
      access.shape.push_back(pick(1, 6));
    }
    access.element = [this, at, shape = access.shape](std::int64_t lane) -> std::optional<std::int64_t> {
      const Shape index = index_of(lane, shape);
      std::int64_t element = 0;
      for (std::size_t i = 0; i < shape_.size(); ++i) {
        if (at[i] + index[i] >= shape_[i]) return std::nullopt;
        element = element * shape_[i] + at[i] + index[i];
      }
      return element;
    };
    access.lanes = load_lanes(pool, flags, access.shape, mode_.known_only);
    const bool async = chance(1, 3);
    access.load = [&] {
      return async ? later(tl::load_async(x, extents(at), extents(access.shape), access.lanes.options))
                   : tl::load(x, extents(at), extents(access.shape), access.lanes.options);
    };
    access.store = [&](const Expected& value) {
      const tl::StoreOptions options{.mask = access.lanes.options.mask};
      if (async)
        later(tl::store_async(x, extents(at), value.tile, options));
      else
        tl::store(x, extents(at), value.tile, options);
    };
    perform(x, pool, access);
  }

  void strided(const tl::Tensor& x, const tl::Tensor& pool, const tl::Tensor& flags) {
    Access access;
    access.what = "strided";
    Shape strides;
    for (auto rank = pick(0, 3); rank > 0; --rank) {
      access.shape.push_back(pick(1, 5));
      const std::int64_t choice = pick(0, 4);
      strides.push_back(choice == 0                      ? 0
                        : choice == 1                    ? 1
                        : choice == 2 && !shape_.empty() ? shape_.back()
                                                         : pick(1, 9));
    }
    const std::int64_t first = pick(-1, product(shape_));
    access.element = [first, strides, shape = access.shape](std::int64_t lane) -> std::optional<std::int64_t> {
      const Shape index = index_of(lane, shape);
      std::int64_t element = first;
      for (std::size_t i = 0; i < shape.size(); ++i) element += index[i] * strides[i];
      return element;
    };
    access.lanes = load_lanes(pool, flags, access.shape, mode_.known_only);
    access.load = [&] {
      return tl::load(x.data_ptr() + first, extents(access.shape), extents(strides), access.lanes.options);
    };
    access.store = [&](const Expected& value) {
      tl::store(x.data_ptr() + first, extents(strides), value.tile, {.mask = access.lanes.options.mask});
    };
    perform(x, pool, access);
  }

  void gather(const tl::Tensor& x, const tl::Tensor& pool, const tl::Tensor& flags, const tl::Tensor& numbers) {
    Access access;
    access.what = "gather";
    for (auto rank = pick(1, 2); rank > 0; --rank) access.shape.push_back(pick(1, 7));
    // Affine offsets; not known when they were loaded.
    const std::int64_t a = pick(0, 3), b = pick(0, 12), count = product(access.shape), elements = product(shape_);
    const std::int64_t base = pick(0, elements - 1), step = chance(1, 4) ? pick(1, 9) : 0;
    const bool known = mode_.known_only || chance(1, 2);
    const std::int64_t folded = pick(1, elements);
    if (!known) moved_ += count * item_size(numbers.dtype());
    tl::Tile lane = known ? tl::arange(0, count) : tl::load(numbers.data_ptr(), {count}, {1});
    tl::Tile offsets = lane * static_cast<std::int32_t>(a) + static_cast<std::int32_t>(b);
    if (chance(1, 2))
      offsets = offsets - tl::idiv(offsets, static_cast<std::int32_t>(folded)) * static_cast<std::int32_t>(folded);
    else
      folded_off_ = true;
    const bool fold = !std::exchange(folded_off_, false);
    offsets = tl::reshape(offsets, extents(access.shape));
    tl::PointerTile pointers = x.data_ptr() + base + offsets;
    if (step != 0)
      pointers = chance(1, 2) ? pointers - static_cast<std::int32_t>(step) : pointers - tl::full({}, step, DType::i32);
    access.element = [=](std::int64_t at) -> std::optional<std::int64_t> {
      const std::int64_t offset = at * a + b;
      return base + (fold ? offset % folded : offset) - step;
    };
    access.lanes = load_lanes(pool, flags, access.shape, known);
    access.masked = true;
    const bool async = chance(1, 3);
    access.load = [&] {
      return async ? later(tl::load_async(pointers, access.lanes.options)) : tl::load(pointers, access.lanes.options);
    };
    access.store = [&](const Expected& value) { tl::store(pointers, value.tile, {.mask = access.lanes.options.mask}); };
    perform(x, pool, access);
  }

  void block_pointer(const tl::Tensor& x, const tl::Tensor& pool) {
    Access access;
    access.what = "block pointer";
    const bool descriptor = item_size(dtype_) >= 4 && chance(1, 3);
    const std::int64_t unit = descriptor ? 16 / item_size(dtype_) : 1;
    Shape parent, strides, at, checked;
    for (auto rank = pick(1, 3); rank > 0; --rank) {
      parent.push_back(pick(1, 8));
      access.shape.push_back(pick(1, 5));
      at.push_back(pick(-4, 8));
      strides.push_back(pick(0, 9) * unit);
    }
    if (descriptor || chance(1, 2)) strides.back() = 1;
    if (descriptor) at.back() = at.back() / unit * unit;
    for (std::size_t i = 0; i < parent.size(); ++i)
      if (descriptor || chance(2, 3)) checked.push_back(static_cast<std::int64_t>(i));
    const std::int64_t first = descriptor ? 0 : pick(0, 9);
    access.element = [=, shape = access.shape](std::int64_t lane) -> std::optional<std::int64_t> {
      const Shape index = index_of(lane, shape);
      std::int64_t element = first;
      for (std::size_t i = 0; i < shape.size(); ++i) {
        const std::int64_t place = at[i] + index[i];
        const bool check = std::find(checked.begin(), checked.end(), static_cast<std::int64_t>(i)) != checked.end();
        if (check && (place < 0 || place >= parent[i])) return std::nullopt;
        element += place * strides[i];
      }
      return element;
    };
    tl::BlockOptions options{.boundary_check = extents(checked)};
    if (!descriptor) options.padding = static_cast<tl::Padding>(pick(0, 1));
    if (descriptor || options.padding == tl::Padding::zero) access.lanes.scalar = 0;
    const tl::BlockPointer pointer = make_pointer(x, first, parent, strides, at, access.shape);
    const bool async = chance(1, 3);
    access.load = [&] {
      if (descriptor) return described(x, first, parent, strides, access.shape).load(extents(at));
      return async ? later(tl::load_async(pointer, options)) : tl::load(pointer, options);
    };
    access.store = [&](const Expected& value) {
      if (descriptor) return described(x, first, parent, strides, access.shape).store(extents(at), value.tile);
      if (!async) return tl::store(pointer, value.tile, options);
      later(tl::store_async(pointer, value.tile, options));
    };
    perform(x, pool, access);
  }
  /// At the origin first, and from there by advance.
  static tl::BlockPointer make_pointer(const tl::Tensor& x, std::int64_t first, const Shape& parent,
                                       const Shape& strides, const Shape& at, const Shape& block) {
    const Shape origin(parent.size(), 0);
    const auto pointer =
        tl::make_block_ptr(x.data_ptr() + first, extents(parent), extents(strides), extents(origin), extents(block));
    auto moved = tl::advance(pointer, extents(at));
    EXPECT_EQ(pointer.offsets, extents(origin));
    return moved;
  }
  static tl::TensorDescriptor described(const tl::Tensor& x, std::int64_t first, const Shape& parent,
                                        const Shape& strides, const Shape& block) {
    return tl::make_tensor_descriptor(x.data_ptr() + first, extents(parent), extents(strides), extents(block));
  }

  void kernel(const tl::Tensor& x, const tl::Tensor& pool, const tl::Tensor& flags, const tl::Tensor& numbers) {
    for (auto steps = pick(4, 16); steps > 0; --steps) {
      switch (pick(0, 4)) {
        case 0:
        case 1:
          block(x, pool, flags);
          break;
        case 2:
          strided(x, pool, flags);
          break;
        case 3:
          gather(x, pool, flags, numbers);
          break;
        case 4:
          block_pointer(x, pool);
          break;
      }
    }
    if (chance(1, 2)) {
      tl::wait_group(pick(0, 2));
      for (const auto& token : tokens_) tl::wait(token);
    } else {
      tl::wait_group(0);
    }
    tokens_.clear();
    const Shape origin(shape_.size(), 0);
    expect_load(
        tl::load(x, extents(origin), extents(shape_)), shape_, [](std::int64_t lane) { return lane; }, {},
        "the whole tensor");
    moved_ += product(shape_) * item_size(dtype_);
    if (mode_.data) compare();
    loads_.clear();
  }

  void compare() const {
    auto& executor = tile::Program::current("compare").environment().executor;
    for (const Expected& load : loads_) {
      load.tile.state()->producer->done.wait();
      const auto view = numerics::view(executor, load.tile.state()->value()->value);
      ASSERT_EQ(view.shape.numel(), product(load.shape));
      for (std::int64_t lane = 0; lane < product(load.shape); ++lane) {
        const Lane& expected = load.lanes[static_cast<std::size_t>(lane)];
        ASSERT_EQ(view.valid(lane), expected.valid) << "seed " << seed_ << ", " << load.what << ", lane " << lane;
        if (!expected.valid) continue;
        ASSERT_EQ(view.element(lane).as_double(), expected.value)
            << "seed " << seed_ << ", " << load.what << ", lane " << lane << ", " << name(dtype_);
      }
    }
  }

  std::int64_t moved_ = 0;  // bytes between HBM and TCM, by all accesses so far
  std::mt19937 random_;
  MemoryMode mode_;
  std::uint32_t seed_;
  DType dtype_ = DType::f32;
  Shape shape_;
  bool filled_ = true, folded_off_ = false;
  Lanes contents_;  // what x holds after the stores so far, in program order
  std::vector<double> pool_, flags_;
  std::vector<Expected> loads_;
  std::vector<tl::Token> tokens_;
};

}  // namespace

RunResult run_random_accesses(std::uint32_t seed, const MemoryMode& mode) {
  SimulateOptions options = tiny();
  if (mode.cubes > 1) options.overrides.push_back("sip.cubes.mesh=[2, 2]");
  options.exact_events = mode.exact;
  options.data = mode.data;
  std::int64_t moved = 0;
  const RunResult result = simulate(options, [&] {
    Case random(seed, mode);
    random.run();
    moved = random.moved();
  });
  EXPECT_EQ(result.launches.back().hbm_bytes, Bytes(moved)) << "seed " << seed;
  return result;
}

}  // namespace kernbench::testing
