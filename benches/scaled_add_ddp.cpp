// x * 2 + y on every device, then an all-reduce: a program for several devices as one writes it with PyTorch.
#include <kernbench/kernbench.h>

#include <tuple>

using namespace kernbench;

namespace {

namespace dist = torch::distributed;

void scaled_add(tl::Tensor x, tl::Tensor y, tl::Tensor out, float alpha, std::int64_t block) {
  const std::int64_t n = x.numel();
  for (std::int64_t i = tl::program_id(0) * block; i < n; i += tl::num_programs(0) * block) {
    auto a = tl::load(x, {i}, {block});
    auto b = tl::load(y, {i}, {block});
    tl::store(out, {i}, a * alpha + b);
  }
}

void worker(int rank, int world_size, std::int64_t n, std::int64_t block) {
  torch::ahbm::set_device(rank);
  dist::init_process_group("ahbm", rank, world_size);
  // Halves: their sums over the ranks are exact.
  auto x = torch::arange(n, torch::kInt).remainder(8).to(torch::dtype(torch::kHalf).device("ahbm"));
  auto y = torch::ones_like(x), out = torch::empty_like(x);
  {
    const torch::profiler::record_function region("step");
    torch::launch("scaled_add", scaled_add, x, y, out, 2.0f, block);
    dist::all_reduce(out, dist::ReduceOp::SUM);
  }
  if (rank != 0) return;
  const auto expected = (torch::arange(data_enabled() ? n : 1, torch::kInt).remainder(8) * 2 + 1) * world_size;
  check_close("sum of x * 2 + y over all ranks", out, expected.expand({n}));
}

}  // namespace

KERNBENCH_BENCH(scaled_add_ddp, "x*2 + y on every device, then an all-reduce",  //
                {"n", 1 << 20, "elements on each device"}, {"block", 4096, "elements of a tile"}) {
  const std::int64_t elements = parameter<std::int64_t>("n", 1, std::int64_t{1} << 34);
  const std::int64_t block = parameter<std::int64_t>("block", 1, std::int64_t{1} << 30);
  const int n = torch::accelerator::device_count();
  torch::multiprocessing::spawn(worker, std::tuple{n, elements, block}, {.nprocs = n});
}
