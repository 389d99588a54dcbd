// A whole program around one simulation: a kernel that doubles a vector, its numbers and its time.
#include <kernbench/kernbench.h>

#include <cstdint>
#include <iostream>

namespace torch = kernbench::torch;
namespace tl = kernbench::tl;

namespace {

void double_it(tl::In x, tl::Tensor out, std::int64_t block) {
  for (std::int64_t i = tl::program_id(0) * block; i < x.numel(); i += tl::num_programs(0) * block) {
    tl::store(out, {i}, tl::load(x, {i}, {block}) * 2.0f);
  }
}

void program() {
  auto x = torch::full({1024}, 21.0f, torch::dtype(torch::kFloat32).device("ahbm"));
  auto out = torch::empty_like(x);
  torch::launch("double_it", double_it, x, out, std::int64_t{512});
  kernbench::check_close("doubled", out, torch::full({1024}, 42.0f));
}

}  // namespace

int main() {
  const kernbench::RunResult result = kernbench::simulate({.topology = "tiny"}, program);
  const bool passed = result.checks.at(0).status == kernbench::CheckStatus::passed;
  std::cout << "doubled: " << (passed ? "passed" : "failed") << " after " << result.simulated_time.count() << " ps\n";
  return passed ? 0 : 1;
}
