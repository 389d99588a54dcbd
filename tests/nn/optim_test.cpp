// Optimisers on devices: values against the host in f64, launches, what is kept, and misuse. That the host's are
// libtorch's is held by tests/tensor/oracle.
#include "kernbench/optim.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <numbers>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "kernbench/nn.h"
#include "support.h"
#include "tensor/tensor_impl.h"

namespace kernbench::torch::optim {
namespace {

using nn::on_tiny;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Parameters = std::vector<Tensor>;
using Make = std::function<std::unique_ptr<Optimizer>(const Parameters&)>;

constexpr int kSteps = 3;

template <class Kind, class Options>
Make of(Options options) {
  return [options](const Parameters& parameters) { return std::make_unique<Kind>(parameters, options); };
}

/// Each option of each optimiser counts in one of these.
std::vector<Make> all_kinds() {
  const std::tuple<double, double> betas(0.5, 0.6);
  return {
      of<SGD>(SGDOptions(0.1)),
      of<SGD>(SGDOptions(0.1).weight_decay(0.3).maximize(true)),
      of<SGD>(SGDOptions(0.1).momentum(0.9).dampening(0.4).weight_decay(0.2)),
      of<SGD>(SGDOptions(0.1).momentum(0.8).nesterov(true)),
      of<Adam>(AdamOptions(0.1)),
      of<Adam>(AdamOptions(0.1).betas({0, 0.5}).eps(0.1).weight_decay(0.3).maximize(true)),
      of<Adam>(AdamOptions(0.1).betas(betas).amsgrad(true)),
      of<AdamW>(AdamWOptions(0.1).weight_decay(0.3)),
      of<AdamW>(AdamWOptions(0.1).betas(betas).amsgrad(true).maximize(true)),
      of<RMSprop>(RMSpropOptions(0.1)),
      of<RMSprop>(RMSpropOptions(0.1).alpha(0.5).eps(0.1).weight_decay(0.3).maximize(true)),
      of<RMSprop>(RMSpropOptions(0.1).alpha(0.7).eps(0.1).momentum(0.5).centered(true)),
      of<Adagrad>(AdagradOptions(0.1).weight_decay(0.3).lr_decay(0.5)),
      of<Adagrad>(AdagradOptions(0.1).initial_accumulator_value(0.5).eps(0.1).maximize(true)),
  };
}

Tensor wave(std::vector<std::int64_t> sizes, double step, double first) {
  std::int64_t count = 1;
  for (const std::int64_t size : sizes) count *= size;
  return (torch::arange(count).to(torch::kDouble) * step + first).sin().view(sizes);
}

/// As far as they depend on no rounding: both sides begin from the same numbers.
Parameters start(ScalarType type) {
  return {wave({13, 37}, 0.7, 0.3).to(type), wave({5}, 1.1, -0.4).to(type), wave({}, 1, 0.5).to(type)};
}

void set_grads(const Parameters& parameters, int step, ScalarType type) {
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    // The second step's are small, so that the largest mean square is one of before.
    const double size = step == 1 ? 0.125 : 2;
    const Tensor grad = (wave(parameters[i].sizes().vec(), 0.9, step + static_cast<double>(i)) * size).to(type);
    parameters[i].mutable_grad() = grad.to(parameters[i].device(), parameters[i].scalar_type());
  }
}

Parameters stepped(const Make& make, Parameters parameters, ScalarType type, int steps = kSteps) {
  const auto optimizer = make(parameters);
  for (int step = 0; step < steps; ++step) {
    set_grads(parameters, step, type);
    optimizer->step();
  }
  return parameters;
}

Parameters on_device(const Parameters& parameters) {
  Parameters moved;
  for (const Tensor& parameter : parameters) moved.push_back(parameter.to("ahbm"));
  return moved;
}

std::string error_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const ValueError& error) {
    return error.what();
  }
  return "no error";
}

