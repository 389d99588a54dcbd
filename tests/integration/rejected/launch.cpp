// Programs that must not compile; each test compiles this file with one CASE and looks for the compiler's message.
#include "kernbench/kernbench.h"

namespace torch = kernbench::torch;
namespace tl = kernbench::tl;

void kernel(tl::In x, tl::Tensor out, std::int64_t block) {
  tl::store(out, {0}, tl::load(x, {0}, {block}));
}

void program(const torch::Tensor& x, const torch::Tensor& out) {
#if CASE == 0  // the control: what is right compiles
  torch::launch("right", kernel, x, out, 64);
  torch::launch("right", [](tl::In, tl::Tensor, float) {}, x, out, 1);
  torch::launch({.pes = {}}, "right", kernel, x, out, std::int64_t{64});
#elif CASE == 1
  torch::launch("too few", kernel, x, out);
#elif CASE == 2
  torch::launch("too many", kernel, x, out, 64, 1.0f);
#elif CASE == 3
  torch::launch("a tensor for a number", kernel, x, out, x);
#elif CASE == 4
  torch::launch("a number for a tensor", kernel, x, 7, 64);
#elif CASE == 5
  torch::launch("text for a number", kernel, x, out, "64");
#elif CASE == 6
  torch::launch("too few for a lambda", [](tl::In, int) {}, x);
#elif CASE == 7
  torch::launch("store to an input", [](tl::In a) { tl::store(a, {0}, tl::load(a, {0}, {1})); }, x);
#elif CASE == 8
  torch::launch("a host tensor in a kernel", [](torch::Tensor) {}, x);
#endif
}
