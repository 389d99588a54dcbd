// The questions of launches.cu and rates.py, asked of the simulator:
//
//   kernbench run perf/accelerator/simulated.cpp -t ahbm-1sip --no-data --report full
//
// All figures are metrics; shares are of nominal peaks and bandwidths, as those of the accelerator are. Copies to the
// host need data: -p only=copies without --no-data.
#include <kernbench/kernbench.h>

#include <functional>
#include <string>
#include <vector>

using namespace kernbench;

namespace {

constexpr double kPeak = 128 * 64 * 64 * 2 * 1e9;  // of 16-bit operands: 128 PEs with 64 x 64 cells at 1 GHz
constexpr double kBandwidth = 16 * 1.2e12;         // 16 stacks

/// Simulated microseconds of the device.
double device_us(const std::function<void()>& enqueue) {
  torch::ahbm::Event start, end;
  start.record();
  enqueue();
  end.record();
  end.synchronize();
  return start.elapsed_time(end) * 1e3;
}
/// The same in steady state: of a second time less what is to be had at once.
double warm_us(const std::function<void()>& enqueue) {
  enqueue();
  torch::ahbm::synchronize();
  return device_us(enqueue);
}
/// Simulated microseconds of the host, by a stream that has nothing to do.
double host_us(const std::function<void()>& work) {
  const torch::ahbm::Stream idle;
  torch::ahbm::Event start, end;
  start.record(idle);
  work();
  end.record(idle);
  end.synchronize();
  return start.elapsed_time(end) * 1e3;
}

void empty(tl::Tensor) {}
void busy(tl::Tensor, std::int64_t cycles) {
  tl::delay(cycles);
}
/// Loads of 64 B from the own slice, each waited for before the next.
void walk(tl::Tensor x, std::int64_t steps, std::int64_t stride) {
  for (std::int64_t i = 0; i < steps; ++i) {
    const auto [tile, token] = tl::load_async(x, {0, i * stride}, {1, 16});
    tl::wait(token);
  }
}

torch::TensorOptions on_device(torch::Dtype dtype) {
  return torch::dtype(dtype).device("ahbm");
}

/// What each of `count` more calls in a graph takes.
double in_a_graph(std::int64_t count, const std::function<void(std::int64_t)>& enqueue) {
  double us[2];
  for (const std::int64_t size : {0, 1}) {
    torch::ahbm::Graph graph;
    {
      const auto scope = torch::ahbm::graph(graph);
      enqueue(count * (size + 1));
    }
    us[size] = warm_us([&] { graph.replay(); });
  }
  return (us[1] - us[0]) / static_cast<double>(count);
}

double in_a_graph(const std::function<void()>& call) {
  return in_a_graph(2, [&](std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) call();
  });
}

void launches() {
  const auto x = torch::empty({128, 64}, on_device(torch::kFloat));
  const auto launch = [&] { torch::launch("empty", empty, x); };
  launch();
  torch::ahbm::synchronize();
  report_metric("host time of a launch", host_us(launch), "us");
  torch::ahbm::synchronize();
  report_metric("launch of an empty kernel and synchronize", host_us([&] {
                  launch();
                  torch::ahbm::synchronize();
                }),
                "us");
  // Behind a kernel that is busy until all are in the queue.
  double us[2];
  for (const std::int64_t size : {0, 1}) {
    us[size] = warm_us([&] {
      torch::launch("busy", busy, x, std::int64_t{2000} * 200);
      for (std::int64_t i = 0; i < 50 * (size + 1); ++i) launch();
    });
  }
  report_metric("empty kernels one behind the other in a stream, each", (us[1] - us[0]) / 50, "us");
  for (const std::int64_t count : {1, 50}) {
    torch::ahbm::Graph graph;
    {
      const auto scope = torch::ahbm::graph(graph);
      for (std::int64_t i = 0; i < count; ++i) launch();
    }
    graph.replay();
    torch::ahbm::synchronize();
    const std::string size = " of a graph of " + std::to_string(count);
    report_metric("host time of a launch" + size, host_us([&] { graph.replay(); }), "us");
    torch::ahbm::synchronize();
    report_metric("launch and synchronize" + size, host_us([&] {
                    graph.replay();
                    torch::ahbm::synchronize();
                  }),
                  "us");
  }
  const auto few = torch::empty({64}, on_device(torch::kFloat));
  report_metric("host time of x + x of 64 elements", host_us([&] { few + few; }), "us");
  torch::ahbm::synchronize();
  report_metric("empty kernels one behind the other in a graph, each",
                in_a_graph(50,
                           [&](std::int64_t count) {
                             for (std::int64_t i = 0; i < count; ++i) launch();
                           }),
                "us");
}