TEST(Optimizers, StepParametersOfADeviceAsTheHostDoesInDouble) {
  on_tiny([] {
    const std::vector<Make> kinds = all_kinds();
    for (std::size_t kind = 0; kind < kinds.size(); ++kind) {
      for (const ScalarType type : {torch::kFloat, torch::kBFloat16}) {
        Parameters wide;
        for (const Tensor& parameter : start(type)) wide.push_back(parameter.to(torch::kDouble));
        const Parameters expected = stepped(kinds[kind], wide, type);
        for (const bool device : {false, true}) {
          const Parameters actual = stepped(kinds[kind], device ? on_device(start(type)) : start(type), type);
          const double tolerance = type == torch::kFloat ? 4e-6 : 2e-2;
          for (std::size_t i = 0; i < actual.size(); ++i) {
            EXPECT_EQ(actual[i].scalar_type(), type);
            EXPECT_TRUE(torch::allclose(actual[i].cpu().to(torch::kDouble), expected[i], tolerance, tolerance))
                << "kind " << kind << ", parameter " << i << (device ? " on a device" : " on the host");
          }
        }
      }
    }
  });
}

TEST(Optimizers, AStepIsOneLaunchForAllParametersOfADevice) {
  constexpr std::int64_t kElements = 64 * 64 + 256;
  const auto of_steps = [](const Make& make, int steps) {
    return on_tiny([&] {
      Parameters parameters{torch::ones({64, 64}).to("ahbm"), torch::ones({256}).to("ahbm"),
                            torch::empty({0}).to("ahbm")};
      for (const Tensor& parameter : parameters) parameter.mutable_grad() = torch::ones_like(parameter);
      const auto optimizer = make(parameters);
      for (int step = 0; step < steps; ++step) optimizer->step();
      torch::ahbm::synchronize();
    });
  };
  // f32 tensors read and written: at first nothing that is kept is read.
  const auto bytes_of = [&](const Make& make, const std::string& kernel) {
    const RunResult result = of_steps(make, 2);
    EXPECT_EQ(result.launches.size(), 2u + 2u) << "two gradients, and a launch for each step";
    std::vector<Bytes> bytes;
    for (const LaunchResult& launch : result.launches) {
      if (launch.kernel == kernel) bytes.push_back(launch.hbm_bytes);
    }
    return bytes;
  };
  const auto tensors = [](std::int64_t count) { return Bytes(count * 4 * kElements); };
  EXPECT_THAT(bytes_of(of<SGD>(SGDOptions(0.1)), "sgd"), ElementsAre(tensors(3), tensors(3)));
  EXPECT_THAT(bytes_of(of<SGD>(SGDOptions(0.1).momentum(0.9)), "sgd"), ElementsAre(tensors(4), tensors(5)));
  EXPECT_THAT(bytes_of(of<Adam>(AdamOptions()), "adam"), ElementsAre(tensors(5), tensors(7)));
  EXPECT_THAT(bytes_of(of<AdamW>(AdamWOptions().amsgrad(true)), "adam"), ElementsAre(tensors(6), tensors(9)));
  EXPECT_THAT(bytes_of(of<RMSprop>(RMSpropOptions()), "rmsprop"), ElementsAre(tensors(4), tensors(5)));
  EXPECT_THAT(bytes_of(of<RMSprop>(RMSpropOptions().momentum(0.9).centered(true)), "rmsprop"),
              ElementsAre(tensors(6), tensors(9)));
  EXPECT_THAT(bytes_of(of<Adagrad>(AdagradOptions()), "adagrad"), ElementsAre(tensors(4), tensors(5)));
}

// One after the other, thirteen parameters wait thirteen times for their loads.
TEST(Optimizers, LoadTheNextParameterWhileTheyStepOne) {
  const auto step_of = [](int count) {
    const RunResult result = on_tiny([count] {
      Parameters parameters;
      for (int i = 0; i < count; ++i) {
        parameters.push_back(torch::ones({64}).to("ahbm"));
        parameters.back().mutable_grad() = torch::ones({64}).to("ahbm");
      }
      Adam adam(parameters, AdamOptions(0.1));
      for (int step = 0; step < 2; ++step) adam.step();
      torch::ahbm::synchronize();
    });
    return (result.launches.back().end - result.launches.back().start).in_seconds();
  };
  EXPECT_LT(step_of(13), 1.5 * step_of(1));
}

