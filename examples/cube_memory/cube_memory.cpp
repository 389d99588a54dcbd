#include <kernbench/kernbench.h>

namespace torch = kernbench::torch;
namespace tl = kernbench::tl;

/// exp(x - the largest of its column within the rows of a cube). Each program has `rows` rows.
void exp_of_columns(tl::In x, tl::Tensor out, std::int64_t rows) {
  const std::int64_t columns = x.size(1), first = tl::program_id() * rows;
  const auto maxima = tl::alloc({tl::num_pes(), columns}, x.dtype(), tl::CubeScope{"maxima"});
  const auto mine = tl::load(x, {first, 0}, {rows, columns});
  tl::store(maxima, {tl::pe_id(), 0}, tl::max(mine, 0, true));
  tl::barrier(tl::Scope::cube);  // what the others of the cube have stored is there
  const auto largest = tl::max(tl::load(maxima, {0, 0}, {tl::num_pes(), columns}), 0, true);
  tl::store(out, {first, 0}, tl::exp(mine - largest));
}

KERNBENCH_BENCH(cube_memory, "programs of a cube share the maxima of its rows") {
  const auto device = torch::device("ahbm");
  const auto x = torch::arange(4 * 8, torch::kFloat).view({4, 8});
  auto out = torch::empty({4, 8}, device);
  torch::LaunchOptions launch;
  launch.pes = {{kernbench::CubeId{0}, kernbench::PeId{0}}, {kernbench::CubeId{0}, kernbench::PeId{1}}};
  launch.queues.window = kernbench::WindowOptions{};  // for the barrier
  torch::launch(launch, "exp_of_columns", exp_of_columns, x.to(device), out, std::int64_t{2});
  kernbench::check_close("exp", out, torch::exp(x - x[3]));
}
