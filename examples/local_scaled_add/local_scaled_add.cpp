// kernbench run local_scaled_add.cpp -p n=65536
#include <kernbench/kernbench.h>

#include <algorithm>

namespace torch = kernbench::torch;
namespace tl = kernbench::tl;

// Each program works on what lies in the HBM slice of its own PE.
void local_scaled_add(tl::In x, tl::In y, tl::Tensor out, float alpha, std::int64_t block) {
  for (std::size_t shard = 0; shard < out.local_shard_count(); ++shard) {
    const auto box = out.local_shard(shard);
    const std::int64_t end = box.offset[0] + box.shape[0];
    for (std::int64_t i = box.offset[0]; i < end; i += block) {
      const std::int64_t length = std::min(block, end - i);
      tl::store(out, {i}, tl::load(x, {i}, {length}) * alpha + tl::load(y, {i}, {length}));
    }
  }
}

KERNBENCH_BENCH(local_scaled_add, "alpha * x + y, each PE on its own shard",  //
                {"n", 1 << 20, "number of elements"}, {"alpha", 2.0, "factor"}) {
  const auto n = kernbench::parameter<std::int64_t>("n", 1);
  const auto alpha = kernbench::parameter<float>("alpha");
  auto x = torch::full({n}, 1.5f, torch::dtype(torch::kHalf).device("ahbm"));
  auto y = torch::ones_like(x), out = torch::empty_like(x);
  torch::launch("scaled_add", local_scaled_add, x, y, out, alpha, std::int64_t{4096});
  kernbench::check_close("out = alpha x + y", out, torch::full({n}, 1.5f * alpha + 1, torch::kHalf));
}
