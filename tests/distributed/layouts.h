// Shapes and placements of a tensor on each of two ranks, chosen at random.
#pragma once

#include <array>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

#include "kernbench/kernbench.h"
#include "support/interleaved.h"

namespace kernbench::testing {

/// A tensor of a rank: a range of the first dimension of one of `extra` more rows.
struct Layout {
  std::vector<std::int64_t> shape;
  DPPolicy policy = {};
  std::int64_t before = 0, extra = 0;  // rows

  std::int64_t numel() const {
    std::int64_t numel = 1;
    for (const std::int64_t extent : shape) numel *= extent;
    return numel;
  }
  /// The same of `times` as many rows.
  Layout times(std::int64_t times) const {
    Layout more = *this;
    more.shape[0] *= times;
    return more;
  }
  torch::Tensor make(const torch::Tensor& values) const {
    auto whole = shape;
    whole[0] += extra;
    const auto device = torch::dtype(torch::kFloat).device("ahbm").placement(policy);
    const auto tensor = torch::zeros(whole, device).narrow(0, before, shape[0]);
    torch::Tensor(tensor).copy_(values);
    return tensor;
  }
};
using Layouts = std::array<Layout, 2>;  // by rank

class RandomLayouts {
 public:
  explicit RandomLayouts(std::uint64_t seed) : random_(seed) {}

  Layouts next() {
    Layout first;
    const std::int64_t rank = upto(3) + 1;
    for (std::int64_t i = 0; i < rank; ++i) first.shape.push_back(upto(3) == 0 ? 1 : upto(8) + 1);
    if (upto(3) > 0) first.shape.assign(static_cast<std::size_t>(rank), upto(8) + 1);  // permutations show there
    return next(std::move(first), 4);
  }
  /// Of the shape of `like`; those of one in `agreeing` are alike on both ranks, and some of the others.
  Layouts next(Layout like, int agreeing) {
    const Layout first = with_policy(std::move(like));
    Layout second = upto(agreeing) == 0 ? first : with_policy(first);
    if (upto(3) == 0) second.policy.cube = first.policy.cube;
    if (upto(3) == 0) second.policy.pe = first.policy.pe;
    if (second.policy.cube == Placement::interleaved) second.policy.pe = Placement::interleaved;
    if (second.policy.pe != Placement::interleaved) second.policy.granule = Bytes(0);
    return {first, second};
  }

 private:
  std::int64_t upto(int end) { return static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(end)); }
  Layout with_policy(Layout layout) {
    layout.policy = {static_cast<Placement>(upto(6)), static_cast<Placement>(upto(6)), static_cast<int>(upto(3)),
                     static_cast<int>(upto(3))};
    layout.policy = maybe_interleaved(layout.policy, random_());
    layout.before = layout.extra = 0;
    if (upto(4) == 0) {
      layout.extra = upto(6);
      layout.before = upto(static_cast<int>(layout.extra) + 1);
    }
    return layout;
  }
  std::mt19937_64 random_;
};

}  // namespace kernbench::testing
