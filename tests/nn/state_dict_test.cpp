// Names and tensors of a model: listed, loaded, moved.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "kernbench/nn.h"
#include "support.h"
#include "tensor/tensor_impl.h"

namespace kernbench::torch::nn {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// A linear layer over somebody else's weight, as a language model's tied head.
struct TiedHeadImpl : Module {
  explicit TiedHeadImpl(const Tensor& shared) { weight = register_parameter("weight", shared); }
  Tensor forward(const TensorOperand& x) const { return torch::linear(x, weight); }
  Tensor weight;
};
TORCH_MODULE(TiedHead);

struct ModelImpl : Module {
  ModelImpl() : Module("Model") {
    scale = register_parameter("scale", torch::ones({1}));
    steps = register_buffer("steps", torch::arange(4));
    table = register_module("table", Embedding(6, 4));
    norm = register_module("norm", LayerNorm(std::vector<std::int64_t>{4}));
    head = register_module("head", TiedHead(table->weight));
    nothing = register_parameter("nothing", Tensor());
  }
  Tensor scale, steps, nothing;
  Embedding table{nullptr};
  LayerNorm norm{nullptr};
  TiedHead head{nullptr};
};
TORCH_MODULE(Model);

bool made(const Tensor& tensor) {
  return tensor::impl_of(tensor).storage->is_made();
}

std::string error_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const ValueError& error) {
    return error.what();
  }
  return "no error";
}

TEST(StateDict, HasTheParametersAndThenTheBuffersOfEachModuleInPythonsOrder) {
  on_tiny([] {
    const Model model;
    EXPECT_THAT(model->state_dict().keys(),
                ElementsAre("scale", "steps", "table.weight", "norm.weight", "norm.bias", "head.weight"));
    EXPECT_TRUE(model->state_dict()["scale"].is_alias_of(model->scale));
  });
}

TEST(StateDict, LoadsEveryTensorIntoItsPlaceWhateverItsType) {
  on_tiny([] {
    Model model;
    const Tensor weight = model->table->weight, view = model->scale.view({1, 1});
    OrderedDict<std::string, Tensor> state;
    for (const auto& item : model->state_dict()) state.insert(item.key(), torch::full_like(*item, 3).to(kDouble));
    const IncompatibleKeys keys = model->load_state_dict(state);
    EXPECT_THAT(keys.missing_keys, IsEmpty());
    EXPECT_THAT(keys.unexpected_keys, IsEmpty());
    for (const auto& item : model->state_dict()) {
      EXPECT_TRUE(item->eq(3).all().item<bool>()) << item.key();
      EXPECT_EQ(item->scalar_type(), item.key() == "steps" ? kLong : kFloat);
    }
    EXPECT_TRUE(weight.is_same(model->table->weight));
    EXPECT_EQ(view.item<float>(), 3) << "views see what was loaded";
  });
}

TEST(StateDict, SaysAllThatIsWrongAtOnceAndThenLoadsNothing) {
  on_tiny([] {
    Model model;
    OrderedDict<std::string, Tensor> state = model->state_dict();
    state.erase("norm.bias");
    state["scale"] = torch::full({1}, 5.0);
    state["table.weight"] = torch::ones({6, 5});
    state.insert("lm_head.weight", torch::ones({1}));
    EXPECT_EQ(
        error_of([&] { model->load_state_dict(state); }),
        "Error(s) in loading state_dict for Model:"
        "\n\tMissing key(s) in state_dict: \"norm.bias\". "
        "\n\tUnexpected key(s) in state_dict: \"lm_head.weight\". "
        "\n\tsize mismatch for table.weight: copying a param with shape torch.Size([6, 5]) from checkpoint, the shape "
        "in current model is torch.Size([6, 4]).");
    EXPECT_EQ(model->scale.item<float>(), 1);
    EXPECT_THAT(error_of([&] { model->load_state_dict(state, false); }), HasSubstr("size mismatch for table.weight"));
    state["table.weight"] = torch::ones({6, 4});
    const IncompatibleKeys keys = model->load_state_dict(state, /*strict=*/false);
    EXPECT_THAT(keys.missing_keys, ElementsAre("norm.bias"));
    EXPECT_THAT(keys.unexpected_keys, ElementsAre("lm_head.weight"));
    EXPECT_EQ(model->scale.item<float>(), 5);
  });
}

TEST(StateDict, CountsAnUndefinedTensorAsMissing) {
  on_tiny([] {
    Model model;
    OrderedDict<std::string, Tensor> state;
    for (const auto& item : model->state_dict()) state.insert(item.key(), torch::full_like(*item, 3));
    state["norm.bias"] = Tensor();
    EXPECT_THAT(error_of([&] { model->load_state_dict(state); }),
                HasSubstr("Missing key(s) in state_dict: \"norm.bias\""));
    EXPECT_EQ(model->scale.item<float>(), 1);
    const IncompatibleKeys keys = model->load_state_dict(state, /*strict=*/false);
    EXPECT_THAT(keys.missing_keys, ElementsAre("norm.bias"));
    EXPECT_EQ(model->scale.item<float>(), 3);
    EXPECT_EQ(model->norm->bias.abs().sum().item<float>(), 0);
    EXPECT_TRUE(model->head->weight.eq(3).all().item<bool>());
  });
}

