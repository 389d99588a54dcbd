// What functions of device tensors ask the device's kernels for. The kernels here only write down what they are asked.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "fake_context.h"
#include "kernbench/error.h"
#include "kernbench/torch.h"
#include "tensor/device_operations.h"
#include "tensor/dimensions.h"
#include "tensor/tensor_impl.h"

namespace kernbench::tensor {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using torch::Tensor;

/// "f16[2, 3]/[3, 1]"
std::string text(const Tensor& tensor) {
  if (!tensor.defined()) return "none";
  const TensorImpl& impl = impl_of(tensor);
  return fmt::format("{}{}/{}", kernbench::name(impl.dtype), text_of(impl.sizes), text_of(impl.strides));
}
std::string text(const DeviceOperand& operand) {
  if (const auto* tensor = std::get_if<Tensor>(&operand)) return text(*tensor);
  return fmt::format("{}", std::get<torch::Scalar>(operand).toDouble());
}

class WrittenDown final : public DeviceOperations {
 public:
  std::vector<std::string> calls;

  void elementwise(const ElementwiseInfo& operation, std::span<const DeviceOperand> operands, DType compute,
                   const Tensor& out) override {
    std::string texts;
    for (const DeviceOperand& operand : operands) texts += " " + text(operand);
    note("{}{} in {} to {}", operation.name, texts, kernbench::name(compute), text(out));
  }
  bool copy(const Tensor& from, const Tensor& to) override {
    note("copy {} to {}", text(from), text(to));
    return true;
  }
  void triangle(const Tensor& x, std::int64_t diagonal, bool upper, const Tensor& out) override {
    note("triangle {} {} {} to {}", text(x), diagonal, upper, text(out));
  }
  void reduce(ReduceOperation operation, const Tensor& x, std::span<const std::int64_t> dimensions, DType compute,
              const Tensor& out) override {
    note("{} {} over {} in {} to {}", name(operation), text(x), text_of(dimensions), kernbench::name(compute),
         text(out));
  }
  void variance(const Tensor& x, std::span<const std::int64_t> dimensions, std::int64_t correction,
                const Tensor& out) override {
    note("variance {} over {} less {} to {}", text(x), text_of(dimensions), correction, text(out));
  }
  void arg_reduce(const ArgReduction& reduction, const Tensor& x, const Tensor& out, const Tensor& values) override {
    note("{} {} along {} to {}{}", name(reduction.operation), text(x), reduction.dimension, text(out),
         values.defined() ? " and " + text(values) : "");
  }
  void cumulative_sum(const Tensor& x, std::int64_t dimension, const Tensor& out) override {
    note("cumsum {} along {} to {}", text(x), dimension, text(out));
  }
  void softmax(const Tensor& x, std::int64_t dimension, bool logarithm, const Tensor& out) override {
    note("softmax {} along {} {} to {}", text(x), dimension, logarithm, text(out));
  }
  void normalize(const Norm& norm, const Tensor& out) override {
    note("{} {} {} {} {} {} to {}", norm.name(), text(norm.x), norm.dimensions, text(norm.weight),
         norm.centred ? text(norm.bias) : "-", norm.epsilon, text(out));
  }
  void matmul(const Tensor& a, const Tensor& b, const MatmulOptions& options, const Tensor& out) override {
    note("matmul {} {} alpha {} beta {} addend {} to {}", text(a), text(b), options.alpha, options.beta,
         text(options.addend), text(out));
  }
  void cat(std::span<const Tensor> tensors, std::int64_t dimension, const Tensor& out) override {
    std::string parts;
    for (const Tensor& tensor : tensors) parts += text(tensor) + " ";
    note("cat {}along {} to {}", parts, dimension, text(out));
  }
  void top_k(const Tensor& x, std::int64_t dimension, bool largest, const Tensor& values,
             const Tensor& indices) override {
    note("topk {} {} along {} to {} and {}", largest ? "largest" : "smallest", text(x), dimension, text(values),
         text(indices));
  }
  void sort(const Tensor& x, std::int64_t dimension, bool descending, const Tensor& values,
            const Tensor& indices) override {
    note("sort {} {} along {} to {} and {}", descending ? "down" : "up", text(x), dimension, text(values),
         text(indices));
  }
  void index_select(const Tensor& x, std::int64_t dimension, const Tensor& index, bool, const Tensor& out) override {
    note("index_select {} along {} by {} to {}", text(x), dimension, text(index), text(out));
  }
  void gather(const Tensor& x, std::int64_t dimension, const Tensor& index, const Tensor& out) override {
    note("gather {} along {} by {} to {}", text(x), dimension, text(index), text(out));
  }
  void embedding(const Tensor& table, const Tensor& index, const EmbeddingPart& part, const Tensor& out) override {
    note("embedding {} by {} from {} to {}", text(table), text(index), part.first, text(out));
  }

