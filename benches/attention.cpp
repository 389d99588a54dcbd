// out = softmax(q k^T / sqrt(size)) v on a device, for prefill (a row for each token) and decoding (one row).
//   kernbench run benches/attention.cpp -p length=1 -p keys=8192 -p kv_heads=8
#include <kernbench/kernbench.h>

#include "dtype_parameter.h"

namespace torch = kernbench::torch;

KERNBENCH_BENCH(attention, "scaled dot product attention on a device, which stores no scores",  //
                {"batch", 1, "sequences"}, {"heads", 32, "of queries"},
                {"kv_heads", 0, "of keys and values; 0: as many as of queries"}, {"length", 128, "rows of queries"},
                {"keys", 0, "rows of keys and values; 0: as many as of queries"}, {"size", 128, "of a head"},
                {"causal", false, "row i sees the keys 0 to i"}, benches::dtype_parameter("f16")) {
  const auto at_least = [](const char* name, std::int64_t least) {
    return kernbench::parameter<std::int64_t>(name, least, std::int64_t{1} << 30);
  };
  const auto batch = at_least("batch", 1), heads = at_least("heads", 1), length = at_least("length", 1);
  const auto size = at_least("size", 1), given_keys = at_least("keys", 0), given_heads = at_least("kv_heads", 0);
  const auto keys = given_keys == 0 ? length : given_keys, kv_heads = given_heads == 0 ? heads : given_heads;
  const bool causal = kernbench::parameter<bool>("causal");
  const auto options = torch::dtype(benches::dtype_of()).device("ahbm");

  const auto q_host = torch::randn({batch, heads, length, size});
  const auto k_host = torch::randn({batch, kv_heads, keys, size}), v_host = torch::randn({batch, kv_heads, keys, size});
  const auto q = q_host.to(options.name("q")), k = k_host.to(options.name("k")), v = v_host.to(options.name("v"));
  torch::Tensor out;
  {
    const torch::profiler::record_function region("attention");
    out = torch::scaled_dot_product_attention(q, k, v, {}, 0.0, causal, {}, true);
  }
  // On the host in double precision, of the operands as the device holds them.
  torch::Tensor expected = torch::empty(out.sizes(), torch::kDouble);
  if (kernbench::floating_point_enabled()) {
    const auto exact = [&](const torch::Tensor& x) { return x.to(options.dtype()).to(torch::kDouble); };
    expected =
        torch::scaled_dot_product_attention(exact(q_host), exact(k_host), exact(v_host), {}, 0.0, causal, {}, true);
  }
  // The weights are rounded to the type before they meet the values, and so is the result.
  const double unit = benches::dtype_of() == kernbench::DType::f32   ? 0x1p-20
                      : benches::dtype_of() == kernbench::DType::f16 ? 0x1p-11
                                                                     : 0x1p-8;
  kernbench::check_close("out = softmax(q k^T / sqrt(size)) v", out, expected,
                         kernbench::Tolerance{.absolute = 4 * unit, .relative = 2 * unit});
}