TEST(Optimizers, KeepWhatTheyKeepInTheTypeAndPlaceOfTheParameter) {
  on_tiny([] {
    const DPPolicy columns{.cube = Placement::replicate, .pe = Placement::column_wise};
    const Tensor parameter = torch::ones({8, 64}, torch::kHalf).to(torch::TensorOptions("ahbm").placement(columns));
    Adam adam({parameter}, AdamOptions(0.1).amsgrad(true));
    SGD sgd({parameter}, SGDOptions(0.1).momentum(0.5));
    parameter.mutable_grad() = torch::ones_like(parameter, torch::kFloat);
    adam.step();
    sgd.step();
    const auto& state = static_cast<AdamParamState&>(*adam.state().at(parameter.impl().get()));
    const auto& buffer = static_cast<SGDParamState&>(*sgd.state().at(parameter.impl().get())).momentum_buffer();
    for (const Tensor& kept : {state.exp_avg(), state.exp_avg_sq(), state.max_exp_avg_sq(), buffer}) {
      EXPECT_EQ(kept.scalar_type(), torch::kHalf);
      EXPECT_EQ(tensor::impl_of(kept).policy, columns);
    }
    // A step of 0.1 up to rounding, and one of 0.1 times the gradient.
    EXPECT_TRUE(torch::allclose(parameter.cpu().to(torch::kFloat), torch::full({8, 64}, 0.8), 1e-3, 1e-3));
  });
}

TEST(Optimizers, LeaveWhatTheyKeepWhereAProgramHasIt) {
  on_tiny([] {
    const Tensor parameter = torch::ones({3});
    parameter.mutable_grad() = torch::ones({3});
    Adam adam({parameter}, AdamOptions(0.5));
    adam.step();
    const auto* const kept = adam.state().at(parameter.impl().get()).get();
    const Tensor mean = static_cast<const AdamParamState&>(*kept).exp_avg();
    adam.step();
    ASSERT_EQ(adam.state().at(parameter.impl().get()).get(), kept);
    EXPECT_EQ(static_cast<const AdamParamState&>(*kept).step(), 2);
    EXPECT_TRUE(mean.is_same(static_cast<const AdamParamState&>(*kept).exp_avg()));
  });
}

TEST(Optimizers, StepAndClipParametersOfSeveralDevicesInALaunchEach) {
  const RunResult result = simulate({.topology = "tiny", .overrides = {"system.sips.count=2"}}, [] {
    const Parameters host = start(torch::kFloat);
    const Parameters spread{host[0].to("ahbm:1"), host[1].to("ahbm:0"), host[2].clone()};
    const AdamWOptions options = AdamWOptions(0.1).weight_decay(0.3);
    AdamW expected(host, options), actual(spread, options);
    for (int step = 0; step < 2; ++step) {
      set_grads(host, step, torch::kFloat);
      set_grads(spread, step, torch::kFloat);
      EXPECT_NEAR(torch::nn::utils::clip_grad_norm_(spread, 0.5), torch::nn::utils::clip_grad_norm_(host, 0.5), 1e-4);
      expected.step();
      actual.step();
    }
    for (std::size_t i = 0; i < host.size(); ++i) EXPECT_TRUE(torch::allclose(spread[i].cpu(), host[i], 1e-5, 1e-5));
  });
  for (const char* const kernel : {"adam", "scale"}) {
    EXPECT_EQ(std::ranges::count_if(result.launches, [&](const LaunchResult& each) { return each.kernel == kernel; }),
              2 * 2)
        << kernel;
  }
}

// One after the other, as on the host: a launch has both.
TEST(Optimizers, StepWhatTwoParametersShareForEach) {
  on_tiny([] {
    const auto table_after_steps = [](const char* device) {
      const Tensor table = wave({48, 80}, 0.7, 0.3).to(torch::kFloat).to(device), turned = table.t();
      SGD sgd({table, turned}, SGDOptions(0.1).momentum(0.5).weight_decay(0.5));
      table.mutable_grad() = torch::ones({48, 80}).to(device);
      turned.mutable_grad() = wave({80, 48}, 0.3, 0.1).to(torch::kFloat).to(device);
      sgd.step();
      sgd.step();
      return table.cpu();
    };
    EXPECT_TRUE(torch::allclose(table_after_steps("ahbm"), table_after_steps("cpu"), 1e-5, 1e-5));
  });
}

