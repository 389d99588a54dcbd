// Functions of elements: types, values, broadcasting, in-place forms, operators.
#include "snippets.h"

namespace oracle {

namespace {

torch::Tensor longs() {
  return torch::tensor({{1, -2, 3}, {7, 5, -6}});
}
torch::Tensor floats() {
  return torch::tensor({{0.5, -1.25, 2.0}, {3.5, -4.0, 0.1}});
}
torch::Tensor bools() {
  return torch::tensor({{true, false, true}, {false, false, true}});
}
torch::Tensor ints() {
  return longs().to(torch::kInt);
}
torch::Tensor halves() {
  return floats().to(torch::kHalf);
}
torch::Tensor doubles() {
  return floats().to(torch::kDouble);
}
torch::Tensor specials() {
  return torch::tensor({0.0f, -0.0f, 1.0f / 0.0f, -1.0f / 0.0f, std::nanf(""), 1.0f, -2.5f});
}

/// `call` of every pair of element types.
template <class Call>
void all_types(std::ostream& out, const Call& call) {
  for (const auto& a : {bools(), ints(), longs(), halves(), floats(), doubles()}) {
    for (const auto& b : {bools(), ints(), longs(), halves(), floats(), doubles()}) {
      try {
        const torch::Tensor result = call(a, b);
        out << result.scalar_type() << ' ';
      } catch (const std::exception&) {
        out << "throws ";
      }
    }
  }
  out << '\n';
}

/// `call` of a tensor of every element type, with values.
template <class Call>
void each_type(std::ostream& out, const Call& call) {
  for (const auto& x : {bools(), ints(), longs(), floats(), doubles(), floats().to(torch::kBFloat16)}) {
    try {
      show(out, call(x));
    } catch (const std::exception&) {
      out << "throws\n";
    }
  }
}

/// A function of one operand, of every element type and of the values that are special.
template <class Call>
void function(std::ostream& out, const std::string& name, const Call& call) {
  // Of 5 the C library's float is not the nearest one.
  const auto shown = [&](const torch::Tensor& x) { return name == "cosh" ? rounded(call(x)) : torch::Tensor(call(x)); };
  each_type(out, shown);
  try {
    show(out, call(specials()));
  } catch (const std::exception&) {
    out << "throws\n";
  }
}

#ifdef KERNBENCH_ORACLE_LIBTORCH
c10::optional<torch::Scalar> c_nothing() {
  return c10::nullopt;
}
#else
std::optional<torch::Scalar> c_nothing() {
  return std::nullopt;
}
#endif

}  // namespace

std::vector<Snippet> elementwise_snippets() {
  return {
      {"types_of_add", [](std::ostream& out) { all_types(out, [](const auto& a, const auto& b) { return a + b; }); }},
      {"types_of_sub", [](std::ostream& out) { all_types(out, [](const auto& a, const auto& b) { return a - b; }); }},
      {"types_of_mul", [](std::ostream& out) { all_types(out, [](const auto& a, const auto& b) { return a * b; }); }},
      {"types_of_div", [](std::ostream& out) { all_types(out, [](const auto& a, const auto& b) { return a / b; }); }},
      {"types_of_maximum",
       [](std::ostream& out) { all_types(out, [](const auto& a, const auto& b) { return torch::maximum(a, b); }); }},
      {"types_of_minimum",
       [](std::ostream& out) { all_types(out, [](const auto& a, const auto& b) { return torch::minimum(a, b); }); }},
      {"types_of_eq", [](std::ostream& out) { all_types(out, [](const auto& a, const auto& b) { return a == b; }); }},
      {"types_of_less", [](std::ostream& out) { all_types(out, [](const auto& a, const auto& b) { return a < b; }); }},
      {"types_of_logical_and",
       [](std::ostream& out) {
         all_types(out, [](const auto& a, const auto& b) { return torch::logical_and(a, b); });
       }},
      {"types_of_bitwise_and",
       [](std::ostream& out) { all_types(out, [](const auto& a, const auto& b) { return a & b; }); }},
      {"types_of_bitwise_xor",
       [](std::ostream& out) { all_types(out, [](const auto& a, const auto& b) { return a ^ b; }); }},
      {"types_of_fmod",
       [](std::ostream& out) { all_types(out, [](const auto& a, const auto& b) { return torch::fmod(a, b + 1); }); }},
      {"types_of_where",
       [](std::ostream& out) {
         all_types(out, [](const auto& a, const auto& b) { return torch::where(bools(), a, b); });
       }},
      {"types_of_zero_dimensional_operands",
       [](std::ostream& out) {
         for (const auto& s : {torch::tensor(true), torch::tensor(2), torch::tensor(1.5),
                               torch::tensor(1.5, torch::kDouble), torch::tensor(1.5, torch::kHalf)}) {
           show_all(out, longs() + s, ints() + s, floats() + s, s + s);
           out << (bools() + s).scalar_type() << (halves() + s).scalar_type() << '\n';
         }
       }},
      {"types_of_numbers",
       [](std::ostream& out) {
         show_all(out, longs() + 1, longs() + 1.5, longs() + true, ints() * 2, ints() * 2.5, bools() + 1, bools() + 1.5,
                  bools() + true, floats() + 1, doubles() * 0.1, torch::tensor(1) + 1.5, torch::tensor(true) + 1);
       }},
      {"numbers_before_operators",
       [](std::ostream& out) {
         show_all(out, 2 + longs(), 2.5 + longs(), 2 * floats(), 1 - floats(), 1 - longs(), 1.0 / floats(), 7 % longs(),
                  2.5 - longs(), 2 < longs(), 1.5 >= longs(), 3 == longs(), 3 != longs());
         attempt(out, [] { 1 / longs(); });
         attempt(out, [] { 1 - bools(); });
       }},
      {"result_type_and_promotion",
       [](std::ostream& out) {
         out << torch::result_type(longs(), floats()) << torch::result_type(longs(), 1.5)
             << torch::result_type(ints(), torch::tensor(5)) << torch::promote_types(torch::kHalf, torch::kBFloat16)
             << torch::promote_types(torch::kInt, torch::kHalf) << torch::can_cast(torch::kFloat, torch::kInt)
             << torch::can_cast(torch::kInt, torch::kBool) << torch::can_cast(torch::kBool, torch::kInt)
             << torch::can_cast(torch::kDouble, torch::kHalf) << '\n';
       }},
      {"add_with_alpha",
       [](std::ostream& out) {
         show_all(out, floats().add(floats(), 2), floats().sub(longs(), 0.5), longs().add(longs(), 3),
                  torch::add(floats(), 1, 2.5), torch::sub(longs(), 1, 2));
         attempt(out, [] { longs().add(longs(), 1.5); });
         attempt(out, [] { floats().add(floats(), true); });
       }},
      {"rsub",
       [](std::ostream& out) {
         show_all(out, torch::rsub(floats(), 1), torch::rsub(longs(), longs(), 2), torch::rsub(longs(), 2.5));
       }},
      {"subtraction_of_bools",
       [](std::ostream& out) {
         attempt(out, [] { bools() - bools(); });
         attempt(out, [] { bools() - 1; });
         attempt(out, [] { longs() - bools(); });
         attempt(out, [] { longs() - true; });
       }},
      {"true_division",
       [](std::ostream& out) {
         show_all(out, longs() / 2, longs() / longs(), bools() / bools(), floats() / 0, longs() / 0, longs().div(2.5));
       }},
      {"rounded_division",
       [](std::ostream& out) {
         show_all(out, longs().div(2, "floor"), longs().div(2, "trunc"), longs().div(-2, "floor"),
                  floats().div(0.3, "floor"), floats().div(0.3, "trunc"),
                  torch::div(longs(), torch::tensor({2, -4, 5}), "floor"), floats().floor_divide(2),
                  longs().floor_divide(-4), floats().div(0, "floor"));
       }},
      {"division_errors",
       [](std::ostream& out) {
         attempt(out, [] { longs().div(0, "floor"); });
         attempt(out, [] { longs().div(0, "trunc"); });
         attempt(out, [] { longs().remainder(0); });
         attempt(out, [] { longs().fmod(0); });
         attempt(out, [] { longs().div(2, "up"); });
         attempt(out, [] { bools().div(bools(), "floor"); });
         attempt(out, [] { bools() % bools(); });
       }},
      {"remainder_and_fmod",
       [](std::ostream& out) {
         show_all(out, longs() % 4, longs() % -4, longs().fmod(4), longs().fmod(-4), floats() % 0.7, floats() % -0.7,
                  floats().fmod(0.7), floats().fmod(-0.7), floats() % 0, longs().remainder(2.5),
                  torch::remainder(5, longs()));
       }},
      {"pow",
       [](std::ostream& out) {
         show_all(out, longs().pow(2), longs().pow(2.0), floats().pow(2), floats().pow(0.5),
                  torch::pow(2, longs().abs()), torch::pow(2.5, longs()), floats().pow(longs()), longs().pow(0),
                  floats().pow(-1), longs().pow(torch::tensor({0, -1, -2})), bools().pow(2),
                  torch::tensor({1, -1, 2}).pow(torch::tensor({-1, -3, -1})), floats().pow(1), floats().pow(3),
                  floats().square(), longs().square(), specials().square(), specials().pow(3), specials().pow(-1),
                  doubles().pow(3), longs().pow(3), longs().pow(-1.0));
         attempt(out, [] { longs().pow(-1); });
         attempt(out, [] { bools().pow(bools()); });
       }},
      {"integers_wrap",
       [](std::ostream& out) {
         show_all(out, torch::tensor({2147483647}, torch::kInt) + 1, torch::tensor({2147483647}, torch::kInt) * 2,
                  torch::tensor({-2147483647 - 1}, torch::kInt).abs(), -torch::tensor({-2147483647 - 1}, torch::kInt),
                  torch::tensor({std::int64_t{9223372036854775807}}) + 1);
       }},
      {"small_integers",
       [](std::ostream& out) {
         const auto u = torch::tensor({250, 3, 0}, torch::kByte), s = torch::tensor({127, -128, 5}, torch::kChar);
         show_all(out, u + 10, u - 5, u * 2, s + 1, -s, u / 2, u + torch::tensor({1, 2, 3}), u.sum(),
                  s.to(torch::kByte), u.to(torch::kChar), ~u, u.bitwise_left_shift(1), s.bitwise_right_shift(1),
                  u.to(torch::kFloat) + s);
         out << u.itemsize() << torch::kByte << torch::kChar << torch::promote_types(torch::kByte, torch::kInt) << '\n';
       }},
      {"long_numbers_beyond_double",
       [](std::ostream& out) {
         show_all(out,
                  (torch::tensor({std::int64_t{9007199254740993}}) - torch::tensor({std::int64_t{9007199254740992}})),
                  torch::tensor({std::int64_t{9007199254740993}}) == torch::tensor({std::int64_t{9007199254740992}}),
                  torch::tensor({std::int64_t{9007199254740993}}) == std::int64_t{9007199254740992});
       }},
      {"halves_round_once",
       [](std::ostream& out) {
         show_all(out, halves() + halves() * 3, halves() * halves(), halves() / 3,
                  torch::tensor({2048.0, 2049.0}, torch::kHalf) + 1, torch::tensor({1.0, 3.0}, torch::kBFloat16) / 3);
       }},
      {"bit_operations",
       [](std::ostream& out) {
         show_all(out, longs() & 3, longs() | 8, longs() ^ longs().t().contiguous().view({2, 3}), ~longs(), ~bools(),
                  bools() | bools().t().contiguous().view({2, 3}), bools() ^ true, longs() & bools(),
                  longs().bitwise_left_shift(2), longs().bitwise_right_shift(1), 12 & longs(),
                  longs().bitwise_left_shift(torch::tensor({0, 1, 2})));
         attempt(out, [] { floats() & floats(); });
         attempt(out, [] { ~floats(); });
         attempt(out, [] { longs() & 1.5; });
       }},
      {"logic",
       [](std::ostream& out) {
         show_all(out, floats().logical_not(), longs().logical_and(bools()), floats().logical_xor(torch::zeros({3})),
                  torch::logical_or(longs(), specials().slice(0, 0, 3)), torch::logical_not(specials()));
       }},
      {"comparisons",
       [](std::ostream& out) {
         show_all(out, longs() > 2, longs() <= 1.5, floats() == floats(), floats() != 2,
                  longs().ge(longs().t().contiguous().view({2, 3})), specials() == specials(), specials() < 0,
                  specials() >= specials(), torch::lt(floats(), longs()), torch::gt(bools(), 0));
       }},
      {"maximum_keeps_nan",
       [](std::ostream& out) {
         const auto x = specials();
         show_all(out, torch::maximum(x, torch::zeros({7})), torch::minimum(torch::ones({7}), x), torch::max(x, x),
                  torch::min(longs(), bools()));
       }},
      {"clamp",
       [](std::ostream& out) {
         show_all(out, floats().clamp(-1, 1), floats().clamp(0.5), floats().clamp(c_nothing(), 0.25),
                  longs().clamp(1.5, 2.5), longs().clamp(0, 2), specials().clamp(-1, 1), floats().clamp(2, 1),
                  floats().clamp_min(0), longs().clamp_max(1.5),
                  floats().clamp(torch::zeros({3}), torch::tensor({1.0, 2.0, 0.5})), bools().clamp(0, 1));
         attempt(out, [] { floats().clamp(c_nothing(), c_nothing()); });
       }},
      {"clamp_in_place",
       [](std::ostream& out) {
         auto x = floats();
         x.clamp_(-1, 1);
         show(out, x);
         x.clamp_min_(0).clamp_max_(0.75);
         show(out, x);
         attempt(out, [] { longs().clamp_(0.5, 1.5); });
       }},
      {"function_square",
       [](std::ostream& out) {
         each_type(out, [](const torch::Tensor& x) { return torch::square(x); });
         show_all(out, specials().square());
       }},
#define KERNBENCH_QUESTION(operation, name, ...)                                  \
  {"function_" #name, [](std::ostream& out) {                                     \
     function(out, #name, [](const torch::Tensor& x) { return torch::name(x); }); \
     function(out, #name, [](const torch::Tensor& x) { return x.name(); });       \
   }},
#define KERNBENCH_TENSOR_FUNCTION(operation, name, ...) \
  KERNBENCH_QUESTION(operation, name){                  \
      "function_" #name "_",                            \
      [](std::ostream& out) { function(out, #name, [](const torch::Tensor& x) { return x.clone().name##_(); }); }},
#include "kernbench/elementwise/unary.def"
      {"functions_of_halves",
       [](std::ostream& out) {
         show_all(out, halves().neg(), halves().abs(), halves().sign(), halves().square(), halves().reciprocal(),
                  halves().isnan());
       }},
      {"round_half_to_even",
       [](std::ostream& out) { show_all(out, torch::tensor({0.5, 1.5, 2.5, -0.5, -1.5, 2.4999}).round()); }},
      {"activations",
       [](std::ostream& out) {
         show_all(out, torch::silu(floats()), rounded(torch::gelu(floats())), rounded(torch::gelu(floats(), "tanh")),
                  torch::relu(longs()), floats().to(torch::kDouble).sigmoid(), torch::nn::functional::relu(floats()),
                  torch::nn::functional::silu(floats()), rounded(torch::nn::functional::gelu(floats())),
                  rounded(torch::nn::functional::gelu(floats(),
                                                      torch::nn::functional::GELUFuncOptions().approximate("tanh"))),
                  torch::silu(specials()), rounded(torch::gelu(specials())));
         attempt(out, [] { torch::silu(longs()); });
         attempt(out, [] { torch::gelu(longs()); });
         attempt(out, [] { torch::gelu(floats(), "other"); });
         attempt(out, [] { torch::relu(bools()); });
       }},
      {"lerp",
       [](std::ostream& out) {
         show_all(out, floats().lerp(floats() * 2, 0.25),
                  torch::lerp(floats(), torch::ones({3}), torch::tensor({0.0, 0.5, 1.0})),
                  floats().lerp(torch::ones({3}), 0.75), doubles().lerp(doubles() * 3, 0.6));
         attempt(out, [] { longs().lerp(longs(), 1); });
         attempt(out, [] { floats().lerp(doubles(), 1); });
       }},
      {"addcmul_and_addcdiv",
       [](std::ostream& out) {
         show_all(out, floats().addcmul(floats(), longs()), torch::addcmul(floats(), floats(), floats(), 0.5),
                  longs().addcmul(longs(), longs()), longs().addcmul(longs(), longs(), 3),
                  doubles().addcmul(doubles(), doubles(), 0.3), floats().addcdiv(floats(), longs(), 2));
         attempt(out, [] { floats().addcdiv(longs(), longs()); });
       }},
      {"where",
       [](std::ostream& out) {
         show_all(out, torch::where(floats() > 0, floats(), torch::zeros({3})),
                  torch::where(bools(), longs(), floats()), floats().where(bools(), torch::tensor(9.0)),
                  torch::where(bools(), torch::ones({2, 1}), torch::zeros({3})));
         attempt(out, [] { torch::where(longs(), longs(), longs()); });
         attempt(out, [] { torch::where(bools(), longs(), torch::ones({4})); });
       }},
      {"where_with_numbers",
       [](std::ostream& out) {
         show_all(out, torch::where(bools(), floats(), 0), torch::where(bools(), 1.5, floats()),
                  torch::where(bools(), 1, 2), torch::where(bools(), longs(), 1.5));
       }},
      {"masked_fill",
       [](std::ostream& out) {
         show_all(out, floats().masked_fill(bools(), -1), longs().masked_fill(bools(), 7),
                  longs().masked_fill(bools(), 2.9),
                  floats().masked_fill(torch::tensor({true, false, false}), torch::tensor(5.0)),
                  torch::zeros({3}).masked_fill(bools(), 1));
         auto x = floats();
         x.masked_fill_(x < 0, 0);
         show(out, x);
         attempt(out, [] { floats().masked_fill(longs(), 1); });
         attempt(out, [] { floats().masked_fill(bools(), torch::ones({1})); });
       }},
      {"isclose",
       [](std::ostream& out) {
         const auto x = torch::tensor({1.0, 100.0, 0.0}), y = torch::tensor({1.000001, 100.1, 1e-9});
         show_all(out, torch::isclose(x, y), x.isclose(y, 1e-2), torch::isclose(x, y, 0, 0.2),
                  torch::isclose(specials(), specials()), torch::isclose(specials(), specials(), 1e-5, 1e-8, true),
                  torch::isclose(longs(), longs() + 1));
         attempt(out, [] { torch::isclose(floats(), longs()); });
         attempt(out, [] { torch::isclose(floats(), floats(), -1.0); });
       }},
      {"broadcasting",
       [](std::ostream& out) {
         show_all(out, torch::ones({2, 1}) + torch::arange(3), torch::ones({2, 3}) * torch::tensor({{2.0}, {3.0}}),
                  torch::ones({3, 1, 2}) + torch::ones({2, 1}), torch::ones({0, 3}) + torch::ones({3}),
                  torch::ones({2, 0}) * torch::ones({2, 1}), torch::tensor(2) + torch::tensor({1, 2}));
         attempt(out, [] { torch::ones({2, 3}) + torch::ones({2}); });
         attempt(out, [] { torch::ones({0}) + torch::ones({2}); });
       }},
      {"results_follow_the_memory_order_of_their_operands",
       [](std::ostream& out) {
         const auto x = torch::arange(24).view({2, 3, 4});
         show_all(
             out, x.transpose(1, 2) + 1, x.permute({2, 0, 1}) * 2, x.permute({1, 2, 0}) + x.permute({1, 2, 0}),
             x.transpose(0, 1) + x.view({3, 2, 4}), x.view({2, 3, 4}) + x.transpose(0, 1).contiguous().transpose(0, 1),
             x.transpose(0, 2).slice(0, 0, 4, 2) + 1, x.select(1, 0).t() < 3, x.transpose(0, 2).exp2(),
             torch::where(x.transpose(1, 2) > 4, x.transpose(1, 2), torch::zeros({}, torch::kLong)),
             x.expand({2, 2, 3, 4}) + 1, torch::ones({1, 3}).t() + 1, torch::ones({3, 1}) + torch::ones({1, 3}).t());
       }},
      {"in_place_arithmetic",
       [](std::ostream& out) {
         auto x = floats();
         x += 1;
         x -= longs();
         x *= 2;
         x /= torch::tensor({1.0, 2.0, 4.0});
         show(out, x);
         x.add_(1, 3).sub_(longs(), 2).mul_(x).div_(3).neg_();
         show(out, x);
         x.abs_().sqrt_().exp_().log_().floor_();
         show(out, x);
         auto y = longs();
         y += true;
         y *= bools();
         y.remainder_(3);
         y.pow_(2);
         show(out, y);
         auto z = bools();
         z &= bools();
         z |= torch::ones({3}, torch::kBool);
         z ^= bools();
         show(out, z);
         auto w = longs();
         w.bitwise_and_(6);
         w.fmod_(5);
         show(out, w);
       }},
      {"in_place_functions",
       [](std::ostream& out) {
         auto x = floats().abs();
         x.reciprocal_().rsqrt_().sin_().cos_().tanh_().sigmoid_();
         show(out, x);
         x = floats();
         x.relu_().ceil_();
         show(out, x);
         x = floats() * 1.3;
         x.round_();
         show(out, x);
         x = floats() * 1.3;
         x.trunc_().square_().sign_();
         show(out, x);
         x = floats() * 0.1;
         x.exp2_().expm1_().log1p_().erf_();
         show(out, x);
       }},
      {"in_place_errors",
       [](std::ostream& out) {
         attempt(out, [] { longs().add_(1.5); });
         attempt(out, [] { longs().div_(2); });
         attempt(out, [] { bools().add_(1); });
         attempt(out, [] { torch::ones({3}).add_(torch::ones({2, 3})); });
         attempt(out, [] { longs().sqrt_(); });
         attempt(out, [] { torch::ones({1}).expand({3}).add_(1); });
         attempt(out, [] {
           auto x = torch::ones({4});
           x.slice(0, 1).add_(x.slice(0, 0, 3));
         });
         attempt(out, [] { longs().add_(longs(), 1.5); });
       }},
      {"in_place_on_views",
       [](std::ostream& out) {
         auto x = torch::zeros({2, 3});
         x[0] += 1;
         x.t()[2] *= 5;
         x.slice(1, 0, 2).sub_(torch::tensor({1.0, 2.0}));
         x.select(1, 1).add_(x.select(1, 2));
         show(out, x);
         auto y = torch::arange(4);
         y.add_(y);
         show(out, y);
         auto z = torch::arange(6).view({2, 3});
         z.t().mul_(torch::tensor({{1, 2}, {3, 4}, {5, 6}}));
         show(out, z);
       }},
      {"handles_and_aliases_of_results",
       [](std::ostream& out) {
         auto x = floats();
         auto y = x;
         y += 1;
         out << torch::equal(x, y);
         auto z = x + 0;
         z += 1;
         out << torch::equal(x, z) << x.is_alias_of(y) << x.is_alias_of(z) << '\n';
       }},
      {"zero_element_operands",
       [](std::ostream& out) {
         show_all(out, torch::zeros({0}) + 1, torch::zeros({0, 3}).exp(), torch::zeros({2, 0}) < 1,
                  torch::where(torch::zeros({0}, torch::kBool), torch::zeros({0}), 1.0f * torch::zeros({0})),
                  torch::zeros({0}).clamp(0, 1));
       }},
      {"undefined_operands",
       [](std::ostream& out) {
         attempt(out, [] { torch::Tensor() + 1; });
         attempt(out, [] { floats() + torch::Tensor(); });
         attempt(out, [] { torch::Tensor().exp(); });
       }},
      {"negation_and_not",
       [](std::ostream& out) {
         show_all(out, -floats(), -longs(), ~bools());
         attempt(out, [] { -bools(); });
       }},
      {"equal_and_allclose_after_arithmetic",
       [](std::ostream& out) {
         out << torch::equal(floats() * 2, floats() + floats()) << torch::allclose(floats() / 3 * 3, floats())
             << longs().equal(longs() + 0) << torch::allclose(longs(), longs())
             << torch::allclose(specials(), specials()) << torch::allclose(specials(), specials(), 0, 0, true) << '\n';
       }},
  };
}

}  // namespace oracle