void copies() {
  for (const std::int64_t bytes : {64LL, 4LL << 10, 64LL << 10, 1LL << 20, 16LL << 20, 256LL << 20}) {
    const auto host = torch::zeros({bytes / 4}, torch::dtype(torch::kFloat));
    auto device = torch::empty({bytes / 4}, on_device(torch::kFloat));
    device.copy_(host);
    torch::ahbm::synchronize();
    report_metric("copy and synchronize, host to device, " + std::to_string(bytes) + " B", host_us([&] {
                    device.copy_(host);
                    torch::ahbm::synchronize();
                  }),
                  "us");
    if (!data_enabled()) continue;
    report_metric("copy and synchronize, device to host, " + std::to_string(bytes) + " B",
                  host_us([&] { device.cpu(); }), "us");
  }
}

void memory() {
  auto x = torch::empty({1, 1 << 24}, on_device(torch::kFloat));
  const torch::LaunchOptions one_pe{.pes = {{CubeId{0}, PeId{0}}}};
  const auto latency = [&](std::int64_t stride) {
    double us[2];
    for (const std::int64_t size : {0, 1})
      us[size] = warm_us([&] { torch::launch(one_pe, "walk", walk, x, std::int64_t{100} * (size + 1), stride); });
    return (us[1] - us[0]) * 10;
  };
  report_metric("latency of a load of 64 B from the own slice", latency(16), "ns");
  const std::int64_t count = 1LL << 29;
  auto from = torch::empty({1 << 15, count >> 15}, on_device(torch::kHalf));
  auto to = torch::empty({1 << 15, count >> 15}, on_device(torch::kHalf));
  const auto share = [&](const std::string& what, double bytes, double us) {
    report_metric("share of nominal bandwidth, " + what, 100 * bytes / us * 1e6 / kBandwidth, "%");
  };
  const double bytes = 2.0 * static_cast<double>(count);
  share("read (sums of rows)", bytes, in_a_graph([&] { from.sum(-1); }));
  share("write (fill)", bytes, in_a_graph([&] { to.fill_(1.0); }));
  share("copy, bytes read and written", 2 * bytes, in_a_graph([&] { to.copy_(from); }));
}

void products() {
  for (const auto& [name, dtype, peak] :
       {std::tuple{"bf16", torch::kBFloat16, kPeak}, std::tuple{"fp8", torch::kFloat8_e4m3fn, 2 * kPeak}}) {
    for (const std::int64_t n : {2048, 4096, 8192, 4097}) {
      const auto a = torch::empty({n, n}, on_device(dtype)), b = torch::empty({n, n}, on_device(dtype));
      const double us = in_a_graph([&] { torch::matmul(a, b); });
      const auto size = static_cast<double>(n);
      report_metric(std::string(name) + " product " + std::to_string(n) + ", share of peak",
                    200 * size * size * size / us * 1e6 / peak, "%");
    }
    for (const std::int64_t m : {1, 8, 16}) {
      const auto a = torch::empty({m, 8192}, on_device(dtype)), b = torch::empty({8192, 8192}, on_device(dtype));
      const double us = in_a_graph([&] { torch::linear(a, b); });
      const double moved = static_cast<double>(item_size(dtype)) * 8192 * 8192;
      report_metric(std::string(name) + " product " + std::to_string(m) + " x 8192 x 8192", us, "us");
      report_metric(std::string(name) + " product " + std::to_string(m) + " x 8192 x 8192, share of bandwidth",
                    100 * moved / us * 1e6 / kBandwidth, "%");
    }
  }
}