 private:
  template <class... Arguments>
  void note(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
    calls.push_back(fmt::format(format, std::forward<Arguments>(arguments)...));
  }
};

class DeviceDispatch : public ::testing::Test {
 protected:
  DeviceDispatch() { context.devices.kernels = &kernels; }
  /// Values are never looked at by the host.
  ~DeviceDispatch() override { EXPECT_THAT(context.devices.reads, IsEmpty()); }

  /// What `program` asks for.
  template <class Program>
  std::vector<std::string> calls_of(const Program& program) {
    kernels.calls.clear();
    program();
    return kernels.calls;
  }
  Tensor device(torch::IntArrayRef sizes, DType type = torch::kFloat) {
    return torch::empty(sizes, torch::dtype(type).device("ahbm"));
  }
  std::string error_of(const std::function<void()>& program) {
    try {
      program();
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  }

  FakeContext context;
  WrittenDown kernels;
};

TEST_F(DeviceDispatch, OperandsAreExpandedAndTypesPromoted) {
  const Tensor x = device({2, 3}, torch::kHalf), y = device({3}, torch::kInt);
  EXPECT_THAT(calls_of([&] { x + y; }),
              ElementsAre("add f16[2, 3]/[3, 1] i32[2, 3]/[0, 1] in f16 to f16[2, 3]/[3, 1]"));
  EXPECT_THAT(calls_of([&] { y / y; }), ElementsAre("div i32[3]/[1] i32[3]/[1] in f32 to f32[3]/[1]"));
  EXPECT_THAT(calls_of([&] { (void)(x.t() < 1); }), ElementsAre("lt f16[3, 2]/[1, 3] 1 in f16 to bool[3, 2]/[2, 1]"));
  EXPECT_THAT(calls_of([&] { torch::exp(y); }), ElementsAre("exp i32[3]/[1] in f32 to f32[3]/[1]"));
}

TEST_F(DeviceDispatch, HostTensorsWithoutDimensionsAreNumbers) {
  const Tensor x = device({2}, torch::kHalf);
  EXPECT_THAT(calls_of([&] { x* torch::tensor(2.5); }), ElementsAre("mul f16[2]/[1] 2.5 in f16 to f16[2]/[1]"));
  EXPECT_THAT(calls_of([&] { 3 - x; }), ElementsAre("sub 3 f16[2]/[1] in f16 to f16[2]/[1]"));
  EXPECT_THAT(
      calls_of([&] { x.masked_fill(x > 0, -1); }),
      ElementsAre("gt f16[2]/[1] 0 in f16 to bool[2]/[1]", "where bool[2]/[1] -1 f16[2]/[1] in f16 to f16[2]/[1]"));
}

TEST_F(DeviceDispatch, HostAndDeviceDoNotMix) {
  const Tensor x = device({2});
  for (const auto& program : std::vector<std::function<void()>>{
           [&] { x + torch::ones({2}); }, [&] { torch::ones({2}).mul(x); }, [&] { torch::cat({x, torch::ones({2})}); },
           [&] { torch::where(torch::ones({2}, torch::kBool), x, x); }, [&] { x.dot(torch::ones({2})); },
           [&] { torch::layer_norm(x, {2}, torch::ones({2})); }})
    EXPECT_THAT(error_of(program), HasSubstr("Expected all tensors to be on the same device"));
  const Tensor other = torch::empty({2}, torch::device(torch::Device("ahbm:1")));
  EXPECT_THAT(error_of([&] { x + other; }), HasSubstr("ahbm:0 and ahbm:1"));
  EXPECT_THAT(error_of([&] { torch::tensor(1.0).add_(x[0]); }), HasSubstr("cannot be written in place"));
}

TEST_F(DeviceDispatch, ResultsAreWhereTheFirstDeviceOperandIs) {
  const DPPolicy policy{.cube = Placement::replicate, .pe = Placement::column_wise};
  const Tensor x = torch::empty({4, 4}, torch::device("ahbm:1").placement(policy)),
               y = torch::empty({4, 4}, x.device());
  for (const Tensor& result : {x + y, 1 + x, x.exp(), x.matmul(y), x.sum(0), torch::cat({x, y}), x.softmax(1)}) {
    EXPECT_EQ(result.device(), x.device());
    EXPECT_EQ(impl_of(result).policy, policy);
  }
  EXPECT_EQ(impl_of(y + x).policy, DPPolicy{});
}

TEST_F(DeviceDispatch, InPlaceFunctionsWriteToTheirTensor) {
  const Tensor x = device({2, 3});
  EXPECT_THAT(calls_of([&] { x.select(1, 0).add_(x.select(1, 2)); }),
              ElementsAre("add f32[2]/[3] f32[2]/[3] in f32 to f32[2]/[3]"));
  EXPECT_THAT(calls_of([&] { x.sub_(x, 2); }),
              ElementsAre("multiply_add f32[2, 3]/[3, 1] -2 f32[2, 3]/[3, 1] in f32 to f32[2, 3]/[3, 1]"));
  EXPECT_THAT(calls_of([&] { x.relu_(); }), ElementsAre("relu f32[2, 3]/[3, 1] in f32 to f32[2, 3]/[3, 1]"));
  EXPECT_THAT(calls_of([&] { x.clamp_(0, 1); }), ElementsAre("clamp f32[2, 3]/[3, 1] 0 1 in f32 to f32[2, 3]/[3, 1]"));
  const Tensor flat = x.view({6});
  EXPECT_THAT(error_of([&] { flat.slice(0, 1).add_(flat.slice(0, 0, 5)); }), HasSubstr("single memory location"));
}

TEST_F(DeviceDispatch, ReductionsKeepTheirDimensionsForTheKernel) {
  const Tensor x = device({2, 3, 4});
  EXPECT_THAT(calls_of([&] { EXPECT_EQ(x.sum(torch::IntArrayRef{0, -1}).dim(), 1); }),
              ElementsAre("sum f32[2, 3, 4]/[12, 4, 1] over [0, 2] in f32 to f32[1, 3, 1]/[3, 1, 1]"));
  EXPECT_THAT(calls_of([&] { EXPECT_EQ(x.amax().dim(), 0); }),
              ElementsAre("amax f32[2, 3, 4]/[12, 4, 1] over [0, 1, 2] in f32 to f32[1, 1, 1]/[1, 1, 1]"));
  EXPECT_THAT(calls_of([&] { (x > 0).sum(1, true); }),
              ElementsAre("gt f32[2, 3, 4]/[12, 4, 1] 0 in f32 to bool[2, 3, 4]/[12, 4, 1]",
                          "sum bool[2, 3, 4]/[12, 4, 1] over [1] in i64 to i64[2, 1, 4]/[4, 4, 1]"));
  EXPECT_THAT(calls_of([&] { x.argmax(1); }),
              ElementsAre("argmax f32[2, 3, 4]/[12, 4, 1] along 1 to i64[2, 1, 4]/[4, 4, 1]"));
  EXPECT_THAT(calls_of([&] { x.min(1); }),
              ElementsAre("argmin f32[2, 3, 4]/[12, 4, 1] along 1 to i64[2, 1, 4]/[4, 4, 1] and "
                          "f32[2, 1, 4]/[4, 4, 1]"));
  EXPECT_THAT(
      calls_of([&] { x.topk(2, 1, false); }),
      ElementsAre(
          "topk smallest f32[2, 3, 4]/[12, 4, 1] along 1 to f32[2, 2, 4]/[8, 4, 1] and i64[2, 2, 4]/[8, 4, 1]"));
  EXPECT_THAT(
      calls_of([&] { x.argsort(1, true); }),
      ElementsAre("sort down f32[2, 3, 4]/[12, 4, 1] along 1 to f32[2, 3, 4]/[12, 4, 1] and i64[2, 3, 4]/[12, 4, 1]"));
  EXPECT_THAT(calls_of([&] { x.std(torch::IntArrayRef{2}); }),
              ElementsAre("variance f32[2, 3, 4]/[12, 4, 1] over [2] less 1 to f32[2, 3, 1]/[3, 1, 1]",
                          "sqrt f32[2, 3]/[3, 1] in f32 to f32[2, 3]/[3, 1]"));
  EXPECT_THAT(calls_of([&] { x[0][0][0].sum(); }), ElementsAre("sum f32[1]/[1] over [0] in f32 to f32[1]/[1]"));
  EXPECT_THAT(calls_of([&] { x.all(); }),
              ElementsAre("all f32[2, 3, 4]/[12, 4, 1] over [0, 1, 2] in f32 to bool[1, 1, 1]/[1, 1, 1]"));
}

TEST_F(DeviceDispatch, MatricesComeAsViews) {
  const Tensor x = device({2, 3, 4}, torch::kHalf), w = device({5, 4}, torch::kHalf), b = device({5}, torch::kHalf);
  EXPECT_THAT(calls_of([&] { EXPECT_EQ(torch::linear(x, w, b).dim(), 3); }),
              ElementsAre("matmul f16[6, 4]/[4, 1] f16[4, 5]/[1, 4] alpha 1 beta 1 addend f16[6, 5]/[0, 1] to "
                          "f16[6, 5]/[5, 1]"));
  EXPECT_THAT(calls_of([&] { w.matmul(x.transpose(1, 2)); }),
              ElementsAre("matmul f16[2, 5, 4]/[0, 4, 1] f16[2, 4, 3]/[12, 1, 4] alpha 1 beta 0 addend none to "
                          "f16[2, 5, 3]/[15, 3, 1]"));
  EXPECT_THAT(calls_of([&] { b.addmm(w, w.t(), 0, 2); }),
              ElementsAre("matmul f16[5, 4]/[4, 1] f16[4, 5]/[1, 4] alpha 2 beta 0 addend none to f16[5, 5]/[5, 1]"));
  EXPECT_THAT(calls_of([&] { EXPECT_EQ(b.dot(b).dim(), 0); }),
              ElementsAre("matmul f16[1, 5]/[5, 1] f16[5, 1]/[1, 1] alpha 1 beta 0 addend none to f16[1, 1]/[1, 1]"));
}

TEST_F(DeviceDispatch, NormalisationsAndRunningSums) {
  const Tensor x = device({2, 4}), w = device({4});
  EXPECT_THAT(calls_of([&] { x.softmax(-1); }),
              ElementsAre("softmax f32[2, 4]/[4, 1] along 1 false to f32[2, 4]/[4, 1]"));
  EXPECT_THAT(calls_of([&] { torch::layer_norm(x, {4}, w); }),
              ElementsAre("layer_norm f32[2, 4]/[4, 1] 1 f32[4]/[1] none 1e-05 to f32[2, 4]/[4, 1]"));
  EXPECT_THAT(calls_of([&] { torch::rms_norm(x, {4}, w, 0.5); }),
              ElementsAre("rms_norm f32[2, 4]/[4, 1] 1 f32[4]/[1] - 0.5 to f32[2, 4]/[4, 1]"));
  EXPECT_THAT(calls_of([&] { x.cumsum(0); }), ElementsAre("cumsum f32[2, 4]/[4, 1] along 0 to f32[2, 4]/[4, 1]"));
  EXPECT_THAT(calls_of([&] { x.triu(1); }), ElementsAre("triangle f32[2, 4]/[4, 1] 1 true to f32[2, 4]/[4, 1]"));
}

TEST_F(DeviceDispatch, CopiesOnADeviceAreKernels) {
  const Tensor x = device({2, 3});
  EXPECT_THAT(calls_of([&] { x.to(torch::kHalf); }), ElementsAre("copy f32[2, 3]/[3, 1] to f16[2, 3]/[3, 1]"));
  EXPECT_THAT(calls_of([&] { x.t().contiguous(); }), ElementsAre("copy f32[3, 2]/[1, 3] to f32[3, 2]/[2, 1]"));
  // Elements that are read and written are read first.
  EXPECT_THAT(calls_of([&] { x.narrow(1, 0, 2).copy_(x.narrow(1, 1, 2)); }),
              ElementsAre("copy f32[2, 2]/[3, 1] to f32[2, 2]/[2, 1]", "copy f32[2, 2]/[2, 1] to f32[2, 2]/[3, 1]"));
}

TEST_F(DeviceDispatch, JoiningAndChoosing) {
  const Tensor x = device({2, 3}, torch::kHalf), y = device({2, 1}), i = device({4}, torch::kInt);
  EXPECT_THAT(calls_of([&] { torch::cat({x, y}, 1); }),
              ElementsAre("copy f16[2, 3]/[3, 1] to f32[2, 3]/[3, 1]",
                          "cat f32[2, 3]/[3, 1] f32[2, 1]/[1, 1] along 1 to f32[2, 4]/[4, 1]"));
  EXPECT_THAT(calls_of([&] { x.index_select(1, i); }),
              ElementsAre("index_select f16[2, 3]/[3, 1] along 1 by i32[4]/[1] to f16[2, 4]/[4, 1]"));
  EXPECT_THAT(calls_of([&] { x.index({torch::indexing::Slice(), i}); }),
              ElementsAre("index_select f16[2, 3]/[3, 1] along 1 by i32[4]/[1] to f16[2, 4]/[4, 1]"));
  EXPECT_THAT(calls_of([&] { torch::embedding(x, i); }),
              ElementsAre("embedding f16[2, 3]/[3, 1] by i32[4, 3]/[1, 0] from 0 to f16[4, 3]/[3, 1]"));
  EXPECT_THAT(error_of([&] { x.masked_select(x > 0); }), HasSubstr("masked_select: its size depends on values"));
  EXPECT_THAT(error_of([&] { x.index({x > 0}); }), HasSubstr("a mask on a device"));
}

TEST_F(DeviceDispatch, AKernelThatIsMissingIsSaid) {
  context.devices.kernels = nullptr;
  const Tensor x = device({2});
  EXPECT_THAT(error_of([&] { x + x; }), HasSubstr("add: there is no kernel for it on ahbm:0"));
  EXPECT_THAT(error_of([&] { x.softmax(0); }), HasSubstr(".cpu()"));
}

TEST_F(DeviceDispatch, NoElementsNoLaunch) {
  const Tensor x = device({0, 3});
  EXPECT_THAT(calls_of([&] {
                x.exp();
                x + 1;
                x.matmul(device({3, 0}));
                x.softmax(1);
                torch::cat({x, x});
              }),
              IsEmpty());
}

}  // namespace
}  // namespace kernbench::tensor
