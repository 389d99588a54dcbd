// kernbench run module.cpp -t ahbm-1sip -p tokens=256
#include <kernbench/kernbench.h>
#include <kernbench/nn.h>

namespace torch = kernbench::torch;

struct FeedForwardImpl : torch::nn::Module {
  FeedForwardImpl(std::int64_t size, std::int64_t inner)
      : norm(register_module("norm", torch::nn::LayerNorm(std::vector<std::int64_t>{size}))),
        up(register_module("up", torch::nn::Linear(size, inner))),
        down(register_module("down", torch::nn::Linear(torch::nn::LinearOptions(inner, size).bias(false)))) {}

  torch::Tensor forward(const torch::Tensor& x) { return x + down(torch::gelu(up(norm(x)))); }

  torch::nn::LayerNorm norm;
  torch::nn::Linear up, down;
};
TORCH_MODULE(FeedForward);

KERNBENCH_BENCH(module, "a feed-forward network as modules, on a device and on the host",
                {"tokens", 64, "rows of the input"}) {
  const auto tokens = kernbench::parameter<std::int64_t>("tokens", 1);
  FeedForward model(512, 2048);
  const auto x = torch::randn({tokens, 512});
  const auto expected = model(x);

  model->to("ahbm", torch::kHalf);  // the same handles, on the device now
  const auto y = model(x.to("ahbm", torch::kHalf));
  kernbench::check_close("the model on the device", y, expected, {.absolute = 1e-2, .relative = 1e-2});
}
