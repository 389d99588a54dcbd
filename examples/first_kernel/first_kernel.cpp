#include <kernbench/kernbench.h>

#include <algorithm>
#include <iostream>

namespace torch = kernbench::torch;
namespace tl = kernbench::tl;

// A kernel: ordinary C++, one instance on each PE that holds a part of the tensors.
void scaled_add(tl::In x, tl::In y, tl::Tensor out, float alpha, std::int64_t block) {
  const auto mine = out.local_shard(0);  // the part of `out` in this PE's own slice of the HBM
  const std::int64_t end = mine.offset[0] + mine.shape[0];
  for (std::int64_t i = mine.offset[0]; i < end; i += block) {
    const std::int64_t length = std::min(block, end - i);
    auto a = tl::load(x, {i}, {length});  // DMA, HBM to TCM
    auto b = tl::load(y, {i}, {length});  // both loads are in flight together
    tl::store(out, {i}, a * alpha + b);   // vector engine, then DMA
  }
}

// A host program: reads like PyTorch, runs in simulated time.
KERNBENCH_BENCH(first_kernel, "x*2 + y on every PE of a device") {
  const auto numbers = torch::randn({1 << 20}, torch::kHalf);  // on the host
  auto x = numbers.to("ahbm");
  auto y = torch::ones_like(x), out = torch::empty_like(x);

  torch::ahbm::Event start, end;
  torch::ahbm::synchronize();
  start.record();
  torch::launch("scaled_add", scaled_add, x, y, out, 2.0f, std::int64_t{4096});  // asynchronous, in stream order
  end.record();
  torch::ahbm::synchronize();

  std::cout << "x[0] = " << x[0].item<float>() << ", out[0] = " << out[0].item<float>() << '\n'
            << "took " << start.elapsed_time(end) * 1e3 << " us of simulated time\n";
}