TEST(Optimizers, TakeATurnedParameterAsItsGradientAsItWas) {
  const auto result = simulate({.topology = "tiny", .detect_races = true}, [] {
    const Tensor host = wave({96, 96}, 0.7, 0.3).to(torch::kFloat), device = host.to("ahbm");
    for (const Tensor& parameter : {host, device}) {
      parameter.mutable_grad() = parameter.t();
      SGD({parameter}, SGDOptions(0.5).momentum(0.5)).step();
    }
    EXPECT_TRUE(torch::allclose(device.cpu(), host, 1e-5, 1e-6));
  });
  EXPECT_TRUE(result.races.empty());
}

// What a first step left is read by each replay. A first step itself would be one at each replay.
TEST(Optimizers, StepAtEachReplayOfACapturedStep) {
  on_tiny([] {
    const auto stepped_by = [](bool replayed) {
      const Tensor parameter = torch::ones({8}).to("ahbm");
      parameter.mutable_grad() = torch::full({8}, 0.5).to("ahbm");
      SGD sgd({parameter}, SGDOptions(0.5).momentum(0.5));
      sgd.step();
      if (!replayed) {
        for (int step = 0; step < 3; ++step) sgd.step();
        return parameter.cpu();
      }
      torch::ahbm::Graph graph;
      {
        const auto scope = torch::ahbm::graph(graph);
        sgd.step();
      }
      for (int step = 0; step < 3; ++step) graph.replay();
      return parameter.cpu();
    };
    EXPECT_TRUE(torch::equal(stepped_by(true), stepped_by(false)));
  });
}

// A master weight in f32 takes gradients of the narrow weights that a model computes with.
TEST(Optimizers, TakeGradientsOfAnotherFloatingPointType) {
  on_tiny([] {
    for (const char* const device : {"cpu", "ahbm"}) {
      const Tensor parameter = torch::full({4}, 1.0).to(device);
      parameter.mutable_grad() = torch::full({4}, 0.5, torch::kBFloat16).to(device);
      SGD({parameter}, SGDOptions(0.5).momentum(0.5)).step();
      EXPECT_TRUE(torch::equal(parameter.cpu(), torch::full({4}, 0.75))) << device;
    }
  });
}

TEST(Optimizers, GoOnFromAStateThatWasSaved) {
  on_tiny([] {
    for (const Make& make : all_kinds()) {
      const Parameters expected = stepped(make, on_device(start(torch::kFloat)), torch::kFloat);
      Parameters parameters = on_device(start(torch::kFloat));
      OrderedDict<std::string, Tensor> saved;
      {
        const auto first = make(parameters);
        for (int step = 0; step < 2; ++step) {
          set_grads(parameters, step, torch::kFloat);
          first->step();
        }
        for (const auto& item : first->state_dict()) saved.insert(item.key(), item.value().cpu());
        first->param_groups().front().options().set_lr(99);
      }
      const auto second = make(parameters);
      second->param_groups().front().options().set_lr(99);
      second->load_state_dict(saved);
      EXPECT_EQ(second->param_groups().front().options().get_lr(), 0.1);
      set_grads(parameters, 2, torch::kFloat);
      second->step();
      for (std::size_t i = 0; i < parameters.size(); ++i) EXPECT_TRUE(torch::equal(parameters[i], expected[i]));
    }
  });
}

