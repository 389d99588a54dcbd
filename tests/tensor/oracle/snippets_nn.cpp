// Modules: names, order, print, errors, values.
#include "snippets.h"

#ifndef KERNBENCH_ORACLE_LIBTORCH
#include "kernbench/nn.h"
#endif

namespace oracle {

struct MlpImpl : torch::nn::Module {
  MlpImpl(std::int64_t in, std::int64_t hidden, std::int64_t out) {
    up = register_module("up", torch::nn::Linear(in, hidden));
    down = register_module("down", torch::nn::Linear(torch::nn::LinearOptions(hidden, out).bias(false)));
    scale = register_parameter("scale", torch::full({1}, 2.0));
    steps = register_buffer("steps", torch::arange(3));
  }
  torch::Tensor forward(const torch::Tensor& x) { return scale * down(torch::relu(up->forward(x))); }

  torch::nn::Linear up{nullptr}, down{nullptr};
  torch::Tensor scale, steps;
};
TORCH_MODULE(Mlp);

namespace {

/// Numbers that depend on name and place only.
void fill(torch::nn::Module& module) {
  const torch::NoGradGuard no_grad;
  double first = 0.25;
  for (auto& item : module.named_parameters()) {
    torch::Tensor values = item.value();
    values.copy_((torch::arange(values.numel()).to(torch::kFloat).view(values.sizes()) * 0.37 + first).sin());
    first += 0.5;
  }
}

template <class Dict>
void show_tensors(std::ostream& out, const Dict& dict) {
  for (const auto& item : dict) out << item.key() << ' ' << item.value().sizes() << '\n';
}

torch::Tensor input(std::initializer_list<std::int64_t> sizes) {
  std::int64_t count = 1;
  for (const std::int64_t size : sizes) count *= size;
  return (torch::arange(count).to(torch::kFloat) * 0.3).cos().view(std::vector<std::int64_t>(sizes));
}

torch::nn::Sequential chain() {
  return torch::nn::Sequential(torch::nn::Linear(3, 5), torch::nn::GELU(),
                               torch::nn::LayerNorm(std::vector<int64_t>{5}), torch::nn::Linear(5, 2),
                               torch::nn::Dropout(0.25));
}

void show_attention(std::ostream& out, torch::nn::MultiheadAttention& attention, const torch::Tensor& padding,
                    const torch::Tensor& mask) {
  const torch::NoGradGuard no_grad;
  const auto result = attention->forward(input({4, 2, 8}), input({3, 2, 8}), input({3, 2, 8}), padding, true, mask);
  show_all(out, rounded(std::get<0>(result)), rounded(std::get<1>(result)));
}

}  // namespace

std::vector<Snippet> nn_snippets() {
  return {
      {"nn_names_and_order",
       [](std::ostream& out) {
         const Mlp mlp(3, 4, 2);
         show_tensors(out, mlp->named_parameters());
         show_tensors(out, mlp->named_parameters(false));
         show_tensors(out, mlp->named_buffers());
         for (const auto& item : mlp->named_modules("model")) out << '[' << item.key() << "]\n";
         for (const auto& item : mlp->named_children()) out << item.key() << '\n';
         out << mlp->parameters().size() << mlp->buffers().size() << mlp->modules().size() << mlp->children().size()
             << '\n';
       }},
      {"nn_forward_of_own_module",
       [](std::ostream& out) {
         const torch::NoGradGuard no_grad;
         Mlp mlp(3, 4, 2);
         fill(*mlp);
         // Rounded: the last bits of libtorch's sums depend on the processor.
         show_all(out, (mlp(input({2, 3})) * 1000).round(), (mlp->forward(input({3})) * 1000).round(), mlp->up->weight,
                  mlp->up->bias);
         out << mlp->down->bias.defined() << mlp->down->options.bias() << mlp->up->options.in_features() << '\n';
       }},
      {"nn_print",
       [](std::ostream& out) {
         out << *chain() << '\n'
             << torch::nn::Embedding(7, 3) << '\n'
             << torch::nn::Embedding(torch::nn::EmbeddingOptions(7, 3).padding_idx(-1)) << '\n'
             << torch::nn::ReLU(torch::nn::ReLUOptions(true)) << torch::nn::SiLU() << torch::nn::Tanh()
             << torch::nn::Sigmoid() << torch::nn::Softmax(1) << torch::nn::LogSoftmax(-1) << torch::nn::Identity()
             << torch::nn::Flatten() << torch::nn::Functional(torch::relu) << '\n'
             << torch::nn::LayerNorm(torch::nn::LayerNormOptions({2, 3}).eps(1e-6).elementwise_affine(false)) << '\n'
             << torch::nn::ModuleList(torch::nn::ReLU(), torch::nn::Linear(1, 2)) << '\n'
             << Mlp(1, 2, 3)->name() << '\n'
             << *Mlp(1, 2, 3) << '\n';
       }},
      {"nn_sequential",
       [](std::ostream& out) {
         const torch::NoGradGuard no_grad;
         torch::nn::Sequential model = chain();
         fill(*model);
         model->eval();
         show_tensors(out, model->named_parameters());
         show(out, model->forward(input({2, 3})));
         model->push_back("last", torch::nn::Functional(torch::tanh));
         model->push_back(Mlp(2, 3, 1));
         fill(*model);
         show_tensors(out, model->named_parameters());
         show(out, model->forward(input({2, 3})));
         out << model->size() << model->is_empty() << model->at<torch::nn::LinearImpl>(0).options.out_features();
         message(out, [] { torch::nn::Sequential()->forward(torch::ones({1})); });
         attempt(out, [&] { model->ptr(9); });
       }},
      {"nn_named_sequential",
       [](std::ostream& out) {
         torch::nn::Sequential model({{"first", torch::nn::Linear(2, 3)}, {"act", torch::nn::ReLU()}});
         show_tensors(out, model->named_parameters());
         out << *model << '\n';
       }},
      {"nn_module_list",
       [](std::ostream& out) {
         torch::nn::ModuleList list(torch::nn::Linear(2, 3), torch::nn::ReLU());
         list->push_back(Mlp(1, 2, 3));
         show_tensors(out, list->named_parameters());
         out << list->size() << list->is_empty() << (list[1]->as<torch::nn::ReLU>() != nullptr)
             << (list[0]->as<torch::nn::ReLU>() != nullptr) << (list[0]->as<torch::nn::LinearImpl>() != nullptr);
         for (const auto& module : *list) out << module->children().size();
         out << '\n';
       }},
      {"nn_registration_errors",
       [](std::ostream& out) {
         torch::nn::Module module("mine");
         module.register_parameter("a", torch::ones({2}));
         message(out, [&] { module.register_parameter("a", torch::ones({2})); });
         message(out, [&] { module.register_parameter("", torch::ones({2})); });
         message(out, [&] { module.register_parameter("a.b", torch::ones({2})); });
         message(out, [&] { module.register_buffer("", torch::ones({2})); });
         message(out, [&] { module.register_buffer("a.b", torch::ones({2})); });
         module.register_module("part", torch::nn::ReLU());
         message(out, [&] { module.register_module("part", torch::nn::ReLU()); });
         message(out, [&] { module.register_module("", torch::nn::ReLU()); });
         message(out, [&] { module.register_module("a.b", torch::nn::ReLU()); });
         attempt(out, [&] { module.modules(); });
         out << module.modules(false).size() << module.name() << '\n';
         module.unregister_module("part");
         message(out, [&] { module.unregister_module("part"); });
       }},
      {"nn_ordered_dict",
       [](std::ostream& out) {
         torch::OrderedDict<std::string, int> dict = {{"b", 2}, {"a", 1}};
         dict.insert("c", 3);
         message(out, [&] { dict.insert("a", 4); });
         message(out, [&] { dict["d"]; });
         out << dict["a"] << dict[0].key() << *dict.find("c") << (dict.find("d") == nullptr) << dict.contains("b")
             << dict.size() << dict.front().key() << dict.back().value() << '\n';
         dict.erase("b");
         for (const auto& item : dict) out << item.key() << *item << ' ' << item.pair().second;
         for (const auto& key : dict.keys()) out << key;
         torch::OrderedDict<std::string, int> other;
         other.insert("z", 9);
         dict.update(other);
         out << dict.values().size() << dict.pairs().back().first << dict["c"] << dict.is_empty() << '\n';
       }},
      {"nn_training_mode",
       [](std::ostream& out) {
         torch::nn::Sequential model = chain();
         out << model->is_training();
         model->eval();
         for (const auto& module : model->modules()) out << module->is_training();
         model->train();
         for (const auto& module : model->modules()) out << module->is_training();
         const auto x = input({3, 3});
         torch::nn::Dropout dropout(0.5);
         dropout->eval();
         out << dropout(x).equal(x)
             << torch::nn::functional::dropout(x, torch::nn::functional::DropoutFuncOptions().p(1))
                    .eq(0)
                    .all()
                    .item<bool>();
         message(out, [] { torch::nn::Dropout(1.5); });
       }},
      {"nn_to_and_apply",
       [](std::ostream& out) {
         const torch::NoGradGuard no_grad;
         Mlp mlp(3, 4, 2);
         const torch::Tensor weight = mlp->up->weight;
         mlp->to(torch::kDouble);
         for (const auto& item : mlp->named_parameters()) out << item.key() << item.value().scalar_type() << ' ';
         out << weight.scalar_type() << mlp->forward(input({1, 3}).to(torch::kDouble)).scalar_type() << '\n';
         mlp->apply([&](torch::nn::Module& module) { out << module.children().size(); });
         mlp->apply([&](const std::string& name, torch::nn::Module&) { out << name << ';'; }, "net");
         out << '\n';
       }},
      {"nn_layers",
       [](std::ostream& out) {
         const torch::NoGradGuard no_grad;
         torch::nn::LayerNorm norm(torch::nn::LayerNormOptions({3}).eps(1e-3));
         show_all(out, norm->weight, norm->bias);
         fill(*norm);
         torch::nn::Embedding embedding(5, 2);
         fill(*embedding);
         show_all(out, rounded(norm(input({2, 3}))), embedding(torch::tensor({{0, 4}, {2, 2}})));
         const auto x = input({2, 2, 3});
         show_all(out, torch::nn::ReLU()(x), torch::nn::GELU()(x), torch::nn::SiLU()(x), torch::nn::Tanh()(x),
                  torch::nn::Sigmoid()(x), torch::nn::Softmax(1)(x), rounded(torch::nn::LogSoftmax(-1)(x)),
                  torch::nn::Identity()(x), torch::nn::Flatten()(x),
                  torch::nn::Flatten(torch::nn::FlattenOptions().start_dim(0).end_dim(1))(x));
         show(out, torch::nn::Embedding(torch::nn::EmbeddingOptions(5, 2).padding_idx(-2))->weight[3]);
         message(out, [] { torch::nn::Embedding(torch::nn::EmbeddingOptions(5, 2).padding_idx(5)); });
         out << torch::nn::Linear(2, 3)->weight.sizes() << torch::nn::Linear(2, 3)->bias.sizes() << '\n';
         attempt(out, [] { torch::nn::Linear(2, 3)(torch::ones({2, 3})); });
       }},
      {"nn_attention",
       [](std::ostream& out) {
         torch::nn::MultiheadAttention attention(8, 2);
         show_tensors(out, attention->named_parameters());
         fill(*attention);
         show_attention(out, attention, {}, {});
         show_attention(out, attention, torch::tensor({{false, false, true}, {false, true, false}}), {});
         show_attention(out, attention, {}, torch::ones({4, 3}).triu(1) * -1e9);
         const torch::NoGradGuard no_grad;
         const auto x = input({4, 2, 8});
         show(out, rounded(std::get<0>(attention->forward(x, x, x, {}, false))));
         show(out, rounded(std::get<1>(attention->forward(x, x, x, {}, true, {}, false))));
         torch::nn::MultiheadAttention other(torch::nn::MultiheadAttentionOptions(8, 4).kdim(6).vdim(6));
         show_tensors(out, other->named_parameters());
         fill(*other);
         show(out, rounded(std::get<0>(other->forward(x, input({3, 2, 6}), input({3, 2, 6}).neg()))));
         attempt(out, [] { torch::nn::MultiheadAttention(8, 3); });
       }},
      {"nn_init",
       [](std::ostream& out) {
         const torch::NoGradGuard no_grad;
         namespace init = torch::nn::init;
         torch::Tensor x = torch::empty({3, 4});
         show_all(out, init::constant_(x, 2.5).clone(), init::ones_(x).clone(), init::zeros_(x).clone(),
                  init::eye_(x).clone());
         out << init::calculate_gain(torch::kLinear) << ' ' << init::calculate_gain(torch::kTanh) << ' '
             << init::calculate_gain(torch::kReLU) << ' ' << init::calculate_gain(torch::kLeakyReLU, 0.5) << '\n';
         const auto fan = init::_calculate_fan_in_and_fan_out(torch::empty({3, 4, 5}));
         out << std::get<0>(fan) << ' ' << std::get<1>(fan) << '\n';
         message(out, [] { init::xavier_uniform_(torch::empty({3})); });
         message(out, [] { init::eye_(torch::empty({3})); });
         message(out, [&] { x.uniform_(2, 1); });
         message(out, [] { init::orthogonal_(torch::empty({3})); });
         // Lengths and angles of the rows, or of the columns where these are fewer.
         const torch::Tensor wide = init::orthogonal_(torch::empty({3, 2, 4}), 0.5).view({3, 8});
         const torch::Tensor tall = init::orthogonal_(torch::empty({7, 4}));
         show_all(out, rounded(wide.mm(wide.t())), rounded(tall.t().mm(tall)));
         // What is drawn differs; how it is spread does not.
         const auto spread = [&](const char* name, const torch::Tensor& drawn) {
           out << name << ' ' << (drawn.max().item<double>() * 10 > 0) << std::round(drawn.std().item<double>() * 20)
               << ' ' << std::round(drawn.mean().item<double>() * 8) + 0.0 << '\n';
         };
         const auto big = [] { return torch::empty({200, 100}); };
         spread("uniform", init::uniform_(big(), -1, 3));
         spread("normal", init::normal_(big(), 1, 0.5));
         spread("kaiming_uniform", init::kaiming_uniform_(big(), std::sqrt(5.0)));
         spread("kaiming_normal", init::kaiming_normal_(big(), 0, torch::kFanOut, torch::kReLU));
         spread("xavier_uniform", init::xavier_uniform_(big(), 2));
         spread("xavier_normal", init::xavier_normal_(big()));
         spread("linear", torch::nn::Linear(4, 5000)->weight);
         spread("linear bias", torch::nn::Linear(4, 5000)->bias);
         spread("embedding", torch::nn::Embedding(300, 100)->weight);
       }},
  };
}

}  // namespace oracle
