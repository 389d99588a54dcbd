#include <kernbench/kernbench.h>

namespace torch = kernbench::torch;
namespace tl = kernbench::tl;

void double_all(tl::Tensor x, std::int64_t block) {
  for (std::int64_t i = tl::program_id() * block; i <= x.numel(); i += tl::num_programs() * block) {
    tl::store(x, {i}, tl::load(x, {i}, {block}) * 2);
  }
}

KERNBENCH_BENCH(past_the_end, "a loop that goes one step too far") {
  auto x = torch::ones({1024}, torch::device("ahbm").name("x"));
  torch::launch("double_all", double_all, x, std::int64_t{128});
  torch::ahbm::synchronize();
}