TEST(Module, IsNotWithinItself) {
  on_tiny([] {
    struct Plain : nn::Module {};
    const auto outer = std::make_shared<Plain>(), inner = std::make_shared<Plain>(), last = std::make_shared<Plain>();
    outer->register_module("inner", inner);
    inner->register_module("last", last);
    for (const auto& above : {last, inner, outer}) {
      EXPECT_THAT(error_of([&] { last->register_module("me", above); }),
                  HasSubstr("submodule 'me' is this module itself or has it below it"));
    }
    EXPECT_THAT(error_of([&] { inner->replace_module("last", outer); }), HasSubstr("submodule 'last'"));
    // One module in two places is no cycle.
    outer->register_module("again", last);
    EXPECT_EQ(outer->modules().size(), 4u);
  });
}

// With a look at each place, and not at each module, this comes to no end.
TEST(Module, StandsAtSeveralPlacesOnManyLevels) {
  struct Twice : nn::Module {
    explicit Twice(const std::shared_ptr<nn::Module>& below) {
      register_module("left", below);
      register_module("right", below);
    }
  };
  struct Plain : nn::Module {};
  const std::shared_ptr<nn::Module> last = std::make_shared<Plain>();
  std::shared_ptr<nn::Module> top = last;
  for (int level = 0; level < 100; ++level) top = std::make_shared<Twice>(top);
  EXPECT_THAT(error_of([&] { last->register_module("top", top); }),
              HasSubstr("submodule 'top' is this module itself or has it below it"));
}

TEST(Module, MovesTiedTensorsOnceAndTogether) {
  on_tiny([] {
    Model model;
    EXPECT_TRUE(model->head->weight.is_same(model->table->weight));
    model->to(kHalf);
    EXPECT_TRUE(model->head->weight.is_same(model->table->weight));
    EXPECT_EQ(model->head->weight.scalar_type(), kHalf);
    EXPECT_EQ(model->named_parameters()["head.weight"].scalar_type(), kHalf);
    EXPECT_EQ(model->steps.scalar_type(), kLong) << "whole numbers keep their type, as in Python";
  });
}

TEST(Module, RefusesATypeThatIsNotFloatingPoint) {
  on_tiny([] {
    Model model;
    for (const ScalarType type : {kLong, kInt, kByte, kBool}) {
      EXPECT_THAT(error_of([&] { model->to(type); }),
                  ::testing::StartsWith("nn.Module.to only accepts floating point or complex dtypes, but got desired "
                                        "dtype="));
    }
    EXPECT_THAT(error_of([&] { model->to("ahbm", kLong); }), HasSubstr("desired dtype=Long; convert a tensor"));
    for (const auto& item : model->named_parameters()) {
      EXPECT_EQ(item->scalar_type(), kFloat) << item.key();
      EXPECT_TRUE(item->device().is_cpu()) << item.key();
    }
  });
}

TEST(Module, GivesANameOnceWhateverItIsOf) {
  on_tiny([] {
    Model model;
    const auto refusal = [](const std::string& name, const std::string& what) {
      return "attribute '" + name + "' already exists: it is a " + what + " of this module";
    };
    EXPECT_THAT(error_of([&] { model->register_buffer("scale", torch::ones({1})); }),
                HasSubstr(refusal("scale", "parameter")));
    EXPECT_THAT(error_of([&] { model->register_parameter("steps", torch::ones({1})); }),
                HasSubstr(refusal("steps", "buffer")));
    EXPECT_THAT(error_of([&] { model->register_parameter("table", torch::ones({1})); }),
                HasSubstr(refusal("table", "submodule")));
    EXPECT_THAT(error_of([&] { model->register_module("scale", Linear(1, 1)); }),
                HasSubstr(refusal("scale", "parameter")));
    EXPECT_EQ(error_of([&] { model->register_parameter("scale", torch::ones({1})); }),
              "Parameter 'scale' already defined");
    EXPECT_EQ(model->state_dict().size(), 6u);
    model->unregister_module("table");
    model->register_buffer("table", torch::ones({1}));
    EXPECT_TRUE(model->state_dict().contains("table"));
  });
}

TEST(Module, OfAnySizeCostsNothingUntilSomebodyLooks) {
  on_tiny([] {
    const Linear huge(1 << 20, 1 << 20), source(1 << 20, 1 << 20);
    const Embedding table(1 << 20, 1 << 20);
    huge->load_state_dict(source->state_dict());
    huge->to(kHalf);
    for (const Tensor& tensor : {huge->weight, huge->bias, source->weight, table->weight}) EXPECT_FALSE(made(tensor));
  });
}

TEST(Module, LoadsNumbersThatAreMadeLaterAsTheyWouldHaveBeenMadeAtOnce) {
  on_tiny([] {
    torch::manual_seed(3);
    const Linear lazy(5, 3), eager(5, 3), from(5, 3);
    from->to(kDouble);
    lazy->load_state_dict(from->state_dict());
    EXPECT_FALSE(made(lazy->weight));
    from->weight.sum().item<double>();
    eager->weight.sum().item<double>();
    eager->load_state_dict(from->state_dict());
    EXPECT_TRUE(lazy->weight.equal(eager->weight));
    EXPECT_TRUE(lazy->weight.equal(from->weight.to(kFloat)));
    from->weight.fill_(9);
    EXPECT_FALSE(lazy->weight.equal(from->weight.to(kFloat))) << "a copy, not the same elements";
  });
}

}  // namespace
}  // namespace kernbench::torch::nn
