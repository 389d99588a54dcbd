// A layer in the MX formats, weights of 4 bits and activations of 8, beside the same layer in bf16. With few tokens the
// weights are what takes time: each is read once, and multiplied with a few columns.
#include <kernbench/kernbench.h>
#include <kernbench/torch/mx.h>

#include <algorithm>
#include <iostream>

namespace torch = kernbench::torch;
namespace tl = kernbench::tl;

constexpr std::int64_t kRows = 64, kStep = 1024;  // of weights at a time

/// Calls body(first, rows) for the blocks of rows of `tensor` in the PE's own slice.
template <class Body>
void for_each_block(const tl::Tensor& tensor, const Body& body) {
  const auto mine = tensor.local_shard(0);
  const std::int64_t end = mine.offset[0] + mine.shape[0];
  for (std::int64_t first = mine.offset[0]; first < end; first += kRows) body(first, std::min(kRows, end - first));
}

/// y [n, tokens] = w [n, k] times x [k, tokens].
void wide_layer(tl::In w, tl::In x, tl::Tensor y) {
  const std::int64_t k = x.size(0), tokens = x.size(1);
  for_each_block(y, [&](std::int64_t first, std::int64_t rows) {
    tl::Tile sum;
    for (std::int64_t at = 0; at < k; at += kStep)
      sum = tl::dot(tl::load(w, {first, at}, {rows, kStep}), tl::load(x, {at, 0}, {kStep, tokens}), sum);
    tl::store(y, {first, 0}, sum);
  });
}

/// The same of e2m1 weights, two in a byte [n, k / 2], and e4m3 activations. Each 32 of k have a scale.
void narrow_layer(tl::In w, tl::In w_scales, tl::In x, tl::In x_scales, tl::Tensor y) {
  const std::int64_t k = x.size(0), tokens = x.size(1);
  for_each_block(y, [&](std::int64_t first, std::int64_t rows) {
    tl::Tile sum;
    for (std::int64_t at = 0; at < k; at += kStep) {
      const auto weights = tl::load(w, {first, at / 2}, {rows, kStep / 2});
      const auto scales = tl::load(w_scales, {first, at / 32}, {rows, kStep / 32});
      const auto columns = tl::load(x, {at, 0}, {kStep, tokens});
      const auto column_scales = tl::load(x_scales, {0, at / 32}, {tokens, kStep / 32});
      sum = tl::dot_scaled(weights, scales, "e2m1", columns, column_scales, "e4m3", sum);
    }
    tl::store(y, {first, 0}, sum);
  });
}

KERNBENCH_BENCH(narrow_weights, "a layer with weights of 4 bits, and in bf16",  //
                {"n", 4096, "outputs"}, {"k", 4096, "inputs; 1024 divides it"}, {"tokens", 8, "columns of the input"}) {
  const auto n = kernbench::parameter<std::int64_t>("n", 1), k = kernbench::parameter<std::int64_t>("k", kStep),
             tokens = kernbench::parameter<std::int64_t>("tokens", 1);
  const auto weights = torch::randn({n, k}), input = torch::randn({tokens, k});
  const auto [w, w_scales] = torch::ahbm::to_mx(weights, "e2m1");
  const auto [x, x_scales] = torch::ahbm::to_mx(input, "e4m3");

  // Rows of weights lie over all PEs; of the input, which is small, each PE has a copy.
  using kernbench::Placement;
  const auto placed = [](const torch::Tensor& tensor, Placement level) {
    return tensor.to(torch::device("ahbm").placement({.cube = level, .pe = level}));
  };
  const auto rows = [&](const torch::Tensor& tensor) { return placed(tensor, Placement::row_wise); };
  const auto copies = [&](const torch::Tensor& tensor) { return placed(tensor, Placement::replicate); };
  const auto y = rows(torch::zeros({n, tokens}));
  torch::launch("wide_layer", wide_layer, rows(weights.to(torch::kBFloat16)),
                copies(input.to(torch::kBFloat16).transpose(0, 1).contiguous()), y);
  torch::launch("narrow_layer", narrow_layer, rows(w), rows(w_scales), copies(x.transpose(0, 1).contiguous()),
                copies(x_scales), y);
  const auto in_f32 = [&] {
    return torch::matmul(torch::ahbm::from_mx(w, w_scales, "e2m1"),
                         torch::ahbm::from_mx(x, x_scales, "e4m3").transpose(0, 1));
  };
  kernbench::check_close("of the same numbers in f32", y,
                         kernbench::data_enabled() ? in_f32() : torch::zeros({n, tokens}));
}
