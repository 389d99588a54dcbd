#include "tile/library/rotary.h"

#include <algorithm>
#include <numbers>
#include <tuple>
#include <utility>
#include <vector>

namespace kernbench::tile::library {

namespace {

constexpr std::int64_t kMostPairs = 8 * 1024;
constexpr std::int64_t kEnoughAngles = 1024;  // commands on fewer are mostly their start

/// For each pair of the tokens of a block, with extents of 1 in all other dimensions.
struct Angles {
  tl::Tile cosine, sine, minus_sine;
};

View narrow(const View& view, std::size_t dimension, std::int64_t first, std::int64_t length) {
  View part = view;
  part.sizes[dimension] = length;
  part.offset += first * view.strides[dimension];
  return part;
}

View part_of_lines(const View& view, std::int64_t first, std::int64_t length) {
  return narrow(view, view.rank() - 1, first, length);
}

View heads_of(const View& view, std::int64_t first, std::int64_t count) {
  return narrow(view, 1, first, count);
}

/// Where heads of the result are stored, too.
struct AlsoStored {
  View keys;
  std::int64_t first_head = 0;  // of the result
};

/// One program.
class RotaryProgram {
 public:
  RotaryProgram(const View& x, const View& frequencies, const std::optional<View>& positions, const Rotary& how,
                const View& out, std::optional<AlsoStored> also = {})
      : x_(x),
        frequencies_(frequencies),
        positions_(positions),
        how_(how),
        out_(out),
        also_(std::move(also)),
        last_(x.rank() - 1),
        pairs_(frequencies.sizes[1]),
        limit_(std::clamp<std::int64_t>(tcm_budget() / (4 * kTiles), 1, kMostPairs)) {}

  /// `box` counts pairs along the last dimension.
  void turn(const Box& box) {
    const tl::Extents tokens = token_block(box.shape);
    for_each_block(box, tokens, [&](const tl::Extents& at, const tl::Extents& shape) {
      const Angles angles = angles_of(at, shape);
      for_each_block({at, shape}, inner_block(shape),
                     [&](const tl::Extents& from, const tl::Extents& extents) { turn_block(angles, from, extents); });
    });
  }

  std::int64_t pairs() const { return pairs_; }

 private:
  static constexpr std::int64_t kTiles = 16;

  bool has_angles_of_its_own(std::size_t dimension) const {
    return dimension == how_.token || dimension == last_ || (how_.batched && dimension == 0);
  }

  /// All that shares angles, for as many tokens as fit, or as make commands on angles worth while.
  tl::Extents token_block(const tl::Extents& shape) const {
    tl::Extents block = shape;
    block[last_] = std::min(shape[last_], limit_);
    std::int64_t sharing = 1;
    for (std::size_t d = 0; d < last_; ++d)
      if (!has_angles_of_its_own(d)) sharing *= shape[d];
    const std::int64_t enough = std::min(kEnoughAngles, limit_) / block[last_];
    std::int64_t rows = std::max<std::int64_t>({limit_ / (block[last_] * sharing), enough, 1});
    for (const std::size_t d : {how_.token, std::size_t{0}}) {
      if (!has_angles_of_its_own(d)) continue;
      block[d] = std::min(shape[d], rows);
      rows = std::max<std::int64_t>(rows / block[d], 1);
      if (how_.token == 0) break;
    }
    return block;
  }

  /// Of these, as much as fits.
  tl::Extents inner_block(const tl::Extents& shape) const {
    tl::Extents block = shape;
    std::int64_t left = limit_;
    for (std::size_t d = 0; d <= last_; ++d)
      if (has_angles_of_its_own(d)) left /= shape[d];
    left = std::max<std::int64_t>(left, 1);
    for (std::size_t d = last_; d-- > 0;) {
      if (has_angles_of_its_own(d)) continue;
      block[d] = std::min(shape[d], left);
      left = std::max<std::int64_t>(left / block[d], 1);
    }
    return block;
  }

  tl::Extents extents_of_one() const {
    tl::Extents one = x_.sizes;
    for (std::size_t d = 0; d < one.size(); ++d) one[d] = 1;
    return one;
  }

  tl::Tile positions_of(const tl::Extents& at, const tl::Extents& shape) const {
    tl::Extents one = extents_of_one();
    if (positions_) {
      tl::Extents from = at;
      for (std::size_t d = 0; d < one.size(); ++d) {
        if (d == how_.token || (how_.batched && d == 0))
          one[d] = shape[d];
        else
          from[d] = 0;
      }
      return tl::cast(load(*positions_, from, one), DType::f32);
    }
    one[how_.token] = shape[how_.token];
    const std::int64_t first = how_.offset + at[how_.token];
    return tl::cast(tl::reshape(tl::arange(first, first + one[how_.token]), one), DType::f32);
  }

  tl::Tile frequencies_of(std::int64_t row, const tl::Extents& at, const tl::Extents& shape) const {
    tl::Extents one = extents_of_one();
    one[last_] = shape[last_];
    return tl::reshape(load(frequencies_, {row, at[last_]}, {1, shape[last_]}), one);
  }

  void take_frequencies(const tl::Extents& at, const tl::Extents& shape) {
    const std::pair range{at[last_], shape[last_]};
    if (range_ == range) return;
    range_ = range;
    coarse_ = frequencies_of(0, at, shape);
    fine_ = frequencies_of(1, at, shape);
  }