void rows() {
  for (const auto& shape :
       std::vector<std::vector<std::int64_t>>{{1024, 1024}, {4096, 4096}, {16384, 4096}, {65536, 128}, {129, 32768}}) {
    const auto x = torch::empty(shape, on_device(torch::kHalf));
    const double moved = 4.0 * static_cast<double>(shape[0] * shape[1]);
    const std::string size = " of " + std::to_string(shape[0]) + " x " + std::to_string(shape[1]);
    const double softmax = in_a_graph([&] { torch::softmax(x, -1); });
    const double norm = in_a_graph([&] { torch::layer_norm(x, {shape[1]}); });
    report_metric("softmax" + size, softmax, "us");
    report_metric("softmax" + size + ", share of bandwidth", 100 * moved / softmax * 1e6 / kBandwidth, "%");
    report_metric("layer_norm" + size, norm, "us");
    report_metric("layer_norm" + size + ", share of bandwidth", 100 * moved / norm * 1e6 / kBandwidth, "%");
  }
}

void attention() {
  const auto q = torch::empty({1, 32, 4096, 128}, on_device(torch::kBFloat16));
  for (const bool causal : {false, true}) {
    const double us = in_a_graph([&] { torch::scaled_dot_product_attention(q, q, q, {}, 0.0, causal); });
    const double flops = 4.0 * 32 * 4096 * 4096 * 128 / (causal ? 2 : 1);
    report_metric(
        std::string("attention, 32 heads of 4096 x 128, ") + (causal ? "causal" : "all keys") + ", share of peak",
        100 * flops / us * 1e6 / kPeak, "%");
  }
}

void decoding() {
  for (const auto& [sequences, keys] : {std::pair{1, 4096}, {1, 32768}, {32, 4096}}) {
    const auto q = torch::empty({sequences, 64, 1, 128}, on_device(torch::kBFloat16));
    const auto k = torch::empty({sequences, 8, keys, 128}, on_device(torch::kBFloat16));
    const double us = in_a_graph([&] { torch::scaled_dot_product_attention(q, k, k, {}, 0.0, false, {}, true); });
    const double moved = 4.0 * 8 * 128 * sequences * keys;
    const std::string size = std::to_string(sequences) + " sequences of " + std::to_string(keys) + " keys";
    report_metric("decoding, " + size, us, "us");
    report_metric("decoding, " + size + ", share of bandwidth", 100 * moved / us * 1e6 / kBandwidth, "%");
  }
}

void chain() {
  for (const std::int64_t rows : {2048, 512}) {
    std::vector<torch::Tensor> weights;
    for (int i = 0; i < 20; ++i) weights.push_back(torch::empty({rows, 2048}, on_device(torch::kBFloat16)));
    const auto x = torch::empty({1, 2048}, on_device(torch::kBFloat16));
    report_metric("product of a row and " + std::to_string(rows >> 8) + " MiB of weights in a graph, each",
                  in_a_graph(10,
                             [&](std::int64_t count) {
                               for (std::int64_t i = 0; i < count; ++i) torch::linear(x, weights[i]);
                             }),
                  "us");
  }
}

}  // namespace

KERNBENCH_BENCH(simulated, "the questions of launches.cu and rates.py, asked of the simulator",
                {"only", "", "launches, copies, memory, products, rows, attention, decoding or chain; all"}) {
  const std::string only = parameter<std::string>("only");
  const auto part = [&](const char* name, void (*run)()) {
    if (only.empty() || only == name) run();
  };
  part("launches", launches);
  part("copies", copies);
  part("memory", memory);
  part("products", products);
  part("rows", rows);
  part("attention", attention);
  part("decoding", decoding);
  part("chain", chain);
}
