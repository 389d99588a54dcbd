// kernbench run training.cpp -t ahbm-1sip -p steps=8
#include <kernbench/kernbench.h>
#include <kernbench/nn.h>
#include <kernbench/optim.h>
#include <kernbench/tp.h>

#include <algorithm>
#include <iostream>

namespace torch = kernbench::torch;
namespace tp = kernbench::tp;

struct ClassifierImpl : torch::nn::Module {
  ClassifierImpl(std::int64_t size, std::int64_t inner, std::int64_t classes)
      : up(register_module("up", torch::nn::Linear(size, inner))),
        down(register_module("down", torch::nn::Linear(inner, classes))) {}
  torch::nn::Linear up, down;
};
TORCH_MODULE(Classifier);

// There is no tape: each operation has its backward beside it, and a program walks them in reverse.
torch::Tensor loss_and_gradients(const Classifier& model, const torch::Tensor& x, const torch::Tensor& labels) {
  const auto up = tp::linear_forward(x, model->up->weight, model->up->bias);
  const auto gelu = tp::gelu_forward(up.output);
  const auto down = tp::linear_forward(gelu.output, model->down->weight, model->down->bias);
  const auto& logits = down.output;

  const auto of_logits = (logits.softmax(1) - torch::one_hot(labels, logits.size(1))) / x.size(0);
  const auto of_down = tp::linear_backward(down.saved, of_logits);
  const auto of_up = tp::linear_backward(up.saved, tp::gelu_backward(gelu.saved, of_down.input));
  model->up->weight.mutable_grad() = of_up.weight;
  model->up->bias.mutable_grad() = of_up.bias;
  model->down->weight.mutable_grad() = of_down.weight;
  model->down->bias.mutable_grad() = of_down.bias;
  return torch::cross_entropy_loss(logits, labels);
}

KERNBENCH_BENCH(training, "a classifier learns its batch by heart", {"steps", 4, "steps of AdamW"}) {
  const auto steps = kernbench::parameter<std::int64_t>("steps", 1);
  const Classifier model(64, 256, 10);
  model->to("ahbm");
  const auto x = torch::randn({128, 64}).to("ahbm");
  const auto labels = torch::arange(128).remainder(10).to("ahbm");

  torch::optim::AdamW optimizer(model->parameters(), torch::optim::AdamWOptions(1e-2).weight_decay(0.05));
  torch::optim::LambdaLR warm_up(optimizer, [](unsigned step) { return std::min(1.0, (step + 1) / 2.0); });
  for (std::int64_t step = 0; step < steps; ++step) {
    const auto loss = loss_and_gradients(model, x, labels);
    const double norm = torch::nn::utils::clip_grad_norm_(model->parameters(), 0.45);
    optimizer.step();
    warm_up.step();
    std::cout << "loss " << loss.item_or<float>(0) << ", norm of the gradient " << norm << '\n';
  }
}
