// Making, viewing, copying, printing tensors.
#include "snippets.h"

namespace oracle {

std::vector<Snippet> tensor_snippets() {
  return {
      // Element types.
      {"tensor_of_ints_is_long", [](std::ostream& out) { show(out, torch::tensor({1, 2, 3})); }},
      {"tensor_of_doubles_is_float", [](std::ostream& out) { show(out, torch::tensor({1.0, 2.5})); }},
      {"tensor_of_floats", [](std::ostream& out) { show(out, torch::tensor({1.0f, 2.5f})); }},
      {"tensor_of_bools", [](std::ostream& out) { show(out, torch::tensor({true, false})); }},
      {"tensor_of_scalars",
       [](std::ostream& out) { show_all(out, torch::tensor(3), torch::tensor(2.5), torch::tensor(true)); }},
      {"tensor_of_half", [](std::ostream& out) { show(out, torch::tensor(torch::Half(1.5f))); }},
      {"tensor_of_vectors",
       [](std::ostream& out) {
         show_all(out, torch::tensor(std::vector<float>{1, 2}), torch::tensor(std::vector<double>{1, 2}),
                  torch::tensor(std::vector<int>{1, 2}), torch::tensor(std::vector<std::int64_t>{1, 2}),
                  torch::tensor(std::vector<float>{}));
       }},
      {"nested_lists",
       [](std::ostream& out) {
         show_all(out, torch::tensor({{1, 2}, {3, 4}, {5, 6}}), torch::tensor({{{1.5}, {2.5}}}));
       }},
      {"tensor_with_a_type", [](std::ostream& out) { show(out, torch::tensor({1, 2}, torch::kHalf)); }},
      {"mixed_and_ragged_lists",
       [](std::ostream& out) {
         attempt(out, [] { torch::tensor({{1, 2}, {3}}); });
         message(out, [] { torch::tensor({1.0, 2.0f}); });
         attempt(out, [] { torch::tensor({1.0, 2.0}); });
       }},
      {"full_infers",
       [](std::ostream& out) {
         show_all(out, torch::full({2}, 1), torch::full({2}, 1.5), torch::full({2}, true),
                  torch::full({2}, 3, torch::kHalf), torch::full({2}, 2.5, torch::kBool));
       }},
      {"arange_infers",
       [](std::ostream& out) {
         show_all(out, torch::arange(5), torch::arange(5.0), torch::arange(1, 4), torch::arange(0, 1, 0.25),
                  torch::arange(10, 0, -3), torch::arange(3, 3), torch::arange(0, -3, -1));
       }},
      {"arange_of_a_type",
       [](std::ostream& out) {
         show_all(out, torch::arange(4, torch::kFloat), torch::arange(4, torch::kHalf), torch::arange(4.5, torch::kInt),
                  torch::arange(0.5, 5.5, torch::kLong));
       }},
      {"arange_errors",
       [](std::ostream& out) {
         message(out, [] { torch::arange(5, 0); });
         message(out, [] { torch::arange(0, 5, 0); });
         message(out, [] { torch::arange(0, 5, -1); });
         message(out, [] { torch::arange(1.0 / 0.0); });
       }},
      {"zeros_ones_eye",
       [](std::ostream& out) {
         show_all(out, torch::zeros({2, 2}), torch::ones({3}, torch::kInt), torch::eye(3), torch::zeros({}),
                  torch::zeros({0}), torch::ones({2, 0, 3}), torch::zeros(3));
       }},
      {"options",
       [](std::ostream& out) {
         show_all(out, torch::zeros({2}, torch::dtype(torch::kInt).device("cpu")),
                  torch::ones({2}, torch::TensorOptions().dtype(torch::kDouble)),
                  torch::ones({2}, torch::device(torch::kCPU).dtype(torch::kBFloat16)),
                  torch::zeros({1}, torch::TensorOptions()));
         const auto options = torch::zeros({1}, torch::kHalf).options();
         show(out, torch::ones({2}, options));
       }},
      {"likes",
       [](std::ostream& out) {
         show_all(out, torch::zeros_like(matrix()), torch::ones_like(matrix(), torch::kFloat),
                  torch::full_like(matrix(), 7), torch::zeros_like(matrix().t()));
         out << torch::empty_like(matrix().t()).strides() << torch::empty({2, 3}).strides() << '\n';
       }},
      {"random_shapes_and_types",
       [](std::ostream& out) {
         const auto print = [&](const torch::Tensor& x) { out << x.scalar_type() << x.sizes() << '\n'; };
         print(torch::randn({2, 3}));
         print(torch::rand({4}, torch::kHalf));
         print(torch::randint(10, {2}));
         print(torch::randint(2, 5, {3}, torch::kInt));
         print(torch::randn_like(torch::zeros({2})));
         message(out, [] { torch::randint(0, {2}); });
         message(out, [] { torch::randint(5, 2, {2}); });
         attempt(out, [] { torch::randn({2}, torch::kInt); });
       }},
      {"manual_seed_repeats",
       [](std::ostream& out) {
         torch::manual_seed(5);
         const auto a = torch::randn({10}), b = torch::randn({10});
         torch::manual_seed(5);
         out << torch::equal(a, torch::randn({10})) << torch::equal(b, torch::randn({10})) << torch::equal(a, b)
             << '\n';
       }},
      {"negative_sizes",
       [](std::ostream& out) {
         message(out, [] { torch::zeros({2, -3}); });
         attempt(out, [] { torch::empty({-1}); });
       }},
      // Attributes.
      {"attributes",
       [](std::ostream& out) {
         const auto x = torch::zeros({2, 3}, torch::kHalf);
         out << x.dim() << ' ' << x.numel() << ' ' << x.size(0) << ' ' << x.size(-1) << ' ' << x.stride(0) << ' '
             << x.itemsize() << ' ' << x.element_size() << ' ' << x.nbytes() << ' ' << x.is_contiguous() << ' '
             << x.device() << ' ' << x.is_cpu() << ' ' << x.storage_offset() << ' ' << x.is_floating_point() << '\n';
       }},
      {"size_out_of_range",
       [](std::ostream& out) {
         message(out, [] { matrix().size(2); });
         message(out, [] { matrix().size(-3); });
         message(out, [] { torch::tensor(1).size(0); });
       }},
      {"printing_types_and_devices",
       [](std::ostream& out) {
         out << torch::kHalf << torch::kFloat << torch::kLong << torch::kInt << torch::kBool << torch::kDouble
             << torch::kBFloat16 << torch::Device("cpu") << torch::kCPU << '\n';
       }},
      {"printing_sizes", [](std::ostream& out) { out << matrix().sizes() << torch::zeros({}).sizes() << '\n'; }},
      {"comparing_sizes",
       [](std::ostream& out) {
         out << (matrix().sizes() == torch::IntArrayRef({2, 3})) << (matrix().sizes() == matrix().t().sizes())
             << matrix().sizes().vec().size() << matrix().sizes()[1] << '\n';
       }},
      {"printing_values",
       [](std::ostream& out) {
         out << matrix() << '\n'
             << torch::arange(3) << '\n'
             << torch::tensor({{1.0, 20.5}, {-3.0, 0.25}}) << '\n'
             << torch::tensor({-1, 200}) << '\n'
             << torch::tensor(2.5) << '\n'
             << torch::tensor({true, false}) << '\n'
             << torch::zeros({2, 2, 2}) << '\n'
             << torch::zeros({0}) << '\n'
             << torch::eye(2) << '\n'
             << torch::tensor({1000.5, 0.25}) << '\n';
       }},
      {"printing_views", [](std::ostream& out) { out << matrix().t() << '\n'
                                                     << matrix()[1] << '\n'; }},
      {"bad_devices",
       [](std::ostream& out) {
         message(out, [] { torch::Device("cpu:"); });
         attempt(out, [] { torch::Device("nothing"); });
         attempt(out, [] { torch::Device("cpu:0"); });
       }},
      // Elements.
      {"item",
       [](std::ostream& out) {
         out << torch::tensor(1.75).item<int>() << torch::tensor(1.75).item<float>() << torch::tensor(true).item<bool>()
             << torch::tensor(2.5).item<bool>() << torch::tensor(7).item<std::int64_t>() << matrix()[1][2].item<int>()
             << torch::ones({1, 1, 1}).item<double>() << torch::tensor(3).item().toInt() << '\n';
       }},
      {"item_errors",
       [](std::ostream& out) {
         message(out, [] { matrix().item(); });
         message(out, [] { torch::zeros({0}).item(); });
         message(out, [] { torch::tensor(1e20).item<int>(); });
         message(out, [] { torch::tensor(1e300, torch::kDouble).item<float>(); });
       }},
      {"scalar_kinds",
       [](std::ostream& out) {
         const torch::Scalar a(1), b(2.5), c(true);
         out << a.isIntegral(false) << b.isFloatingPoint() << c.isBoolean() << c.isIntegral(true) << c.isIntegral(false)
             << a.toDouble() << b.toFloat() << b.toLong() << a.type() << b.type() << c.type() << '\n';
       }},
      {"data_ptr",
       [](std::ostream& out) {
         auto x = torch::zeros({2, 2});
         x.data_ptr<float>()[3] = 5;
         x[0].data_ptr<float>()[1] = 6;
         show(out, x);
         message(out, [&] { x.data_ptr<double>(); });
         out << (x[1].data_ptr<float>() - x.data_ptr<float>()) << '\n';
       }},
      {"from_blob",
       [](std::ostream& out) {
         float memory[6] = {0, 1, 2, 3, 4, 5};
         auto x = torch::from_blob(memory, {2, 3});
         auto y = torch::from_blob(memory, {3, 2}, {1, 3}, torch::TensorOptions());
         x[0][1] = 10;
         show_all(out, x, y);
         out << memory[1] << '\n';
         int numbers[2] = {1, 2};
         show(out, torch::from_blob(numbers, {2}, torch::kInt));
         int deleted = 0;
         {
           auto z = torch::from_blob(memory, {2, 2}, {3, 2}, [&](void* data) { deleted += data == memory ? 1 : 100; });
           auto row = z[1];
           z = torch::zeros({1});
           row.mul_(2);
           show(out, row);
           out << deleted << '\n';
         }
         out << deleted << ' ' << memory[3] << ' ' << memory[5] << '\n';
       }},
      {"indexing_and_its_errors",
       [](std::ostream& out) {
         show_all(out, matrix()[1], matrix()[-1], matrix()[0][2]);
         message(out, [] { matrix()[2]; });
         message(out, [] { matrix()[-3]; });
         message(out, [] { torch::tensor(1)[0]; });
       }},
      {"element_assignment",
       [](std::ostream& out) {
         auto x = torch::zeros({2, 3});
         x[0] = torch::ones({3});
         x[1][2] = 4.5;
         show(out, x);
         message(out, [&] { x[0] = torch::zeros({4}); });
       }},
      // Views.
      {"views_alias",
       [](std::ostream& out) {
         auto x = torch::zeros({2, 3});
         x.view({6})[4] = 1;
         x.t()[0][1] = 2;
         x.select(1, 2).fill_(3);
         x.narrow(1, 0, 1).zero_();
         show(out, x);
         out << x.is_alias_of(x.t()) << x.is_alias_of(x.clone()) << '\n';
       }},
      {"view_infers",
       [](std::ostream& out) {
         show_all(out, matrix().view({3, -1}), matrix().view({-1}), matrix().view({1, 2, 1, 3}));
         message(out, [] { matrix().view({4}); });
         message(out, [] { matrix().view({-1, -1}); });
         message(out, [] { matrix().view({4, -1}); });
         message(out, [] { matrix().view({-2, 3}); });
         message(out, [] { torch::zeros({0}).view({0, -1}); });
       }},
      {"view_of_strided",
       [](std::ostream& out) {
         const auto x = torch::arange(24).view({2, 3, 4});
         show_all(out, x.transpose(0, 1).view({3, 2, 2, 2}), x.slice(2, 0, 2).view({6, 2}), x.select(2, 0).view({6}));
         message(out, [&] { x.transpose(0, 1).view({6, 4}); });
         message(out, [] { matrix().t().view({6}); });
       }},
      {"reshape_copies_when_it_must",
       [](std::ostream& out) {
         const auto x = matrix();
         show_all(out, x.t().reshape({6}), x.reshape({3, 2}));
         out << (x.reshape({3, 2}).data_ptr() == x.data_ptr()) << (x.t().reshape({6}).data_ptr() == x.data_ptr())
             << '\n';
         message(out, [&] { x.reshape({4}); });
       }},
      {"select_and_its_errors",
       [](std::ostream& out) {
         show_all(out, matrix().select(1, -1), matrix().select(-2, 0));
         message(out, [] { matrix().select(2, 0); });
         message(out, [] { matrix().select(1, 3); });
       }},
      {"narrow",
       [](std::ostream& out) {
         show_all(out, matrix().narrow(1, 1, 2), matrix().narrow(0, 2, 0), matrix().narrow(1, -2, 2));
         message(out, [] { matrix().narrow(0, 1, 2); });
         message(out, [] { matrix().narrow(0, 0, -1); });
         message(out, [] { matrix().narrow(1, 4, 1); });
         message(out, [] { torch::tensor(1).narrow(0, 0, 1); });
       }},
      {"slice",
       [](std::ostream& out) {
         const auto x = torch::arange(10);
         show_all(out, x.slice(0, 2, 8, 3), x.slice(0, -3), x.slice(0, 5, 2), x.slice(0, 0, 100), x.slice(0, -100, 3),
                  matrix().slice(1, 0, 3, 2), matrix().slice(0, 1));
         message(out, [&] { x.slice(0, 0, 5, 0); });
         message(out, [&] { x.slice(1, 0, 5); });
         message(out, [] { torch::tensor(1).slice(0, 0, 1); });
       }},
      {"transpose",
       [](std::ostream& out) {
         const auto x = torch::arange(24).view({2, 3, 4});
         show_all(out, x.transpose(0, 2), x.transpose(-1, 1), torch::tensor(1).transpose(0, 0), matrix().t(),
                  torch::arange(3).t());
         out << x.transpose(0, 2).is_contiguous() << torch::zeros({1, 3}).t().is_contiguous()
             << torch::zeros({0, 3}).t().is_contiguous() << '\n';
         message(out, [] { matrix().transpose(0, 3); });
         message(out, [] { torch::zeros({1, 1, 1}).t(); });
       }},
      {"permute",
       [](std::ostream& out) {
         const auto x = torch::arange(24).view({2, 3, 4});
         show_all(out, x.permute({2, 0, 1}), x.permute({-1, 0, 1}));
         message(out, [&] { x.permute({0, 0, 1}); });
         message(out, [&] { x.permute({0, 1, 5}); });
         attempt(out, [&] { x.permute({0}); });
       }},
      {"squeeze_and_unsqueeze",
       [](std::ostream& out) {
         const auto x = torch::arange(3).view({1, 3, 1});
         show_all(out, x.squeeze(), x.squeeze(0), x.squeeze(1), x.squeeze(-1), matrix().unsqueeze(0),
                  matrix().unsqueeze(-1), matrix().unsqueeze(1));
         message(out, [&] { x.squeeze(5); });
         message(out, [&] { matrix().unsqueeze(4); });
       }},
      {"expand",
       [](std::ostream& out) {
         const auto x = torch::arange(3);
         show_all(out, x.expand({2, 3}), x.view({3, 1}).expand({3, 2}), x.expand({2, -1}));
         message(out, [&] { x.expand({4}); });
         message(out, [&] { x.expand({-1, 3}); });
         attempt(out, [] { matrix().expand({3}); });
       }},
      {"flatten",
       [](std::ostream& out) {
         show_all(out, matrix().flatten(), torch::tensor(1).flatten(), torch::arange(24).view({2, 3, 4}).flatten(1),
                  matrix().t().flatten());
         message(out, [] { matrix().flatten(1, 0); });
       }},
      // Copies.
      {"contiguous_and_clone",
       [](std::ostream& out) {
         const auto x = matrix();
         show_all(out, x.t().contiguous(), x.t().clone(), x.slice(1, 0, 3, 2).clone(), x.expand({2, 2, 3}).clone());
         out << x.contiguous().is_same(x) << x.t().contiguous().is_alias_of(x) << '\n';
       }},
      {"copy_broadcasts_and_converts",
       [](std::ostream& out) {
         auto x = torch::zeros({2, 3});
         x.copy_(torch::arange(3));
         show(out, x);
         x.t().copy_(torch::tensor({{1, 2}, {3, 4}, {5, 6}}));
         show(out, x);
         x.copy_(torch::tensor(7.5));
         show(out, x);
       }},
      {"copy_errors",
       [](std::ostream& out) {
         message(out, [] { matrix().copy_(torch::zeros({4})); });
         message(out, [] { torch::zeros({3}).copy_(torch::ones({1, 3})); });
         message(out, [] { torch::zeros({1, 3}).copy_(torch::ones({2, 3})); });
         message(out, [] { torch::zeros({1}).expand({3}).copy_(torch::ones({3})); });
       }},
      {"conversions",
       [](std::ostream& out) {
         const auto x = torch::tensor({1.9, -1.9, 0.0, 0.1, 65504.0, 1e6});
         show_all(out, x.to(torch::kInt), x.to(torch::kLong), x.to(torch::kBool), x.to(torch::kHalf),
                  x.to(torch::kBFloat16), x.to(torch::kDouble));
         show_all(out, torch::tensor({true, false}).to(torch::kFloat), torch::tensor({2, 0}).to(torch::kBool),
                  torch::tensor({16777217}).to(torch::kFloat), torch::tensor({2049}).to(torch::kHalf));
       }},
      {"to_keeps_what_needs_no_change",
       [](std::ostream& out) {
         const auto x = matrix();
         out << x.to(torch::kLong).is_same(x) << x.to(torch::kCPU).is_same(x) << x.cpu().is_same(x)
             << x.to(torch::kInt).is_same(x) << x.to(torch::TensorOptions()).is_same(x) << '\n';
         show_all(out, x.t().to(torch::kFloat), x.to(torch::kCPU, torch::kHalf),
                  x.to(torch::dtype(torch::kInt).device("cpu")));
       }},
      {"fill_and_zero",
       [](std::ostream& out) {
         auto x = matrix();
         x.fill_(1.5);
         show(out, x);
         show(out, x.zero_());
         message(out, [] { torch::zeros({1}, torch::kInt).fill_(1e10); });
         message(out, [] { torch::zeros({1}, torch::kHalf).fill_(1e6); });
         message(out, [] { torch::full({1}, 1e10, torch::kInt); });
       }},
      {"equal",
       [](std::ostream& out) {
         out << torch::equal(matrix(), matrix().clone()) << torch::equal(matrix(), matrix().t())
             << torch::equal(torch::zeros({2}), torch::zeros({3})) << torch::equal(matrix().t(), matrix().t().clone())
             << torch::equal(torch::zeros({0}), torch::zeros({0})) << matrix().equal(torch::ones({2, 3}, torch::kLong))
             << '\n';
       }},
      {"allclose",
       [](std::ostream& out) {
         const auto x = torch::tensor({1.0, 100.0});
         out << torch::allclose(x, torch::tensor({1.0, 100.0005})) << torch::allclose(x, torch::tensor({1.0, 100.1}))
             << torch::allclose(x, torch::tensor({1.0, 100.1}), 0, 0.2) << torch::allclose(x, torch::tensor(1.0), 1, 99)
             << x.allclose(x) << '\n';
         message(out, [&] { torch::allclose(x, torch::tensor({1, 2})); });
         message(out, [&] { torch::allclose(x, torch::zeros({3})); });
         message(out, [&] { torch::allclose(x, x, -1.0); });
       }},
      {"handles_share",
       [](std::ostream& out) {
         auto x = torch::zeros({2});
         auto y = x;
         y.fill_(3);
         auto z = x.clone();
         z.fill_(4);
         show_all(out, x, z);
         out << x.is_same(y) << x.defined() << torch::Tensor().defined() << '\n';
       }},
      {"half_rounds_to_nearest_even",
       [](std::ostream& out) {
         show_all(out, torch::tensor({2049.0, 2051.0, 1e-8, 65519.0, 65520.0, 0.1}).to(torch::kHalf),
                  torch::tensor({257.0, 259.0, 0.1, 3.4e38}).to(torch::kBFloat16));
         out << static_cast<float>(torch::Half(0.1f)) << ' ' << static_cast<float>(torch::BFloat16(0.1f)) << '\n';
       }},
      {"errors_are_caught_as_libtorch_programs_catch_them",
       [](std::ostream& out) {
         try {
           matrix()[5];
         } catch (const torch::Error&) {
           out << "caught\n";
         }
       }},
  };
}

}  // namespace oracle
