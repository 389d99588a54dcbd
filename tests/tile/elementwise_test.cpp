// Operators and elementwise functions against exact arithmetic, over all element types.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "harness.h"
#include "support/sanitizers.h"

namespace kernbench::tile_test {
namespace {

using O = const tl::Operand&;

/// Operands are in the type that the operation is done in; the value is exact, before it is rounded to the result.
using PairFunction = std::function<Lane(Real a, Real b, DType type)>;
enum class Takes { any, integers, bits, floats };
enum class Yields { promoted, quotient, remainder, boolean };

struct BinaryCase {
  const char* name;
  Takes takes;
  Yields yields;
  std::function<tl::Tile(O, O)> compute;
  PairFunction reference;
};

std::int64_t whole(Real value) {
  return static_cast<std::int64_t>(value);
}
/// In floats, or in 64-bit integers that wrap.
template <class Float, class Integer>
PairFunction arithmetic(Float in_floats, Integer in_integers) {
  return [=](Real a, Real b, DType type) -> Lane {
    if (is_float(type)) return {in_floats(a, b)};
    return {static_cast<Real>(static_cast<std::int64_t>(
        in_integers(static_cast<std::uint64_t>(whole(a)), static_cast<std::uint64_t>(whole(b)))))};
  };
}
template <class Compare>
PairFunction comparison(Compare compare) {
  return [=](Real a, Real b, DType) -> Lane { return {compare(a, b) ? Real{1} : Real{0}}; };
}
template <class Bits>
PairFunction bits(Bits compute) {
  return [=](Real a, Real b, DType) -> Lane { return {static_cast<Real>(compute(whole(a), whole(b)))}; };
}
int width(DType type) {
  return static_cast<int>(item_size(type)) * 8;
}

Real larger(Real a, Real b) {
  if (a == b) return std::signbit(a) ? b : a;
  return a > b ? a : b;
}
Real smaller(Real a, Real b) {
  if (a == b) return std::signbit(a) ? a : b;
  return a < b ? a : b;
}
template <class Choose>
PairFunction extremum(Choose choose, bool propagate) {
  return [=](Real a, Real b, DType) -> Lane {
    if (std::isnan(a) || std::isnan(b))
      return {propagate || std::isnan(a) == std::isnan(b) ? NAN : std::isnan(a) ? b : a};
    return {choose(a, b)};
  };
}
Lane quotient_toward_zero(Real a, Real b, DType) {
  if (b == 0) return {0, false};
  if (b == -1) return {static_cast<Real>(static_cast<std::int64_t>(-static_cast<std::uint64_t>(whole(a))))};
  return {static_cast<Real>(whole(a) / whole(b))};
}
Lane remainder(Real a, Real b, DType type) {
  if (is_float(type)) return {std::fmod(a, b)};
  if (b == 0) return {0, false};
  return {b == -1 ? Real{0} : static_cast<Real>(whole(a) % whole(b))};
}
Lane shift(Real a, Real b, DType type, bool left) {
  if (b < 0 || b >= width(type)) return {0, false};
  if (!left) return {static_cast<Real>(whole(a) >> whole(b))};
  return {static_cast<Real>(static_cast<std::int64_t>(static_cast<std::uint64_t>(whole(a)) << whole(b)))};
}

const std::vector<BinaryCase>& binary_cases() {
  using U = std::uint64_t;
  using S = std::int64_t;
  constexpr auto kAll = tl::PropagateNan::all;
  static const std::vector<BinaryCase> cases{
      {"+", Takes::any, Yields::promoted, [](O a, O b) { return a + b; },
       arithmetic([](Real a, Real b) { return a + b; }, [](U a, U b) { return a + b; })},
      {"-", Takes::any, Yields::promoted, [](O a, O b) { return a - b; },
       arithmetic([](Real a, Real b) { return a - b; }, [](U a, U b) { return a - b; })},
      {"*", Takes::any, Yields::promoted, [](O a, O b) { return a * b; },
       arithmetic([](Real a, Real b) { return a * b; }, [](U a, U b) { return a * b; })},
      {"/", Takes::any, Yields::quotient, [](O a, O b) { return a / b; },
       [](Real a, Real b, DType) -> Lane { return {a / b}; }},
      {"fdiv", Takes::floats, Yields::promoted, [](O a, O b) { return tl::fdiv(a, b); },
       [](Real a, Real b, DType) -> Lane { return {a / b}; }},
      {"%", Takes::any, Yields::remainder, [](O a, O b) { return a % b; }, remainder},
      {"idiv", Takes::integers, Yields::promoted, [](O a, O b) { return tl::idiv(a, b); }, quotient_toward_zero},
      {"&", Takes::bits, Yields::promoted, [](O a, O b) { return a & b; }, bits([](S a, S b) { return a & b; })},
      {"|", Takes::bits, Yields::promoted, [](O a, O b) { return a | b; }, bits([](S a, S b) { return a | b; })},
      {"^", Takes::bits, Yields::promoted, [](O a, O b) { return a ^ b; }, bits([](S a, S b) { return a ^ b; })},
      {"<<", Takes::integers, Yields::promoted, [](O a, O b) { return a << b; },
       [](Real a, Real b, DType type) { return shift(a, b, type, true); }},
      {">>", Takes::integers, Yields::promoted, [](O a, O b) { return a >> b; },
       [](Real a, Real b, DType type) { return shift(a, b, type, false); }},
      {"maximum", Takes::any, Yields::promoted, [](O a, O b) { return tl::maximum(a, b); }, extremum(larger, false)},
      {"minimum", Takes::any, Yields::promoted, [](O a, O b) { return tl::minimum(a, b); }, extremum(smaller, false)},
      {"maximum of all", Takes::any, Yields::promoted, [](O a, O b) { return tl::maximum(a, b, kAll); },
       extremum(larger, true)},
      {"minimum of all", Takes::any, Yields::promoted, [](O a, O b) { return tl::minimum(a, b, kAll); },
       extremum(smaller, true)},
      {"<", Takes::any, Yields::boolean, [](O a, O b) { return a < b; }, comparison(std::less())},
      {"<=", Takes::any, Yields::boolean, [](O a, O b) { return a <= b; }, comparison(std::less_equal())},
      {">", Takes::any, Yields::boolean, [](O a, O b) { return a > b; }, comparison(std::greater())},
      {">=", Takes::any, Yields::boolean, [](O a, O b) { return a >= b; }, comparison(std::greater_equal())},
      {"==", Takes::any, Yields::boolean, [](O a, O b) { return a == b; }, comparison(std::equal_to())},
      {"!=", Takes::any, Yields::boolean, [](O a, O b) { return a != b; }, comparison(std::not_equal_to())}};
  return cases;
}

bool takes(const BinaryCase& what, DType promoted, bool floats_only) {
  switch (what.takes) {
    case Takes::any:
      return true;
    case Takes::integers:
      return !is_float(promoted) && promoted != DType::boolean;
    case Takes::bits:
      return !is_float(promoted);
    case Takes::floats:
      break;
  }
  return floats_only;
}

/// The type that the operation is done in, and that of its result.
struct Types {
  DType done_in, result;
};
Types types_of(const BinaryCase& what, DType promoted) {
  switch (what.yields) {
    case Yields::promoted:
      // A quotient is not done in the promoted type: its operands are not rounded to it.
      return {what.takes == Takes::floats ? DType::f32 : promoted, promoted};
    case Yields::quotient:
      return {DType::f32, DType::f32};
    case Yields::remainder:
      return is_float(promoted) ? Types{DType::f32, DType::f32} : Types{promoted, promoted};
    case Yields::boolean:
      break;
  }
  return {promoted, DType::boolean};
}

/// Rounds to f32, in which floats are computed, and converts to the result.
Lane finished(Lane lane, DType done_in, DType result) {
  if (!lane.valid) return lane;
  if (is_float(done_in)) return {convert(round_to(lane.value, DType::f32), DType::f32, result)};
  return {convert(lane.value, DType::i64, result)};
}

HostTile expected_of(const BinaryCase& what, const HostTile& a, const HostTile& b, DType promoted) {
  const Types types = types_of(what, promoted);
  return elementwise({&a, &b}, types.result, [&](const std::vector<Real>& x) {
    const Real left = convert(x[0], a.dtype, types.done_in), right = convert(x[1], b.dtype, types.done_in);
    return finished(what.reference(left, right, types.done_in), types.done_in, types.result);
  });
}

TEST(TileElementwise, BinaryOperationsOfAllTypesBroadcastPromoteAndRoundOnce) {
  run_cases(1, [](Bench& bench) {
    for (const auto& what : binary_cases()) {
      for (const DType left : kTypes) {
        for (const DType right : kTypes) {
          const DType promoted = promote(left, right);
          if (!takes(what, promoted, is_float(left) && is_float(right))) continue;
          for (int round = 0; round < (kSanitized ? 1 : 4); ++round) {
            auto shape_a = bench.shape(), shape_b = bench.partner(shape_a);
            if (bench.chance(2)) std::swap(shape_a, shape_b);
            const auto a = bench.draw(left, shape_a), b = bench.draw(right, shape_b);
            expect_same(what.compute(a.tile, b.tile), expected_of(what, a.host, b.host, promoted),
                        std::string(name(left)) + " " + what.name + " " + name(right));
          }
        }
      }
    }
  });
}

/// Of the tile that a scalar counts as in a comparison.
template <class T>
DType type_of_scalar(T scalar) {
  if (std::is_same_v<T, bool>) return DType::boolean;
  if (std::is_floating_point_v<T>) return DType::f32;
  const auto value = static_cast<std::int64_t>(scalar);
  return wrap_to(value, DType::i32) == value ? DType::i32 : DType::i64;
}

template <class T>
void check_scalar(Bench& bench, const BinaryCase& what, DType type, T scalar) {
  const int kind = std::is_same_v<T, bool> ? 0 : std::is_integral_v<T> ? 1 : 2;
  const bool compares = what.yields == Yields::boolean;
  const DType promoted = compares ? promote(type, type_of_scalar(scalar)) : promote_scalar(type, kind);
  if (!takes(what, promoted, is_float(type))) return;
  if (kind == 1 && !is_float(promoted) && !compares &&
      wrap_to(static_cast<std::int64_t>(scalar), promoted) != static_cast<std::int64_t>(scalar))
    return;
  const auto x = bench.draw(type, bench.shape());
  const HostTile constant{kind == 2 ? DType::f64 : DType::i64, {}, {{static_cast<Real>(scalar)}}};
  const std::string text = std::string(name(type)) + " " + what.name + " " + std::to_string(scalar);
  expect_same(what.compute(x.tile, scalar), expected_of(what, x.host, constant, promoted), text);
  expect_same(what.compute(scalar, x.tile), expected_of(what, constant, x.host, promoted), text + ", on the left");
}

TEST(TileElementwise, ScalarsAreWeaklyTypedOnEitherSideButInComparisonsTilesOfOneElement) {
  run_cases(2, [](Bench& bench) {
    for (const auto& what : binary_cases()) {
      for (const DType type : kTypes) {
        check_scalar(bench, what, type, true);
        check_scalar(bench, what, type, 3);
        check_scalar(bench, what, type, -7LL);
        check_scalar(bench, what, type, 2049);
        check_scalar(bench, what, type, 100000);
        check_scalar(bench, what, type, (std::int64_t{1} << 40) + 1);
        check_scalar(bench, what, type, 0.1f);
        check_scalar(bench, what, type, 2.5);
      }
    }
  });
}

TEST(TileElementwise, PromotionFollowsTritonsTable) {
  run_cases(3, [](Bench& bench) {
    for (const DType left : kTypes) {
      for (const DType right : kTypes) {
        const auto a = bench.draw(left, {2}), b = bench.draw(right, {2});
        EXPECT_EQ((a.tile + b.tile).dtype(), promote(left, right)) << name(left) << " + " << name(right);
        EXPECT_EQ(tl::where(a.tile, a.tile, b.tile).dtype(), promote(left, right));
        EXPECT_EQ(tl::join(a.tile, b.tile).dtype(), promote(left, right));
        EXPECT_EQ((a.tile / b.tile).dtype(), DType::f32);
      }
      const auto x = bench.draw(left, {2});
      EXPECT_EQ((x.tile + true).dtype(), promote_scalar(left, 0));
      EXPECT_EQ((x.tile + 1).dtype(), promote_scalar(left, 1));
      EXPECT_EQ((1.0f + x.tile).dtype(), promote_scalar(left, 2));
      EXPECT_EQ(tl::clamp(x.tile, 0, 1.0).dtype(), promote_scalar(left, 2));
      EXPECT_EQ(tl::where(x.tile, 1, 2).dtype(), DType::i32);
      EXPECT_EQ(tl::where(x.tile, std::int64_t{1} << 40, 2).dtype(), DType::i64);
      EXPECT_EQ(tl::where(x.tile, true, false).dtype(), DType::boolean);
      EXPECT_EQ(tl::where(x.tile, 1, 2.0f).dtype(), DType::f32);
    }
  });
}

TEST(TileElementwise, CompoundAssignmentIsTheOperation) {
  run_cases(4, [](Bench& bench) {
    const auto x = bench.draw(DType::i32, {7}, Numbers::small, false);
    auto y = x.tile;
    y += 9;
    y *= 5;
    y -= x.tile;
    y %= 7;
    y |= 8;
    y &= 14;
    y ^= 3;
    expect_same(y,
                elementwise({&x.host}, DType::i32,
                            [](const std::vector<Real>& v) -> Lane {
                              const auto n = static_cast<int>(v[0]);
                              return {static_cast<Real>(((((n + 9) * 5 - n) % 7 | 8) & 14) ^ 3)};
                            }),
                "compound");
    y /= 2.0f;
    EXPECT_EQ(y.dtype(), DType::f32);
  });
}

// ---- three operands --------------------------------------------------------------------------------------------

TEST(TileElementwise, WhereTakesOneSideAndItsValidityOnly) {
  run_cases(5, [](Bench& bench) {
    for (const DType condition : kTypes) {
      for (const DType left : kTypes) {
        for (const DType right : kTypes) {
          const auto shape = bench.shape();
          const auto c = bench.draw(condition, bench.partner(shape)), a = bench.draw(left, bench.partner(shape)),
                     b = bench.draw(right, shape);
          const DType dtype = promote(left, right);
          HostTile expected{dtype, broadcast(broadcast(c.host.shape, a.host.shape), b.host.shape), {}};
          for (std::int64_t i = 0; i < numel(expected.shape); ++i) {
            const auto lane = [&](const HostTile& tile) {
              return tile.lanes[source_of(i, expected.shape, tile.shape)];
            };
            const Lane chooser = lane(c.host), chosen = chooser.value != 0 ? lane(a.host) : lane(b.host);
            const DType from = chooser.value != 0 ? left : right;
            expected.lanes.push_back({convert(chosen.value, from, dtype), chooser.valid && chosen.valid});
          }
          expect_same(tl::where(c.tile, a.tile, b.tile), expected,
                      std::string(name(condition)) + " ? " + name(left) + " : " + name(right));
        }
      }
    }
  });
}

Real clamped(Real x, Real low, Real high) {
  if (std::isnan(x) || std::isnan(low) || std::isnan(high)) return NAN;
  const Real raised = x < low ? low : x;  // zeros of either sign are equal here
  return raised > high ? high : raised;
}

TEST(TileElementwise, ClampIsAMaximumThenAMinimum) {
  run_cases(6, [](Bench& bench) {
    for (int round = 0; round < 400; ++round) {
      const DType tx = bench.any_of(kTypes), tl_ = bench.any_of(kTypes), th = bench.any_of(kTypes);
      const auto shape = bench.shape();
      const auto x = bench.draw(tx, shape), low = bench.draw(tl_, bench.partner(shape)),
                 high = bench.draw(th, bench.partner(shape));
      const DType dtype = promote(promote(tx, tl_), th);
      expect_same(
          tl::clamp(x.tile, low.tile, high.tile),
          elementwise({&x.host, &low.host, &high.host}, dtype,
                      [&](const std::vector<Real>& v) -> Lane {
                        return {clamped(convert(v[0], tx, dtype), convert(v[1], tl_, dtype), convert(v[2], th, dtype))};
                      }),
          std::string("clamp of ") + name(tx) + ", " + name(tl_) + ", " + name(th));
      expect_same(tl::clamp(x.tile, false, true),
                  elementwise({&x.host}, tx, [&](const std::vector<Real>& v) -> Lane { return {clamped(v[0], 0, 1)}; }),
                  "clamp to scalars");
    }
  });
}

TEST(TileElementwise, FmaRoundsInF32OnceThenToItsType) {
  run_cases(7, [](Bench& bench) {
    for (int round = 0; round < 400; ++round) {
      const DType ta = bench.any_of(kFloats), tb = bench.any_of(kFloats), tc = bench.any_of(kFloats);
      const auto shape = bench.shape();
      const auto a = bench.draw(ta, shape), b = bench.draw(tb, bench.partner(shape)),
                 c = bench.draw(tc, bench.partner(shape));
      const DType dtype = promote(promote(ta, tb), tc);
      const auto at = [&](Real value) { return static_cast<float>(convert(value, DType::f32, dtype)); };
      expect_same(tl::fma(a.tile, b.tile, c.tile),
                  elementwise({&a.host, &b.host, &c.host}, dtype,
                              [&](const std::vector<Real>& v) -> Lane {
                                return {round_to(std::fma(at(v[0]), at(v[1]), at(v[2])), dtype)};
                              }),
                  std::string("fma of ") + name(ta) + ", " + name(tb) + ", " + name(tc));
    }
  });
}

// ---- one operand -----------------------------------------------------------------------------------------------

struct UnaryCase {
  const char* name;
  Takes takes;
  std::function<tl::Tile(const tl::Tile&)> compute;
  std::function<DType(DType)> yields;
  std::function<Real(Real, DType)> reference;
};

const std::vector<UnaryCase>& unary_cases() {
  const auto same_type = [](DType type) { return type; };
  const auto boolean = [](DType) { return DType::boolean; };
  static const std::vector<UnaryCase> cases{
      {"-", Takes::any, [](const tl::Tile& x) { return -x; }, same_type,
       [](Real x, DType type) {
         return is_float(type) ? -x
                               : static_cast<Real>(
                                     wrap_to(static_cast<std::int64_t>(-static_cast<std::uint64_t>(whole(x))), type));
       }},
      {"abs", Takes::any, [](const tl::Tile& x) { return tl::abs(x); }, same_type,
       [](Real x, DType type) {
         if (is_float(type) || x >= 0) return std::abs(x);
         return static_cast<Real>(wrap_to(static_cast<std::int64_t>(-static_cast<std::uint64_t>(whole(x))), type));
       }},
      {"floor", Takes::any, [](const tl::Tile& x) { return tl::floor(x); }, same_type,
       [](Real x, DType) { return std::floor(x); }},
      {"ceil", Takes::any, [](const tl::Tile& x) { return tl::ceil(x); }, same_type,
       [](Real x, DType) { return std::ceil(x); }},
      {"round", Takes::any, [](const tl::Tile& x) { return tl::round(x); }, same_type,
       [](Real x, DType) { return std::nearbyint(x); }},
      {"trunc", Takes::any, [](const tl::Tile& x) { return tl::trunc(x); }, same_type,
       [](Real x, DType) { return std::trunc(x); }},
      {"!", Takes::any, [](const tl::Tile& x) { return !x; }, boolean, [](Real x, DType) { return Real(x == 0); }},
      {"~", Takes::bits, [](const tl::Tile& x) { return ~x; }, same_type,
       [](Real x, DType type) {
         return type == DType::boolean ? Real(x == 0) : static_cast<Real>(wrap_to(~whole(x), type));
       }}};
  return cases;
}

TEST(TileElementwise, UnaryOperationsAreExact) {
  run_cases(8, [](Bench& bench) {
    for (const auto& what : unary_cases()) {
      for (const DType type : kTypes) {
        if (what.takes == Takes::bits && is_float(type)) continue;
        for (int round = 0; round < 20; ++round) {
          const auto x = bench.draw(type, bench.shape());
          const DType dtype = what.yields(type);
          expect_same(what.compute(x.tile),
                      elementwise({&x.host}, dtype,
                                  [&](const std::vector<Real>& v) -> Lane { return {what.reference(v[0], type)}; }),
                      std::string(what.name) + " of " + name(type));
        }
      }
    }
  });
}

struct FunctionCase {
  elementwise_test::Reference reference;
  TileFunction compute;
};

/// Those with a reference; floor and its like are exact, and above.
std::vector<FunctionCase> function_cases() {
  std::vector<FunctionCase> cases;
  for (const auto& reference : elementwise_test::references()) {
    if (const auto compute = tile_function(reference.name)) cases.push_back({reference, compute});
  }
  return cases;
}

/// Whether `got` may come from a value within `ulps` of the exact one in f32, rounded to `type`.
bool within(Real got, Real exact, Real ulps, DType type) {
  if (std::isnan(exact) || std::isnan(got)) return std::isnan(exact) && std::isnan(got);
  if (std::isinf(exact) || exact == 0) return got == round_to(exact, type);
  const Real margin = ulps * ulp(exact, DType::f32);
  if (type == DType::f32 && std::isfinite(got)) return std::abs(got - exact) <= margin;
  return round_to(exact - margin, type) <= got && got <= round_to(exact + margin, type);
}

TEST(TileElementwise, FunctionsAreWithinTheirUnitsInTheLastPlace) {
  run_cases(9, [](Bench& bench) {
    for (const auto& what : function_cases()) {
      for (const DType type : kTypes) {
        const DType dtype = is_float(type) ? type : DType::f32;
        for (int round = 0; round < 20; ++round) {
          const auto x = bench.draw(type, bench.shape());
          const auto got = look_at(what.compute(x.tile));
          ASSERT_EQ(got.dtype, dtype) << what.reference.name;
          ASSERT_EQ(got.shape, x.host.shape) << what.reference.name;
          for (std::size_t i = 0; i < got.lanes.size(); ++i) {
            ASSERT_EQ(got.lanes[i].valid, x.host.lanes[i].valid) << what.reference.name;
            if (!got.lanes[i].valid) continue;
            const Real argument = round_to(x.host.lanes[i].value, DType::f32), exact = what.reference.exact(argument);
            ASSERT_TRUE(within(got.lanes[i].value, exact, what.reference.ulps, dtype))
                << what.reference.name << " of " << name(type) << " " << argument << ": " << got.lanes[i].value
                << " instead of " << exact;
          }
        }
      }
    }
  });
}

// ---- conversions -----------------------------------------------------------------------------------------------

TEST(TileElementwise, CastConvertsEveryTypeToEveryOther) {
  run_cases(10, [](Bench& bench) {
    for (const DType from : kTypes) {
      for (const DType to : kTypes) {
        for (int round = 0; round < 6; ++round) {
          const bool toward_zero = round % 2 == 1;
          const auto x = bench.draw(from, bench.shape());
          const auto rounding = toward_zero ? tl::Rounding::rtz : tl::Rounding::rtne;
          expect_same(tl::cast(x.tile, to, rounding),
                      elementwise({&x.host}, to,
                                  [&](const std::vector<Real>& v) -> Lane {
                                    return {from == to ? v[0] : convert(v[0], from, to, toward_zero)};
                                  }),
                      std::string(name(from)) + " to " + name(to) + (toward_zero ? " toward zero" : ""));
        }
      }
    }
  });
}

TEST(TileElementwise, BitcastKeepsTheBits) {
  run_cases(11, [](Bench& bench) {
    for (const DType from : kTypes) {
      for (const DType to : kTypes) {
        if (item_size(from) != item_size(to) || (to == DType::boolean && from != to)) continue;
        const auto x = bench.draw(from, bench.shape());
        HostTile expected{to, x.host.shape, {}};
        for (const Lane& lane : x.host.lanes) {
          expected.lanes.push_back({decode(encode({lane.value}, from).data(), to), lane.valid});
        }
        expect_same(tl::bitcast(x.tile, to), expected, std::string(name(from)) + " as " + name(to));
      }
    }
  });
}

TEST(TileElementwise, FullHoldsTheConvertedValueAndArangeCounts) {
  run_cases(12, [](Bench& bench) {
    for (const DType type : kTypes) {
      for (const double value : {0.0, 1.0, -2.6, 70000.0, 1e30, -HUGE_VAL, static_cast<double>(NAN)}) {
        const auto shape = bench.shape();
        const Lane lane{convert(value, DType::f64, type)};
        expect_same(tl::full(extents(shape), value, type),
                    {type, shape, std::vector<Lane>(static_cast<std::size_t>(numel(shape)), lane)}, "full");
      }
      const auto like = bench.draw(type, bench.shape());
      const HostTile zeros{type, like.host.shape, std::vector<Lane>(like.host.lanes.size())};
      expect_same(tl::zeros(extents(like.host.shape), type), zeros, "zeros");
      expect_same(tl::zeros_like(like.tile), zeros, "zeros_like");
    }
    for (int round = 0; round < 50; ++round) {
      const auto start = bench.below(1000) - 500, count = 1 + bench.below(300);
      HostTile expected{DType::i32, {count}, {}};
      for (std::int64_t i = 0; i < count; ++i) expected.lanes.push_back({static_cast<Real>(start + i)});
      expect_same(tl::arange(start, start + count), expected, "arange");
    }
  });
}

}  // namespace
}  // namespace kernbench::tile_test
