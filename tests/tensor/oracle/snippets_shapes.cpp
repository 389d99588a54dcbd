// Views, indices, joining and taking apart.
#include "snippets.h"

namespace oracle {

namespace {

torch::Tensor long_cube() {
  return torch::arange(24).view({2, 3, 4});
}

void show_list(std::ostream& out, const std::vector<torch::Tensor>& tensors) {
  out << tensors.size() << ":\n";
  for (const auto& tensor : tensors) show(out, tensor);
}

using torch::indexing::Ellipsis;
using torch::indexing::None;
using torch::indexing::Slice;

}  // namespace

std::vector<Snippet> shape_snippets() {
  return {
      {"view_as_and_expand_as",
       [](std::ostream& out) {
         show_all(out, torch::arange(6).view_as(matrix()), torch::arange(3).expand_as(matrix()));
         attempt(out, [] { torch::arange(4).expand_as(matrix()); });
       }},
      {"reshape",
       [](std::ostream& out) {
         show_all(out, matrix().t().reshape({6}), matrix().reshape({3, -1}), matrix().t().reshape({3, 2, 1}),
                  torch::reshape(long_cube(), {-1, 4}));
         const auto x = matrix();
         out << x.reshape({6}).is_alias_of(x) << x.t().reshape({6}).is_alias_of(x) << '\n';
         attempt(out, [] { matrix().reshape({4}); });
       }},
      {"views_of_views",
       [](std::ostream& out) {
         show_all(out, long_cube().transpose(0, 1).view({3, 2, 2, 2}), long_cube().slice(2, 0, 2).view({6, 2}),
                  long_cube().permute({1, 0, 2}).view({3, 8 / 4, 4}));
         attempt(out, [] { long_cube().transpose(0, 2).view({24}); });
         attempt(out, [] { long_cube().slice(2, 0, 2).view({12}); });
       }},
      {"unflatten",
       [](std::ostream& out) {
         show_all(out, matrix().unflatten(1, {3, 1}), long_cube().unflatten(-1, {2, -1}),
                  torch::arange(6).unflatten(0, {2, 3}));
         attempt(out, [] { matrix().unflatten(1, {2, 2}); });
         attempt(out, [] { matrix().unflatten(5, {3}); });
       }},
      {"repeat_and_tile",
       [](std::ostream& out) {
         show_all(out, matrix().repeat({2, 3}), matrix().repeat({2, 1, 2}), matrix().t().repeat({1, 2}),
                  torch::arange(3).repeat({4}), torch::arange(3).repeat({2, 2}), matrix().repeat({0, 2}),
                  torch::tensor(7).repeat({3}), torch::tensor(7).repeat({}), torch::ones({2, 1, 3}).repeat({1, 4, 1}));
         show_all(out, matrix().tile({2}), matrix().tile({3, 1, 2}), torch::tile(torch::arange(2), {2, 3}));
         const auto x = matrix();
         out << x.repeat({1, 1}).is_alias_of(x) << '\n';
         attempt(out, [] { matrix().repeat({2}); });
         attempt(out, [] { matrix().repeat({2, -1}); });
       }},
      {"repeat_interleave",
       [](std::ostream& out) {
         show_all(out, matrix().repeat_interleave(2), matrix().repeat_interleave(2, 0),
                  matrix().repeat_interleave(3, 1), torch::repeat_interleave(matrix().t(), 2, -1),
                  matrix().repeat_interleave(0, 1), matrix().repeat_interleave(1, 0),
                  torch::tensor(5).repeat_interleave(3));
         attempt(out, [] { matrix().repeat_interleave(-1, 0); });
         attempt(out, [] { matrix().repeat_interleave(2, 2); });
       }},
      {"flip",
       [](std::ostream& out) {
         show_all(out, matrix().flip({0}), matrix().flip({1}), matrix().flip({0, 1}), matrix().flip({-1}),
                  matrix().t().flip({0}).contiguous(), long_cube().flip({2, 0}), torch::flip(torch::arange(5), {0}),
                  matrix().flip({}), torch::zeros({0, 2}).flip({0}));
         const auto x = matrix();
         out << x.flip({}).is_alias_of(x) << torch::ones({1, 1}).flip({0}).is_alias_of(x) << '\n';
         attempt(out, [] { matrix().flip({0, 0}); });
         attempt(out, [] { matrix().flip({2}); });
       }},
      {"roll",
       [](std::ostream& out) {
         show_all(out, matrix().roll(1), matrix().roll(-2), matrix().roll(1, 0), matrix().roll(4, 1),
                  matrix().roll({1, -1}, {0, 1}), torch::roll(torch::arange(5), 2), matrix().roll({1, 1}, {1, 1}),
                  torch::zeros({0, 2}).roll(1, 0));
         attempt(out, [] { matrix().roll({1, 2}, {0}); });
         attempt(out, [] { matrix().roll({1, 2}); });
         attempt(out, [] { matrix().roll(1, 3); });
       }},
      {"constant_pad_nd",
       [](std::ostream& out) {
         namespace F = torch::nn::functional;
         show_all(out, torch::constant_pad_nd(matrix(), {1, 2}), torch::constant_pad_nd(matrix(), {0, 1, 2, 0}, 9),
                  torch::constant_pad_nd(matrix(), {-1, 1}, 5), torch::constant_pad_nd(matrix(), {-1, 0, 0, -1}),
                  torch::constant_pad_nd(long_cube(), {1, 0, -1, -1, 0, 1}, 3), torch::constant_pad_nd(matrix(), {}),
                  torch::constant_pad_nd(matrix(), {-2, -1}).reshape({0}),
                  torch::constant_pad_nd(matrix(), {-3, 2}, 4));
         show_all(out, F::pad(matrix(), F::PadFuncOptions({1, 1}).value(2)),
                  F::pad(matrix().to(torch::kFloat), F::PadFuncOptions({0, 1})));
         attempt(out, [] { torch::constant_pad_nd(matrix(), {1}); });
         attempt(out, [] { torch::constant_pad_nd(matrix(), {1, 1, 1, 1, 1, 1}); });
         attempt(out, [] { torch::constant_pad_nd(matrix(), {-2, -2}); });
       }},
      {"one_hot",
       [](std::ostream& out) {
         namespace F = torch::nn::functional;
         show_all(out, torch::one_hot(torch::arange(4), 4), torch::one_hot(matrix() % 3),
                  torch::one_hot(torch::tensor(2), 5), F::one_hot(torch::arange(2), 3),
                  torch::one_hot(torch::zeros({0}, torch::kLong), 3));
         attempt(out, [] { torch::one_hot(torch::arange(4), 3); });
         attempt(out, [] { torch::one_hot(torch::arange(4) - 1, 3); });
         attempt(out, [] { torch::one_hot(torch::ones({2}), 3); });
         attempt(out, [] { torch::one_hot(torch::zeros({0}, torch::kLong)); });
         attempt(out, [] { torch::one_hot(torch::arange(2), 0); });
       }},
      {"linspace",
       [](std::ostream& out) {
         show_all(out, torch::linspace(0, 1, 5), torch::linspace(-3, 3, 7), torch::linspace(2, -1, 4),
                  torch::linspace(1, 5, 1), torch::linspace(0, 1, 0), torch::linspace(0, 10, 6, torch::kLong),
                  torch::linspace(0, 1, 11, torch::kDouble), torch::linspace(5, 5, 3));
         attempt(out, [] { torch::linspace(0, 1, -1); });
       }},
      {"einsum",
       [](std::ostream& out) {
         const auto a = torch::arange(24).view({2, 3, 4}).to(torch::kFloat);
         const auto b = torch::arange(40).view({2, 4, 5}).to(torch::kFloat) - 7;
         const auto m = torch::arange(12).view({3, 4}).to(torch::kFloat), v = torch::arange(4).to(torch::kFloat);
         const auto square = torch::arange(9).view({3, 3}).to(torch::kFloat);
         const auto of = [&](const std::string& equation, const std::vector<torch::Tensor>& tensors) {
           show(out, torch::einsum(equation, tensors).contiguous());
         };
         of("bij,bjk->bik", {a, b});
         of("bij, bjk -> bki", {a, b});
         of("bij,bjk", {a, b});
         of("ij,j->i", {m, v});
         of("ij,j", {m, v});
         of("ij->ji", {m});
         of("ba", {m});
         of("ij->", {m});
         of("ij->j", {m});
         of("ii->i", {square});
         of("ii", {square});
         of("ij,kj->ik", {m, m});
         of("i,j->ij", {v, v});
         of("i,i->", {v, v});
         of("bij,bjk,k->bi", {a, b, torch::arange(5).to(torch::kFloat)});
         of("...ij,...jk->...ik", {a, b});
         of("...j,j->...", {a, v});
         of("...ij->...ji", {a});
         of("bij,ij->b", {a, m});
         of("bhqd,bhkd->bhqk", {torch::arange(24).view({1, 2, 3, 4}).to(torch::kFloat),
                                torch::arange(40).view({1, 2, 5, 4}).to(torch::kFloat)});
         of("ij,ij->ij", {m, m});
         of("ij,jk->ik", {torch::zeros({0, 3}), torch::zeros({3, 2})});
         of("ij,jk->ik", {torch::zeros({2, 0}), torch::zeros({0, 2})});
         of("...i,...i->...", {m, m.slice(0, 0, 1)});
         attempt(out, [&] { torch::einsum("ij,jk->ik", {m}); });
         attempt(out, [&] { torch::einsum("ij->ik", {m}); });
         attempt(out, [&] { torch::einsum("ijk->i", {m}); });
         attempt(out, [&] { torch::einsum("ij->ii", {m}); });
         attempt(out, [&] { torch::einsum("i.j->i", {m}); });
         attempt(out, [&] { torch::einsum("ij,ij->i", {m, a[0].t().contiguous()}); });
         attempt(out, [&] { torch::einsum("ii->i", {m}); });
       }},
      {"movedim",
       [](std::ostream& out) {
         show_all(out, long_cube().movedim(0, 2), long_cube().movedim(-1, 0), long_cube().movedim({0, 1}, {2, 0}),
                  torch::movedim(long_cube(), 1, 1));
         attempt(out, [] { long_cube().movedim({0, 1}, {2}); });
         attempt(out, [] { long_cube().movedim({0, 0}, {1, 2}); });
         attempt(out, [] { long_cube().movedim(3, 0); });
       }},
      {"matrix_transposes",
       [](std::ostream& out) {
         show_all(out, long_cube().mT(), matrix().mT());
         attempt(out, [] { torch::arange(3).mT(); });
       }},
      {"diagonal",
       [](std::ostream& out) {
         show_all(out, matrix().diagonal(), matrix().diagonal(1), matrix().diagonal(-1), matrix().diagonal(9),
                  long_cube().diagonal(0, 1, 2), long_cube().diagonal(1, 2, 0), torch::diagonal(matrix()));
         auto x = torch::zeros({3, 3});
         x.diagonal().fill_(2);
         show(out, x);
         attempt(out, [] { matrix().diagonal(0, 1, 1); });
         attempt(out, [] { torch::arange(3).diagonal(); });
       }},
      {"unbind",
       [](std::ostream& out) {
         show_list(out, matrix().unbind());
         show_list(out, matrix().unbind(1));
         auto x = torch::zeros({2, 2});
         x.unbind(1)[1].fill_(4);
         show(out, x);
         attempt(out, [] { torch::tensor(1).unbind(); });
       }},
      {"chunk_of_every_small_size",
       [](std::ostream& out) {
         for (std::int64_t size = 0; size <= 40; ++size) {
           for (std::int64_t parts = 1; parts <= 12; ++parts) {
             out << size << " in " << parts << ':';
             for (const auto& piece : torch::zeros({size}).chunk(parts)) out << ' ' << piece.size(0);
             out << '\n';
           }
         }
       }},
      {"chunk",
       [](std::ostream& out) {
         show_list(out, torch::arange(7).chunk(3));
         show_list(out, matrix().chunk(2, 1));
         show_list(out, torch::arange(4).chunk(5));
         show_list(out, torch::arange(5).chunk(4));
         attempt(out, [] { matrix().chunk(0); });
         attempt(out, [] { torch::tensor(1).chunk(1); });
         show_list(out, torch::zeros({0}).chunk(2));
       }},
      {"split",
       [](std::ostream& out) {
         show_list(out, torch::arange(7).split(3));
         show_list(out, matrix().split(2, 1));
         show_list(out, torch::split(long_cube(), 1, 0));
         show_list(out, torch::zeros({0}).split(0));
         attempt(out, [] { matrix().split(0); });
         attempt(out, [] { matrix().split(-1); });
         attempt(out, [] { torch::tensor(1).split(1); });
       }},
      {"split_with_sizes",
       [](std::ostream& out) {
         show_list(out, torch::arange(6).split_with_sizes({1, 0, 5}));
         show_list(out, matrix().split_with_sizes({1, 2}, -1));
         attempt(out, [] { matrix().split_with_sizes({1, 1}, 1); });
         attempt(out, [] { matrix().split_with_sizes({4, -1}, 1); });
         auto x = torch::zeros({4});
         x.split_with_sizes({1, 3})[1].fill_(2);
         show(out, x);
       }},
      {"unsqueeze_strides",
       [](std::ostream& out) {
         out << long_cube().unsqueeze(0).strides() << long_cube().unsqueeze(1).strides()
             << long_cube().unsqueeze(3).strides() << matrix().t().unsqueeze(1).strides()
             << torch::tensor(1).unsqueeze(0).strides() << '\n';
       }},
      {"free_functions_of_views",
       [](std::ostream& out) {
         show_all(out, torch::transpose(matrix(), 0, 1), torch::permute(long_cube(), {2, 1, 0}),
                  torch::narrow(matrix(), 1, 0, 2), torch::select(matrix(), 0, 1), torch::unsqueeze(matrix(), 0),
                  torch::squeeze(matrix().view({1, 6})), torch::squeeze(matrix().view({1, 6}), 0),
                  torch::flatten(long_cube(), 1), torch::t(matrix()), torch::clone(matrix().t()));
       }},
      {"cat",
       [](std::ostream& out) {
         show_all(out, torch::cat({matrix(), matrix()}), torch::cat({matrix(), matrix() * 2}, 1),
                  torch::cat({matrix(), matrix()}, -1), torch::cat({matrix().t(), matrix().t()}),
                  torch::cat({torch::arange(2), torch::arange(3)}));
       }},
      {"cat_promotes",
       [](std::ostream& out) {
         show_all(out, torch::cat({matrix(), matrix().to(torch::kFloat)}),
                  torch::cat({torch::ones({2}, torch::kBool), torch::arange(2)}),
                  torch::cat({torch::ones({1}, torch::kHalf), torch::ones({1}, torch::kBFloat16)}));
       }},
      {"cat_of_nothing",
       [](std::ostream& out) {
         show_all(out, torch::cat({matrix(), torch::zeros({0})}), torch::cat({torch::zeros({0, 3}), matrix()}),
                  torch::cat({torch::zeros({0}), torch::zeros({0})}), torch::cat(std::vector<torch::Tensor>{matrix()}));
       }},
      {"cat_errors",
       [](std::ostream& out) {
         attempt(out, [] { torch::cat({matrix(), torch::ones({3})}); });
         attempt(out, [] { torch::cat({matrix(), matrix().slice(1, 0, 2)}); });
         attempt(out, [] { torch::cat({matrix(), matrix()}, 2); });
         attempt(out, [] { torch::cat({torch::tensor(1), torch::tensor(2)}); });
         attempt(out, [] { torch::cat(std::vector<torch::Tensor>{}); });
       }},
      {"stack",
       [](std::ostream& out) {
         show_all(out, torch::stack({matrix(), matrix() + 1}), torch::stack({matrix(), matrix()}, 1),
                  torch::stack({matrix(), matrix()}, -1), torch::stack({torch::tensor(1), torch::tensor(2)}),
                  torch::stack({torch::arange(2), torch::ones({2})}));
         attempt(out, [] { torch::stack({matrix(), matrix()[0]}); });
         attempt(out, [] { torch::stack(std::vector<torch::Tensor>{}); });
         attempt(out, [] { torch::stack({matrix()}, 3); });
       }},
      {"hstack_and_vstack",
       [](std::ostream& out) {
         show_all(out, torch::hstack({matrix(), matrix()}), torch::hstack({torch::arange(2), torch::arange(3)}),
                  torch::hstack({torch::tensor(1), torch::arange(2)}), torch::vstack({matrix(), matrix()[0]}),
                  torch::vstack({torch::tensor(1), torch::tensor(2)}),
                  torch::vstack({torch::arange(3), torch::arange(3)}));
         attempt(out, [] { torch::vstack({matrix(), torch::arange(2)}); });
       }},
      {"index_with_slices",
       [](std::ostream& out) {
         show_all(out, matrix().index({0}), matrix().index({0, 2}), matrix().index({Slice(), 1}),
                  matrix().index({Slice(None, None, 2)}), matrix().index({Slice(), Slice(1, None)}),
                  matrix().index({Slice(-1), Slice(None, -1)}), long_cube().index({1, Slice(None, 2), Slice(1, 4, 2)}),
                  torch::arange(10).index({Slice(2, 100, 3)}), matrix().index({Slice(5, 9)}));
       }},
      {"index_with_ellipsis_and_none",
       [](std::ostream& out) {
         show_all(out, long_cube().index({"...", 0}), long_cube().index({Ellipsis, Slice(1, 3)}),
                  long_cube().index({0, "...", 1}), matrix().index({None}), matrix().index({"...", None}),
                  matrix().index({0, None, Slice(0, 2)}), torch::tensor(5).index({None}),
                  torch::tensor(5).index({"..."}), matrix().index({Slice(), None, 2}));
       }},
      {"index_gives_views",
       [](std::ostream& out) {
         auto x = torch::zeros({3, 3});
         x.index({Slice(), 1}).fill_(2);
         x.index({0, "..."}) += 1;
         show(out, x);
         out << x.index({Slice()}).is_alias_of(x) << x.index({torch::tensor({0})}).is_alias_of(x) << '\n';
       }},
      {"index_with_tensors",
       [](std::ostream& out) {
         const auto i = torch::tensor({0, 2}), j = torch::tensor({{0, 1}, {1, 0}});
         show_all(out, matrix().index({torch::tensor({1, 0, 1})}), matrix().index({Slice(), i}), matrix().index({j}),
                  matrix().index({Slice(), j}), long_cube().index({Slice(), i}),
                  long_cube().index({Slice(), Slice(), i}), matrix().index({torch::tensor({-1})}),
                  matrix().index({torch::tensor(1)}), matrix().index({torch::zeros({0}, torch::kLong)}));
       }},
      {"index_with_several_tensors",
       [](std::ostream& out) {
         const auto i = torch::tensor({0, 1}), j = torch::tensor({2, 0});
         show_all(out, matrix().index({i, j}), long_cube().index({i, j}), long_cube().index({Slice(), j, j}),
                  long_cube().index({i, Slice(), j}), long_cube().index({i.view({2, 1}), j}),
                  long_cube().index({0, Slice(), j}), long_cube().index({i, None, j}),
                  long_cube().index({torch::tensor({1}), "...", j}));
       }},
      {"index_with_masks",
       [](std::ostream& out) {
         const auto x = matrix();
         show_all(out, x.index({x > 2}), x.index({torch::tensor({true, false})}),
                  x.index({Slice(), torch::tensor({true, false, true})}), x.index({x > 9}),
                  long_cube().index({long_cube() > 20}), long_cube().index({torch::ones({2, 3}, torch::kBool)}),
                  x.index({true}), x.index({false}), x.index({torch::tensor({true, true}), 1}),
                  x.index({torch::tensor({true, false}), torch::tensor({0, 2})}));
       }},
      {"index_errors",
       [](std::ostream& out) {
         attempt(out, [] { matrix().index({2}); });
         attempt(out, [] { matrix().index({0, 0, 0}); });
         attempt(out, [] { matrix().index({torch::tensor({5})}); });
         attempt(out, [] { matrix().index({torch::tensor({true, false, true})}); });
         attempt(out, [] { matrix().index({torch::tensor({1.0})}); });
         attempt(out, [] { long_cube().index({torch::tensor({0, 1, 1}), torch::tensor({0, 1})}); });
         attempt(out, [] { matrix().index({".."}); });
         attempt(out, [] { torch::tensor(1).index({0}); });
         attempt(out, [] { matrix().index({Slice(None, None, -1)}); });
         attempt(out, [] { Slice(0, 1, 0); });
       }},
      {"index_put",
       [](std::ostream& out) {
         auto x = torch::zeros({3, 3});
         x.index_put_({0}, 1);
         x.index_put_({Slice(), 2}, torch::tensor({7.0, 8.0, 9.0}));
         x.index_put_({1, Slice(0, 2)}, 4.5);
         show(out, x);
         x.index_put_({torch::tensor({0, 2}), torch::tensor({1, 1})}, torch::tensor({5.0, 6.0}));
         x.index_put_({x > 6}, 0);
         x.index_put_({torch::tensor({2})}, torch::tensor({1.0, 2.0, 3.0}));
         show(out, x);
         x.index_put_({Slice(), torch::tensor({0, 1})}, torch::ones({3, 1}));
         show(out, x);
         attempt(out, [&] { x.index_put_({torch::tensor({5})}, 1); });
         attempt(out, [&] { x.index_put_({torch::tensor({0, 1})}, torch::tensor({1, 2, 3})); });
         attempt(out, [&] { x.index_put_({0}, torch::ones({4})); });
       }},
      {"index_select",
       [](std::ostream& out) {
         const auto i = torch::tensor({2, 0});
         show_all(out, matrix().index_select(1, i), matrix().index_select(-1, i.to(torch::kInt)),
                  long_cube().index_select(1, i), matrix().index_select(0, torch::tensor(1)),
                  matrix().index_select(0, torch::zeros({0}, torch::kLong)), matrix().t().index_select(0, i));
         attempt(out, [&] { matrix().index_select(0, i); });
         attempt(out, [&] { matrix().index_select(1, i.to(torch::kFloat)); });
         attempt(out, [&] { matrix().index_select(1, i.view({1, 2})); });
         attempt(out, [] { matrix().index_select(1, torch::tensor({-1})); });
       }},
      {"gather",
       [](std::ostream& out) {
         show_all(out, matrix().gather(1, torch::tensor({{0, 0}, {2, 1}})),
                  matrix().gather(0, torch::tensor({{0, 1, 0}})),
                  torch::gather(torch::arange(4), 0, torch::tensor({3, 3, 0})));
         attempt(out, [] { matrix().gather(1, torch::tensor({{0, 3}})); });
         attempt(out, [] { matrix().gather(1, torch::tensor({0})); });
         attempt(out, [] { matrix().gather(0, torch::tensor({{0, 1, 0, 1}})); });
         attempt(out, [] { matrix().gather(1, torch::tensor({{0.0}})); });
       }},
      {"take_along_dim",
       [](std::ostream& out) {
         const auto x = torch::arange(6).view({2, 3});
         show_all(out, torch::take_along_dim(x, torch::tensor({{0}, {2}}).to(torch::kLong), 1),
                  torch::take_along_dim(x, torch::tensor({{1, 0}}).to(torch::kLong), 1),
                  torch::take_along_dim(x, torch::tensor({5, 0, 2}).to(torch::kLong)),
                  torch::take_along_dim(x, torch::argsort(x, 1, true), 1));
         attempt(out, [&] { torch::take_along_dim(x, torch::tensor({1}).to(torch::kLong), 1); });
       }},
      {"index_add",
       [](std::ostream& out) {
         const auto x = torch::arange(6, torch::kFloat).view({2, 3}), source = torch::ones({4, 3}) * 2;
         const auto index = torch::tensor({1, 0, 1, 1}).to(torch::kLong);
         show_all(out, x.index_add(0, index, source), x.index_add(0, index, source, -0.5),
                  torch::index_add(x, 1, torch::tensor({2, 2}).to(torch::kInt), torch::ones({2, 2})),
                  matrix().index_add(-1, torch::tensor({0}).to(torch::kLong), torch::full({2, 1}, 7)),
                  torch::tensor(3.0F).index_add(0, torch::tensor({0}).to(torch::kLong), torch::tensor(2.0F)));
         const auto grown = torch::zeros({3, 2});
         grown.t().index_add_(0, torch::tensor({1, 1}).to(torch::kLong), torch::ones({2, 3}));
         show_all(out, grown);
         attempt(out, [&] { x.index_add(0, index, source.to(torch::kHalf)); });
         attempt(out, [&] { x.index_add(0, torch::tensor({0}).to(torch::kLong), source); });
         attempt(out, [&] { x.index_add(0, index.to(torch::kFloat), source); });
         attempt(out, [&] { x.index_add(0, index + 1, source); });
         attempt(out, [&] { x.index_add(2, index, source); });
       }},
      {"meshgrid",
       [](std::ostream& out) {
         const auto a = torch::arange(2), b = torch::arange(3) * 10, c = torch::tensor(7);
         for (const char* order : {"ij", "xy"}) {
           for (const auto& grid : torch::meshgrid({a, b}, order)) show_all(out, grid);
           for (const auto& grid : torch::meshgrid({a, b, c}, order)) show_all(out, grid);
           for (const auto& grid : torch::meshgrid({b}, order)) show_all(out, grid);
         }
         attempt(out, [&] { torch::meshgrid({a, b}, "ik"); });
         attempt(out, [&] { torch::meshgrid({a, matrix()}, "ij"); });
         attempt(out, [&] { torch::meshgrid({a, b.to(torch::kHalf)}, "ij"); });
       }},
      {"second_names",
       [](std::ostream& out) {
         show_all(out, matrix().clip(1, 3), torch::clip(matrix(), 2), matrix().swapaxes(0, 1),
                  torch::swapaxes(matrix(), -1, 0));
       }},
      {"embedding",
       [](std::ostream& out) {
         const auto table = torch::arange(12, torch::kFloat).view({4, 3}), ids = torch::tensor({2, 0, 2});
         namespace functional = torch::nn::functional;
         show_all(out, torch::embedding(table, ids), torch::embedding(table, ids.view({3, 1})),
                  torch::embedding(table, torch::tensor(1)), torch::embedding(table.to(torch::kHalf), ids),
                  functional::embedding(ids.to(torch::kInt), table),
                  functional::embedding(ids, table, functional::EmbeddingFuncOptions().padding_idx(2)),
                  torch::embedding_dense_backward(table.slice(0, 0, 3), ids, 5, -1, false),
                  torch::embedding_dense_backward(table.slice(0, 0, 3), ids, 5, 0, false));
         attempt(out, [&] { torch::embedding(table, torch::tensor({4})); });
         attempt(out, [&] { torch::embedding(table, torch::tensor({-1})); });
         attempt(out, [&] { torch::embedding(table, torch::tensor({0.5})); });
       }},
      {"masked_select",
       [](std::ostream& out) {
         show_all(out, matrix().masked_select(matrix() > 2), matrix().masked_select(torch::tensor({true, false, true})),
                  torch::masked_select(torch::arange(3), matrix() > 2));
         attempt(out, [] { matrix().masked_select(matrix()); });
       }},
      {"tril_and_triu",
       [](std::ostream& out) {
         show_all(out, matrix().tril(), matrix().triu(1), matrix().tril(-1), matrix().triu(-5), matrix().tril(9),
                  long_cube().tril(), matrix().t().triu(), torch::tril(torch::ones({2, 2}, torch::kBool)),
                  torch::triu(torch::ones({3, 3}), 1));
         attempt(out, [] { torch::arange(3).tril(); });
       }},
      {"to_another_tensor",
       [](std::ostream& out) {
         show_all(out, matrix().to(torch::ones({1}, torch::kHalf)), torch::ones({2}).type_as(matrix()));
       }},
      {"assigning_to_an_index",
       [](std::ostream& out) {
         auto x = torch::zeros({2, 3});
         x.index({Slice(), 0}) = torch::ones({2});
         x[1] = 3;
         x.select(1, 2) = torch::tensor({8.0, 9.0});
         show(out, x);
       }},
      {"transposed_copies",
       [](std::ostream& out) {
         auto x = torch::zeros({3, 2});
         x.copy_(matrix().t());
         show(out, x);
         show_all(out, matrix().t().contiguous(), long_cube().permute({2, 0, 1}).contiguous(),
                  long_cube().permute({2, 0, 1}).clone());
       }},
      {"zero_element_views",
       [](std::ostream& out) {
         show_all(out, torch::zeros({0, 3}).t(), torch::zeros({2, 0}).view({0}), torch::zeros({0, 3}).reshape({3, 0}),
                  torch::zeros({0, 2}).unsqueeze(1), torch::zeros({3, 0}).sum(1).view({3}),
                  torch::zeros({0, 3}).slice(1, 1));
       }},
  };
}

}  // namespace oracle