TEST(Optimizers, NameWhatTheyKeepAsPythonDoes) {
  on_tiny([] {
    const Tensor a = torch::ones({2}), idle = torch::ones({3}), b = torch::ones({2, 2});
    Adam adam({a, idle}, AdamOptions(0.5));
    adam.add_param_group(OptimizerParamGroup({b}, std::make_unique<AdamOptions>(AdamOptions(0.25).amsgrad(true))));
    a.mutable_grad() = torch::ones({2});
    b.mutable_grad() = torch::ones({2, 2});
    adam.step();
    const auto state = adam.state_dict();
    EXPECT_THAT(state.keys(),
                ElementsAre("state.0.step", "state.0.exp_avg", "state.0.exp_avg_sq", "state.2.step", "state.2.exp_avg",
                            "state.2.exp_avg_sq", "state.2.max_exp_avg_sq", "param_groups.0.lr", "param_groups.1.lr"));
    EXPECT_EQ(state["state.2.step"].item<std::int64_t>(), 1);
    EXPECT_EQ(state["param_groups.1.lr"].item<double>(), 0.25);

    const auto refused = [&](const std::string& name, const Tensor& value) {
      return error_of([&] { adam.load_state_dict({{"state.0.exp_avg", torch::zeros({2})}, {name, value}}); });
    };
    EXPECT_THAT(refused("state.3.exp_avg", torch::ones({2})), HasSubstr("the optimizer has 3 parameters"));
    EXPECT_THAT(refused("state.1.exp_avg", torch::ones({2})), HasSubstr("its shape is that of [2] Float"));
    EXPECT_THAT(refused("state.1.momentum_buffer", torch::ones({3})), HasSubstr("there is no 'momentum_buffer'"));
    EXPECT_THAT(refused("param_groups.2.lr", torch::ones({})), HasSubstr("the optimizer has 2 groups"));
    EXPECT_THAT(refused("param_groups.0.eps", torch::ones({})), HasSubstr("only 'lr' is kept"));
    EXPECT_THAT(refused("state.1.step", torch::full({}, -1)), HasSubstr("step must be at least 0, but is -1"));
    EXPECT_THAT(refused("exp_avg", torch::ones({2})), HasSubstr("names are 'state.<parameter>.<what>'"));
    EXPECT_FALSE(torch::equal(adam.state_dict()["state.0.exp_avg"], torch::zeros({2}))) << "nothing has been loaded";
  });
}

TEST(Optimizers, ThatRefuseAStepHaveChangedNothing) {
  on_tiny([] {
    for (const char* const device : {"cpu", "ahbm"}) {
      const Tensor first = torch::ones({3}).to(device), second = torch::ones({2}).to(device);
      first.mutable_grad() = torch::ones({3}).to(device);
      Adam adam({first, second});
      const auto refused = [&](const Tensor& grad, const std::string& message) {
        second.mutable_grad() = grad;
        EXPECT_THAT(error_of([&] { adam.step(); }), HasSubstr(message));
        EXPECT_TRUE(adam.state().empty());
        EXPECT_TRUE(torch::equal(first.cpu(), torch::ones({3})));
      };
      refused(torch::ones({3}).to(device), "step: grad must have the shape and device of the parameter");
      refused(torch::ones({2}, torch::kInt).to(device), "a gradient must be a floating-point tensor");
      if (first.is_cpu()) refused(torch::ones({2}).to("ahbm"), "must have the shape and device");
    }
  });
}

TEST(Optimizers, TakeEachParameterOnce) {
  on_tiny([] {
    const Tensor a = torch::ones({1}), b = torch::ones({1});
    EXPECT_THAT(error_of([&] { SGD({a, b, a}, 0.1); }), HasSubstr("a parameter appears twice in a parameter group"));
    EXPECT_THAT(error_of([&] { SGD({Tensor()}, 0.1); }), HasSubstr("can't optimize an undefined Tensor"));
    SGD sgd({a}, 0.1);
    EXPECT_EQ(error_of([&] { sgd.add_param_group(Parameters{b, a}); }),
              "some parameters appear in more than one parameter group");
    EXPECT_EQ(error_of([&] { sgd.add_parameters({a}); }), "some parameters appear in more than one parameter group");
    EXPECT_EQ(sgd.size(), 1u);
    sgd.add_param_group(OptimizerParamGroup({b}, std::make_unique<AdamOptions>()));
    b.mutable_grad() = torch::ones({1});
    EXPECT_EQ(error_of([&] { sgd.step(); }), "step: a parameter group has the options of another optimizer");
  });
}

// Nothing of a step depends on values: it takes the same time without them.
TEST(Optimizers, TakeTheirTimeWithoutData) {
  const auto time = [](bool data) {
    SimulateOptions options;
    options.topology = "tiny";
    options.data = data;
    return simulate(options,
                    [&] {
                      const Tensor a = torch::ones({16, 16}).to("ahbm"), b = torch::ones({8}).to("ahbm");
                      a.mutable_grad() = torch::ones_like(a);
                      b.mutable_grad() = torch::ones_like(b);
                      Adam adam({a, b}, AdamOptions().amsgrad(true));
                      for (int step = 0; step < 2; ++step) {
                        const double norm = torch::nn::utils::clip_grad_norm_({a, b}, 8);
                        EXPECT_TRUE(data || norm == 8);
                        adam.step();
                        adam.zero_grad();
                      }
                      torch::ahbm::synchronize();
                    })
        .simulated_time;
  };
  EXPECT_EQ(time(true), time(false));
}

