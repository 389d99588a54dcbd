// out = x + y, every PE on its own shard: a program bound by HBM bandwidth.
//   kernbench run benches/vector_add.cpp
#include <kernbench/kernbench.h>

#include <algorithm>

#include "idle_devices.h"

namespace torch = kernbench::torch;
namespace tl = kernbench::tl;

namespace {

void vector_add_kernel(tl::In x, tl::In y, tl::Tensor out, std::int64_t block) {
  for (std::size_t shard = 0; shard < out.local_shard_count(); ++shard) {
    const auto box = out.local_shard(shard);
    const std::int64_t end = box.offset[0] + box.shape[0];
    for (std::int64_t i = box.offset[0]; i < end; i += block) {
      const std::int64_t length = std::min(block, end - i);
      tl::store(out, {i}, tl::load(x, {i}, {length}) + tl::load(y, {i}, {length}));
    }
  }
}

torch::Dtype dtype_of(const std::string& name) {
  return name == "f16" ? torch::kHalf : name == "bf16" ? torch::kBFloat16 : torch::kFloat;
}

}  // namespace

KERNBENCH_BENCH(vector_add, "out = x + y on every PE of a device, each on its own shard",  //
                {"n", 1 << 20, "number of elements"}, {"block", 8192, "elements of a tile"},
                {"dtype", "f16", "element type of the tensors: f16, bf16 or f32"}) {
  const auto n = kernbench::parameter<std::int64_t>("n", 1, std::int64_t{1} << 40);
  const auto block = kernbench::parameter<std::int64_t>("block", 1, std::int64_t{1} << 30);
  const auto dtype = dtype_of(kernbench::parameter_choice("dtype", {"f16", "bf16", "f32"}));
  benches::warn_of_idle_devices(1, "vector_add runs on one");
  const auto options = torch::dtype(dtype).device("ahbm");
  const auto x_host = torch::randn({n}), y_host = torch::randn({n});
  const auto x = x_host.to(options.name("x")), y = y_host.to(options.name("y"));
  auto out = torch::empty({n}, options.name("out"));
  {
    const torch::profiler::record_function region("vector_add");
    torch::launch("vector_add", vector_add_kernel, x, y, out, block);
  }

  auto expected = torch::empty({n}, torch::kDouble);
  if (kernbench::floating_point_enabled()) {
    // The operands as the device holds them, added in double and rounded once: exactly what the vector engine does.
    const auto xd = x_host.to(options.dtype()).to(torch::kDouble), yd = y_host.to(options.dtype()).to(torch::kDouble);
    for (std::int64_t i = 0; i < n; ++i) {
      expected.data_ptr<double>()[i] = xd.data_ptr<double>()[i] + yd.data_ptr<double>()[i];
    }
    expected = expected.to(options.dtype());
  }
  kernbench::check_close("out = x + y", out, expected);
}
