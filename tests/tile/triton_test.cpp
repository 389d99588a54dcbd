// The tile language against what Triton computes on a GPU: every case of triton/reference.txt. What is exact there is
// the same here, bit for bit; functions whose accuracy the GPU chooses are near. Where the two differ on purpose, the
// functions of the third section say what is expected here; docs/tile-language.md, "Differences from Triton", says why.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <sstream>

#include "harness.h"
#include "support/source_tree.h"

namespace kernbench::tile_test::triton {
namespace {

// ---- the reference file ----------------------------------------------------------------------------------------

struct TritonValue {
  std::string type;  // Triton's name of a type is ours; u16, u32 and u64 are Triton's alone
  Sizes shape;
  std::vector<Real> elements;
};
struct TritonCase {
  std::string operation;
  std::vector<std::string> operands;
  std::vector<TritonValue> results;
};
struct Reference {
  std::map<std::string, TritonValue> operands;
  std::vector<TritonCase> computed;
  std::vector<TritonCase> refused;  // Triton's front end says no, or its compiler fails
};

std::optional<DType> type_named(const std::string& text) {
  for (const DType type : kTypes) {
    if (text == name(type)) return type;
  }
  return std::nullopt;
}

/// "f16[2,3] 3c c": integers are decimal, floats the hexadecimal digits of their bits without zeros at the end.
TritonValue parse_value(const std::string& text) {
  TritonValue value;
  const auto bracket = text.find('['), end = text.find(']');
  value.type = text.substr(0, bracket);
  std::istringstream extents(text.substr(bracket + 1, end - bracket - 1));
  for (std::string extent; std::getline(extents, extent, ',');) value.shape.push_back(std::stoll(extent));
  const auto type = type_named(value.type);
  std::istringstream elements(text.substr(end + 1));
  for (std::string element; elements >> element;) {
    if (!type || !is_float(*type)) {
      value.elements.push_back(std::stold(element));
      continue;
    }
    const auto width = static_cast<std::size_t>(item_size(*type));
    element.resize(2 * width, '0');
    const auto bits = std::stoull(element, nullptr, 16);
    value.elements.push_back(decode(reinterpret_cast<const std::byte*>(&bits), *type));
  }
  return value;
}
std::vector<std::string> words_of(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}
std::vector<std::string> split_at(const std::string& text, const std::string& separator) {
  std::vector<std::string> parts;
  for (std::size_t from = 0;;) {
    const auto at = text.find(separator, from);
    parts.push_back(text.substr(from, at - from));
    if (at == std::string::npos) return parts;
    from = at + separator.size();
  }
}

const Reference& reference() {
  static const Reference result = [] {
    Reference file;
    std::string operation;
    std::istringstream lines(source_tree::read("tests/tile/triton/reference.txt"));
    for (std::string line; std::getline(lines, line);) {
      if (line.starts_with("#")) continue;
      if (line.starts_with("operand ")) {
        const auto space = line.find(' ', 8);
        file.operands[line.substr(8, space - 8)] = parse_value(line.substr(space + 1));
      } else if (line.starts_with("case ")) {
        operation = line.substr(5);
      } else if (line.starts_with("refused ") || line.starts_with("fails ")) {
        for (const auto& operands : split_at(line.substr(line.find(' ') + 1), ", "))
          file.refused.push_back({operation, words_of(operands), {}});
      } else {
        const auto colon = line.find(": ");
        TritonCase made{operation, words_of(line.substr(0, colon)), {}};
        for (const auto& value : split_at(line.substr(colon + 2), "; ")) made.results.push_back(parse_value(value));
        file.computed.push_back(std::move(made));
      }
    }
    return file;
  }();
  return result;
}

// ---- the same operations here ----------------------------------------------------------------------------------

/// The operands of a case as a kernel sees them: tensors, and the tiles that hold all of them.
struct Operands {
  std::vector<tl::Tensor> tensors;
  std::vector<Sizes> shapes;
  tl::Tile tile(std::size_t i) const {
    return tl::load(tensors[i], extents(Sizes(shapes[i].size(), 0)), extents(shapes[i]));
  }
  /// What is in memory now.
  tl::Tile memory() const { return tile(0); }
  tl::Pointer pointer() const { return tensors[0].data_ptr(); }
};

/// How near a result must be: in units of the last place of Triton's number, or of the given size.
struct Nearness {
  double ulps = 0;
  double absolute = 0;
};
using Tiles = std::vector<tl::Tile>;
struct Operation {
  std::function<Tiles(const Operands&)> compute;
  Nearness nearness = {};
};

template <class Function>
Operation unary(Function function, Nearness nearness = {}) {
  return {[function](const Operands& o) -> Tiles { return {function(o.tile(0))}; }, nearness};
}
template <class Function>
Operation binary(Function function, Nearness nearness = {}) {
  return {[function](const Operands& o) -> Tiles { return {function(o.tile(0), o.tile(1))}; }, nearness};
}
template <class Function>
Operation ternary(Function function, Nearness nearness = {}) {
  return {[function](const Operands& o) -> Tiles { return {function(o.tile(0), o.tile(1), o.tile(2))}; }, nearness};
}

using T = const tl::Tile&;
using Map = std::map<std::string, Operation>;

void add_arithmetic(Map& map) {
  constexpr auto kAll = tl::PropagateNan::all;
  map["x + y"] = binary([](T x, T y) { return x + y; });
  map["x - y"] = binary([](T x, T y) { return x - y; });
  map["x * y"] = binary([](T x, T y) { return x * y; });
  map["x / y"] = binary([](T x, T y) { return x / y; }, {2});
  map["x % y"] = binary([](T x, T y) { return x % y; });
  map["x // y"] = binary([](T x, T y) { return tl::idiv(x, y); });
  map["x & y"] = binary([](T x, T y) { return x & y; });
  map["x | y"] = binary([](T x, T y) { return x | y; });
  map["x ^ y"] = binary([](T x, T y) { return x ^ y; });
  map["x << y"] = binary([](T x, T y) { return x << y; });
  map["x >> y"] = binary([](T x, T y) { return x >> y; });
  map["x < y"] = binary([](T x, T y) { return x < y; });
  map["x <= y"] = binary([](T x, T y) { return x <= y; });
  map["x > y"] = binary([](T x, T y) { return x > y; });
  map["x >= y"] = binary([](T x, T y) { return x >= y; });
  map["x == y"] = binary([](T x, T y) { return x == y; });
  map["x != y"] = binary([](T x, T y) { return x != y; });
  map["tl.maximum(x, y)"] = binary([](T x, T y) { return tl::maximum(x, y); });
  map["tl.minimum(x, y)"] = binary([](T x, T y) { return tl::minimum(x, y); });
  map["tl.maximum(x, y, propagate_nan=tl.PropagateNan.ALL)"] = binary([](T x, T y) { return tl::maximum(x, y, kAll); });
  map["tl.minimum(x, y, propagate_nan=tl.PropagateNan.ALL)"] = binary([](T x, T y) { return tl::minimum(x, y, kAll); });
  map["tl.where(c, x, y)"] = ternary([](T x, T y, T c) { return tl::where(c, x, y); });
  map["tl.fdiv(x, y)"] = binary([](T x, T y) { return tl::fdiv(x, y); }, {2});
  map["tl.div_rn(x, y)"] = binary([](T x, T y) { return tl::div_rn(x, y); });
  map["tl.umulhi(x, y)"] = binary([](T x, T y) { return tl::umulhi(x, y); });
  map["tl.fma(x, y, z)"] = ternary([](T x, T y, T z) { return tl::fma(x, y, z); });
  map["tl.clamp(x, y, z)"] = ternary([](T x, T y, T z) { return tl::clamp(x, y, z); });
  map["tl.clamp(x, y, z, propagate_nan=tl.PropagateNan.ALL)"] = map["tl.clamp(x, y, z)"];
}

template <class Scalar>
void add_scalar(Map& map, const std::string& text, Scalar scalar) {
  map["x + " + text] = unary([=](T x) { return x + scalar; });
  map["x < " + text] = unary([=](T x) { return x < scalar; });
}
void add_scalars(Map& map) {
  add_scalar(map, "True", true);
  add_scalar(map, "3", 3);
  add_scalar(map, "-3", -3);
  add_scalar(map, "300", 300);
  add_scalar(map, "2**31", std::int64_t{1} << 31);
  add_scalar(map, "2**40", std::int64_t{1} << 40);
  add_scalar(map, "2.5", 2.5);
  add_scalar(map, "0.1", 0.1);
  add_scalar(map, "1e6", 1e6);
  map["x / 3"] = unary([](T x) { return x / 3; }, {2});
  map["x / 0.1"] = unary([](T x) { return x / 0.1; }, {2});
  map["2.5 / x"] = unary([](T x) { return 2.5 / x; }, {2});
  map["x % 3"] = unary([](T x) { return x % 3; });
  map["x // 3"] = unary([](T x) { return tl::idiv(x, 3); });
  map["x & 3"] = unary([](T x) { return x & 3; });
  map["x & True"] = unary([](T x) { return x & true; });
  map["3 - x"] = unary([](T x) { return 3 - x; });
  map["x == 0.1"] = unary([](T x) { return x == 0.1; });
  map["0.1 >= x"] = unary([](T x) { return 0.1 >= x; });
  map["x * 1e6"] = unary([](T x) { return x * 1e6; });
  map["x << 3"] = unary([](T x) { return x << 3; });
  map["x >> 3"] = unary([](T x) { return x >> 3; });
  map["1 << (x & 3)"] = unary([](T x) { return 1 << (x & 3); });
  map["100 // (x | 1)"] = unary([](T x) { return tl::idiv(100, x | 1); });
  map["100 % (x | 1)"] = unary([](T x) { return 100 % (x | 1); });
  map["tl.maximum(x, 3)"] = unary([](T x) { return tl::maximum(x, 3); });
  map["tl.maximum(x, 0.1)"] = unary([](T x) { return tl::maximum(x, 0.1); });
  map["tl.minimum(x, 2.5)"] = unary([](T x) { return tl::minimum(x, 2.5); });
  map["tl.clamp(x, 0.1, 2.5)"] = unary([](T x) { return tl::clamp(x, 0.1, 2.5); });
  map["tl.fdiv(x, 3.0)"] = unary([](T x) { return tl::fdiv(x, 3.0); }, {2});
  map["tl.where(c, x, 1)"] = binary([](T x, T c) { return tl::where(c, x, 1); });
  map["tl.where(c, x, 1.5)"] = binary([](T x, T c) { return tl::where(c, x, 1.5); });
  map["tl.where(x, 1, 2)"] = unary([](T x) { return tl::where(x, 1, 2); });
  map["tl.where(x, 1.5, 2)"] = unary([](T x) { return tl::where(x, 1.5, 2); });
  map["tl.where(x, True, False)"] = unary([](T x) { return tl::where(x, true, false); });
}

/// The accuracy is the GPU's: approximate instructions, and flushes of subnormal numbers in some of them.
void add_functions(Map& map) {
  map["-x"] = unary([](T x) { return -x; });
  map["~x"] = unary([](T x) { return ~x; });
  map["x == 0"] = unary([](T x) { return x == 0; });
  map["tl.abs(x)"] = unary([](T x) { return tl::abs(x); });
  map["tl.floor(x)"] = unary([](T x) { return tl::floor(x); });
  map["tl.ceil(x)"] = unary([](T x) { return tl::ceil(x); });
  // The GPU multiplies by log2 e in f32 and raises 2: the error grows with the argument.
  map["tl.exp(x)"] = unary([](T x) { return tl::exp(x); }, {40});
  map["tl.exp2(x)"] = unary([](T x) { return tl::exp2(x); }, {4});
  map["tl.log(x)"] = unary([](T x) { return tl::log(x); }, {4});
  map["tl.log2(x)"] = unary([](T x) { return tl::log2(x); }, {4});
  map["tl.sin(x)"] = unary([](T x) { return tl::sin(x); }, {4});
  map["tl.cos(x)"] = unary([](T x) { return tl::cos(x); }, {4});
  map["tl.sqrt(x)"] = unary([](T x) { return tl::sqrt(x); }, {4});
  map["tl.sqrt_rn(x)"] = unary([](T x) { return tl::sqrt_rn(x); });
  map["tl.rsqrt(x)"] = unary([](T x) { return tl::rsqrt(x); }, {4});
  map["tl.erf(x)"] = unary([](T x) { return tl::erf(x); }, {4});
  map["tl.sigmoid(x)"] = unary([](T x) { return tl::sigmoid(x); }, {40});
  map["libdevice.expm1(x)"] = unary([](T x) { return tl::expm1(x); }, {4});
  map["libdevice.log10(x)"] = unary([](T x) { return tl::log10(x); }, {4});
  map["libdevice.log1p(x)"] = unary([](T x) { return tl::log1p(x); }, {4});
  map["libdevice.sinh(x)"] = unary([](T x) { return tl::sinh(x); }, {4});
  map["libdevice.cosh(x)"] = unary([](T x) { return tl::cosh(x); }, {4});
  map["libdevice.tanh(x)"] = unary([](T x) { return tl::tanh(x); }, {4});
  map["libdevice.atanh(x)"] = unary([](T x) { return tl::atanh(x); }, {4});
  map["libdevice.rint(x)"] = unary([](T x) { return tl::round(x); });
  map["libdevice.trunc(x)"] = unary([](T x) { return tl::trunc(x); });
  map["libdevice.pow(x, y)"] = binary([](T x, T y) { return tl::pow(x, y); }, {16});
  map["libdevice.fmod(x, y)"] = binary([](T x, T y) { return x % y; });
  map["tl.softmax(x)"] = unary([](T x) { return tl::softmax(x); }, {8});
}

void add_casts(Map& map) {
  for (const DType type : kTypes) {
    const std::string to = std::string("x.to(") + name(type);
    map[to + ")"] = unary([=](T x) { return tl::cast(x, type); });
    map[to + ", rtz)"] = unary([=](T x) { return tl::cast(x, type, tl::Rounding::rtz); });
    map[to + ", bitcast)"] = unary([=](T x) { return tl::bitcast(x, type); });
    map[to + ") of what " + name(type) + " does not hold"] = map[to + ")"];
  }
}

void add_reductions(Map& map) {
  // Sums of numbers that are not whole: the order is the GPU's.
  constexpr Nearness kOrder{0, 1e-5};
  map["tl.sum(x)"] = unary([](T x) { return tl::sum(x); }, kOrder);
  map["tl.sum(x, 0)"] = unary([](T x) { return tl::sum(x, 0); }, kOrder);
  map["tl.sum(x, 1)"] = unary([](T x) { return tl::sum(x, 1); }, kOrder);
  map["tl.sum(x, -1, keep_dims=True)"] = unary([](T x) { return tl::sum(x, -1, true); }, kOrder);
  map["tl.sum(x, 1, dtype=tl.int64)"] = unary([](T x) { return tl::sum(x, 1, false, DType::i64); });
  map["tl.sum(x, 1, dtype=tl.float32)"] = unary([](T x) { return tl::sum(x, 1, false, DType::f32); }, kOrder);
  map["tl.cumsum(x, 0)"] = unary([](T x) { return tl::cumsum(x, 0); }, kOrder);
  map["tl.cumsum(x, 1)"] = unary([](T x) { return tl::cumsum(x, 1); }, kOrder);
  map["tl.cumsum(x, 1, reverse=True)"] = unary([](T x) { return tl::cumsum(x, 1, true); }, kOrder);
  map["tl.cumprod(x, 1)"] = unary([](T x) { return tl::cumprod(x, 1); });
  map["tl.cumprod(x, 1, reverse=True)"] = unary([](T x) { return tl::cumprod(x, 1, true); });
  map["tl.xor_sum(x, 1)"] = unary([](T x) { return tl::xor_sum(x, 1); });
  map["tl.reduce_or(x, 1)"] = unary([](T x) { return tl::reduce_or(x, 1); });
  map["tl.max(x)"] = unary([](T x) { return tl::max(x); });
  map["tl.max(x, 1)"] = unary([](T x) { return tl::max(x, 1); });
  map["tl.max(x, 0, keep_dims=True)"] = unary([](T x) { return tl::max(x, 0, true); });
  map["tl.min(x, 0)"] = unary([](T x) { return tl::min(x, 0); });
  map["tl.min(x, 1)"] = unary([](T x) { return tl::min(x, 1); });
  map["tl.argmax(x, 1)"] = unary([](T x) { return tl::argmax(x, 1); });
  map["tl.argmin(x, 0)"] = unary([](T x) { return tl::argmin(x, 0); });
  map["tl.argmin(x, 1)"] = unary([](T x) { return tl::argmin(x, 1); });
  map["tl.max(x, 1, return_indices=True)"] = {
      [](const Operands& o) -> Tiles { return {tl::max(o.tile(0), 1), tl::argmax(o.tile(0), 1)}; }};
  map["tl.min(x, 1, return_indices=True)"] = {
      [](const Operands& o) -> Tiles { return {tl::min(o.tile(0), 1), tl::argmin(o.tile(0), 1)}; }};
}

using Affine = std::array<tl::Tile, 2>;
Affine affine(const Affine& first, const Affine& second) {
  return {second[0] * first[0], second[0] * first[1] + second[1]};
}
tl::Tile later(T, T b) {
  return b;
}
tl::Tile either(T a, T b) {
  return a | b;
}

void add_lanes(Map& map) {
  // In which order zeros of both signs are sorted is Triton's.
  constexpr Nearness kZeros{0, 0x1p-149};
  map["tl.flip(x, 0)"] = unary([](T x) { return tl::flip(x, 0); });
  map["tl.flip(x, 1)"] = unary([](T x) { return tl::flip(x); });
  map["tl.gather(x, y, 0)"] = binary([](T x, T y) { return tl::gather(x, y, 0); });
  map["tl.gather(x, y, 1)"] = binary([](T x, T y) { return tl::gather(x, y, 1); });
  map["tl.sort(x, 1)"] = unary([](T x) { return tl::sort(x, 1); }, kZeros);
  map["tl.sort(x, 1, descending=True)"] = unary([](T x) { return tl::sort(x, 1, true); }, kZeros);
  map["tl.topk(x, 2, 1)"] = unary([](T x) { return tl::topk(x, 2, 1); }, kZeros);
  map["tl.histogram(x, 8)"] = unary([](T x) { return tl::histogram(x, 8); });
  map["tl.histogram(x, 8, mask=x > 1)"] = unary([](T x) { return tl::histogram(x, 8, x > 1); });
  map["tl.associative_scan(x, 1, either)"] = unary([](T x) { return tl::associative_scan(x, 1, either); });
  map["tl.associative_scan(x, 1, later)"] = unary([](T x) { return tl::associative_scan(x, 1, later); });
  map["tl.reduce(x, 0, either)"] = unary([](T x) { return tl::reduce(x, 0, either); });
  map["tl.reduce(x, 1, either, keep_dims=True)"] = unary([](T x) { return tl::reduce(x, 1, either, true); });
  const auto add_pair = [&](const std::string& name, std::function<Affine(const Affine&)> compute) {
    map[name] = {[compute = std::move(compute)](const Operands& o) -> Tiles {
      const auto [a, b] = compute({o.tile(0), o.tile(1)});
      return {a, b};
    }};
  };
  add_pair("tl.associative_scan((x, y), 1, affine)",
           [](const Affine& xy) { return tl::associative_scan(xy, 1, affine); });
  add_pair("tl.associative_scan((x, y), 0, affine, reverse=True)",
           [](const Affine& xy) { return tl::associative_scan(xy, 0, affine, true); });
  add_pair("tl.reduce((x, y), 1, affine)", [](const Affine& xy) { return tl::reduce(xy, 1, affine); });
  map["tl.swizzle2d(i, j, 5, 4, 2)"] = {[](const Operands&) -> Tiles {
    std::array<tl::Tile, 2> places;
    for (std::int64_t l = 0; l < 32; ++l) {
      const auto [i, j] = tl::swizzle2d(l / 4, l % 4, 8, 4, 2);
      const auto place = std::array{tl::full({1}, i, DType::i32), tl::full({1}, j, DType::i32)};
      for (std::size_t d = 0; d < 2; ++d) places[d] = l == 0 ? place[d] : tl::cat(places[d], place[d]);
    }
    return {places[0], places[1]};
  }};
}

void add_random(Map& map) {
  const std::map<std::string, std::int64_t> seeds{{"0", 0},
                                                  {"42", 42},
                                                  {"2**31 - 1", (std::int64_t{1} << 31) - 1},
                                                  {"2**32 + 7", (std::int64_t{1} << 32) + 7},
                                                  {"2**40 + 1", (std::int64_t{1} << 40) + 1},
                                                  {"-5", -5}};
  const auto i = [] { return tl::arange(0, 8); };
  const auto wide = [] { return tl::cast(tl::arange(0, 8), DType::i64); };
  const std::map<std::string, std::function<tl::Tile()>> offsets{
      {"tl.arange(0, 8)", i},
      {"tl.arange(0, 8) + (2**31 - 8)", [=] { return i() + ((std::int64_t{1} << 31) - 8); }},
      {"tl.arange(0, 8).to(tl.int64) + 2**32", [=] { return wide() + (std::int64_t{1} << 32); }},
      {"tl.arange(0, 8).to(tl.int64) * (2**33 + 5) - 7", [=] { return wide() * ((std::int64_t{1} << 33) + 5) - 7; }}};
  // The GPU's logarithms, roots, sines and cosines are near, not right.
  constexpr Nearness kNormal{0, 2e-6};
  const auto four = [](const std::array<tl::Tile, 4>& tiles) { return Tiles(tiles.begin(), tiles.end()); };
  for (const auto& [seed_text, seed] : seeds) {
    for (const auto& [offset_text, offset] : offsets) {
      const std::string arguments = "(" + seed_text + ", " + offset_text + ")";
      map["tl.randint4x" + arguments] = {[=](const Operands&) { return four(tl::randint4x(seed, offset())); }};
      if (seed != 42 && seed_text != "2**32 + 7") continue;
      map["tl.randint" + arguments] = {[=](const Operands&) -> Tiles { return {tl::randint(seed, offset())}; }};
      map["tl.rand" + arguments] = {[=](const Operands&) -> Tiles { return {tl::rand(seed, offset())}; }};
      map["tl.rand4x" + arguments] = {[=](const Operands&) { return four(tl::rand4x(seed, offset())); }};
      map["tl.randn" + arguments] = {[=](const Operands&) -> Tiles { return {tl::randn(seed, offset())}; }, kNormal};
      map["tl.randn4x" + arguments] = {[=](const Operands&) { return four(tl::randn4x(seed, offset())); }, kNormal};
    }
  }
  map["tl.rand(42, tl.arange(0, 8)) of 7 rounds"] = {[=](const Operands&) -> Tiles { return {tl::rand(42, i(), 7)}; }};
}

void add_shapes(Map& map) {
  map["tl.trans(x)"] = unary([](T x) { return tl::trans(x); });
  map["x.T"] = map["tl.trans(x)"];
  map["tl.permute(x, (1, 0))"] = unary([](T x) { return tl::permute(x, {1, 0}); });
  map["tl.permute(x, (2, 0, 1))"] = unary([](T x) { return tl::permute(x, {2, 0, 1}); });
  map["tl.trans(x, (1, 2, 0))"] = unary([](T x) { return tl::trans(x, {1, 2, 0}); });
  map["tl.trans(x, 0, 2, 1)"] = unary([](T x) { return tl::trans(x, {0, 2, 1}); });
  map["tl.reshape(x, [8, 4])"] = unary([](T x) { return tl::reshape(x, {8, 4}); });
  map["tl.reshape(x, [2, 2, 8])"] = unary([](T x) { return tl::reshape(x, {2, 2, 8}); });
  map["tl.reshape(x, [8, 8])"] = unary([](T x) { return tl::reshape(x, {8, 8}); });
  map["tl.view(x, [8, 4])"] = unary([](T x) { return tl::view(x, {8, 4}); });
  map["tl.ravel(x)"] = unary([](T x) { return tl::ravel(x); });
  map["tl.expand_dims(x, 0)"] = unary([](T x) { return tl::expand_dims(x, 0); });
  map["tl.expand_dims(x, 1)"] = unary([](T x) { return tl::expand_dims(x, 1); });
  map["tl.expand_dims(x, -1)"] = unary([](T x) { return tl::expand_dims(x, -1); });
  map["x[:, None, :]"] = map["tl.expand_dims(x, 1)"];
  map["tl.broadcast_to(x, [4, 8])"] = unary([](T x) { return tl::broadcast_to(x, {4, 8}); });
  map["tl.join(x, y)"] = binary([](T x, T y) { return tl::join(x, y + 100); });
  map["tl.join(x, y) of two types"] = binary([](T x, T y) { return tl::join(x, y); });
  map["tl.join(x, y) of two shapes"] = map["tl.join(x, y) of two types"];
  map["tl.split(x)"] = {[](const Operands& o) -> Tiles {
    const auto [left, right] = tl::split(o.tile(0));
    return {left, right};
  }};
  map["tl.interleave(x, y)"] = binary([](T x, T y) { return tl::interleave(x, y + 100); });
  map["tl.cat(x, y)"] = binary([](T x, T y) { return tl::cat(x, y + 100); });
  map["tl.arange(3, 19)"] = unary([](T) { return tl::arange(3, 19); });
  map["tl.full([4], -1, tl.uint8)"] = unary([](T) { return tl::full({4}, -1, DType::u8); });
  map["tl.full([4], 300, tl.uint8)"] = unary([](T) { return tl::full({4}, 300, DType::u8); });
  map["tl.full([4], 2.75, tl.int32)"] = unary([](T) { return tl::full({4}, 2.75, DType::i32); });
  map["tl.full([4], 1e6, tl.float16)"] = unary([](T) { return tl::full({4}, 1e6, DType::f16); });
  map["tl.cdiv(x, 3)"] = unary([](T x) { return tl::idiv(x + (3 - 1), 3); });
  map["sum of tl.range(10, -7, -3)"] = unary([](T) {
    auto result = tl::zeros({2}, DType::i32);
    for (const auto k : tl::range(10, -7, -3)) result = result * 100 + k;
    return result;
  });
}

void add_products(Map& map) {
  constexpr Nearness kOrder{0, 2e-5};
  map["tl.dot(x, y)"] = binary([](T x, T y) { return tl::dot(x, y); }, kOrder);
  map["tl.dot(x, y) in tf32"] = map["tl.dot(x, y)"];
  map["tl.dot(x, y, z)"] = ternary([](T x, T y, T z) { return tl::dot(x, y, z, z.dtype()); });
  map["tl.dot(x, y, out_dtype=tl.float16)"] = binary([](T x, T y) { return tl::dot(x, y, {}, DType::f16); });
  map["tl.dot(x, y, out_dtype=tl.int32)"] = binary([](T x, T y) { return tl::dot(x, y, {}, DType::i32); });
}

void add_memory(Map& map) {
  const auto add = [&](const std::string& name, std::function<Tiles(const Operands&)> compute) {
    map[name] = {std::move(compute)};
  };
  add("load with other=1", [](const Operands& o) -> Tiles {
    const auto i = tl::arange(0, 16);
    return {tl::load(o.pointer() + i, {.other = 1, .mask = i % 3 != 0})};
  });
  add("load with other=-1.5", [](const Operands& o) -> Tiles {
    const auto i = tl::arange(0, 16);
    return {tl::load(o.pointer() + i, {.other = -1.5, .mask = i < 5})};
  });
  add("load with other=a tile of f32", [](const Operands& o) -> Tiles {
    const auto i = tl::arange(0, 16);
    return {tl::load(o.pointer() + i, {.other = o.tile(1), .mask = i % 2 == 0})};
  });
  add("store of f32", [](const Operands& o) -> Tiles {
    const auto i = tl::arange(0, 16);
    tl::store(o.pointer() + i * 2, o.tile(1), {.mask = i != 3});
    return {o.memory()};
  });
  add("store of i32", [](const Operands& o) -> Tiles {
    tl::store(o.pointer() + tl::arange(0, 32), o.tile(1));
    return {o.memory()};
  });
  add("store of a scalar", [](const Operands& o) -> Tiles {
    tl::store(o.pointer() + tl::arange(0, 16), 1);
    return {o.memory()};
  });
  const auto block = [](const Operands& o, std::int64_t row, std::int64_t column) {
    return tl::make_block_ptr(o.pointer(), {5, 7}, {8, 1}, {row, column}, {4, 8});
  };
  const auto checked = [](tl::Padding padding) { return tl::BlockOptions{{0, 1}, padding}; };
  add("load of a block pointer, zero",
      [=](const Operands& o) -> Tiles { return {tl::load(block(o, 2, 3), checked(tl::Padding::zero))}; });
  add("load of a block pointer, nan",
      [=](const Operands& o) -> Tiles { return {tl::load(block(o, 2, 3), checked(tl::Padding::nan))}; });
  add("load of a block pointer before the beginning",
      [=](const Operands& o) -> Tiles { return {tl::load(block(o, -1, -2), checked(tl::Padding::zero))}; });
  add("load of a block pointer, one dimension checked", [=](const Operands& o) -> Tiles {
    return {tl::load(block(o, 3, 0), {.boundary_check = {0}, .padding = tl::Padding::zero})};
  });
  add("load of an advanced block pointer", [=](const Operands& o) -> Tiles {
    const auto p = block(o, 0, 0);
    const auto q = tl::advance(tl::advance(p, {1, 2}), {1, 1});
    return {tl::load(q, checked(tl::Padding::zero)), tl::load(p, checked(tl::Padding::zero))};
  });
  add("store to a block pointer", [=](const Operands& o) -> Tiles {
    tl::store(block(o, 3, 4), tl::full({4, 8}, 77, o.tensors[0].dtype()), {.boundary_check = {0, 1}});
    return {o.memory()};
  });
  const auto descriptor = [](const Operands& o, std::int64_t columns = 7) {
    return tl::make_tensor_descriptor(o.pointer(), {5, columns}, {8, 1}, {4, 8});
  };
  add("load of a tensor descriptor beyond the end",
      [=](const Operands& o) -> Tiles { return {descriptor(o).load({2, 8})}; });
  add("load of a tensor descriptor before the beginning",
      [=](const Operands& o) -> Tiles { return {descriptor(o).load({-2, -8})}; });
  for (const std::int64_t columns : {4, 5, 7}) {
    const auto width = columns == 7 ? "" : " of " + std::to_string(columns) + " columns";
    add("load of a tensor descriptor" + width,
        [=](const Operands& o) -> Tiles { return {descriptor(o, columns).load({2, 0})}; });
    add("store to a tensor descriptor" + width, [=](const Operands& o) -> Tiles {
      descriptor(o, columns).store({3, 0}, tl::full({4, 8}, 77, o.tensors[0].dtype()));
      return {o.memory()};
    });
  }
}

void add_atomics(Map& map) {
  using Atomic = std::function<tl::Tile(const tl::PointerTile&, const tl::Operand&, tl::AtomicOptions)>;
  const std::map<std::string, Atomic> atomics{
      {"add", [](const auto& p, const auto& v, auto options) { return tl::atomic_add(p, v, options); }},
      {"max", [](const auto& p, const auto& v, auto options) { return tl::atomic_max(p, v, options); }},
      {"min", [](const auto& p, const auto& v, auto options) { return tl::atomic_min(p, v, options); }},
      {"and", [](const auto& p, const auto& v, auto options) { return tl::atomic_and(p, v, options); }},
      {"or", [](const auto& p, const auto& v, auto options) { return tl::atomic_or(p, v, options); }},
      {"xor", [](const auto& p, const auto& v, auto options) { return tl::atomic_xor(p, v, options); }},
      {"xchg", [](const auto& p, const auto& v, auto options) { return tl::atomic_xchg(p, v, options); }}};
  for (const auto& [name, atomic] : atomics) {
    map["atomic_" + name] = {[atomic](const Operands& o) -> Tiles {
      const auto old = atomic(o.pointer() + o.tile(2), o.tile(1), {});
      return {old, o.memory()};
    }};
    if (name == "and" || name == "or" || name == "xchg") continue;
    map["atomic_" + name + " to elements that several lanes name"] = {[atomic](const Operands& o) -> Tiles {
      atomic(o.pointer() + o.tile(2), o.tile(1), {});
      return {o.memory()};
    }};
  }
  map["atomic_cas"] = {[](const Operands& o) -> Tiles {
    const auto value = o.tile(1), places = o.tile(2);
    const auto expected = tl::where(tl::arange(0, 16) % 2 == 0, tl::load(o.pointer() + places), value);
    const auto old = tl::atomic_cas(o.pointer() + places, expected, value);
    return {old, o.memory()};
  }};
  map["atomic_add with a mask"] = {[](const Operands& o) -> Tiles {
    const auto i = tl::arange(0, 16);
    tl::atomic_add(o.pointer() + o.tile(2), o.tile(1), {.mask = i % 3 == 0});
    return {o.memory()};
  }};
  map["atomic_add to a scalar"] = {[](const Operands& o) -> Tiles {
    const auto old = tl::atomic_add(o.pointer() + 3, 2);
    return {old, o.memory()};
  }};
}

const Map& operations() {
  static const Map all = [] {
    Map map;
    add_arithmetic(map);
    add_scalars(map);
    add_functions(map);
    add_casts(map);
    add_reductions(map);
    add_lanes(map);
    add_random(map);
    add_shapes(map);
    add_products(map);
    add_memory(map);
    add_atomics(map);
    return map;
  }();
  return all;
}

/// What Triton has and the tile language has not.
bool is_triton_only(const std::string& operation) {
  return operation == "tl.argmax(x, 1, tie_break_left=False)";
}

// ---- where the two differ on purpose ---------------------------------------------------------------------------

/// A case's operands, lane by lane, where they have as many as the result.
struct LaneOperands {
  const TritonCase& of;
  std::size_t lane;
  bool has(std::size_t operand, std::size_t count) const {
    return operand < of.operands.size() && reference().operands.at(of.operands[operand]).elements.size() == count;
  }
  Real value(std::size_t operand) const { return reference().operands.at(of.operands[operand]).elements[lane]; }
  const std::string& type(std::size_t operand) const { return reference().operands.at(of.operands[operand]).type; }
};

/// Subnormal in f32, or next to it.
bool is_tiny(Real value) {
  return value != 0 && std::abs(value) <= 0x1p-126L;
}
bool starts_with_any(const std::string& text, std::initializer_list<const char*> beginnings) {
  return std::ranges::any_of(beginnings, [&](const char* beginning) { return text.starts_with(beginning); });
}

/// Functions for which the GPU has instructions that take subnormal numbers for 0.
bool flushes(const std::string& operation) {
  return starts_with_any(operation, {"tl.exp", "tl.log", "tl.sin", "tl.cos", "tl.sqrt(", "tl.rsqrt", "tl.erf",
                                     "tl.sigmoid", "tl.floor", "tl.ceil", "libdevice."});
}

/// Whether Triton's type of a result may be another one. The numbers are the same, rounded to ours where that is
/// narrower.
bool may_be_of_type(const TritonCase& made, const std::string& ours, const std::string& triton) {
  static const std::set<std::string> wider{"f8e4m3 f32", "f8e5m2 f32", "f16 f32", "bf16 f32",
                                           "bool i32",   "u8 i32",     "i8 i32"};
  const std::string pair = ours + " " + triton, &operation = made.operation;
  if (ours == triton) return true;
  if (starts_with_any(operation, {"tl.maximum(", "tl.minimum(", "tl.clamp(", "tl.max(", "tl.min(", "tl.topk("}))
    return wider.contains(pair);
  if (operation.starts_with("tl.rand")) return pair == "i32 u32";  // the same bits
  if (starts_with_any(operation, {"tl.sum(", "tl.cumsum("})) return pair == "i32 u32" || pair == "bf16 f32";
  if (operation == "x % y") return pair == "f32 f16" && made.operands[0].starts_with("f8");
  return operation == "tl.dot(x, y, out_dtype=tl.float16)" && pair == "f16 f32";
}

bool is_float_type(const std::string& type) {
  return is_float(*type_named(type));
}

/// Arithmetic, conversions and functions: what a lane must be here. Nothing: Triton leaves it undefined.
std::optional<Real> expected_value(const TritonCase& made, const LaneOperands& lanes, std::size_t count, Real triton) {
  const std::string& operation = made.operation;
  // The order of the lanes matters to this function, and the GPU's reduction has one of its own.
  if (operation == "tl.reduce((x, y), 1, affine)") return std::nullopt;
  if (flushes(operation)) {
    for (std::size_t i = 0; i < made.operands.size(); ++i) {
      if (lanes.has(i, count) && is_tiny(lanes.value(i))) return std::nullopt;
    }
    if (is_tiny(triton)) return std::nullopt;
  }
  if (!lanes.has(0, count)) return triton;
  const Real x = lanes.value(0);
  const std::string& type = lanes.type(0);
  // A sum of bools is 1 unless both are 0; Triton's wraps like an integer of one bit.
  if (operation == "x + y" && type == "bool" && lanes.type(1) == "bool") return x != 0 || lanes.value(1) != 0 ? 1 : 0;
  if (operation == "x + True" && type == "bool") return 1;
  // The GPU subtracts a rounded multiple of the divisor, which is far off where the quotient is large.
  const bool remainder = operation == "x % y" || operation == "libdevice.fmod(x, y)";
  if (remainder && (is_float_type(type) || is_float_type(lanes.type(1))) && std::isfinite(x) &&
      std::abs(x / lanes.value(1)) >= 0x1p22L)
    return std::nullopt;
  // NaN stays NaN; by default Triton's becomes a bound.
  if (operation.starts_with("tl.clamp(") && std::isnan(x)) return x;
  // Compared as numbers; Triton compares in u32.
  if (operation == "x < 2**31" && x < 0) return 1;
  // What yields 8 bits saturates.
  const bool saturates = operation == "x.to(f8e5m2, rtz)" ||
                         (type == "f8e5m2" && starts_with_any(operation, {"tl.abs", "tl.minimum", "tl.maximum"}));
  if (saturates && std::isinf(triton)) return std::copysign(57344.0L, triton);
  // Triton's conversion takes infinities and NaN of f8e5m2 for numbers.
  if (operation == "x.to(bf16)" && type == "f8e5m2" && !std::isfinite(x)) return x;
  // Undefined in Triton; here it saturates, and NaN is 0.
  if (operation.find("does not hold") != std::string::npos)
    return convert(x, *type_named(type), *type_named(made.results[0].type));
  return triton;
}

/// Loads and stores: what a lane must be here.
Real expected_in_memory(const TritonCase& made, const LaneOperands& lanes, Real triton) {
  const std::string& operation = made.operation;
  const std::string& type = lanes.type(0);
  const bool is_store = operation == "store of f32" || operation == "store of i32";
  // To bool is != 0, where Triton takes the value as i8; and a float beyond i8 has no value as one.
  if (operation == "load with other=a tile of f32" && (type == "bool" || type == "i8") && lanes.lane % 2 == 1)
    return convert(lanes.value(1), DType::f32, *type_named(type));
  if (is_store && type == "bool") {
    const bool spread = operation == "store of f32";  // to every second element, but for the third of them
    const auto& values = reference().operands.at(made.operands[1]).elements;
    const std::size_t source = spread ? lanes.lane / 2 : lanes.lane;
    const bool stored = source < values.size() && (!spread || (lanes.lane % 2 == 0 && source != 3));
    return stored ? (values[source] != 0 ? 1 : 0) : lanes.value(0);
  }
  // The GPU stores whole pieces of 16 bytes of a row; what lies outside keeps its values here.
  if (operation.starts_with("store to a tensor descriptor")) {
    const std::size_t columns = operation.find(" 4 ") != std::string::npos   ? 4
                                : operation.find(" 5 ") != std::string::npos ? 5
                                                                             : 7;
    const std::size_t row = lanes.lane / 8;
    return row >= 3 && row < 5 && lanes.lane % 8 < columns ? 77 : lanes.value(0);
  }
  return triton;
}

/// Where a lane of a row is NaN, the index of the largest is undefined in Triton.
bool has_undefined_indices(const TritonCase& made) {
  return made.operation.starts_with("tl.arg") && made.operands[0].ends_with(".nans");
}

/// Ours is an error, Triton's not.
bool is_error_here(const TritonCase& made) {
  const bool of_bool = made.operands[0].starts_with("bool.");
  if (made.operation == "x // y") return of_bool && made.operands[1].starts_with("bool.");
  if (made.operation == "x + 2**31" || made.operation == "x + 2**40") return of_bool;
  return made.operation == "tl.full([4], 300, tl.uint8)";
}

/// Of what Triton refuses, or fails to compile, what is an error here, too. All else has a value here: 8-bit floats in
/// arithmetic and with integers, integers of different signedness in divisions, functions of 16-bit floats and
/// integers.
bool is_refused_here(const TritonCase& made) {
  const bool of_floats = made.operands[0].starts_with("f") || made.operands[0].starts_with("bf");
  const std::string& operation = made.operation;
  if (operation == "x // 3" || operation == "x & 3" || operation == "x & True") return of_floats;
  if (starts_with_any(operation, {"x + -3", "x + 300", "x + 2**31", "x + 2**40"})) return !of_floats;
  return operation == "tl.full([4], -1, tl.uint8)" || operation == "load of a block pointer, nan";
}

// ---- comparing -------------------------------------------------------------------------------------------------

struct Outcome {
  std::vector<HostTile> results;
  std::string error;
};

/// Runs the cases, each in a kernel of its own.
std::vector<Outcome> run(const std::vector<TritonCase>& cases) {
  std::vector<Outcome> outcomes(cases.size());
  const auto result = try_simulate(tiny(), [&] {
    for (std::size_t i = 0; i < cases.size(); ++i) {
      std::vector<torch::Tensor> tensors;
      Operands operands;
      for (const auto& name : cases[i].operands) {
        const auto& value = reference().operands.at(name);
        auto bytes = encode(value.elements, *type_named(value.type));
        tensors.push_back(torch::from_blob(bytes.data(), value.shape, torch::dtype(*type_named(value.type)))
                              .to(one_pe(*type_named(value.type))));
        operands.shapes.push_back(value.shape);
      }
      while (tensors.size() < 3) tensors.push_back(tensors.front());
      torch::launch(
          "case",
          [&, i](tl::Tensor x, tl::Tensor y, tl::Tensor z) {
            Operands mine = operands;
            mine.tensors = {x, y, z};
            try {
              for (const auto& tile : operations().at(cases[i].operation).compute(mine))
                outcomes[i].results.push_back(look_at(tile));
            } catch (const Error& error) {
              outcomes[i].error = error.what();
            }
          },
          tensors[0], tensors[1], tensors[2]);
      torch::ahbm::synchronize();
    }
  });
  EXPECT_FALSE(result.error) << result.error->type << ": " << result.error->message << " | " << result.error->where;
  return outcomes;
}

bool near(Real got, Real expected, DType type, Nearness nearness) {
  if (same(got, expected)) return true;
  if (!std::isfinite(got) || !std::isfinite(expected)) return false;
  const Real error = std::abs(got - expected);
  return error <= Real{nearness.absolute} || (is_float(type) && error <= Real{nearness.ulps} * ulp(expected, type));
}

std::string describe_case(const TritonCase& made) {
  std::string text = made.operation + " of";
  for (const auto& operand : made.operands) text += " " + operand;
  return text;
}

void compare(const TritonCase& made, const Outcome& outcome) {
  ASSERT_EQ(outcome.results.size(), made.results.size());
  for (std::size_t r = 0; r < made.results.size(); ++r) {
    const HostTile& got = outcome.results[r];
    const TritonValue& triton = made.results[r];
    const std::size_t count = triton.elements.size();
    EXPECT_TRUE(may_be_of_type(made, name(got.dtype), triton.type)) << name(got.dtype);
    ASSERT_EQ(got.shape, triton.shape);
    if (has_undefined_indices(made)) continue;
    auto elements = triton.elements;
    // Triton's cat may change the order.
    if (made.operation == "tl.cat(x, y)") {
      elements = reference().operands.at(made.operands[0]).elements;
      for (std::size_t i = 0, half = elements.size(); i < half; ++i) elements.push_back(elements[i] + 100);
      EXPECT_TRUE(std::ranges::is_permutation(elements, triton.elements));
    }
    const auto type = type_named(triton.type);
    Nearness nearness = operations().at(made.operation).nearness;
    // Triton adds up 16-bit floats in their own type: within a few units of the last place of sums up to 8.
    if (made.operands[0].ends_with(".random") && type && is_float(*type) && item_size(*type) == 2)
      nearness.absolute = 4 * static_cast<double>(ulp(7.9L, *type));
    if (made.operands[0] == "bf16.random" && made.operation.starts_with("tl.cumsum"))
      nearness.absolute = 4 * static_cast<double>(ulp(7.9L, DType::bf16));
    for (std::size_t lane = 0; lane < count; ++lane) {
      const bool in_memory = starts_with_any(made.operation, {"load ", "store "});
      auto expected = in_memory ? expected_in_memory(made, {made, lane}, elements[lane])
                                : expected_value(made, {made, lane}, count, elements[lane]);
      if (!expected) continue;
      if (triton.type == "u32") expected = static_cast<Real>(wrap_to(static_cast<std::int64_t>(*expected), DType::i32));
      if (type && is_float(*type) && got.dtype != *type) expected = convert(*expected, *type, got.dtype);
      EXPECT_TRUE(got.lanes[lane].valid) << "lane " << lane;
      EXPECT_TRUE(near(got.lanes[lane].value, *expected, got.dtype, nearness))
          << "lane " << lane << ": " << got.lanes[lane].value << " instead of " << *expected << ", off by "
          << (is_float(got.dtype) ? std::abs(got.lanes[lane].value - *expected) / ulp(*expected, got.dtype) : 0)
          << " units of the last place";
    }
  }
}

/// The cases of the file that are compared here.
std::vector<TritonCase> compared(const std::vector<TritonCase>& cases) {
  std::vector<TritonCase> result;
  for (const auto& made : cases) {
    if (!is_triton_only(made.operation)) result.push_back(made);
  }
  return result;
}

TEST(TritonReference, EveryOperationOfTheFileIsHereOrListed) {
  std::set<std::string> seen;
  for (const auto* cases : {&reference().computed, &reference().refused}) {
    for (const auto& made : *cases) seen.insert(made.operation);
  }
  EXPECT_GE(seen.size(), 200u);
  for (const auto& operation : seen)
    EXPECT_NE(operations().contains(operation), is_triton_only(operation)) << operation;
  for (const auto& [operation, unused] : operations()) {
    const bool conversion = operation.starts_with("x.to(");  // all types are listed, the file has some
    EXPECT_TRUE(conversion || seen.contains(operation)) << operation;
  }
}

TEST(TritonReference, IsWhatTheTileLanguageComputesButForDocumentedDifferences) {
  const auto cases = compared(reference().computed);
  ASSERT_GE(cases.size(), 1000u);
  const auto outcomes = run(cases);
  for (std::size_t i = 0; i < cases.size(); ++i) {
    SCOPED_TRACE(describe_case(cases[i]));
    EXPECT_EQ(!outcomes[i].error.empty(), is_error_here(cases[i])) << outcomes[i].error;
    if (outcomes[i].error.empty()) compare(cases[i], outcomes[i]);
  }
}

TEST(TritonReference, WhatTritonRefusesHasAValueHereWhereTheMeaningIsPlain) {
  const auto cases = compared(reference().refused);
  ASSERT_GE(cases.size(), 200u);
  const auto outcomes = run(cases);
  for (std::size_t i = 0; i < cases.size(); ++i)
    EXPECT_EQ(!outcomes[i].error.empty(), is_refused_here(cases[i]))
        << describe_case(cases[i]) << ": " << outcomes[i].error;
}

}  // namespace
}  // namespace kernbench::tile_test::triton