TEST(ClipGradNorm, OfGradientsOnADeviceIsThatOfTheHost) {
  on_tiny([] {
    for (const double most : {0.5, 100.0}) {
      Parameters host = start(torch::kFloat), device = on_device(host);
      set_grads(host, 0, torch::kFloat);
      set_grads(device, 0, torch::kFloat);
      EXPECT_NEAR(torch::nn::utils::clip_grad_norm_(device, most), torch::nn::utils::clip_grad_norm_(host, most), 1e-4);
      for (std::size_t i = 0; i < host.size(); ++i)
        EXPECT_TRUE(torch::allclose(device[i].grad().cpu(), host[i].grad(), 1e-5, 1e-6));
    }
  });
}

/// Gradients of f32, f16 and turned around, one of them empty and one of a single element.
Parameters with_grads(const char* device) {
  const Parameters parameters{torch::empty({13, 37}), torch::empty({5}),
                              torch::empty({}),       torch::empty({4, 6}, torch::kHalf).t(),
                              torch::empty({0, 3}),   torch::empty({96, 80})};
  Parameters moved;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const Tensor& parameter = moved.emplace_back(parameters[i].to(device));
    const Tensor grad = wave(parameter.sizes().vec(), 0.7, static_cast<double>(i)).to(parameter.scalar_type());
    parameter.mutable_grad() = i == 3 ? grad.t().contiguous().to(device).t() : grad.to(device);
  }
  return moved;
}

void expect_grads_as_on_the_host(const Parameters& device, const Parameters& host) {
  for (std::size_t i = 0; i < host.size(); ++i) {
    EXPECT_TRUE(
        torch::allclose(device[i].grad().cpu().to(torch::kDouble), host[i].grad().to(torch::kDouble), 1e-3, 1e-6))
        << i;
  }
}

/// The launches of what a program does to gradients of a device, which are there.
std::vector<std::string> launches_on_grads(const std::function<void(const Parameters&)>& body) {
  const RunResult all = on_tiny([&] {
    const Parameters parameters = with_grads("ahbm");
    torch::ahbm::synchronize();
    body(parameters);
    torch::ahbm::synchronize();
  });
  const RunResult without = on_tiny([&] {
    (void)with_grads("ahbm");
    torch::ahbm::synchronize();
  });
  std::vector<std::string> kernels;
  for (std::size_t i = without.launches.size(); i < all.launches.size(); ++i) kernels.push_back(all.launches[i].kernel);
  return kernels;
}

TEST(GradientsOfADevice, AreZeroedInOneLaunch) {
  EXPECT_THAT(launches_on_grads([](const Parameters& parameters) {
                SGD(parameters, 0.1).zero_grad();
                for (const Tensor& parameter : parameters) EXPECT_EQ(parameter.grad().ne(0).sum().item<int>(), 0);
              }).front(),
              "zero");
  EXPECT_THAT(launches_on_grads([](const Parameters& parameters) { SGD(parameters, 0.1).zero_grad(); }),
              ElementsAre("zero"));
  EXPECT_THAT(launches_on_grads([](const Parameters& parameters) {
                nn::Sequential model(nn::Linear(3, 4), nn::Linear(4, 5));
                model->to("ahbm");
                for (const Tensor& parameter : model->parameters()) parameter.mutable_grad() = parameters[5].grad();
                model->zero_grad();
              }),
              ElementsAre("zero"));
}

