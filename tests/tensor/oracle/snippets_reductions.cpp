// Over dimensions, and matrices.
#include "snippets.h"

namespace oracle {

namespace {

torch::Tensor two_rows() {
  return torch::tensor({{0.5, -1.25, 2.0}, {3.5, -4.0, 0.25}});
}
torch::Tensor above_two() {
  return matrix() > 2;
}
torch::Tensor with_nan() {
  return torch::tensor({1.0f, std::nanf(""), 3.0f});
}
torch::Tensor cube() {
  return torch::arange(24, torch::kFloat).view({2, 3, 4});
}

void show_pair(std::ostream& out, const std::tuple<torch::Tensor, torch::Tensor>& pair) {
  show_all(out, std::get<0>(pair), std::get<1>(pair));
}

}  // namespace

std::vector<Snippet> reduction_snippets() {
  return {
      {"sum",
       [](std::ostream& out) {
         show_all(out, two_rows().sum(), two_rows().sum(0), two_rows().sum(1, true),
                  two_rows().sum(torch::IntArrayRef{0, 1}), cube().sum(torch::IntArrayRef{0, 2}),
                  cube().sum(torch::IntArrayRef{-1}, true), torch::sum(two_rows()), torch::sum(two_rows(), 1),
                  two_rows().t().sum(0));
       }},
      {"types_of_sums",
       [](std::ostream& out) {
         show_all(out, matrix().sum(), matrix().to(torch::kInt).sum(), above_two().sum(), above_two().sum(0),
                  two_rows().to(torch::kHalf).sum(), two_rows().sum(torch::kDouble),
                  matrix().to(torch::kInt).sum(0, false, torch::kInt), two_rows().sum(0, false, torch::kLong),
                  matrix().sum(torch::kFloat), two_rows().to(torch::kHalf).sum(torch::kFloat));
       }},
      {"sums_of_nothing",
       [](std::ostream& out) {
         show_all(out, torch::zeros({0}).sum(), torch::zeros({2, 0}).sum(1), torch::zeros({2, 0}).sum(0),
                  torch::tensor(3).sum(), torch::tensor(3).sum(0), torch::zeros({0}, torch::kLong).sum());
       }},
      {"errors_of_sum",
       [](std::ostream& out) {
         attempt(out, [] { two_rows().sum(2); });
         attempt(out, [] { two_rows().sum(torch::IntArrayRef{0, 0}); });
         attempt(out, [] { two_rows().sum(torch::IntArrayRef{0, -2}); });
         attempt(out, [] { torch::tensor(1.0).sum(1); });
       }},
      {"mean",
       [](std::ostream& out) {
         show_all(out, two_rows().mean(), two_rows().mean(0), two_rows().mean(torch::IntArrayRef{0, 1}, true),
                  matrix().mean(torch::kFloat), matrix().mean(1, false, torch::kDouble),
                  two_rows().to(torch::kHalf).mean(), torch::zeros({0}).mean(),
                  torch::mean(cube(), torch::IntArrayRef{1, 2}));
         attempt(out, [] { matrix().mean(); });
         attempt(out, [] { two_rows().mean(0, false, torch::kLong); });
         attempt(out, [] { above_two().mean(); });
       }},
      {"prod",
       [](std::ostream& out) {
         show_all(out, two_rows().prod(), two_rows().prod(1), matrix().prod(0, true), above_two().prod(),
                  torch::zeros({0}).prod(), matrix().to(torch::kInt).prod(torch::kFloat), torch::prod(two_rows(), 0));
         attempt(out, [] { two_rows().prod(2); });
       }},
      {"sum_of_many_is_accurate",
       [](std::ostream& out) {
         show_all(out, torch::full({4097}, 0.1).to(torch::kDouble).sum(), torch::ones({3000}, torch::kBFloat16).sum(),
                  torch::full({1000}, 16.0, torch::kBFloat16).mean());
       }},
      {"max_and_min_of_all",
       [](std::ostream& out) {
         show_all(out, two_rows().max(), two_rows().min(), matrix().max(), above_two().max(), with_nan().max(),
                  with_nan().min(), torch::max(matrix()), torch::tensor(4).max());
         attempt(out, [] { torch::zeros({0}).max(); });
       }},
      {"max_and_min_along_a_dimension",
       [](std::ostream& out) {
         show_pair(out, two_rows().max(0));
         show_pair(out, two_rows().min(1));
         show_pair(out, matrix().max(1, true));
         show_pair(out, with_nan().max(0));
         show_pair(out, above_two().max(1));
         show_pair(out, torch::tensor({2, 5, 5, 1}).max(0));
         show_pair(out, torch::tensor(5).min(0));
         show_pair(out, torch::zeros({2, 0}).max(0));
         attempt(out, [] { torch::zeros({2, 0}).max(1); });
         attempt(out, [] { two_rows().max(2); });
         show_pair(out, torch::min(cube(), 1));
       }},
      {"amax_and_amin",
       [](std::ostream& out) {
         show_all(out, two_rows().amax(), two_rows().amin(0), cube().amax(torch::IntArrayRef{0, 2}),
                  cube().amin(torch::IntArrayRef{1}, true), with_nan().amax(), torch::amax(matrix(), 1),
                  above_two().amin(0));
         attempt(out, [] { torch::zeros({0}).amax(); });
         attempt(out, [] { torch::zeros({2, 0}).amin(1); });
         attempt(out, [] { cube().amax(torch::IntArrayRef{0, 0}); });
       }},
      {"argmax_and_argmin",
       [](std::ostream& out) {
         show_all(out, two_rows().argmax(), two_rows().argmin(), two_rows().argmax(0), two_rows().argmin(1, true),
                  matrix().argmax(), with_nan().argmin(), torch::tensor({1, 3, 3}).argmax(), torch::argmax(cube(), 2),
                  torch::tensor(5).argmax(), torch::zeros({2, 0}).argmax(0));
         attempt(out, [] { above_two().argmax(); });
         attempt(out, [] { torch::zeros({0}).argmax(); });
         attempt(out, [] { torch::zeros({2, 0}).argmin(1); });
         attempt(out, [] { two_rows().argmax(4); });
       }},
      {"argmax_of_transposes",
       [](std::ostream& out) {
         show_all(out, two_rows().t().argmax(), two_rows().t().argmax(0), cube().permute({2, 0, 1}).argmin(1));
       }},
      {"topk",
       [](std::ostream& out) {
         const auto show_both = [&out](const std::tuple<torch::Tensor, torch::Tensor>& best) {
           show_all(out, std::get<0>(best), std::get<1>(best));
         };
         show_both(torch::topk(two_rows(), 2));
         show_both(two_rows().topk(1, 0));
         show_both(two_rows().topk(2, -1, false));
         show_both(torch::tensor({4, 1, 3, 2}).topk(3));
         show_both(two_rows().t().topk(2, 0));
         show_both(torch::tensor(5).topk(1));
         show_both(torch::zeros({2, 3}).topk(0));
         attempt(out, [] { two_rows().topk(9); });
         attempt(out, [] { two_rows().topk(-1); });
         attempt(out, [] { two_rows().topk(1, 4); });
         attempt(out, [] { above_two().topk(1); });
       }},
      {"sort",
       [](std::ostream& out) {
         const auto show_both = [&out](const std::tuple<torch::Tensor, torch::Tensor>& sorted) {
           show_all(out, std::get<0>(sorted), std::get<1>(sorted));
         };
         const auto equals = torch::tensor({2, 1, 2, 0, 1, 1, 0, 2}).view({2, 4});
         show_both(two_rows().sort());
         show_both(two_rows().sort(0, true));
         show_both(torch::sort(two_rows().t(), 0));
         show_both(torch::sort(equals, true, 1, true));
         show_both(torch::sort(equals.to(torch::kByte), true, 0, false));
         show_both(torch::sort(torch::tensor({-0.0F, 0.0F, std::nanf(""), -1.0F, 0.0F, -0.0F}), true, 0, false));
         show_both(torch::sort(torch::tensor({-0.0F, 0.0F, std::nanf(""), -1.0F, 0.0F, -0.0F}), true, 0, true));
         show_both(torch::sort(above_two(), true, 1, false));
         show_both(torch::tensor(5).sort());
         show_both(torch::zeros({2, 0}).sort());
         show_all(out, two_rows().argsort(), torch::argsort(two_rows(), 0, true), torch::msort(two_rows()));
         attempt(out, [] { two_rows().sort(2); });
       }},
      {"counts_and_moments",
       [](std::ostream& out) {
         show_all(out, torch::bincount(torch::tensor({3, 1, 1, 0})), torch::bincount(torch::tensor({3, 1}), {}, 6),
                  torch::bincount(torch::tensor({2, 0, 2}), torch::tensor({0.5F, 1.0F, 2.0F})),
                  torch::bincount(torch::tensor({2, 0}), torch::tensor({1.0, 2.0}).to(torch::kDouble), 1),
                  torch::bincount(torch::zeros({0}, torch::kLong)),
                  torch::bincount(torch::zeros({0}, torch::kLong), {}, 2),
                  torch::bincount(torch::tensor({1, 2}).to(torch::kByte)));
         show_all(out, torch::count_nonzero(matrix()), torch::count_nonzero(matrix(), torch::IntArrayRef{0}),
                  torch::count_nonzero(cube(), torch::IntArrayRef{0, 2}), torch::count_nonzero(above_two()));
         const auto both = [&out](const std::tuple<torch::Tensor, torch::Tensor>& pair) {
           show_all(out, std::get<0>(pair), std::get<1>(pair));
         };
         both(torch::var_mean(two_rows()));
         both(torch::var_mean(two_rows(), torch::IntArrayRef{1}, false));
         both(torch::std_mean(two_rows(), torch::IntArrayRef{0}, true, true));
         both(torch::std_mean(two_rows(), 1));
         both(torch::var_mean(two_rows(), 0));
         show_all(out, torch::diff(two_rows()), torch::diff(two_rows(), 2), torch::diff(matrix(), 1, 0),
                  torch::diff(above_two()), torch::diff(two_rows(), 0), torch::diff(two_rows(), 9));
         attempt(out, [] { torch::bincount(torch::tensor({-1, 2})); });
         attempt(out, [] { torch::bincount(matrix().to(torch::kLong)); });
         attempt(out, [] { torch::bincount(torch::tensor({1.5F})); });
         attempt(out, [] { torch::bincount(torch::tensor({1, 2}), torch::tensor({1.0F})); });
         attempt(out, [] { torch::diff(torch::tensor(1)); });
       }},
      {"std_and_var",
       [](std::ostream& out) {
         show_all(out, two_rows().std(), two_rows().var(), two_rows().std(false), two_rows().var(false),
                  two_rows().std(torch::IntArrayRef{0}), two_rows().var(torch::IntArrayRef{1}, false),
                  two_rows().std(torch::IntArrayRef{0, 1}, true, true), torch::ones({1}).std(), torch::zeros({0}).var(),
                  torch::var(cube(), torch::IntArrayRef{2}), torch::std(cube()));
         // One dimension, which is no bool.
         show_all(out, two_rows().var(0), two_rows().var(1), two_rows().std(-1), two_rows().std(-2),
                  torch::std(cube(), 2), torch::var(cube(), 0), torch::ones({1}).var(0));
         attempt(out, [] { matrix().std(); });
         attempt(out, [] { two_rows().var(torch::IntArrayRef{3}); });
       }},
      {"norm",
       [](std::ostream& out) {
         show_all(out, two_rows().norm(), two_rows().norm(1), two_rows().norm(3), two_rows().norm(0),
                  two_rows().norm(1.0 / 0.0), two_rows().norm(-1.0 / 0.0), two_rows().norm(2, 1),
                  two_rows().norm(2, torch::IntArrayRef{0, 1}, true), torch::norm(cube(), 2, 0));
         attempt(out, [] { matrix().norm(); });
       }},
      {"logsumexp",
       [](std::ostream& out) {
         show_all(out, two_rows().logsumexp(1), two_rows().logsumexp(torch::IntArrayRef{0, 1}),
                  two_rows().logsumexp(0, true), torch::full({2}, -1.0 / 0.0).logsumexp(0),
                  torch::full({2}, 1.0 / 0.0).logsumexp(0), torch::full({2}, 1000.0).logsumexp(0),
                  matrix().logsumexp(1));
       }},
      {"all_and_any",
       [](std::ostream& out) {
         show_all(out, above_two().all(), above_two().any(), above_two().all(0), above_two().any(1, true),
                  matrix().all(), two_rows().any(0), torch::zeros({0}).all(), torch::zeros({0}).any(),
                  torch::zeros({2, 0}).all(1), torch::all(above_two(), 1), torch::any(torch::zeros({2, 2}), 0),
                  above_two().to(torch::kByte).all(), above_two().to(torch::kByte).any(1), with_nan().all());
         attempt(out, [] { above_two().all(2); });
       }},
      {"cumsum",
       [](std::ostream& out) {
         show_all(out, matrix().cumsum(0), two_rows().cumsum(1), above_two().cumsum(0),
                  matrix().to(torch::kInt).cumsum(1), two_rows().cumsum(-1, torch::kDouble), torch::tensor(3).cumsum(0),
                  matrix().t().cumsum(0), torch::zeros({0}).cumsum(0));
         attempt(out, [] { matrix().cumsum(2); });
       }},
      {"softmax",
       [](std::ostream& out) {
         show_all(out, two_rows().softmax(0), two_rows().softmax(-1), torch::softmax(cube(), 1),
                  matrix().softmax(1, torch::kFloat), torch::tensor(2.0).softmax(0),
                  torch::full({2}, 1000.0).softmax(0), two_rows().t().softmax(0),
                  two_rows().to(torch::kDouble).softmax(1),
                  torch::nn::functional::softmax(two_rows(), torch::nn::functional::SoftmaxFuncOptions(1)),
                  torch::tensor({0.0f, -1.0f / 0.0f}).softmax(0));
         attempt(out, [] { matrix().softmax(0); });
         attempt(out, [] { two_rows().softmax(2); });
       }},
      {"log_softmax",
       [](std::ostream& out) {
         show_all(
             out, rounded(two_rows().log_softmax(0)), rounded(two_rows().log_softmax(1)),
             rounded(torch::log_softmax(cube(), 2)),
             rounded(torch::nn::functional::log_softmax(two_rows(), torch::nn::functional::LogSoftmaxFuncOptions(0))),
             two_rows().log_softmax(0, torch::kDouble));
       }},
      {"layer_norm",
       [](std::ostream& out) {
         show_all(
             out, torch::layer_norm(two_rows(), {3}).mul(1000).round() + 0.0,
             rounded(torch::layer_norm(cube(), {3, 4})),
             torch::layer_norm(two_rows(), {3}, torch::tensor({1.0, 2.0, 3.0}), torch::ones({3})),
             torch::layer_norm(two_rows(), {3}, torch::tensor({1.0, 2.0, 3.0})),
             torch::layer_norm(two_rows(), {3}, {}, {}, 0.5),
             torch::nn::functional::layer_norm(
                 two_rows(),
                 torch::nn::functional::LayerNormFuncOptions({3}).weight(torch::tensor({1.0, 2.0, 3.0})).eps(0.1)));
       }},
      {"layer_norm_errors",
       [](std::ostream& out) {
         attempt(out, [] { torch::layer_norm(two_rows(), {2}); });
         attempt(out, [] { torch::layer_norm(matrix(), {3}); });
         attempt(out, [] { torch::layer_norm(two_rows(), {3}, torch::ones({2})); });
         attempt(out, [] { torch::layer_norm(two_rows(), torch::IntArrayRef{}); });
         attempt(out, [] { torch::layer_norm(two_rows(), {1, 2, 3}); });
       }},
      {"matmul_of_matrices",
       [](std::ostream& out) {
         const auto a = matrix(), f = two_rows();
         show_all(out, f.matmul(f.t()), a.matmul(a.t()), f.mm(f.t()), torch::mm(f.t(), f),
                  a.to(torch::kInt).mm(a.to(torch::kInt).t()),
                  torch::matmul(f.to(torch::kDouble), f.to(torch::kDouble).t()),
                  f.to(torch::kBFloat16).mm(f.t().to(torch::kBFloat16)));
       }},
      {"matmul_with_vectors",
       [](std::ostream& out) {
         const auto f = two_rows();
         show_all(out, f.matmul(torch::arange(3, torch::kFloat)), torch::ones({2}).matmul(f),
                  torch::ones({3}).matmul(torch::arange(3, torch::kFloat)), f.mv(torch::ones({3})),
                  torch::dot(torch::arange(3), torch::arange(3)), cube().matmul(torch::ones({4})),
                  torch::ones({3}).matmul(cube()), torch::outer(torch::arange(3), torch::arange(2)),
                  torch::arange(2).outer(torch::ones({2})));
       }},
      {"batched_matmul",
       [](std::ostream& out) {
         const auto x = cube();
         show_all(out, x.bmm(x.transpose(1, 2)), x.matmul(torch::ones({4, 2})), torch::ones({2, 3}).matmul(x),
                  x.matmul(x.mT()), torch::matmul(x.unsqueeze(1), torch::ones({1, 2, 4, 1})),
                  x.slice(0, 0, 1).matmul(torch::ones({5, 4, 1})),
                  torch::bmm(torch::ones({0, 2, 3}), torch::ones({0, 3, 2})));
       }},
      {"matmul_errors",
       [](std::ostream& out) {
         const auto f = two_rows(), a = matrix();
         attempt(out, [&] { f.mm(f); });
         attempt(out, [&] { f.matmul(f); });
         attempt(out, [&] { f.mm(a.t()); });
         attempt(out, [&] { f.mm(torch::ones({3})); });
         attempt(out, [&] { f.matmul(torch::tensor(1.0)); });
         attempt(out, [&] { f.mv(torch::ones({2})); });
         attempt(out, [&] { torch::ones({2}).dot(torch::ones({3})); });
         attempt(out, [&] { torch::ones({2}).dot(f); });
         attempt(out, [&] { above_two().mm(above_two().t()); });
         attempt(out, [&] { torch::ones({2, 2, 3}).bmm(torch::ones({1, 3, 2})); });
         attempt(out, [&] { torch::ones({2, 2, 3}).bmm(torch::ones({2, 2, 3})); });
         attempt(out, [&] { torch::ones({2, 2, 3}).matmul(torch::ones({3, 3, 2})); });
         attempt(out, [&] { torch::outer(f, f); });
       }},
      {"matmul_of_nothing",
       [](std::ostream& out) {
         show_all(out, torch::ones({2, 0}).mm(torch::ones({0, 3})), torch::ones({0, 2}).mm(torch::ones({2, 3})),
                  torch::ones({2, 0, 3}).matmul(torch::ones({3})), torch::ones({0}).dot(torch::ones({0})),
                  torch::ones({2, 3}).mm(torch::ones({3, 0})));
       }},
      {"addmm",
       [](std::ostream& out) {
         const auto f = two_rows();
         show_all(out, torch::addmm(torch::ones({2, 2}), f, f.t()),
                  torch::addmm(torch::tensor({1.0, 2.0}), f, f.t(), 2, 0.5), torch::ones({2, 1}).addmm(f, f.t(), 3),
                  torch::addmm(torch::full({2, 2}, 0.0 / 0.0), f, f.t(), 0),
                  torch::addmm(torch::ones({2, 2}, torch::kLong), matrix(), matrix().t(), 2, 3));
         attempt(out, [&] { f.addmm(f, f); });
         attempt(out, [&] { torch::ones({3}).addmm(f, f.t()); });
         attempt(out, [&] { torch::ones({2, 2}, torch::kLong).addmm(f, f.t()); });
       }},
      {"linear",
       [](std::ostream& out) {
         const auto f = two_rows(), w = torch::arange(12, torch::kFloat).view({4, 3});
         show_all(out, torch::linear(f, w), torch::linear(f, w, torch::ones({4})), torch::nn::functional::linear(f, w),
                  torch::nn::functional::linear(cube().slice(2, 0, 3), w, torch::arange(4, torch::kFloat)),
                  torch::linear(torch::ones({3}), w), torch::linear(f, torch::ones({3})));
         attempt(out, [&] { torch::linear(f, torch::ones({4, 2})); });
         attempt(out, [&] { torch::linear(f, w, torch::ones({3})); });
         attempt(out, [&] { torch::linear(matrix(), w); });
       }},
      {"a_layer_by_hand",
       [](std::ostream& out) {
         const auto x = cube() / 10, w = torch::eye(4) * 0.5;
         const auto h = torch::relu(torch::matmul(x, w) + torch::tensor({0.1, -0.2, 0.3, -0.4}));
         const auto y = torch::layer_norm(h + x, {4});
         show_all(out, h, y.sum(torch::IntArrayRef{0, 1}).mul(100).round() + 0.0, torch::softmax(y, -1).sum(-1));
       }},
      {"attention_by_hand",
       [](std::ostream& out) {
         const auto q = cube() / 24;
         const auto scores = q.matmul(q.transpose(-2, -1)) / 2.0;
         const auto mask = torch::ones({3, 3}, torch::kBool).triu(1);
         show(out, scores.masked_fill(mask, -1.0 / 0.0).softmax(-1).matmul(q));
       }},
      {"statistics_by_hand",
       [](std::ostream& out) {
         const auto x = two_rows();
         const auto mean = x.mean(1, true);
         const auto centred = x - mean;
         show_all(out, centred, (centred * centred).sum(1) / 2, x.var(torch::IntArrayRef{1}), (x > mean).sum(),
                  x.max().item<float>() * torch::ones({1}));
       }},
  };
}

}  // namespace oracle