  Angles angles_of(const tl::Extents& at, const tl::Extents& shape) {
    take_frequencies(at, shape);
    const tl::Tile position = positions_of(at, shape);
    Angles angles;
    std::tie(angles.cosine, angles.sine, angles.minus_sine) = tl::fuse([&] {
      const tl::Tile product = position * coarse_;
      const tl::Tile excess = tl::fma(-position, coarse_, product);  // of the rounded product, exact
      const tl::Tile turns = tl::fma(position, fine_, (product - tl::round(product)) - excess);
      const tl::Tile angle = turns * static_cast<float>(2 * std::numbers::pi);
      const tl::Tile sine = tl::sin(angle);
      return std::tuple{tl::cos(angle), sine, -sine};
    });
    if (how_.backward) std::swap(angles.sine, angles.minus_sine);
    return angles;
  }

  std::pair<tl::Tile, tl::Tile> load_pairs(const tl::Extents& at, const tl::Extents& shape) const {
    if (!how_.interleaved) {
      const auto half = [&](std::int64_t first) { return load(part_of_lines(x_, first, pairs_), at, shape); };
      const tl::Tile a = half(0);
      return {a, half(pairs_)};
    }
    tl::Extents from = at, both = shape, apart(std::span(shape.begin(), shape.size()));
    from[last_] *= 2;
    both[last_] *= 2;
    return tl::split(tl::reshape(fill_out(load(x_, from, both), both), with_pairs(apart)));
  }

  /// `a` and `b` have the type of `out`.
  void store_pairs(const View& out, const tl::Extents& at, const tl::Extents& shape, const tl::Tile& a,
                   const tl::Tile& b) const {
    if (!how_.interleaved) {
      store(part_of_lines(out, 0, pairs_), at, fill_out(a, shape));
      store(part_of_lines(out, pairs_, pairs_), at, fill_out(b, shape));
      return;
    }
    tl::Extents from = at, both = shape;
    from[last_] *= 2;
    both[last_] *= 2;
    store(out, from, tl::reshape(tl::join(a, b), both));
  }

  static tl::Extents with_pairs(const tl::Extents& shape) {
    std::vector<std::int64_t> extents(shape.begin(), shape.end());
    extents.push_back(2);
    return tl::Extents(std::span<const std::int64_t>(extents));
  }

  void turn_block(const Angles& angles, const tl::Extents& at, const tl::Extents& shape) const {
    auto [a, b] = load_pairs(at, shape);
    const auto [first, second] = tl::fuse(
        [&](const tl::Tile& x, const tl::Tile& y) {
          const tl::Tile one = tl::fma(x, angles.cosine, y * angles.minus_sine);
          const tl::Tile two = tl::fma(x, angles.sine, y * angles.cosine);
          return std::pair{tl::cast(one, out_.dtype()), tl::cast(two, out_.dtype())};
        },
        a, b);
    a = b = tl::Tile();
    store_pairs(out_, at, shape, first, second);
    if (!also_ || at[1] < also_->first_head) return;
    tl::Extents in_cache = at;
    in_cache[1] -= also_->first_head;
    store_pairs(also_->keys, in_cache, shape, first, second);
  }

  const View& x_;
  const View& frequencies_;
  const std::optional<View>& positions_;
  const Rotary& how_;
  const View& out_;
  std::optional<AlsoStored> also_;
  std::size_t last_;
  std::int64_t pairs_, limit_;
  std::pair<std::int64_t, std::int64_t> range_ = {-1, 0};
  tl::Tile coarse_, fine_;  // of the pairs in `range_`
};

}  // namespace

void rotary(const View& x, const View& frequencies, const std::optional<View>& positions, const Rotary& how,
            const View& out, Share share) {
  RotaryProgram program(x, frequencies, positions, how, out);
  const std::size_t last = x.rank() - 1;
  const View pairs = part_of_lines(out, 0, program.pairs());
  for (const Box& box : lines_of(pairs, std::vector<bool>(x.rank(), false), share)) program.turn(box);
  const std::int64_t rest = out.sizes[last] - 2 * program.pairs();
  if (how.in_place || rest == 0) return;
  elementwise(part_of_lines(out, 2 * program.pairs(), rest), {part_of_lines(x, 2 * program.pairs(), rest)},
              [](const std::vector<tl::Tile>& tiles, const Box&) { return tiles.front(); },
              {.live_tiles = 4, .share = share});
}

void rotary_into_cache(const View& x, const View& frequencies, const std::optional<View>& positions, const Rotary& how,
                       const View& cache, Share share) {
  const std::int64_t keys = cache.sizes[1] / 2, queries = x.sizes[1] - 2 * keys;
  const View turned = heads_of(x, 0, queries + keys), cached_keys = heads_of(cache, 0, keys);
  RotaryProgram program(turned, frequencies, positions, how, turned, AlsoStored{cached_keys, queries});
  const View pairs = part_of_lines(turned, 0, program.pairs());
  for (const Box& box : lines_of(pairs, std::vector<bool>(x.rank(), false), share)) {
    // A block is of queries or of keys.
    const std::int64_t begin = box.offset[1], end = begin + box.shape[1], cut = std::clamp(queries, begin, end);
    for (const auto& [from, to] : {std::pair{begin, cut}, std::pair{cut, end}}) {
      if (from == to) continue;
      Box part = box;
      part.offset[1] = from;
      part.shape[1] = to - from;
      program.turn(part);
    }
  }
  const auto same = [](const std::vector<tl::Tile>& tiles, const Box&) { return tiles.front(); };
  const std::int64_t first = 2 * program.pairs(), rest = x.sizes[x.rank() - 1] - first;
  if (rest > 0) {
    elementwise(part_of_lines(cached_keys, first, rest), {part_of_lines(heads_of(x, queries, keys), first, rest)}, same,
                {.live_tiles = 4, .share = Share::spread});
  }
  elementwise(heads_of(cache, keys, keys), {heads_of(x, queries + keys, keys)}, same,
              {.live_tiles = 4, .share = Share::spread});
}

}  // namespace kernbench::tile::library