TEST(GradientsOfADevice, AreClampedInOneLaunchAsTheHostDoes) {
  EXPECT_THAT(launches_on_grads([](const Parameters& parameters) {
                parameters[1].grad().fill_(NAN);
                nn::utils::clip_grad_value_(parameters, 0.5);
                EXPECT_EQ(parameters[1].grad().isnan().sum().item<int>(), 5) << "NaN stays";
              })[1],
              "clamp");
  EXPECT_THAT(launches_on_grads([](const Parameters& parameters) { nn::utils::clip_grad_value_(parameters, 0.5); }),
              ElementsAre("clamp"));
  on_tiny([] {
    const Parameters host = with_grads("cpu"), device = with_grads("ahbm");
    nn::utils::clip_grad_value_(host, 0.5);
    nn::utils::clip_grad_value_(device, 0.5);
    expect_grads_as_on_the_host(device, host);
  });
}

TEST(GradientsOfADevice, HaveTheirNormInTwoLaunches) {
  const auto norm = [](double order) {
    return launches_on_grads([&](const Parameters& parameters) {
      Parameters grads;
      for (const Tensor& parameter : parameters)
        if (parameter.numel() > 0) grads.push_back(parameter.grad());
      (void)nn::utils::get_total_norm(grads, order);
    });
  };
  for (const double order : {1.0, 2.0, static_cast<double>(INFINITY)})
    EXPECT_THAT(norm(order), ElementsAre("norm", "norm")) << order;
}

TEST(GradientsOfADevice, HaveTheNormOfTheHostInEachOrder) {
  on_tiny([] {
    const DPPolicy replicas{.cube = Placement::replicate, .pe = Placement::replicate};
    for (const bool replicated : {false, true}) {
      for (const double order : {0.0, 0.5, 1.0, 2.0, 3.0, static_cast<double>(INFINITY)}) {
        Parameters host = with_grads("cpu"), device = with_grads("ahbm");
        host.erase(host.begin() + 4);  // the largest of none is an error
        device.erase(device.begin() + 4);
        if (replicated) device[0].mutable_grad() = host[0].grad().to(torch::TensorOptions("ahbm").placement(replicas));
        const double expected = nn::utils::clip_grad_norm_(host, 0.5, order);
        EXPECT_NEAR(nn::utils::clip_grad_norm_(device, 0.5, order), expected, 2e-3 * expected) << order << replicated;
        expect_grads_as_on_the_host(device, host);
      }
    }
    const Tensor first = torch::full({4}, NAN).to("ahbm"), second = torch::ones({4}).to("ahbm");
    for (const double order : {2.0, static_cast<double>(INFINITY)})
      EXPECT_TRUE(std::isnan(nn::utils::get_total_norm({first, second}, order).item<double>())) << order;
  });
}

TEST(ClipGradNorm, ScalesAllGradientsOfADeviceInOneLaunch) {
  const RunResult result = on_tiny([] {
    Parameters parameters = on_device(start(torch::kFloat));
    parameters.push_back(torch::ones({4, 6}, torch::kHalf).to("ahbm").t());
    set_grads(parameters, 0, torch::kFloat);
    const Tensor kept = parameters[3].grad().clone();
    torch::nn::utils::clip_grads_with_norm_(parameters, 1, torch::full({}, 4).to("ahbm", torch::kFloat));
    EXPECT_TRUE(
        torch::allclose(parameters[3].grad().cpu().to(torch::kFloat), kept.cpu().to(torch::kFloat) * 0.25, 1e-3));
  });
  EXPECT_EQ(std::ranges::count_if(result.launches, [](const LaunchResult& launch) { return launch.kernel == "scale"; }),
            1);
}

TEST(ClipGradNorm, TakesThreeLaunches) {
  EXPECT_THAT(
      launches_on_grads([](const Parameters& parameters) { nn::utils::clip_grad_norm_(parameters[5], 0.5); }).back(),
      "scale");
  EXPECT_THAT(launches_on_grads([](const Parameters& parameters) {
                nn::utils::clip_grad_norm_({parameters[0], parameters[1], parameters[3]}, 0.5);
              }),
              ElementsAre("norm", "norm", "scale"));
}

TEST(ClipGradNorm, ThatIsRefusedHasScaledNothing) {
  on_tiny([] {
    const Tensor a = torch::ones({3}), b = torch::ones({3});
    a.mutable_grad() = torch::ones({3});
    b.mutable_grad() = torch::ones({1}).expand({3});
    EXPECT_THAT(error_of([&] { torch::nn::utils::clip_grad_norm_({a, b}, 0.5); }),
                HasSubstr("clip_grads_with_norm_: unsupported operation: more than one element"));
    EXPECT_THAT(error_of([&] { torch::nn::utils::clip_grads_with_norm_({a}, 0.5, torch::ones({2})); }),
                HasSubstr("total_norm must have one element"));
    EXPECT_TRUE(torch::equal(a.grad(), torch::ones({3})));
  });
}

