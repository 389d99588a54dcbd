// Gradients of functions; optimisers, schedules of learning rates, clipped gradients. Gradients are set by hand on both
// sides.
#include "snippets.h"

#ifndef KERNBENCH_ORACLE_LIBTORCH
#include "kernbench/nn.h"
#include "kernbench/optim.h"
#include "kernbench/torch/backward.h"
#endif

namespace oracle {

namespace {

torch::Tensor wave(std::int64_t count, double step, double first) {
  return (torch::arange(count).to(torch::kFloat) * step + first).sin();
}

/// Two parameters and, as a third one, one that never has a gradient.
struct Parameters {
  torch::Tensor a = wave(6, 0.7, 0.3).view({2, 3}), b = wave(3, 1.1, -0.4), idle = torch::ones({2});
  std::vector<torch::Tensor> all() const { return {a, b, idle}; }
  /// Gradients that depend on the parameters, as those of a loss do.
  void set_grads(int step) const {
    a.mutable_grad() = wave(6, 0.5 + step, 0.1).view({2, 3}) * 2 + a * 0.25;
    b.mutable_grad() = wave(3, 0.9, 0.2 * step) - b;
  }
};

/// The parameters after so many steps of the optimiser that `make` yields.
template <class Make>
void show_steps(std::ostream& out, const Make& make, int steps = 4) {
  const torch::NoGradGuard no_grad;
  const Parameters parameters;
  auto optimizer = make(parameters.all());
  for (int step = 0; step < steps; ++step) {
    parameters.set_grads(step);
    const torch::Tensor loss = optimizer.step();
    out << loss.defined();
  }
  out << '\n';
  // Away from zero: what is left of sums that cancel differs in more than the last digit.
  show_all(out, parameters.a + 4, parameters.b + 4, parameters.idle);
  out << optimizer.state().size() << '\n';
}

template <class Options>
void show_sgd(std::ostream& out, const Options& options) {
  show_steps(out, [&](const std::vector<torch::Tensor>& all) { return torch::optim::SGD(all, options); });
}

template <class Options>
void show_adam(std::ostream& out, const Options& options) {
  show_steps(out, [&](const std::vector<torch::Tensor>& all) { return torch::optim::Adam(all, options); });
}

template <class Options>
void show_adamw(std::ostream& out, const Options& options) {
  show_steps(out, [&](const std::vector<torch::Tensor>& all) { return torch::optim::AdamW(all, options); });
}

template <class Options>
void show_rmsprop(std::ostream& out, const Options& options) {
  show_steps(out, [&](const std::vector<torch::Tensor>& all) { return torch::optim::RMSprop(all, options); });
}

/// Without what is kept for the parameter that has no gradient, which libtorch fills when it is made.
void show_adagrad(std::ostream& out, const torch::optim::AdagradOptions& options) {
  show_steps(out, [&](const std::vector<torch::Tensor>& all) {
    return torch::optim::Adagrad(std::vector<torch::Tensor>{all[0], all[1]}, options);
  });
}

using Betas = std::tuple<double, double>;

constexpr std::int64_t kReductions[] = {torch::Reduction::None, torch::Reduction::Mean, torch::Reduction::Sum};

/// Loss, total weight and gradient of log probabilities, of which PyTorch leaves a total weight open without a
/// reduction.
void show_nll(std::ostream& out, const torch::Tensor& x, const torch::Tensor& target, const torch::Tensor& weight,
              std::int64_t ignored) {
  for (const std::int64_t reduction : kReductions) {
    const auto [loss, total] = torch::nll_loss_forward(x, target, weight, reduction, ignored);
    const bool is_reduced = reduction != torch::Reduction::None;
    show_all(out, loss, is_reduced ? total : torch::zeros({}));
    const torch::Tensor grad = loss * 0 + 0.5;
    show(out, torch::nll_loss_backward(grad, x, target, weight, reduction, ignored, total));
  }
}

}  // namespace

std::vector<Snippet> optim_snippets() {
  return {
      {"backward_of_activations",
       [](std::ostream& out) {
         const torch::Tensor grad = wave(24, 0.7, 0.2).view({4, 6}), x = wave(24, 1.3, 0.5).view({4, 6}) * 3;
         // Away from zero, as below.
         show_all(out, torch::threshold_backward(grad, x, 0) + 8, torch::threshold_backward(grad, x, 0.5) + 8,
                  torch::leaky_relu_backward(grad, x, 0.1, false) + 8,
                  torch::leaky_relu_backward(grad, x, 0.2, true) + 8, torch::sigmoid_backward(grad, x.sigmoid()) + 8,
                  torch::tanh_backward(grad, x.tanh()) + 8, torch::silu_backward(grad, x) + 8,
                  torch::gelu_backward(grad, x) + 8, torch::gelu_backward(grad, x, "tanh") + 8);
         show(out, torch::threshold_backward(torch::ones({3}), torch::full({3}, NAN), 0));
         attempt(out, [&] { torch::gelu_backward(grad, x, "other"); });
         attempt(out, [&] { torch::leaky_relu_backward(grad, x, -0.1, true); });
         show(out, torch::gelu_backward(grad.to(torch::kDouble), x.to(torch::kDouble)) + 8);
       }},
      {"backward_of_activations_at_large_numbers",
       [](std::ostream& out) {
         const torch::Tensor x = torch::tensor({1e15, -1e15, 1e4, -1e4, 90.0, -90.0}).to(torch::kFloat);
         const torch::Tensor grad = torch::full({6}, 0.5);
         show_all(out, torch::silu_backward(grad, x) + 8, torch::gelu_backward(grad, x) + 8,
                  torch::gelu_backward(grad, x, "tanh") + 8, torch::sigmoid_backward(grad, x.sigmoid()) + 8,
                  torch::tanh_backward(grad, x.tanh()) + 8);
       }},
      {"backward_of_losses",
       [](std::ostream& out) {
         const torch::Tensor grad = wave(12, 0.7, 0.2).view({3, 4}), x = wave(12, 1.3, 0.5).view({3, 4}) * 2;
         show_all(out, torch::_softmax_backward_data(grad, x.softmax(1), 1, torch::kFloat) + 8,
                  torch::_softmax_backward_data(grad, x.softmax(0), -2, torch::kFloat) + 8,
                  torch::_log_softmax_backward_data(grad, x.log_softmax(1), 1, torch::kFloat) + 8,
                  torch::mse_loss_backward(grad, x, grad, torch::Reduction::None) + 8,
                  torch::mse_loss_backward(torch::full({}, 0.5), x, grad, torch::Reduction::Mean) + 8,
                  torch::mse_loss_backward(torch::full({}, 0.5), x, grad, torch::Reduction::Sum) + 8);
         const torch::Tensor share = x.sigmoid(), half = torch::full({}, 0.5);
         for (const std::int64_t reduction : kReductions) {
           const torch::Tensor of_loss = reduction == torch::Reduction::None ? grad : half;
           show_all(out, torch::smooth_l1_loss_backward(of_loss, x, grad, reduction, 0.75) + 8,
                    torch::huber_loss_backward(of_loss, x, grad, reduction, 0.75) + 8,
                    torch::binary_cross_entropy_backward(of_loss, share, grad.sigmoid(), {}, reduction) + 32,
                    torch::binary_cross_entropy_backward(of_loss, share, grad.sigmoid(), x, reduction) + 32);
         }
         show_all(out, torch::smooth_l1_loss_backward(half, x, grad, torch::Reduction::Sum, 0) + 8,
                  torch::binary_cross_entropy_backward(half, torch::tensor({0.0F, 1.0F, 1.0F}),
                                                       torch::tensor({0.0F, 1.0F, 0.5F}), {}, torch::Reduction::Sum));
       }},
      {"backward_of_nll_loss",
       [](std::ostream& out) {
         const torch::Tensor x = (wave(12, 1.3, 0.5).view({4, 3}) * 2).log_softmax(1);
         const torch::Tensor classes = torch::tensor({2, 0, 1, 2}), weight = torch::tensor({0.5F, 2.0F, 1.5F});
         show_nll(out, x, classes, {}, -100);
         show_nll(out, x, classes, weight, -100);
         show_nll(out, x, classes, {}, 2);
         show_nll(out, x, classes, weight, 0);
         show_nll(out, x, torch::tensor({2, -100, 1, -100}), weight, -100);
         show_nll(out, x[1], classes[3], weight, -100);
         const torch::Tensor of_places = wave(24, 0.8, 0.1).view({2, 3, 2, 2}).log_softmax(1);
         const torch::Tensor places = torch::tensor({0, 2, 1, 1, 2, 2, 0, 1}).view({2, 2, 2});
         for (const std::int64_t reduction : kReductions) {
           const auto [loss, total] = torch::nll_loss2d_forward(of_places, places, weight, reduction, 1);
           show_all(out, loss, torch::nll_loss2d_backward(loss, of_places, places, weight, reduction, 1, total));
         }
         const torch::Tensor one = torch::ones({});
         const auto refused = [&](const torch::Tensor& grad, const torch::Tensor& target, const torch::Tensor& total) {
           attempt(out, [&] { torch::nll_loss_backward(grad, x, target, {}, torch::Reduction::Mean, -100, total); });
         };
         refused(one, torch::tensor({2, 0, 3, 2}), one);
         refused(one, torch::tensor({2, 0, 1}), one);
         refused(one, classes, torch::ones({2}));
         attempt(out, [&] {
           torch::nll_loss_backward(torch::ones({3}), x, classes, {}, torch::Reduction::None, -100, one);
         });
       }},
      {"optim_sgd", [](std::ostream& out) { show_sgd(out, 0.1); }},
      {"optim_sgd_weight_decay",
       [](std::ostream& out) { show_sgd(out, torch::optim::SGDOptions(0.1).weight_decay(0.3)); }},
      {"optim_sgd_momentum", [](std::ostream& out) { show_sgd(out, torch::optim::SGDOptions(0.1).momentum(0.9)); }},
      {"optim_sgd_dampening",
       [](std::ostream& out) {
         show_sgd(out, torch::optim::SGDOptions(0.1).momentum(0.9).dampening(0.4).weight_decay(0.2));
       }},
      {"optim_sgd_nesterov",
       [](std::ostream& out) {
         show_sgd(out, torch::optim::SGDOptions(0.05).momentum(0.8).nesterov(true).weight_decay(0.1));
       }},
      {"optim_sgd_defaults",
       [](std::ostream& out) {
         const torch::optim::SGDOptions options(0.5);
         out << options.lr() << options.momentum() << options.dampening() << options.weight_decay()
             << options.nesterov() << options.get_lr() << '\n';
       }},
      {"optim_adam", [](std::ostream& out) { show_adam(out, torch::optim::AdamOptions()); }},
      {"optim_adam_weight_decay",
       [](std::ostream& out) { show_adam(out, torch::optim::AdamOptions(0.1).weight_decay(0.3)); }},
      {"optim_adam_betas_and_eps",
       [](std::ostream& out) { show_adam(out, torch::optim::AdamOptions(0.05).betas(Betas(0.0, 0.5)).eps(0.1)); }},
      {"optim_adam_amsgrad",
       [](std::ostream& out) {
         show_adam(out, torch::optim::AdamOptions(0.1).betas(Betas(0.5, 0.6)).amsgrad(true).weight_decay(0.05));
       }},
      {"optim_adam_defaults",
       [](std::ostream& out) {
         const torch::optim::AdamOptions options;
         out << options.lr() << std::get<0>(options.betas()) << std::get<1>(options.betas()) << options.eps()
             << options.weight_decay() << options.amsgrad() << '\n';
         const torch::optim::AdamWOptions decoupled;
         out << decoupled.lr() << decoupled.eps() << decoupled.weight_decay() << decoupled.amsgrad() << '\n';
       }},
      {"optim_adamw", [](std::ostream& out) { show_adamw(out, torch::optim::AdamWOptions()); }},
      {"optim_adamw_weight_decay",
       [](std::ostream& out) { show_adamw(out, torch::optim::AdamWOptions(0.1).weight_decay(0.5)); }},
      {"optim_adamw_amsgrad",
       [](std::ostream& out) {
         show_adamw(out, torch::optim::AdamWOptions(0.1).betas(Betas(0.5, 0.6)).amsgrad(true));
       }},
      {"optim_rmsprop",
       [](std::ostream& out) {
         using Options = torch::optim::RMSpropOptions;
         show_rmsprop(out, Options());
         show_rmsprop(out, Options(0.05).alpha(0.5).eps(0.1).weight_decay(0.3));
         show_rmsprop(out, Options(0.05).momentum(0.8));
         show_rmsprop(out, Options(0.05).alpha(0.9).centered(true));
         show_rmsprop(out, Options(0.05).alpha(0.7).centered(true).momentum(0.5).weight_decay(0.1));
         const Options options;
         out << options.lr() << options.alpha() << options.eps() << options.weight_decay() << options.momentum()
             << options.centered() << options.get_lr() << '\n';
         const torch::NoGradGuard no_grad;
         const torch::Tensor p = wave(3, 0.4, 0.1);
         torch::optim::RMSprop rmsprop(std::vector<torch::Tensor>{p}, Options(0.1).centered(true).momentum(0.5));
         p.mutable_grad() = torch::tensor({2.0F, -1.0F, 0.5F});
         rmsprop.step();
         rmsprop.step();
         const auto& state = static_cast<torch::optim::RMSpropParamState&>(*rmsprop.state().begin()->second);
         out << state.step() << '\n';
         show_all(out, state.square_avg(), state.grad_avg(), state.momentum_buffer());
       }},
      {"optim_adagrad",
       [](std::ostream& out) {
         using Options = torch::optim::AdagradOptions;
         show_adagrad(out, Options());
         show_adagrad(out, Options(0.1).lr_decay(0.5).weight_decay(0.3));
         show_adagrad(out, Options(0.1).initial_accumulator_value(0.5).eps(0.1));
         const Options options;
         out << options.lr() << options.lr_decay() << options.weight_decay() << options.initial_accumulator_value()
             << options.eps() << options.get_lr() << '\n';
         const torch::NoGradGuard no_grad;
         const torch::Tensor p = wave(3, 0.4, 0.1);
         torch::optim::Adagrad adagrad(std::vector<torch::Tensor>{p}, Options(0.1).initial_accumulator_value(1));
         p.mutable_grad() = torch::tensor({2.0F, -1.0F, 0.5F});
         adagrad.step();
         adagrad.step();
         const auto& state = static_cast<torch::optim::AdagradParamState&>(*adagrad.state().begin()->second);
         out << state.step() << '\n';
         show(out, state.sum());
       }},
      {"optim_double",
       [](std::ostream& out) {
         const torch::NoGradGuard no_grad;
         const torch::Tensor p = wave(4, 0.4, 0.1).to(torch::kDouble);
         torch::optim::Adam adam(std::vector<torch::Tensor>{p}, torch::optim::AdamOptions(0.1));
         p.mutable_grad() = p * p;
         adam.step();
         adam.step();
         show(out, p);
       }},
      {"optim_states",
       [](std::ostream& out) {
         const torch::NoGradGuard no_grad;
         const torch::Tensor p = wave(3, 0.4, 0.1);
         torch::optim::Adam adam(std::vector<torch::Tensor>{p}, torch::optim::AdamOptions(0.1).amsgrad(true));
         torch::optim::SGD sgd(std::vector<torch::Tensor>{p}, torch::optim::SGDOptions(0.1).momentum(0.5));
         out << adam.state().size() << sgd.state().size() << '\n';
         p.mutable_grad() = torch::full({3}, 2.0);
         adam.step();
         sgd.step();
         adam.step();
         sgd.step();
         const auto& of_adam = static_cast<torch::optim::AdamParamState&>(*adam.state().begin()->second);
         const auto& of_sgd = static_cast<torch::optim::SGDParamState&>(*sgd.state().begin()->second);
         out << of_adam.step() << '\n';
         show_all(out, of_adam.exp_avg(), of_adam.exp_avg_sq(), of_adam.max_exp_avg_sq(), of_sgd.momentum_buffer(),
                  p.grad());
       }},
      {"optim_groups",
       [](std::ostream& out) {
         const torch::NoGradGuard no_grad;
         const Parameters parameters;
         std::vector<torch::optim::OptimizerParamGroup> groups;
         groups.emplace_back(std::vector<torch::Tensor>{parameters.a});
         torch::optim::SGD sgd(groups, torch::optim::SGDOptions(0.1).momentum(0.5));
         sgd.add_param_group(torch::optim::OptimizerParamGroup(
             {parameters.b}, std::make_unique<torch::optim::SGDOptions>(torch::optim::SGDOptions(1.0))));
         sgd.add_parameters({parameters.idle});
         out << sgd.param_groups().size() << sgd.size() << sgd.parameters().size()
             << sgd.param_groups()[1].options().get_lr() << groups[0].has_options()
             << sgd.param_groups()[0].has_options() << '\n';
         for (int step = 0; step < 2; ++step) {
           parameters.set_grads(step);
           sgd.step();
         }
         show_all(out, parameters.a + 4, parameters.b + 4);
         sgd.param_groups()[1].options().set_lr(0.25);
         static_cast<torch::optim::SGDOptions&>(sgd.param_groups()[0].options()).lr(0.5).momentum(0);
         static_cast<torch::optim::SGDOptions&>(sgd.defaults()).lr(7);  // of groups that are added from now on
         parameters.set_grads(2);
         sgd.step();
         show_all(out, parameters.a + 4, parameters.b + 4);
       }},
      {"optim_zero_grad",
       [](std::ostream& out) {
         const torch::NoGradGuard no_grad;
         const Parameters parameters;
         parameters.set_grads(1);
         const torch::Tensor kept = parameters.a.grad();
         torch::optim::SGD sgd(parameters.all(), 0.1);
         sgd.zero_grad();
         show_all(out, parameters.a.grad(), parameters.b.grad(), kept);
         out << parameters.idle.grad().defined() << parameters.a.view({6}).data().grad().defined()
             << parameters.a.detach().grad().defined() << '\n';
         torch::nn::Linear layer(2, 3);
         layer->weight.mutable_grad() = torch::ones({3, 2});
         layer->zero_grad();
         show(out, layer->weight.grad());
         layer->zero_grad(true);
         out << layer->weight.grad().defined() << '\n';
       }},
      {"optim_closure",
       [](std::ostream& out) {
         const torch::NoGradGuard no_grad;
         const Parameters parameters;
         torch::optim::SGD sgd(parameters.all(), 0.1);
         const torch::Tensor loss = sgd.step([&] {
           parameters.set_grads(3);
           return torch::full({}, 0.5);
         });
         show_all(out, loss, parameters.a);
       }},
      {"optim_errors",
       [](std::ostream& out) {
         const std::vector<torch::Tensor> all{torch::ones({2})};
         const auto sgd = [&](const torch::optim::SGDOptions& options) {
           message(out, [&] { torch::optim::SGD(all, options); });
         };
         sgd(-1);
         sgd(NAN);
         sgd(torch::optim::SGDOptions(1).momentum(-0.5));
         sgd(torch::optim::SGDOptions(1).weight_decay(-0.5));
         sgd(torch::optim::SGDOptions(1).nesterov(true));
         sgd(torch::optim::SGDOptions(1).nesterov(true).momentum(0.5).dampening(0.5));
         const auto adam = [&](const torch::optim::AdamOptions& options) {
           message(out, [&] { torch::optim::Adam(all, options); });
         };
         adam(-1);
         adam(torch::optim::AdamOptions().eps(-1));
         adam(torch::optim::AdamOptions().weight_decay(-1));
         adam(torch::optim::AdamOptions().betas(Betas(1, 0.5)));
         adam(torch::optim::AdamOptions().betas(Betas(0.5, -0.5)));
         message(out, [&] { torch::optim::AdamW(all, torch::optim::AdamWOptions(-0.5)); });
         const auto rmsprop = [&](const torch::optim::RMSpropOptions& options) {
           message(out, [&] { torch::optim::RMSprop(all, options); });
         };
         rmsprop(-1);
         rmsprop(torch::optim::RMSpropOptions().eps(-1));
         rmsprop(torch::optim::RMSpropOptions().momentum(-1));
         rmsprop(torch::optim::RMSpropOptions().weight_decay(-1));
         rmsprop(torch::optim::RMSpropOptions().alpha(-1));
         const auto adagrad = [&](const torch::optim::AdagradOptions& options) {
           message(out, [&] { torch::optim::Adagrad(all, options); });
         };
         adagrad(-1);
         adagrad(torch::optim::AdagradOptions().lr_decay(-1));
         adagrad(torch::optim::AdagradOptions().weight_decay(-1));
         adagrad(torch::optim::AdagradOptions().initial_accumulator_value(-1));
         adagrad(torch::optim::AdagradOptions().eps(-1));
         message(out, [] { torch::optim::OptimizerOptions().get_lr(); });
       }},
      {"optim_step_lr",
       [](std::ostream& out) {
         torch::optim::SGD sgd({torch::ones({1})}, 1.0);
         sgd.add_param_group(torch::optim::OptimizerParamGroup(
             {torch::ones({2})}, std::make_unique<torch::optim::SGDOptions>(torch::optim::SGDOptions(0.5))));
         torch::optim::StepLR schedule(sgd, 2, 0.5);
         for (int step = 0; step < 7; ++step) {
           schedule.step();
           out << sgd.param_groups()[0].options().get_lr() << ' ' << sgd.param_groups()[1].options().get_lr() << '\n';
         }
       }},
      {"clip_grad_norm",
       [](std::ostream& out) {
         const torch::NoGradGuard no_grad;
         for (const double order : {2.0, 1.0, 3.0, 0.0, static_cast<double>(INFINITY)}) {
           for (const double most : {0.5, 100.0}) {
             const Parameters parameters;
             parameters.set_grads(1);
             out << torch::nn::utils::clip_grad_norm_(parameters.all(), most, order) << '\n';
             show_all(out, parameters.a.grad(), parameters.b.grad());
           }
         }
         const Parameters parameters;
         out << torch::nn::utils::clip_grad_norm_(parameters.all(), 1) << '\n';
         parameters.set_grads(1);
         out << torch::nn::utils::clip_grad_norm_(parameters.a, 1) << '\n'
             << torch::nn::utils::clip_grad_norm_({parameters.a, parameters.b}, 1) << '\n';
         parameters.a.mutable_grad() = torch::full({2, 3}, static_cast<double>(INFINITY));
         message(out, [&] { torch::nn::utils::clip_grad_norm_(parameters.all(), 1, 2, true); });
         out << torch::nn::utils::clip_grad_norm_(parameters.all(), 1) << '\n';
         show_all(out, parameters.a.grad(), parameters.b.grad());
       }},
      {"clip_grad_value",
       [](std::ostream& out) {
         const torch::NoGradGuard no_grad;
         const Parameters parameters;
         parameters.set_grads(2);
         torch::nn::utils::clip_grad_value_(parameters.all(), 0.6);
         show_all(out, parameters.a.grad(), parameters.b.grad());
         torch::nn::utils::clip_grad_value_({parameters.a}, 0.3);
         torch::nn::utils::clip_grad_value_(parameters.b, 0.2);
         show_all(out, parameters.a.grad(), parameters.b.grad());
       }},
      {"parameters_to_vector",
       [](std::ostream& out) {
         const torch::NoGradGuard no_grad;
         const Parameters parameters;
         const torch::Tensor handle = parameters.a;
         const torch::Tensor all = torch::nn::utils::parameters_to_vector(parameters.all());
         show(out, all);
         torch::nn::utils::vector_to_parameters(all * 2, parameters.all());
         show_all(out, handle, parameters.b, parameters.idle);
         attempt(out, [&] { torch::nn::utils::vector_to_parameters(torch::ones({3}), parameters.all()); });
       }},
  };
}

}  // namespace oracle
