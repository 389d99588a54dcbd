// What the comparison with libtorch (oracle/) does not cover of host tensors.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <sstream>

#include "fake_context.h"
#include "kernbench/error.h"
#include "kernbench/torch.h"
#include "tensor/tensor_impl.h"

namespace kernbench::host_tensor_test {
namespace {

std::vector<double> values(const torch::Tensor& tensor) {
  const torch::Tensor dense = tensor.to(torch::kCPU).to(torch::kDouble).contiguous();
  return {dense.data_ptr<double>(), dense.data_ptr<double>() + dense.numel()};
}

std::string text(const torch::Tensor& tensor) {
  std::ostringstream out;
  out << tensor;
  return out.str();
}

TEST(HostTensorContext, FactoriesNeedAHostContext) {
  EXPECT_THROW(torch::zeros({2}), ProgramError);
  EXPECT_THROW(torch::arange(3), ProgramError);
  EXPECT_THROW(torch::tensor({1, 2}), ProgramError);
  EXPECT_THROW(torch::manual_seed(1), ProgramError);
}

class HostTensor : public testing::Test {
 protected:
  tensor::FakeContext context;
};

TEST_F(HostTensor, EmptyIsPoisonedSoThatAUseShows) {
  for (const auto type : {torch::kFloat, torch::kHalf, torch::kBFloat16, torch::kDouble})
    for (const double value : values(torch::empty({3}, type))) EXPECT_TRUE(std::isnan(value));
  for (const auto type : {torch::kFloat8_e4m3fn, torch::kFloat8_e5m2})
    for (const double value : values(torch::empty({3}, type))) EXPECT_TRUE(std::isnan(value));
  EXPECT_EQ(torch::empty({1}, torch::kByte).item<int>(), UINT8_MAX);
  EXPECT_EQ(torch::empty({1}, torch::kChar).item<int>(), INT8_MAX);
  EXPECT_EQ(torch::empty({1}, torch::kInt).item<int>(), INT32_MAX);
  EXPECT_EQ(torch::empty({1}, torch::kLong).item<std::int64_t>(), INT64_MAX);
}

TEST_F(HostTensor, EightBitTypesHaveTheirNamesAndRanges) {
  const auto name_of = [](torch::ScalarType type) {
    std::ostringstream out;
    out << type;
    return out.str();
  };
  EXPECT_EQ(name_of(torch::kByte), "Byte");
  EXPECT_EQ(name_of(torch::kChar), "Char");
  EXPECT_EQ(name_of(torch::kFloat8_e4m3fn), "Float8_e4m3fn");
  EXPECT_EQ(name_of(torch::kFloat8_e5m2), "Float8_e5m2");
  EXPECT_EQ(torch::scalar_type_of<std::uint8_t>(), torch::kByte);
  EXPECT_EQ(torch::scalar_type_of<torch::Float8_e5m2>(), torch::kFloat8_e5m2);
  EXPECT_EQ(torch::full({1}, -1, torch::kByte).item<int>(), 255);  // wraps, as in PyTorch
  EXPECT_EQ(torch::full({1}, -128, torch::kChar).item<int>(), -128);
  EXPECT_EQ(torch::full({1}, 0.3, torch::kFloat8_e4m3fn).item<float>(), 0.3125f);
  EXPECT_EQ(torch::full({1}, 57344, torch::kFloat8_e5m2).item<float>(), 57344.0f);
  EXPECT_THROW(torch::full({1}, 256, torch::kByte), ValueError);
  EXPECT_THROW(torch::full({1}, 128, torch::kChar), ValueError);
  EXPECT_THROW(torch::full({1}, 449, torch::kFloat8_e4m3fn), ValueError);
  EXPECT_THROW(torch::full({1}, 1e5, torch::kFloat8_e5m2), ValueError);
  EXPECT_THAT(text(torch::full({2}, 7, torch::kByte)), testing::HasSubstr("CPUByteType{2}"));
}

TEST_F(HostTensor, TheSameSeedGivesTheSameNumbersAndTheNextCallOthers) {
  torch::manual_seed(7);
  const auto a = torch::randn({100}), b = torch::randn({100});
  torch::manual_seed(7);
  EXPECT_TRUE(torch::equal(torch::randn({100}), a));
  EXPECT_TRUE(torch::equal(torch::randn({100}), b));
  EXPECT_FALSE(torch::equal(a, b));
  torch::manual_seed(8);
  EXPECT_FALSE(torch::equal(torch::randn({100}), a));
}

TEST_F(HostTensor, RandomNumbersHaveTheirDistribution) {
  double mean = 0, square = 0;
  for (const double x : values(torch::randn({100'000}))) mean += x / 1e5, square += x * x / 1e5;
  EXPECT_NEAR(mean, 0, 0.02);
  EXPECT_NEAR(square, 1, 0.02);
  mean = 0;
  for (const double x : values(torch::rand({100'000}))) {
    ASSERT_GE(x, 0);
    ASSERT_LT(x, 1);
    mean += x / 1e5;
  }
  EXPECT_NEAR(mean, 0.5, 0.01);
  std::vector<int> counts(5, 0);
  for (const double x : values(torch::randint(-2, 3, {10'000}, torch::kInt)))
    ++counts.at(static_cast<std::size_t>(x + 2));
  for (const int count : counts) EXPECT_NEAR(count, 2000, 200);
}

// As many random bits as the type has digits: what is rounded to the type would reach the end of the range.
TEST_F(HostTensor, UniformNumbersStayBelowTheEndOfTheirRangeInEveryType) {
  const std::vector<std::pair<DType, double>> spacings{{DType::f8e5m2, 0x1p-3},
                                                       {DType::f8e4m3, 0x1p-4},
                                                       {DType::bf16, 0x1p-8},
                                                       {DType::f16, 0x1p-11},
                                                       {DType::f32, 0x1p-24}};
  for (const auto& [type, spacing] : spacings) {
    const auto all = torch::rand({200'000}, type).to(torch::kDouble);
    EXPECT_GE(all.min().item<double>(), 0) << name(type);
    if (type != DType::f32) {
      EXPECT_EQ(all.max().item<double>(), 1 - spacing) << name(type);
    }
    EXPECT_TRUE(torch::equal((all / spacing).floor() * spacing, all)) << name(type);
    torch::manual_seed(3);
    const auto plain = torch::rand({1000}, type);
    torch::manual_seed(3);
    EXPECT_TRUE(torch::equal(torch::empty({1000}, type).uniform_(), plain)) << name(type);
  }
  for (const auto& [from, to] : {std::pair(1.0, 2.0), std::pair(-1.0, 0.0), std::pair(-4.0, -3.0), std::pair(0.1, 0.3),
                                 std::pair(100.0, 100.5)}) {
    for (const DType type : {DType::bf16, DType::f16, DType::f32, DType::f64}) {
      const auto all = torch::empty({100'000}, type).uniform_(from, to).to(torch::kDouble);
      EXPECT_LT(all.max().item<double>(), to) << name(type) << ' ' << from;
    }
  }
  // Nothing of the type is in the range: the nearest.
  EXPECT_EQ(torch::empty({4}, DType::f16).uniform_(2, 2)[0].item<double>(), 2);
  EXPECT_EQ(torch::empty({4}, DType::f16).uniform_(1.99999, 2)[0].item<double>(), 2);
}

TEST_F(HostTensor, ACopyIntoAnOverlappingViewReadsBeforeItWrites) {
  auto x = torch::arange(6);
  x.narrow(0, 1, 5).copy_(x.narrow(0, 0, 5));
  EXPECT_EQ(values(x), (std::vector<double>{0, 0, 1, 2, 3, 4}));
  auto m = torch::arange(4).view({2, 2});
  m.copy_(m.t());
  EXPECT_EQ(values(m), (std::vector<double>{0, 2, 1, 3}));
}

TEST_F(HostTensor, AssigningToAnElementWritesItAndAssigningToAVariableDoesNot) {
  auto x = torch::zeros({2, 2});
  x[0] = torch::ones({2});
  x[1][1] = 5;
  EXPECT_EQ(values(x), (std::vector<double>{1, 1, 0, 5}));
  auto row = x[0];
  row = torch::zeros({2});
  EXPECT_EQ(values(x), (std::vector<double>{1, 1, 0, 5}));
}

TEST_F(HostTensor, FromBlobUsesTheCallersMemoryAndItsDeleter) {
  float memory[6] = {0, 1, 2, 3, 4, 5};
  void* deleted = nullptr;
  {
    auto x = torch::from_blob(memory, {2, 3}, [&](void* data) { deleted = data; });
    auto columns = torch::from_blob(memory, {3, 2}, {1, 3});
    x[1][2] = 9;
    EXPECT_EQ(memory[5], 9);
    EXPECT_EQ(values(columns), (std::vector<double>{0, 3, 1, 4, 2, 9}));
    x = torch::Tensor();
    EXPECT_EQ(deleted, memory);
  }
  EXPECT_THROW(torch::from_blob(memory, {2}, torch::device("ahbm")), ValueError);
  EXPECT_THROW(torch::from_blob(memory, {2}, {-1}, torch::TensorOptions()), ValueError);
}

TEST_F(HostTensor, ForeignMemoryIsGivenBackOnceWhenItsLastViewIsGone) {
  float memory[8] = {0, 1, 2, 3, 4, 5, 6, 7};
  int deleted = 0;
  auto x = torch::from_blob(memory, {2, 2}, {4, 2}, [&](void*) { ++deleted; });
  auto offset = torch::from_blob(memory, {2, 2}, {4, 2}, 1, [&](void*) { deleted += 100; });
  EXPECT_EQ(values(x), (std::vector<double>{0, 2, 4, 6}));
  EXPECT_EQ(values(offset), (std::vector<double>{1, 3, 5, 7}));
  EXPECT_FALSE(x.is_contiguous());
  EXPECT_EQ(x.data_ptr<float>(), memory);
  EXPECT_EQ(offset.data_ptr<float>(), memory + 1);
  auto view = x.t().narrow(0, 1, 1);
  x.add_(10);
  EXPECT_EQ(memory[2], 12) << "no copy";
  memory[6] = 3;
  EXPECT_EQ(values(view), (std::vector<double>{12, 3}));
  x = torch::Tensor();
  EXPECT_EQ(deleted, 0) << "a view lives";
  view = torch::Tensor();
  EXPECT_EQ(deleted, 1);
  EXPECT_THROW(torch::from_blob(memory, {2}, {1}, -1, [](void*) {}), ValueError);
}

TEST_F(HostTensor, ReadOnlyMemoryRefusesOperationsInPlace) {
  const std::vector<float> memory = {0, 1, 2, 3};
  int deleted = 0;
  {
    const auto x = torch::from_blob(static_cast<const void*>(memory.data()), {2, 2}, {2, 1},
                                    [&](const void* data) { deleted += data == memory.data() ? 1 : 100; });
    const auto dense = torch::from_blob(memory.data(), {4});
    for (const auto& view : {x, x[1], x.t(), dense}) {
      EXPECT_THROW(view.fill_(1), ValueError);
      EXPECT_THROW(view.add_(1), ValueError);
      EXPECT_THROW(view.neg_(), ValueError);
      EXPECT_THROW(view.copy_(torch::zeros(view.sizes())), ValueError);
      EXPECT_THROW(view.masked_fill_(torch::ones(view.sizes(), torch::kBool), 1), ValueError);
    }
    EXPECT_THROW(dense.index_put_({torch::tensor({1, 2})}, torch::zeros({2})), ValueError);
    EXPECT_EQ(values(x + 1), (std::vector<double>{1, 2, 3, 4}));
    EXPECT_EQ(values(x.clone().fill_(7)), (std::vector<double>{7, 7, 7, 7}));
  }
  EXPECT_EQ(deleted, 1);
  EXPECT_EQ(memory, (std::vector<float>{0, 1, 2, 3}));
}

// ---- elements are made when they are first looked at

bool is_made(const torch::Tensor& tensor) {
  return tensor::impl_of(tensor).storage->is_made();
}

TEST_F(HostTensor, ElementsThatNobodyLooksAtAreNeverMade) {
  const auto huge = torch::randn({1 << 20, 1 << 20});
  EXPECT_FALSE(is_made(huge));
  EXPECT_FALSE(is_made(huge.to(torch::kHalf))) << "nor converted ones";
  EXPECT_FALSE(is_made(torch::zeros({1 << 20, 1 << 20}).view({-1})));
  EXPECT_FALSE(is_made(torch::empty({1 << 20, 1 << 20})));
  EXPECT_FALSE(is_made(torch::randint(5, {4}))) << torch::arange(4) << torch::eye(3);
}

TEST_F(HostTensor, RandomElementsAreTheSameInWhateverOrderTheyAreLookedAt) {
  const auto draw = [](const std::vector<int>& order) {
    torch::manual_seed(17);
    std::vector<torch::Tensor> tensors = {torch::randn({1000}), torch::rand({33, 7}), torch::randint(-9, 9, {5}),
                                          torch::randn({64}).to(torch::kHalf), torch::randn({3000}, torch::kBFloat16)};
    std::vector<std::vector<double>> all(tensors.size());
    for (const int i : order) all[static_cast<std::size_t>(i)] = values(tensors[static_cast<std::size_t>(i)]);
    return all;
  };
  const auto forwards = draw({0, 1, 2, 3, 4}), backwards = draw({4, 3, 2, 1, 0}), last = draw({4});
  EXPECT_EQ(forwards, backwards);
  EXPECT_EQ(forwards[4], last[4]);
}

TEST_F(HostTensor, AConversionIsOfTheElementsAtItsTime) {
  auto x = torch::full({4}, 1.5);
  const auto half = x.to(torch::kHalf);
  const auto view = x.narrow(0, 1, 2).to(torch::kDouble);
  x.fill_(2);
  EXPECT_EQ(values(half), (std::vector<double>{1.5, 1.5, 1.5, 1.5}));
  EXPECT_EQ(values(view), (std::vector<double>{1.5, 1.5}));
  EXPECT_EQ(values(x), (std::vector<double>{2, 2, 2, 2}));
}

TEST_F(HostTensor, APointerStaysGood) {
  auto x = torch::zeros({4});
  const float* pointer = x.data_ptr<float>();
  x.fill_(3);
  EXPECT_EQ(pointer[2], 3);
  EXPECT_EQ(x.data_ptr<float>(), pointer);
}

TEST_F(HostTensor, AnElementTypeThatCannotHoldTheValueIsAnError) {
  EXPECT_THROW(torch::full({1}, 1e6, torch::kHalf), ValueError);
  EXPECT_THROW(torch::full({1}, std::int64_t{1} << 40, torch::kInt), ValueError);
  EXPECT_THROW(torch::tensor(NAN).item<int>(), ValueError);
  EXPECT_TRUE(std::isinf(torch::full({1}, INFINITY, torch::kHalf).item<float>()));
}

TEST_F(HostTensor, UndefinedTensorsAreErrorsNotCrashes) {
  const torch::Tensor nothing;
  EXPECT_FALSE(nothing.defined());
  EXPECT_THROW(nothing.sizes(), ValueError);
  EXPECT_THROW(nothing.item(), ValueError);
  EXPECT_THROW(torch::zeros({2}).copy_(nothing), ValueError);
  EXPECT_THROW(torch::zeros_like(nothing), ValueError);
  EXPECT_EQ(text(nothing), "[ Tensor (undefined) ]");
}

TEST_F(HostTensor, ShapesTooLargeAreErrors) {
  EXPECT_THROW(torch::empty({std::int64_t{1} << 40, std::int64_t{1} << 40}), ValueError);
  EXPECT_THROW(torch::zeros({1, 1, 1, 1, 1, 1, 1, 1, 1}), ValueError);
  EXPECT_THROW(torch::arange(0, 1, 1e-300), ValueError);
}

TEST_F(HostTensor, DevicesAreParsedAsPyTorchDoes) {
  EXPECT_EQ(torch::Device("ahbm:1"), torch::Device(torch::kAHBM, 1));
  EXPECT_EQ(torch::Device("ahbm").index(), -1);
  EXPECT_EQ(torch::Device("ahbm:12").str(), "ahbm:12");
  for (const char* wrong :
       {"", "gpu", "ahbm:", "ahbm:-1", "ahbm:01", "ahbm:1x", "AHBM", "ahbm:1:2", "ahbm:99999999999"})
    EXPECT_THROW(torch::Device{wrong}, ValueError) << wrong;
  std::string message;
  try {
    torch::Device("cuda:0");
  } catch (const ValueError& error) {
    message = error.what();
  }
  EXPECT_EQ(message,
            "Expected one of cpu, ahbm device type at start of device string: cuda:0; the simulated devices are "
            "\"ahbm:0\", \"ahbm:1\", …");
}

TEST_F(HostTensor, GradientsAreRefused) {
  EXPECT_THROW(torch::zeros({2}, torch::requires_grad()), ValueError);
  EXPECT_NO_THROW(torch::zeros({2}, torch::requires_grad(false)));
}

TEST_F(HostTensor, PrintsValuesInColumnsThenTypeAndSizes) {
  EXPECT_EQ(text(torch::tensor({{1.0, 2.5}, {-3.0, 40.0}})),
            "  1.0000   2.5000\n -3.0000  40.0000\n[ CPUFloatType{2,2} ]");
  EXPECT_EQ(text(torch::tensor({1, 20})), "  1\n 20\n[ CPULongType{2} ]");
  EXPECT_EQ(text(torch::tensor(1.5)), "1.5\n[ CPUFloatType{} ]");
  EXPECT_EQ(text(torch::zeros({2, 0})), "[ CPUFloatType{2,0} ]");
}

TEST_F(HostTensor, AllcloseAndEqualTreatNanAndInfinityAsPyTorchDoes) {
  const auto nan = torch::tensor({NAN}), inf = torch::tensor({INFINITY}), one = torch::tensor({1.0f});
  EXPECT_FALSE(torch::equal(nan, nan));
  EXPECT_FALSE(torch::allclose(nan, nan));
  EXPECT_TRUE(torch::allclose(nan, nan, 1e-5, 1e-8, true));
  EXPECT_TRUE(torch::allclose(inf, inf));
  EXPECT_FALSE(torch::allclose(one, inf));
  EXPECT_FALSE(torch::allclose(inf, one));
}

}  // namespace
}  // namespace kernbench::host_tensor_test
