// Small things beside traffic that fills the network: an empty launch, an all-reduce of 64 B, signals back and forth.
#include <kernbench/kernbench.h>

#include <tuple>

using namespace kernbench;

namespace {

namespace dist = torch::distributed;

/// Every program loads from the slices of others, all the time: 64 blocks of 16 KiB, four of them under way.
void traffic(tl::Tensor x, std::int64_t block) {
  const std::int64_t programs = tl::num_programs(0), n = x.numel() / block;
  for (std::int64_t i = 0; i < 64; ++i) {
    (void)tl::sum(tl::load(x, {(tl::program_id(0) + 37 + i * 5) % programs * (n / programs) * block}, {block}));
  }
}

void empty(tl::Tensor) {}

/// The members signal each other in turn, eight times around.
void signals(tl::Tensor) {
  const std::int64_t self = tl::member_index();
  for (std::int64_t round = 1; round <= 8; ++round) {
    if (self != 0) tl::wait_until(0, tl::Comparison::ge, round);
    tl::signal(tl::ring_next(), 0, round);
    if (self == 0) tl::wait_until(0, tl::Comparison::ge, round);
  }
}

void worker(int rank, int world_size) {
  torch::ahbm::set_device(rank);
  dist::init_process_group("ahbm", rank, world_size);
  const auto on_device = torch::dtype(torch::kHalf).device("ahbm");
  const std::int64_t block = 8192;
  auto x = torch::zeros({128 * 8 * block}, on_device);
  auto small = torch::zeros({128 * 32}, on_device), other = torch::zeros({32}, on_device);
  dist::all_reduce(other);  // installs its channels
  torch::ahbm::synchronize();
  torch::ahbm::Stream side;
  {
    const torch::ahbm::StreamGuard guard(side);
    torch::launch("traffic", traffic, x, block);
  }
  torch::launch("empty", empty, small);
  dist::all_reduce(other);
  torch::LaunchOptions options;  // one program in each cube
  for (int cube = 0; cube < 16; ++cube) options.pes.emplace_back(CubeId{cube}, PeId{0});
  options.queues.topology = QueueTopology::none;
  options.queues.window = WindowOptions{Bytes(64), 1, BufferKind::tcm};
  torch::launch(options, "signals", signals, small);
  torch::ahbm::synchronize();
}

}  // namespace

KERNBENCH_BENCH(beside_traffic, "small things beside traffic that fills the network") {
  const int n = torch::accelerator::device_count();
  torch::multiprocessing::spawn(worker, std::tuple{n}, {.nprocs = n});
}
