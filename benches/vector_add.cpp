// out = x + y, every PE on its own shard: a program bound by HBM bandwidth.
#include <vector>

#include "benches/benches.h"
#include "benches/dtype_parameter.h"
#include "kernbench/kernbench.h"

namespace kernbench::benches {

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

void run(const cli::Parameters& parameters) {
  const std::int64_t n = parameters.integer("n", 1, std::int64_t{1} << 40);
  const std::int64_t block = parameters.integer("block", 1, std::int64_t{1} << 30);
  const auto options = torch::dtype(dtype_of(parameters)).device("ahbm");
  const auto x_host = torch::randn({n}), y_host = torch::randn({n});
  const auto x = x_host.to(options.name("x")), y = y_host.to(options.name("y"));
  auto out = torch::empty({n}, options.name("out"));
  torch::launch("vector_add", vector_add_kernel, x, y, out, block);

  auto expected = torch::empty({n}, torch::kDouble);
  if (floating_point_enabled()) {
    // The operands as the device holds them, added in double and rounded once: exactly what the vector engine does.
    const auto xd = x_host.to(options.dtype()).to(torch::kDouble), yd = y_host.to(options.dtype()).to(torch::kDouble);
    for (std::int64_t i = 0; i < n; ++i) {
      expected.data_ptr<double>()[i] = xd.data_ptr<double>()[i] + yd.data_ptr<double>()[i];
    }
    expected = expected.to(options.dtype());
  }
  check_close("out = x + y", out, expected);
}

}  // namespace

cli::Bench vector_add() {
  return {"vector_add",
          "out = x + y on every PE of a device, each on its own shard",
          {{"n", "1048576", "number of elements"}, {"block", "8192", "elements of a tile"}, dtype_parameter("f16")},
          run};
}

}  // namespace kernbench::benches
