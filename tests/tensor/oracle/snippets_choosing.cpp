// Writes by indices, places of elements, order, scans, windows, products of batches.
#include "snippets.h"

namespace oracle {

namespace {

torch::Tensor grid() {
  return torch::arange(12, torch::kFloat).view({3, 4});
}
torch::Tensor whole_grid() {
  return torch::arange(12).view({3, 4});
}
torch::Tensor some_rows() {
  return torch::tensor({{0, 2, 1, 0}, {2, 2, 0, 1}});
}
torch::Tensor some_values() {
  return torch::tensor({{0.5, -1.0, 2.5, 4.0}, {3.0, 0.25, -2.0, 1.5}});
}
torch::Tensor unordered() {
  return torch::tensor({{3.0, -1.0, 2.0, 2.0}, {0.5, 7.0, -4.0, 0.5}, {1.0, 1.0, 9.0, -2.0}});
}
torch::Tensor holes() {
  return torch::tensor({1.0f, std::nanf(""), 3.0f, -1.0f / 0.0f, 1.0f / 0.0f, -0.0f});
}

template <class Tuple>
void show_two(std::ostream& out, const Tuple& both) {
  show_all(out, std::get<0>(both), std::get<1>(both));
}
template <class Tuple>
void show_three(std::ostream& out, const Tuple& all) {
  show_all(out, std::get<0>(all), std::get<1>(all), std::get<2>(all));
}

}  // namespace

std::vector<Snippet> choosing_snippets() {
  return {
      {"scatter",
       [](std::ostream& out) {
         show_all(out, grid().scatter(0, some_rows(), some_values()), torch::scatter(grid(), 0, some_rows(), 7.5),
                  grid().scatter(1, some_rows(), some_values()), grid().scatter(-1, some_rows(), 3),
                  whole_grid().scatter(1, some_rows(), whole_grid().neg()), grid().t().scatter(1, some_rows(), 2),
                  (grid() > 4).scatter(0, some_rows(), true), torch::zeros({3}).scatter(0, torch::tensor({2}), 1.5),
                  torch::tensor(1.0).scatter(0, torch::tensor(0), torch::tensor(2.0)),
                  grid().scatter(0, torch::zeros({0, 4}, torch::kLong), some_values()),
                  grid().scatter(0, some_rows().slice(1, 0, 2), some_values()),
                  grid().to(torch::kHalf).scatter(0, some_rows(), 0.1));
         auto x = grid();
         x.slice(1, 0, 3).scatter_(0, some_rows().slice(1, 0, 3), some_values());
         x.t().scatter_(1, some_rows(), 0.5);
         show(out, x);
       }},
      {"scatter_that_reduces",
       [](std::ostream& out) {
         show_all(out, grid().scatter(0, some_rows(), some_values(), "add"),
                  grid().scatter(0, some_rows(), some_values(), "multiply"), grid().scatter(1, some_rows(), 2, "add"),
                  torch::scatter(whole_grid(), 1, some_rows(), 3, "multiply"),
                  torch::scatter_add(grid(), 0, some_rows(), some_values()),
                  whole_grid().scatter_add(1, some_rows(), whole_grid()),
                  torch::zeros({2, 4}).scatter_add(0, torch::ones({5, 4}, torch::kLong), torch::ones({5, 4})));
         auto x = grid();
         x.scatter_add_(0, some_rows(), some_values());
         x.scatter_(0, some_rows(), some_values(), "multiply");
         x.scatter_(1, some_rows(), 2, "add");
         show(out, x);
       }},
      {"errors_of_scatter",
       [](std::ostream& out) {
         attempt(out, [] { grid().scatter(2, some_rows(), some_values()); });
         attempt(out, [] { grid().scatter(0, some_rows() + 1, some_values()); });
         attempt(out, [] { grid().scatter(0, some_rows() - 1, some_values()); });
         attempt(out, [] { grid().scatter(0, some_rows().to(torch::kInt), some_values()); });
         attempt(out, [] { grid().scatter(0, some_rows(), some_values().to(torch::kDouble)); });
         attempt(out, [] { grid().scatter(0, some_rows(), some_values()[0]); });
         attempt(out, [] { grid().scatter(0, some_rows()[0], some_values()); });
         attempt(out, [] { grid().scatter(0, some_rows(), some_values().slice(1, 0, 2)); });
         attempt(out, [] { grid().slice(1, 0, 2).scatter(0, some_rows(), some_values()); });
         attempt(out, [] { grid().scatter(0, some_rows(), some_values(), "mean"); });
         attempt(out, [] { torch::ones({1, 4}).expand({3, 4}).scatter_(0, some_rows(), 2); });
       }},
      {"index_fill",
       [](std::ostream& out) {
         const auto list = torch::tensor({2, 0, 2});
         show_all(out, grid().index_fill(0, list, 7.5), torch::index_fill(grid(), 1, list, torch::tensor(-1.0)),
                  whole_grid().index_fill(-1, torch::tensor({-1, 0}), 5), grid().index_fill(0, torch::tensor(1), 2),
                  grid().t().index_fill(0, list, 1), grid().index_fill(0, torch::zeros({0}, torch::kLong), 1),
                  torch::tensor(1.0).index_fill(0, torch::tensor({0}), 3));
         auto x = grid();
         x.t().index_fill_(0, list, 0.5).index_fill_(1, torch::tensor({1}), torch::tensor(9.0));
         show(out, x);
         attempt(out, [] { grid().index_fill(0, torch::tensor({3}), 1); });
         attempt(out, [] { grid().index_fill(0, torch::tensor({-4}), 1); });
         attempt(out, [] { grid().index_fill(0, torch::tensor({1}, torch::kInt), 1); });
         attempt(out, [] { grid().index_fill(0, torch::tensor({{1}}), 1); });
         attempt(out, [] { grid().index_fill(0, torch::tensor({1}), torch::ones({1})); });
         attempt(out, [] { grid().index_fill(2, torch::tensor({1}), 1); });
       }},
      {"index_copy",
       [](std::ostream& out) {
         const auto list = torch::tensor({2, 0});
         show_all(out, grid().index_copy(0, list, some_values()),
                  torch::index_copy(grid(), 1, list, some_values().t().slice(0, 0, 3)),
                  grid().index_copy(0, torch::tensor(1), some_values().slice(0, 0, 1)),
                  torch::zeros({3}).index_copy(0, torch::tensor({1}), torch::tensor(2.0)));
         auto x = grid();
         x.t().index_copy_(1, list, some_values().t());
         show(out, x);
         attempt(out, [&] { grid().index_copy(0, torch::tensor({2, 3}), some_values()); });
         attempt(out, [&] { grid().index_copy(0, torch::tensor({2}), some_values()); });
         attempt(out, [&] { grid().index_copy(0, list, some_values().to(torch::kDouble)); });
         attempt(out, [&] { grid().index_copy(0, list, some_values().slice(1, 0, 3)); });
         attempt(out, [&] { grid().index_copy(0, list.to(torch::kInt), some_values()); });
       }},
      {"take_and_put",
       [](std::ostream& out) {
         const auto places = torch::tensor({{0, 5}, {-1, 5}});
         show_all(out, grid().take(places), grid().t().take(places), torch::take(whole_grid(), torch::tensor(3)),
                  grid().take(torch::zeros({0}, torch::kLong)), grid().put(places, torch::ones({2, 2}) * 0.5),
                  torch::put(grid(), places, torch::tensor({{1.0, 2.0}, {3.0, 4.0}}), true));
         auto x = grid();
         x.t().put_(places, torch::tensor({0.1, 0.2, 0.3, 0.4}));
         show(out, x);
         attempt(out, [] { grid().take(torch::tensor({12})); });
         attempt(out, [] { grid().take(torch::tensor({-13})); });
         attempt(out, [] { grid().take(torch::tensor({1}, torch::kInt)); });
         attempt(out, [] { torch::zeros({0}).take(torch::tensor({0})); });
         attempt(out, [] { grid().put_(torch::tensor({12}), torch::ones({1})); });
         attempt(out, [] { grid().put_(torch::tensor({1}), torch::ones({2})); });
         attempt(out, [] { grid().put_(torch::tensor({1}), torch::ones({1}, torch::kLong)); });
       }},
      {"nonzero",
       [](std::ostream& out) {
         for (const auto& places :
              {torch::nonzero(whole_grid() % 3), (grid() * 0.1).nonzero(), torch::argwhere(grid() > 6),
               torch::nonzero(torch::tensor(2.0)), torch::nonzero(torch::tensor(0)), torch::zeros({2, 0}).nonzero(),
               holes().nonzero(), torch::zeros({3, 2}).nonzero(), torch::tensor({0.0, 0.5}).argwhere()})
           show(out, places);
       }},
      {"diag_and_trace",
       [](std::ostream& out) {
         show_all(out, torch::diag(torch::tensor({1, 2, 3})), torch::diag(torch::tensor({1.5, 2.5}), 1),
                  torch::diag(torch::tensor({1.5, 2.5}), -2), grid().diag(), grid().diag(1), grid().diag(-2),
                  torch::diag(torch::zeros({0})), torch::trace(grid()), whole_grid().trace(),
                  whole_grid().to(torch::kInt).trace(), grid().t().trace());
         attempt(out, [] { torch::diag(torch::zeros({2, 2, 2})); });
         attempt(out, [] { torch::diag(torch::tensor(1)); });
         attempt(out, [] { torch::trace(torch::zeros({2})); });
       }},
      {"indices_of_triangles",
       [](std::ostream& out) {
         show_all(out, torch::tril_indices(3, 4), torch::triu_indices(3, 4), torch::tril_indices(3, 3, 1),
                  torch::triu_indices(2, 5, -1), torch::tril_indices(2, 3, -1, torch::kInt),
                  torch::triu_indices(3, 2, 4), torch::tril_indices(0, 3), torch::eye(2, 3),
                  torch::eye(3, 1, torch::kLong));
         attempt(out, [] { torch::tril_indices(-1, 2); });
       }},
      {"cumprod",
       [](std::ostream& out) {
         show_all(out, unordered().cumprod(0), torch::cumprod(unordered(), 1), whole_grid().cumprod(-1),
                  (grid() > 3).cumprod(0), unordered().to(torch::kHalf).cumprod(1, torch::kFloat),
                  torch::cumprod(torch::tensor(2.0), 0), torch::zeros({0, 2}).cumprod(0), unordered().t().cumprod(1));
         attempt(out, [] { grid().cumprod(2); });
       }},
      {"logcumsumexp",
       [](std::ostream& out) {
         show_all(out, torch::logcumsumexp(unordered(), 1), unordered().logcumsumexp(0),
                  torch::logcumsumexp(torch::tensor({-1e30, 1.0, 1e30, 3.0}), 0),
                  torch::logcumsumexp(torch::tensor({-1.0f / 0.0f, 1.0f, 2.0f, std::nanf(""), 4.0f}), 0),
                  torch::logcumsumexp(torch::tensor(2.0), 0));
         attempt(out, [] { whole_grid().logcumsumexp(0); });
       }},
      {"cummax_and_cummin",
       [](std::ostream& out) {
         show_two(out, unordered().cummax(1));
         show_two(out, torch::cummin(unordered(), 0));
         show_two(out, (whole_grid() % 5).cummax(1));
         show_two(out, holes().cummax(0));
         show_two(out, torch::cummin(holes(), -1));
         show_two(out, (grid() > 4).cummin(0));
         show_two(out, torch::cummax(torch::tensor(3), 0));
         show_two(out, unordered().t().cummax(0));
         attempt(out, [] { unordered().cummax(2); });
       }},
      {"median",
       [](std::ostream& out) {
         show_all(out, torch::median(unordered()), whole_grid().median(), holes().median(), torch::zeros({0}).median(),
                  torch::median(torch::tensor(3)), std::get<0>(unordered().median(1)),
                  std::get<0>(torch::median(unordered(), 0, true)), unordered().t().median());
         show_two(out, torch::tensor({{5.0, 1.0, 3.0}, {2.0, 8.0, 4.0}}).median(1));
         show_two(out, torch::tensor({{5, 1, 3, 9}, {2, 8, 4, 0}}).median(-1, true));
         show_two(out, torch::tensor({{1.0f, std::nanf("")}, {2.0f, 3.0f}, {0.5f, 4.0f}}).median(0));
         show_two(out, torch::tensor({1.0f, std::nanf(""), 5.0f, std::nanf(""), -7.0f}).median(0));
         attempt(out, [] { torch::zeros({0, 2}).median(0); });
         attempt(out, [] { unordered().median(2); });
         attempt(out, [] { torch::zeros({0}, torch::kBool).median(0); });
       }},
      {"quantile",
       [](std::ostream& out) {
         show_all(out, torch::quantile(unordered(), 0.5), rounded(torch::quantile(unordered(), 0.3, 1)),
                  unordered().quantile(0.75, 0, true), torch::quantile(unordered(), torch::tensor({0.0, 0.4, 1.0})),
                  torch::quantile(unordered(), torch::tensor({0.1, 0.9}), 1, true),
                  unordered().quantile(torch::tensor(0.25), 0), holes().quantile(0.5),
                  unordered().to(torch::kDouble).quantile(0.35), unordered().quantile(0.4, 1, false, "lower"),
                  unordered().quantile(0.4, 1, false, "higher"), unordered().quantile(0.4, 1, false, "nearest"),
                  unordered().quantile(0.4, 1, false, "midpoint"), torch::tensor(2.0).quantile(0.5),
                  unordered().quantile(0.5, c10_nothing(), true));
         attempt(out, [] { unordered().quantile(1.5); });
         attempt(out, [] { whole_grid().quantile(0.5); });
         attempt(out, [] { torch::zeros({0}).quantile(0.5); });
         attempt(out, [] { unordered().quantile(0.5, 0, false, "other"); });
         attempt(out, [] { unordered().quantile(torch::ones({1}, torch::kDouble)); });
         attempt(out, [] { unordered().quantile(torch::ones({1, 1})); });
       }},
      {"unique",
       [](std::ostream& out) {
         const auto x = torch::tensor({{2, 3, 3}, {1, 2, 2}});
         show_three(out, torch::_unique2(x, true, true, true));
         show_two(out, torch::_unique(torch::tensor({0.5, -1.0, 0.5}), true, true));
         show_three(out, torch::unique_consecutive(x, true, true));
         show_three(out, torch::unique_consecutive(torch::tensor({1.0, 1.0, 0.0, 1.0})));
         show(out, std::get<0>(torch::_unique(torch::tensor({true, false, true}))));
         show(out, std::get<0>(torch::_unique(x.t())));
       }},
      {"unfold",
       [](std::ostream& out) {
         show_all(out, grid().unfold(1, 2, 1), grid().unfold(0, 2, 1), grid().unfold(1, 3, 2),
                  grid().t().unfold(0, 2, 2), grid().unfold(-1, 4, 1), torch::tensor(2.0).unfold(0, 1, 1));
         auto x = torch::zeros({5});
         x.unfold(0, 1, 2).fill_(1);
         show(out, x);
         attempt(out, [] { grid().unfold(1, 5, 1); });
         attempt(out, [] { grid().unfold(1, 2, 0); });
         attempt(out, [] { grid().unfold(2, 1, 1); });
         attempt(out, [] { grid().unfold(1, -1, 1); });
       }},
      {"as_strided",
       [](std::ostream& out) {
         show_all(out, grid().as_strided({2, 2}, {1, 3}), torch::as_strided(grid(), {3}, {4}, 1),
                  grid()[1].as_strided({2}, {1}), grid()[1].as_strided({2}, {1}, 0),
                  grid().as_strided({2, 3}, {0, 2}, 3), grid().as_strided({}, {}, 5),
                  grid().as_strided({0, 2}, {100, 1}));
         auto x = grid();
         x.as_strided({3}, {5}).fill_(-1);
         show(out, x);
         attempt(out, [] { grid().as_strided({2}, {1, 1}); });
         attempt(out, [] { grid().as_strided({4}, {4}); });
         attempt(out, [] { grid().as_strided({2}, {-1}); });
         attempt(out, [] { grid().as_strided({2}, {1}, -1); });
       }},
      {"products_of_batches",
       [](std::ostream& out) {
         const auto a = torch::arange(12, torch::kFloat).view({2, 2, 3}),
                    b = torch::arange(24, torch::kFloat).view({2, 3, 4});
         const auto c = torch::ones({2, 2, 4}), d = torch::arange(8, torch::kFloat).view({2, 4});
         show_all(out, torch::baddbmm(c, a, b), c.baddbmm(a, b, 0.5, 2), torch::baddbmm(d, a, b),
                  torch::baddbmm(torch::full({4}, NAN), a, b, 0), torch::addbmm(d, a, b), d.addbmm(a, b, 2, 0.5),
                  torch::ones({2, 2, 2}, torch::kLong)
                      .baddbmm(torch::ones({2, 2, 3}, torch::kLong), torch::ones({2, 3, 2}, torch::kLong)),
                  torch::addbmm(d, a.slice(0, 0, 0), b.slice(0, 0, 0)));
         attempt(out, [&] { torch::baddbmm(torch::ones({3}), a, b); });
         attempt(out, [&] { torch::baddbmm(c, a, a); });
         attempt(out, [&] { torch::addbmm(d, a, b.slice(0, 0, 1)); });
         attempt(out, [&] { torch::baddbmm(c, a[0], b); });
       }},
      {"tensordot",
       [](std::ostream& out) {
         const auto a = torch::arange(24, torch::kFloat).view({2, 3, 4}),
                    b = torch::arange(24, torch::kFloat).view({4, 3, 2});
         show_all(out, torch::tensordot(a, b, {1, 2}, {1, 0}), torch::tensordot(a, b, {2}, {0}),
                  torch::tensordot(a, b, {0, 1, 2}, {2, 1, 0}), torch::tensordot(a, b, {-1}, {0}));
         attempt(out, [&] { torch::tensordot(a, b, {1}, {0}); });
         attempt(out, [&] { torch::tensordot(a, b, {1, 2}, {1}); });
         attempt(out, [&] { torch::tensordot(a, b, {1, 1}, {1, 1}); });
       }},
      {"cross",
       [](std::ostream& out) {
         const auto a = torch::arange(6, torch::kFloat).view({2, 3}),
                    b = torch::tensor({{1.0, -2.0, 0.5}, {0.0, 3.0, 1.0}});
         show_all(out, torch::cross(a, b), a.cross(b, 1), torch::cross(a.t().contiguous(), b.t().contiguous(), 0),
                  torch::cross(torch::tensor({1, 2, 3}), torch::tensor({4, -5, 6})));
         attempt(out, [&] { torch::cross(a, b, 0); });
         attempt(out, [&] { torch::cross(torch::ones({2, 2}), torch::ones({2, 2})); });
       }},
      {"nan_to_num_and_heaviside",
       [](std::ostream& out) {
         show_all(out, torch::nan_to_num(holes()), holes().nan_to_num(2.5, 10, -20),
                  torch::nan_to_num(holes().to(torch::kDouble)), holes().to(torch::kBFloat16).nan_to_num(),
                  whole_grid().nan_to_num(3), torch::heaviside(holes(), torch::tensor(0.5)),
                  torch::heaviside(whole_grid() - 3, torch::tensor({{2}, {3}, {4}})));
         auto x = holes();
         x.nan_to_num_(1);
         show(out, x);
         attempt(out, [] { torch::heaviside(holes(), torch::tensor(1)); });
       }},
      {"hypot",
       [](std::ostream& out) {
         show_all(out, torch::hypot(grid(), unordered()), grid().hypot(torch::tensor({3.0, 4.0, 1e30, 0.0})),
                  torch::hypot(holes(), holes() + 1), grid().to(torch::kDouble).hypot(unordered()));
         attempt(out, [] { torch::hypot(whole_grid(), whole_grid()); });
       }},
      {"new_tensors",
       [](std::ostream& out) {
         const auto x = grid().to(torch::kDouble);
         show_all(out, x.new_zeros({2}), x.new_ones({1, 2}), x.new_full({2}, 1.5), whole_grid().new_full({1}, 3),
                  x.new_ones({2}, torch::kInt), whole_grid().new_zeros({0, 2}));
         out << x.new_empty({2, 3}).sizes() << x.new_empty({1}, torch::kHalf).scalar_type() << '\n';
       }},
      {"random_choices",
       [](std::ostream& out) {
         show_all(out, std::get<0>(torch::randperm(50).sort()), torch::randperm(0), torch::randperm(1, torch::kInt),
                  torch::bernoulli(torch::tensor({0.0, 1.0})), torch::bernoulli(grid(), 1.0),
                  torch::multinomial(torch::tensor({0.0, 3.0, 0.0}), 1),
                  torch::multinomial(torch::tensor({{0.0, 3.0}, {2.0, 0.0}}), 4, true),
                  std::get<0>(torch::multinomial(torch::ones({5}), 5).sort()));
         auto x = torch::zeros({1000});
         out << ((x.random_(3, 6) >= 3) & (x < 6) & (x == x.floor())).all().item<bool>()
             << (x.random_(4) < 4).all().item<bool>() << (x.random_() <= 16777216).all().item<bool>()
             << (x.random_().max() > 1000000).item<bool>() << (x.bernoulli_() * (1 - x) == 0).all().item<bool>()
             << '\n';
         attempt(out, [] { torch::zeros({1}).random_(3, 3); });
         attempt(out, [] { torch::bernoulli(torch::tensor({1.5})); });
         attempt(out, [] { torch::zeros({1}).bernoulli_(-0.5); });
         attempt(out, [] { torch::randperm(-1); });
         attempt(out, [] { torch::multinomial(torch::ones({2}), 3); });
         attempt(out, [] { torch::multinomial(torch::tensor({1.0, -1.0}), 1); });
         attempt(out, [] { torch::multinomial(torch::zeros({2}), 1, true); });
         attempt(out, [] { torch::multinomial(torch::ones({2, 2, 2}), 1); });
       }},
  };
}

}  // namespace oracle
