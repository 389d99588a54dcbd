#include <kernbench/kernbench.h>

namespace torch = kernbench::torch;
namespace tl = kernbench::tl;

/// Each program writes a row, and reads the one of the next program.
void halo(tl::Tensor x, tl::Tensor out, bool barrier) {
  const std::int64_t columns = x.size(1), self = tl::program_id(), next = (self + 1) % tl::num_programs();
  tl::store(x, {self, 0}, tl::full({1, columns}, static_cast<float>(self), x.dtype()));
  if (barrier) tl::barrier(tl::Scope::sip);
  tl::store(out, {self, 0}, tl::load(x, {next, 0}, {1, columns}));
}

KERNBENCH_BENCH(halo, "rows of neighbours, with a barrier or without", {"barrier", false, "before a neighbour's row"}) {
  auto x = torch::zeros({128, 64}, torch::device("ahbm"));
  auto out = torch::empty({128, 64}, torch::device("ahbm"));
  torch::LaunchOptions launch;
  launch.all_pes = true;
  launch.queues.window = kernbench::WindowOptions{};  // for the barrier
  torch::launch(launch, "halo", halo, x, out, kernbench::parameter<bool>("barrier"));
  torch::ahbm::synchronize();
}
