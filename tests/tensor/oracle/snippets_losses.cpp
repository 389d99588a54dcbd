// Losses, activation functions with parameters, and the modules of losses.
#include "snippets.h"

#ifndef KERNBENCH_ORACLE_LIBTORCH
#include "kernbench/nn.h"
#endif

namespace oracle {

namespace {

namespace F = torch::nn::functional;

torch::Tensor scores() {
  return torch::tensor({{0.5, -1.25, 2.0}, {3.5, -4.0, 0.1}, {-0.5, 0.25, 0.75}, {1.0, 2.0, -3.0}});
}
torch::Tensor goals() {
  return torch::tensor({{0.25, 1.0, 2.0}, {-3.0, 1.5, 0.1}, {0.0, 0.5, -0.75}, {4.0, 2.5, -2.0}});
}
torch::Tensor classes() {
  return torch::tensor({2, 0, 1, 2});
}
torch::Tensor class_weight() {
  return torch::tensor({0.5, 2.0, 1.25});
}
torch::Tensor shares() {
  return torch::softmax(goals(), 1);
}
torch::Tensor images() {
  return (torch::arange(24).to(torch::kFloat) * 0.7).sin().view({2, 3, 2, 2});
}
torch::Tensor image_classes() {
  return torch::tensor({0, 1, 2, 0, 1, 1, 2, 0}).view({2, 2, 2});
}
torch::Tensor whole_scores() {
  return torch::tensor({{1, -2, 3}, {7, 5, -6}});
}
torch::Tensor special_scores() {
  return torch::tensor({0.0f, -0.0f, 1.0f / 0.0f, -1.0f / 0.0f, std::nanf(""), 1.0f, -2.5f});
}

/// `loss(reduction)` for each reduction.
template <class Loss>
void each_reduction(std::ostream& out, const Loss& loss) {
  for (const std::int64_t reduction : {torch::Reduction::None, torch::Reduction::Mean, torch::Reduction::Sum}) {
    try {
      show(out, rounded(loss(reduction)));
    } catch (const std::exception&) {
      out << "throws\n";
    }
  }
}

/// A loss of numbers, of all pairs of some types and of shapes that broadcast.
template <class Loss>
void loss_of_numbers(std::ostream& out, const Loss& loss) {
  each_reduction(out, [&](std::int64_t r) { return loss(scores(), goals(), r); });
  each_reduction(out, [&](std::int64_t r) { return loss(scores().to(torch::kDouble), goals(), r); });
  show(out, loss(scores().to(torch::kBFloat16), goals(), torch::Reduction::None));
  out << loss(scores().to(torch::kBFloat16), goals(), torch::Reduction::Mean).scalar_type() << '\n';
  show(out, loss(scores(), torch::tensor(0.75), torch::Reduction::None));
  each_reduction(out, [&](std::int64_t r) { return loss(scores(), torch::tensor({1, 0, 2}), r); });
  each_reduction(out, [&](std::int64_t r) { return loss(scores().t(), goals().t(), r); });
  each_reduction(out, [&](std::int64_t r) { return loss(special_scores(), torch::ones({7}), r); });
  each_reduction(out, [&](std::int64_t r) { return loss(torch::zeros({0, 3}), torch::zeros({0, 3}), r); });
  attempt(out, [&] { loss(scores(), torch::ones({2}), torch::Reduction::Mean); });
  attempt(out, [&] { loss(whole_scores(), whole_scores() + 1, torch::Reduction::Mean); });
}

/// Of every element type that activations may be asked for, and of the values that are special.
template <class Call>
void each_kind(std::ostream& out, const Call& call) {
  for (const auto& x :
       {whole_scores() > 0, whole_scores().to(torch::kInt), whole_scores().to(torch::kByte), whole_scores(), scores(),
        scores().to(torch::kDouble), scores().t(), torch::zeros({0, 2}), torch::tensor(-0.75)}) {
    try {
      show(out, rounded(call(x)));
    } catch (const std::exception&) {
      out << "throws\n";
    }
  }
}

template <class Call>
void activation(std::ostream& out, const Call& call) {
  each_kind(out, call);
  show(out, rounded(call(special_scores())));
}

}  // namespace

std::vector<Snippet> loss_snippets() {
  return {
      {"mse_loss",
       [](std::ostream& out) {
         loss_of_numbers(out, [](const auto& x, const auto& y, std::int64_t r) { return torch::mse_loss(x, y, r); });
         show(out, torch::mse_loss(scores(), goals()));
       }},
      {"l1_loss",
       [](std::ostream& out) {
         loss_of_numbers(out, [](const auto& x, const auto& y, std::int64_t r) { return torch::l1_loss(x, y, r); });
         show_all(out, torch::l1_loss(scores(), goals()),
                  torch::l1_loss(whole_scores(), whole_scores() + 1, torch::Reduction::Sum),
                  torch::l1_loss(whole_scores(), whole_scores() + 1, torch::Reduction::None));
       }},
      {"smooth_l1_loss",
       [](std::ostream& out) {
         loss_of_numbers(out,
                         [](const auto& x, const auto& y, std::int64_t r) { return torch::smooth_l1_loss(x, y, r); });
         show_all(out, torch::smooth_l1_loss(scores(), goals(), torch::Reduction::None, 0.5),
                  torch::smooth_l1_loss(scores(), goals(), torch::Reduction::Sum, 3.0),
                  torch::smooth_l1_loss(scores(), goals(), torch::Reduction::None, 0.0));
         attempt(out, [] { torch::smooth_l1_loss(scores(), goals(), torch::Reduction::Sum, -1.0); });
       }},
      {"huber_loss",
       [](std::ostream& out) {
         loss_of_numbers(out, [](const auto& x, const auto& y, std::int64_t r) { return torch::huber_loss(x, y, r); });
         show_all(out, torch::huber_loss(scores(), goals(), torch::Reduction::None, 0.5),
                  torch::huber_loss(scores(), goals(), torch::Reduction::Sum, 3.0));
         attempt(out, [] { torch::huber_loss(scores(), goals(), torch::Reduction::Sum, 0.0); });
       }},
      {"nll_loss",
       [](std::ostream& out) {
         const auto log_shares = torch::log_softmax(scores(), 1);
         each_reduction(out, [&](std::int64_t r) { return torch::nll_loss(log_shares, classes(), {}, r); });
         each_reduction(out, [&](std::int64_t r) { return torch::nll_loss(log_shares, classes(), class_weight(), r); });
         each_reduction(out, [&](std::int64_t r) { return torch::nll_loss(log_shares, classes(), {}, r, 2); });
         each_reduction(out,
                        [&](std::int64_t r) { return torch::nll_loss(log_shares, classes(), class_weight(), r, 2); });
         each_reduction(out, [&](std::int64_t r) {
           return torch::nll_loss(log_shares, torch::full({4}, -100), class_weight(), r);
         });
         each_reduction(out, [&](std::int64_t r) { return torch::nll_loss(log_shares[0], classes()[0], {}, r); });
         each_reduction(
             out, [&](std::int64_t r) { return torch::nll_loss(log_shares[0], classes()[0], class_weight(), r); });
         each_reduction(out, [&](std::int64_t r) {
           return torch::nll_loss(torch::zeros({0, 3}), torch::zeros({0}, torch::kLong), {}, r);
         });
         each_reduction(
             out, [&](std::int64_t r) { return torch::nll_loss(log_shares, classes().to(torch::kByte), {}, r, 2); });
         show_all(out, torch::nll_loss(log_shares, classes()),
                  torch::nll_loss(log_shares.to(torch::kDouble), classes()));
       }},
      {"nll_loss_of_images",
       [](std::ostream& out) {
         const auto log_shares = torch::log_softmax(images(), 1);
         each_reduction(out, [&](std::int64_t r) { return torch::nll_loss2d(log_shares, image_classes(), {}, r); });
         each_reduction(out, [&](std::int64_t r) {
           return torch::nll_loss_nd(log_shares, image_classes(), class_weight(), r, 0);
         });
         each_reduction(out, [&](std::int64_t r) {
           return torch::nll_loss_nd(log_shares.view({2, 3, 4}), image_classes().view({2, 4}), {}, r, 1);
         });
         each_reduction(out, [&](std::int64_t r) {
           return torch::nll_loss_nd(log_shares.view({2, 3, 2, 1, 2}), image_classes().view({2, 2, 1, 2}),
                                     class_weight(), r);
         });
       }},
      {"errors_of_nll_loss",
       [](std::ostream& out) {
         const auto log_shares = torch::log_softmax(scores(), 1);
         attempt(out, [&] { torch::nll_loss(log_shares, torch::tensor({0, 1, 2})); });
         attempt(out, [&] { torch::nll_loss(log_shares, torch::tensor({0, 1, 3, 0})); });
         attempt(out, [&] { torch::nll_loss(log_shares, torch::tensor({0, -1, 2, 0})); });
         attempt(out, [&] { torch::nll_loss(log_shares, torch::tensor({0.0, 1.0, 2.0, 0.0})); });
         attempt(out, [&] { torch::nll_loss(log_shares, classes().to(torch::kInt)); });
         attempt(out, [&] { torch::nll_loss(log_shares, classes().view({2, 2})); });
         attempt(out, [&] { torch::nll_loss(log_shares, classes(), torch::ones({2})); });
         attempt(out, [&] { torch::nll_loss(log_shares, classes(), class_weight().to(torch::kDouble)); });
         attempt(out, [&] { torch::nll_loss(torch::tensor(1.0), torch::tensor(0)); });
         attempt(out, [&] { torch::nll_loss(images(), image_classes()); });
         attempt(out, [&] { torch::nll_loss(whole_scores(), torch::tensor({0, 1})); });
         attempt(out, [&] { torch::nll_loss2d(log_shares, classes()); });
         attempt(out, [&] { torch::nll_loss_nd(images(), image_classes().view({4, 2})); });
         attempt(out, [&] { torch::nll_loss_nd(images().view({2, 3, 4}), image_classes()); });
       }},
      {"cross_entropy_loss",
       [](std::ostream& out) {
         each_reduction(out, [](std::int64_t r) { return torch::cross_entropy_loss(scores(), classes(), {}, r); });
         each_reduction(
             out, [](std::int64_t r) { return torch::cross_entropy_loss(scores(), classes(), class_weight(), r, 2); });
         each_reduction(out,
                        [](std::int64_t r) { return torch::cross_entropy_loss(scores()[0], classes()[0], {}, r); });
         each_reduction(out, [](std::int64_t r) {
           return torch::cross_entropy_loss(images(), image_classes(), class_weight(), r);
         });
         show_all(out, torch::cross_entropy_loss(scores(), classes()),
                  torch::cross_entropy_loss(scores().to(torch::kDouble), classes()),
                  torch::cross_entropy_loss(scores() * 100, classes(), {}, torch::Reduction::None),
                  torch::cross_entropy_loss(scores(), torch::full({4}, 7), {}, torch::Reduction::Mean, 7));
       }},
      {"label_smoothing",
       [](std::ostream& out) {
         each_reduction(
             out, [](std::int64_t r) { return torch::cross_entropy_loss(scores(), classes(), {}, r, -100, 0.1); });
         each_reduction(out,
                        [](std::int64_t r) { return torch::cross_entropy_loss(scores(), classes(), {}, r, 2, 0.25); });
         each_reduction(out, [](std::int64_t r) {
           return torch::cross_entropy_loss(scores(), classes(), class_weight(), r, 2, 0.25);
         });
         each_reduction(out, [](std::int64_t r) {
           return torch::cross_entropy_loss(images(), image_classes(), class_weight(), r, 0, 0.5);
         });
         each_reduction(out, [](std::int64_t r) {
           return torch::cross_entropy_loss(scores()[0], classes()[0], {}, r, -100, 1.0);
         });
       }},
      {"cross_entropy_of_probabilities",
       [](std::ostream& out) {
         each_reduction(out, [](std::int64_t r) { return torch::cross_entropy_loss(scores(), shares(), {}, r); });
         each_reduction(out, [](std::int64_t r) {
           return torch::cross_entropy_loss(scores(), shares(), class_weight(), r, -100, 0.2);
         });
         each_reduction(out, [](std::int64_t r) { return torch::cross_entropy_loss(scores()[1], shares()[1], {}, r); });
         each_reduction(out, [](std::int64_t r) {
           return torch::cross_entropy_loss(images(), torch::softmax(images(), 1), class_weight(), r);
         });
         show(out, torch::cross_entropy_loss(scores(), shares().to(torch::kDouble)));
       }},
      {"errors_of_cross_entropy_loss",
       [](std::ostream& out) {
         attempt(out, [] { torch::cross_entropy_loss(scores(), classes(), {}, torch::Reduction::Mean, -100, 1.5); });
         attempt(out, [] { torch::cross_entropy_loss(scores(), shares(), {}, torch::Reduction::Mean, 1); });
         attempt(out, [] { torch::cross_entropy_loss(scores(), torch::ones({4, 3}, torch::kLong)); });
         attempt(out, [] { torch::cross_entropy_loss(scores(), shares(), torch::ones({2})); });
         attempt(out, [] { torch::cross_entropy_loss(scores(), torch::tensor({0, 1, 2, 3})); });
         attempt(out, [] { torch::cross_entropy_loss(scores(), torch::tensor({0, 1})); });
         attempt(out, [] { torch::cross_entropy_loss(whole_scores(), torch::tensor({0, 1})); });
         attempt(out, [] { torch::cross_entropy_loss(scores(), torch::tensor(0)); });
       }},
      {"binary_cross_entropy",
       [](std::ostream& out) {
         const auto guesses = torch::sigmoid(scores()), truths = (goals() > 0.3).to(torch::kFloat);
         each_reduction(out, [&](std::int64_t r) { return torch::binary_cross_entropy(guesses, truths, {}, r); });
         each_reduction(out, [&](std::int64_t r) { return torch::binary_cross_entropy(guesses, shares(), {}, r); });
         each_reduction(
             out, [&](std::int64_t r) { return torch::binary_cross_entropy(guesses, truths, class_weight(), r); });
         each_reduction(out, [&](std::int64_t r) {
           return torch::binary_cross_entropy(torch::tensor({0.0, 1.0, 0.0, 1.0}), torch::tensor({0.0, 1.0, 1.0, 0.0}),
                                              {}, r);
         });
         each_reduction(out, [&](std::int64_t r) {
           return torch::binary_cross_entropy(torch::zeros({0, 3}), torch::zeros({0, 3}), {}, r);
         });
         show(out, torch::binary_cross_entropy(guesses.to(torch::kDouble), truths.to(torch::kDouble)));
         attempt(out, [&] { torch::binary_cross_entropy(scores(), truths); });
         attempt(out, [&] { torch::binary_cross_entropy(torch::tensor({std::nanf("")}), torch::ones({1})); });
         attempt(out, [&] { torch::binary_cross_entropy(guesses, truths.to(torch::kLong)); });
         attempt(out, [&] { torch::binary_cross_entropy(guesses, truths.to(torch::kDouble)); });
         attempt(out, [&] { F::binary_cross_entropy(guesses, torch::ones({4, 1})); });
       }},
      {"binary_cross_entropy_with_logits",
       [](std::ostream& out) {
         const auto truths = (goals() > 0.3).to(torch::kFloat);
         const auto loss = [](const torch::Tensor& x, const torch::Tensor& y, std::int64_t r) {
           return torch::binary_cross_entropy_with_logits(x, y, {}, {}, r);
         };
         each_reduction(out, [&](std::int64_t r) { return loss(scores(), truths, r); });
         each_reduction(out, [&](std::int64_t r) { return loss(scores(), shares(), r); });
         each_reduction(out, [&](std::int64_t r) { return loss(scores() * 40, truths, r); });
         each_reduction(out, [&](std::int64_t r) { return loss(scores().to(torch::kDouble), truths, r); });
         each_reduction(out, [&](std::int64_t r) { return loss(scores(), truths.to(torch::kLong), r); });
         each_reduction(out, [&](std::int64_t r) { return loss(torch::zeros({0, 3}), torch::zeros({0, 3}), r); });
         each_reduction(out, [&](std::int64_t r) {
           return torch::binary_cross_entropy_with_logits(scores(), truths, class_weight(), class_weight() * 2, r);
         });
         attempt(out, [&] { loss(scores(), truths > 0, torch::Reduction::Mean); });
         attempt(out, [&] { loss(scores(), torch::ones({2}), torch::Reduction::Mean); });
         attempt(out, [&] { F::binary_cross_entropy_with_logits(scores(), torch::ones({4, 1})); });
       }},
      {"kl_div",
       [](std::ostream& out) {
         const auto log_shares = torch::log_softmax(scores(), 1);
         each_reduction(out, [&](std::int64_t r) { return torch::kl_div(log_shares, shares(), r); });
         each_reduction(out, [&](std::int64_t r) { return torch::kl_div(log_shares, shares().log(), r, true); });
         each_reduction(out,
                        [&](std::int64_t r) { return torch::kl_div(log_shares, torch::eye(4).slice(1, 0, 3), r); });
         each_reduction(out, [&](std::int64_t r) { return torch::kl_div(log_shares, shares()[0], r); });
         each_reduction(out,
                        [&](std::int64_t r) { return torch::kl_div(torch::zeros({0, 3}), torch::zeros({0, 3}), r); });
         show_all(out, F::kl_div(log_shares, shares(), F::KLDivFuncOptions(torch::kBatchMean)),
                  F::kl_div(log_shares, shares(), F::KLDivFuncOptions().reduction(torch::kSum).log_target(true)),
                  F::kl_div(log_shares, shares().to(torch::kDouble)));
       }},
      {"functional_losses",
       [](std::ostream& out) {
         const auto log_shares = torch::log_softmax(scores(), 1);
         show_all(
             out, F::mse_loss(scores(), goals()), F::mse_loss(scores(), goals(), F::MSELossFuncOptions(torch::kNone)),
             F::l1_loss(scores(), goals(), torch::kSum),
             F::smooth_l1_loss(scores(), goals(), F::SmoothL1LossFuncOptions(torch::kSum).beta(0.5)),
             F::smooth_l1_loss(scores(), goals(), torch::kSum, 0.5),
             F::huber_loss(scores(), goals(), F::HuberLossFuncOptions().delta(0.5).reduction(torch::kMean)),
             F::nll_loss(log_shares, classes(), F::NLLLossFuncOptions().ignore_index(2).reduction(torch::kSum)),
             F::nll_loss(log_shares, classes(), F::NLLLossFuncOptions().weight(class_weight())),
             F::cross_entropy(scores(), classes()),
             F::cross_entropy(scores(), classes(),
                              F::CrossEntropyFuncOptions().weight(class_weight()).ignore_index(0).label_smoothing(0.5)),
             F::binary_cross_entropy(torch::sigmoid(scores()), shares(),
                                     F::BinaryCrossEntropyFuncOptions().weight(class_weight())),
             F::binary_cross_entropy_with_logits(
                 scores(), shares(),
                 F::BinaryCrossEntropyWithLogitsFuncOptions().pos_weight(class_weight()).reduction(torch::kSum)));
         attempt(out, [&] { F::nll_loss(log_shares[0], classes()[0]); });
       }},
      {"modules_of_losses",
       [](std::ostream& out) {
         const torch::NoGradGuard no_grad;
         const auto log_shares = torch::log_softmax(scores(), 1);
         torch::nn::MSELoss mse{torch::nn::MSELossOptions(torch::kSum)};
         torch::nn::L1Loss l1;
         torch::nn::SmoothL1Loss smooth(torch::nn::SmoothL1LossOptions().beta(0.5));
         torch::nn::HuberLoss huber(torch::nn::HuberLossOptions().delta(0.5).reduction(torch::kNone));
         torch::nn::KLDivLoss kl(torch::nn::KLDivLossOptions().reduction(torch::kBatchMean));
         torch::nn::NLLLoss nll(torch::nn::NLLLossOptions().weight(class_weight()));
         torch::nn::CrossEntropyLoss entropy(torch::nn::CrossEntropyLossOptions().ignore_index(1).label_smoothing(0.1));
         torch::nn::BCELoss bce(torch::nn::BCELossOptions().weight(class_weight()));
         torch::nn::BCEWithLogitsLoss logits(torch::nn::BCEWithLogitsLossOptions().pos_weight(class_weight()));
         show_all(out, mse(scores(), goals()), l1(scores(), goals()), smooth(scores(), goals()),
                  huber(scores(), goals()), kl(log_shares, shares()), nll(log_shares, classes()),
                  entropy(scores(), classes()), bce(torch::sigmoid(scores()), shares()), logits(scores(), shares()));
         out << mse << l1 << smooth << huber << kl << nll << entropy << bce << logits << '\n';
         out << nll->buffers().size() << entropy->buffers().size() << bce->named_buffers().size()
             << logits->named_buffers().size() << entropy->options.ignore_index() << '\n';
       }},
      {"leaky_relu",
       [](std::ostream& out) {
         activation(out, [](const torch::Tensor& x) { return torch::leaky_relu(x); });
         activation(out, [](const torch::Tensor& x) { return torch::leaky_relu(x, 0.25); });
       }},
      {"softplus",
       [](std::ostream& out) {
         activation(out, [](const torch::Tensor& x) { return torch::softplus(x); });
         activation(out, [](const torch::Tensor& x) { return torch::softplus(x, 2, 1.5); });
       }},
      {"elu",
       [](std::ostream& out) {
         activation(out, [](const torch::Tensor& x) { return torch::elu(x); });
         activation(out, [](const torch::Tensor& x) { return torch::elu(x, 0.5, 2, 0.25); });
       }},
      {"hardtanh",
       [](std::ostream& out) {
         activation(out, [](const torch::Tensor& x) { return torch::hardtanh(x); });
         activation(out, [](const torch::Tensor& x) { return torch::hardtanh(x, 0.5, 2.5); });
         activation(out, [](const torch::Tensor& x) { return torch::relu6(x); });
       }},
      {"selu", [](std::ostream& out) { activation(out, [](const torch::Tensor& x) { return torch::selu(x); }); }},
      {"mish", [](std::ostream& out) { activation(out, [](const torch::Tensor& x) { return torch::mish(x); }); }},
      {"hardsigmoid",
       [](std::ostream& out) { activation(out, [](const torch::Tensor& x) { return torch::hardsigmoid(x); }); }},
      {"hardswish",
       [](std::ostream& out) { activation(out, [](const torch::Tensor& x) { return torch::hardswish(x); }); }},
      {"log_sigmoid",
       [](std::ostream& out) { activation(out, [](const torch::Tensor& x) { return torch::log_sigmoid(x); }); }},
      {"activations_of_narrow_floats",
       [](std::ostream& out) {
         const auto x = scores().to(torch::kBFloat16);
         show_all(out, torch::leaky_relu(x), torch::softplus(x), torch::elu(x), torch::hardtanh(x), torch::relu6(x),
                  torch::selu(x), torch::hardsigmoid(x), torch::hardswish(x), torch::log_sigmoid(x));
       }},
      {"functional_activations",
       [](std::ostream& out) {
         const auto x = scores();
         show_all(out, rounded(F::mish(x)), rounded(F::logsigmoid(x)), F::softsign(x), F::leaky_relu(x),
                  F::leaky_relu(x, F::LeakyReLUFuncOptions().negative_slope(0.25)), F::elu(x),
                  F::elu(x, F::ELUFuncOptions().alpha(0.5)), F::hardtanh(x),
                  F::hardtanh(x, F::HardtanhFuncOptions().min_val(0).max_val(0.5)), rounded(F::softplus(x)),
                  rounded(F::softplus(x, F::SoftplusFuncOptions().beta(2).threshold(1))));
       }},
      {"atan2",
       [](std::ostream& out) {
         const auto x = special_scores().view({7, 1}), y = special_scores().view({1, 7});
         show_all(out, torch::atan2(x, y), scores().atan2(goals()), torch::atan2(whole_scores(), whole_scores() - 2),
                  torch::atan2(scores().to(torch::kDouble), goals()), torch::atan2(whole_scores() > 0, whole_scores()));
       }},
      {"activations_in_place",
       [](std::ostream& out) {
         auto x = scores();
         torch::leaky_relu_(x, 0.5);
         torch::elu_(x, 0.5);
         show(out, x);
         torch::selu_(x);
         torch::mish_(x);
         show(out, x);
         torch::hardtanh_(x, -0.5, 1.5);
         torch::hardswish_(x);
         show(out, x);
         torch::hardsigmoid_(x);
         torch::relu6_(x);
         show(out, x);
         attempt(out, [] {
           auto y = whole_scores();
           torch::elu_(y);
         });
       }},
      {"xlogy",
       [](std::ostream& out) {
         const auto x = torch::tensor({0.0, 0.0, 0.0, 2.0, 2.0, -1.5}),
                    y = torch::tensor({std::nan(""), -1.0, 0.0, 3.0, 0.0, 0.25});
         show_all(out, torch::xlogy(x, y), x.xlogy(y), torch::xlogy(x, 2.5), torch::xlogy(2, y), x.clone().xlogy_(y),
                  torch::xlogy(whole_scores(), whole_scores().abs()), torch::xlogy(whole_scores() > 0, 2), x.xlogy(3),
                  torch::xlogy(x.to(torch::kHalf), y.to(torch::kHalf)), torch::xlogy(x, y.to(torch::kDouble)));
         attempt(out, [] { whole_scores().xlogy_(2); });
       }},
  };
}

}  // namespace oracle