TEST(Schedules, OfPythonSetTheRateOfEachCall) {
  on_tiny([] {
    const Tensor a = torch::ones({1}), b = torch::ones({1});
    const auto two_groups = [&] {
      auto sgd = std::make_unique<SGD>(Parameters{a}, SGDOptions(1.0));
      sgd->add_param_group(OptimizerParamGroup({b}, std::make_unique<SGDOptions>(SGDOptions(0.5))));
      return sgd;
    };
    const auto rate = [](const Optimizer& of, std::size_t group) {
      return of.param_groups()[group].options().get_lr();
    };

    const auto warm = two_groups();
    LambdaLR lambda(*warm, [](unsigned step) { return std::min(1.0, (step + 1) / 4.0); });
    for (const double expected : {0.25, 0.5, 0.75, 1.0, 1.0}) {
      EXPECT_DOUBLE_EQ(rate(*warm, 0), expected);
      EXPECT_DOUBLE_EQ(rate(*warm, 1), expected / 2);
      lambda.step();
    }

    const auto cooled = two_groups();
    CosineAnnealingLR cosine(*cooled, 4, 0.1);
    for (int step = 0; step < 9; ++step) {
      EXPECT_NEAR(rate(*cooled, 0), 0.1 + 0.9 * (1 + std::cos(std::numbers::pi * step / 4)) / 2, 1e-12);
      EXPECT_NEAR(rate(*cooled, 1), 0.1 + 0.4 * (1 + std::cos(std::numbers::pi * step / 4)) / 2, 1e-12);
      cosine.step();
    }
    EXPECT_THAT(error_of([&] { CosineAnnealingLR(*cooled, 0); }), HasSubstr("t_max must be at least 1"));
    EXPECT_THAT(error_of([&] { StepLR(*cooled, 0); }), HasSubstr("the step size must be at least 1"));

    struct OneRate : LRScheduler {
      using LRScheduler::LRScheduler;
      std::vector<double> get_lrs() override { return {1}; }
    };
    EXPECT_THAT(error_of([&] { OneRate(*cooled).step(); }),
                HasSubstr("Number of learning rates not equal to number of param groups"));
  });
}

TEST(Gradients, BelongToATensorAndGoWithItsModule) {
  on_tiny([] {
    nn::Linear layer(2, 3);
    const Tensor handle = layer->weight;
    EXPECT_FALSE(handle.grad().defined());
    layer->weight.mutable_grad() = torch::ones({3, 2});
    EXPECT_TRUE(handle.grad().defined());
    for (const Tensor& other : {handle.alias(), handle.data(), handle.t(), handle.clone(), handle[0]})
      EXPECT_FALSE(other.grad().defined());
    layer->to("ahbm", torch::kHalf);
    EXPECT_EQ(handle.grad().device(), handle.device());
    EXPECT_EQ(handle.grad().scalar_type(), torch::kHalf);
    handle.set_data(torch::zeros({3, 2}).to("ahbm"));
    EXPECT_TRUE(torch::equal(handle.grad().cpu(), torch::ones({3, 2}, torch::kHalf))) << "set_data leaves it";
    EXPECT_THAT(error_of([] { (void)Tensor().grad(); }), HasSubstr("this one is undefined"));
    const Tensor fresh = torch::zeros({3});
    for (const auto& change : std::vector<std::function<void()>>{
             [&] { fresh.mutable_grad() += torch::ones({3}); }, [&] { fresh.mutable_grad() *= 2; },
             [&] { fresh.mutable_grad().add_(torch::ones({3}), 2); }})
      EXPECT_THAT(error_of(change), HasSubstr("as a parameter's gradient is before it is set: assign it first"));
    EXPECT_THAT(error_of([&] { handle.requires_grad_(); }),
                HasSubstr("set the gradients of parameters with mutable_grad()"));
  });
}

}  // namespace
}  // namespace kernbench::torch::optim
