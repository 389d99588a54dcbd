// Tensors of another kind take part in elementwise calls by their own functions.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "fake_context.h"
#include "kernbench/torch.h"
#include "tensor/functions/elementwise.h"

namespace kernbench::tensor {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using torch::Tensor;

/// The halves of a tensor, as a distributed tensor holds its shards: a call is one call for each half.
class Halves final : public TensorFunctions {
 public:
  std::vector<Tensor> halves;
  inline static std::vector<std::string> calls;

  explicit Halves(std::vector<Tensor> parts) : halves(std::move(parts)) {}

  Tensor elementwise(const ElementwiseCall& call) override {
    calls.push_back(std::string(call.name) + "/" + std::to_string(call.operands.size()) +
                    (call.in_place != nullptr ? " in place" : ""));
    std::vector<Tensor> results;
    for (std::size_t i = 0; i < halves.size(); ++i) {
      std::vector<DeviceOperand> operands;
      for (const DeviceOperand& operand : call.operands) operands.push_back(half_of(operand, i));
      const Tensor target = call.in_place != nullptr ? std::get<Tensor>(half_of(*call.in_place, i)) : Tensor();
      results.push_back(
          tensor::elementwise({call.operation, operands, call.in_place != nullptr ? &target : nullptr, call.name}));
    }
    return call.in_place != nullptr ? *call.in_place : whole(std::move(results));
  }

  static Tensor whole(std::vector<Tensor> parts) {
    auto impl = std::make_shared<TensorImpl>();
    impl->sizes = {2 * parts.front().numel()};
    impl->strides = {1};
    impl->dtype = parts.front().scalar_type();
    impl->functions = std::make_shared<Halves>(std::move(parts));
    return Tensor(std::move(impl));
  }

 private:
  static DeviceOperand half_of(const DeviceOperand& operand, std::size_t i) {
    const auto* tensor = std::get_if<Tensor>(&operand);
    if (tensor == nullptr || !impl_of(*tensor).functions) return operand;
    return static_cast<const Halves&>(*impl_of(*tensor).functions).halves[i];
  }
};

Tensor halves(float a, float b) {
  return Halves::whole({torch::tensor({a}, torch::kFloat), torch::tensor({b}, torch::kFloat)});
}
std::vector<float> values(const Tensor& tensor) {
  std::vector<float> result;
  for (const Tensor& half : static_cast<const Halves&>(*impl_of(tensor).functions).halves)
    result.push_back(half.to(torch::kFloat).item<float>());
  return result;
}

class TensorFunctionsTest : public ::testing::Test {
 protected:
  TensorFunctionsTest() { Halves::calls.clear(); }
  FakeContext context;
};

TEST_F(TensorFunctionsTest, EveryElementwiseCallGoesToTheTensorsOwnFunctions) {
  const Tensor x = halves(1, 4), y = halves(2, 8);
  EXPECT_THAT(values(x + y), ElementsAre(3, 12));
  EXPECT_THAT(values(x.sqrt()), ElementsAre(1, 2));
  EXPECT_THAT(values(torch::where(x > 2, x, y)), ElementsAre(2, 4));
  EXPECT_THAT(values(x.clamp(2, 3)), ElementsAre(2, 3));
  EXPECT_THAT(values(x.clamp_min(2)), ElementsAre(2, 4));
  EXPECT_THAT(values(torch::addcmul(x, y, y)), ElementsAre(5, 68));
  EXPECT_THAT(values(torch::pow(x, 2)), ElementsAre(1, 16));
  EXPECT_THAT(Halves::calls,
              ElementsAre("add/2", "sqrt/1", "gt/2", "where/3", "clamp/3", "clamp/2", "addcmul/3", "pow/2"));
}

TEST_F(TensorFunctionsTest, AnyOperandMayBeTheOneOfAnotherKind) {
  const Tensor x = halves(1, 4), host = torch::tensor({10.0F});
  EXPECT_THAT(values(host + x), ElementsAre(11, 14));
  EXPECT_THAT(values(3 - x), ElementsAre(2, -1));
  EXPECT_THAT(values(torch::where(torch::tensor({true}), host, x)), ElementsAre(10, 10));
}

TEST_F(TensorFunctionsTest, CallsInPlaceWriteToTheTensor) {
  const Tensor x = halves(1, 4);
  x.add_(1).mul_(x);
  x.neg_();
  EXPECT_THAT(values(x), ElementsAre(-4, -25));
  EXPECT_THAT(Halves::calls, ElementsAre("add/2 in place", "mul/2 in place", "neg/1 in place"));
}

TEST_F(TensorFunctionsTest, OtherTensorsDoNotAskThem) {
  torch::ones({2}) + torch::ones({2});
  EXPECT_THAT(Halves::calls, IsEmpty());
}

}  // namespace
}  // namespace kernbench::tensor
