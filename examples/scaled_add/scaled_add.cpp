// kernbench run scaled_add.cpp -p n=65536
#include <kernbench/kernbench.h>

namespace torch = kernbench::torch;
namespace tl = kernbench::tl;

void scaled_add(tl::In x, tl::In y, tl::Tensor out, float alpha, std::int64_t block) {
  for (std::int64_t i = tl::program_id(0) * block; i < x.numel(); i += tl::num_programs(0) * block) {
    auto a = tl::load(x, {i}, {block});
    auto b = tl::load(y, {i}, {block});
    tl::store(out, {i}, a * alpha + b);
  }
}

KERNBENCH_BENCH(scaled_add, "alpha * x + y on every PE of a device",  //
                {"n", 1 << 20, "number of elements"}, {"alpha", 2.0, "factor"}) {
  const auto n = kernbench::parameter<std::int64_t>("n", 1);
  const auto alpha = kernbench::parameter<float>("alpha");
  auto x = torch::full({n}, 1.5f, torch::dtype(torch::kHalf).device("ahbm"));
  auto y = torch::ones_like(x), out = torch::empty_like(x);
  torch::launch("scaled_add", scaled_add, x, y, out, alpha, std::int64_t{4096});
  kernbench::check_close("out = alpha x + y", out, torch::full({n}, 1.5f * alpha + 1, torch::kHalf));
}
