// kernbench run many_devices.cpp --topology ahbm-2sip
#include <kernbench/kernbench.h>

#include <iostream>
#include <tuple>

namespace torch = kernbench::torch;
namespace tl = kernbench::tl;
namespace dist = torch::distributed;

// A kernel: ordinary C++, one instance per PE of the launch.
void scaled_add(tl::Tensor x, tl::Tensor y, tl::Tensor out, float alpha, std::int64_t block) {
  const std::int64_t n = x.numel();
  for (std::int64_t i = tl::program_id(0) * block; i < n; i += tl::num_programs(0) * block) {
    auto a = tl::load(x, {i}, {block});
    auto b = tl::load(y, {i}, {block});
    tl::store(out, {i}, a * alpha + b);
  }
}

// A worker: one per rank, as under torch.multiprocessing.
void worker(int rank, int world_size, bool forgetful) {
  torch::accelerator::set_device_index(rank);
  dist::init_process_group("ahbm", rank, world_size);
  auto x = torch::full({1 << 20}, rank + 1, torch::dtype(torch::kHalf).device("ahbm"));
  auto y = torch::ones_like(x), out = torch::empty_like(x);
  torch::launch("scaled_add", scaled_add, x, y, out, 2.0f, std::int64_t{4096});  // asynchronous, in stream order
  if (!(forgetful && rank == 1)) dist::all_reduce(out, dist::ReduceOp::SUM);
  if (rank == 0) std::cout << "out[0] = " << out[0].item<float>() << '\n';  // waits for just what makes `out`
}

KERNBENCH_BENCH(many_devices, "x*2 + y on every device, then an all-reduce",
                {"forgetful", false, "rank 1 leaves the all-reduce out"}) {
  const int n = torch::accelerator::device_count();
  torch::multiprocessing::spawn(worker, std::tuple{n, kernbench::parameter<bool>("forgetful")}, {.nprocs = n});
}
