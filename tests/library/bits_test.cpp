// Every operation of the table of elementwise operations yields the same bits on the host and on a device.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <random>

#include "kernbench/torch/backward.h"
#include "numerics/elementwise_table.h"
#include "support.h"
#include "support/sanitizers.h"
#include "tensor/functions/elementwise.h"

namespace kernbench {
namespace {

using numerics::Takes;
using tensor::BinaryOperation;
using tensor::TernaryOperation;
using tensor::UnaryOperation;
using torch::Tensor;

/// Numbers of f32 that the slow suite draws for each function; the normal one takes fewer.
std::int64_t float_count() {
  const char* full = std::getenv("KERNBENCH_ALL_BITS");
  return full != nullptr ? std::int64_t{1} << 24 : std::int64_t{1} << (kSanitized ? 15 : 18);
}

void simulated(const std::function<void()>& body) {
  SimulateOptions options;
  options.topology = "tiny";
  options.overrides = {"cube.hbm.capacity=8GiB"};
  const RunResult result = try_simulate(options, body);
  if (result.error) ADD_FAILURE() << result.error->type << ": " << result.error->message << " " << result.error->where;
}

/// All 65,536 values of a 16-bit type.
Tensor all_patterns(DType dtype) {
  const auto bits = torch::empty({1 << 16}, dtype);
  auto* data = static_cast<std::uint16_t*>(bits.data_ptr());
  for (int i = 0; i < 1 << 16; ++i) data[i] = static_cast<std::uint16_t>(i);
  return bits;
}

/// Floats of all exponents, half of them in the range where functions neither overflow nor vanish, and special ones.
/// The special ones stand `repeated` times each at the beginning, all of them over and over.
Tensor random_floats(std::int64_t count, std::uint64_t seed, std::size_t repeated = 1) {
  const auto result = torch::empty({count}, torch::kFloat);
  auto* data = result.data_ptr<float>();
  std::mt19937_64 random(seed);
  for (std::int64_t i = 0; i < count; ++i) {
    const auto bits = static_cast<std::uint32_t>(random() >> 32);
    const float number = std::bit_cast<float>(bits), mantissa = std::bit_cast<float>((bits & 0x807FFFFF) | 0x3F800000);
    data[i] = i % 2 == 0 ? number : std::ldexp(mantissa, static_cast<int>(bits % 24) - 15);
  }
  const float infinity = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  const float specials[] = {0.0F, -0.0F, 1.0F, -1.0F, 0.5F, -0.5F, 2.0F, -2.0F, infinity, -infinity, nan, 0x1p-149F};
  for (std::size_t i = 0; i < 144; ++i) data[i] = specials[i / repeated % 12];
  return result;
}

std::vector<std::byte> bytes(const Tensor& tensor) {
  const auto dense = tensor.cpu().contiguous();
  const auto* data = static_cast<const std::byte*>(dense.data_ptr());
  return {data, data + dense.numel() * dense.element_size()};
}

/// How many elements have other bits.
std::int64_t differing(const Tensor& host, const Tensor& device) {
  EXPECT_TRUE(device.device().is_ahbm());
  EXPECT_EQ(device.scalar_type(), host.scalar_type());
  const auto a = bytes(host), b = bytes(device);
  EXPECT_EQ(a.size(), b.size());
  const auto item = static_cast<std::size_t>(host.element_size());
  std::int64_t count = 0;
  for (std::size_t i = 0; i < a.size(); i += item) count += std::memcmp(&a[i], &b[i], item) != 0 ? 1 : 0;
  return count;
}

bool takes_floats(const tensor::ElementwiseInfo& row) {
  return row.takes != Takes::bits && row.takes != Takes::integers;
}

void expect_same_unary_bits(const Tensor& x) {
  const Tensor device = x.to("ahbm");
  for (const auto& row : numerics::unary_table()) {
    if (!takes_floats(row)) continue;
    const auto operation = std::get<UnaryOperation>(row.operation);
    EXPECT_EQ(differing(tensor::unary(operation, x), tensor::unary(operation, device)), 0)
        << row.name << " of " << name(x.scalar_type());
  }
}

void expect_same_binary_bits(const Tensor& x, const Tensor& y) {
  const Tensor a = x.to("ahbm"), b = y.to("ahbm");
  for (const auto& row : numerics::binary_table()) {
    if (!takes_floats(row)) continue;
    const auto operation = std::get<BinaryOperation>(row.operation);
    // Tiles have these two; tensors have the forms that yield NaN.
    if (operation == BinaryOperation::maximum || operation == BinaryOperation::minimum) continue;
    EXPECT_EQ(differing(tensor::binary(operation, x, y), tensor::binary(operation, a, b)), 0)
        << row.name << " of " << name(x.scalar_type());
  }
}

void expect_same_ternary_bits(const Tensor& x, const Tensor& y, const Tensor& z) {
  const Tensor a = x.to("ahbm"), b = y.to("ahbm"), c = z.to("ahbm");
  const auto type = name(x.scalar_type());
  EXPECT_EQ(differing(tensor::multiply_add("addcmul", x, y, z), tensor::multiply_add("addcmul", a, b, c)), 0) << type;
  EXPECT_EQ(differing(tensor::clamp(x, y, z), tensor::clamp(a, b, c)), 0) << type;
  // A NaN that is chosen is moved, with its payload; on the host a conversion may quiet it.
  const auto without_nan = [](const Tensor& t) { return torch::where(t == t, t, torch::zeros({}, t.scalar_type())); };
  const Tensor u = without_nan(x), v = without_nan(z);
  EXPECT_EQ(differing(tensor::where(x > y, u, v), tensor::where(a > b, u.to("ahbm"), v.to("ahbm"))), 0) << type;
}

/// The functions that take numbers of their own.
void expect_same_composed_bits(const Tensor& x, const Tensor& y, const Tensor& z) {
  using Call = std::function<Tensor(const Tensor& x, const Tensor& y, const Tensor& z)>;
  using T = const Tensor&;
  const std::vector<std::pair<const char*, Call>> calls{
      {"square", [](T a, T, T) { return a.square(); }},
      {"pow 1", [](T a, T, T) { return a.pow(1); }},
      {"pow 3", [](T a, T, T) { return a.pow(3.0); }},
      {"pow -1", [](T a, T, T) { return a.pow(-1); }},
      {"leaky_relu", [](T a, T, T) { return torch::leaky_relu(a, 0.1); }},
      {"softplus", [](T a, T, T) { return torch::softplus(a); }},
      {"softplus of 2", [](T a, T, T) { return torch::softplus(a, 2, 1.5); }},
      {"elu", [](T a, T, T) { return torch::elu(a); }},
      {"elu of three", [](T a, T, T) { return torch::elu(a, 0.3, 1.5, 0.7); }},
      {"nan_to_num", [](T a, T, T) { return a.nan_to_num(); }},
      {"nan_to_num of three", [](T a, T, T) { return a.nan_to_num(0.1, 7, -1e9); }},
      {"lerp", [](T a, T b, T) { return a.lerp(b, 0.3); }},
      {"lerp from the end", [](T a, T b, T) { return a.lerp(b, 0.7); }},
      {"lerp of weights", [](T a, T b, T c) { return a.lerp(b, c); }},
      {"addcmul", [](T a, T b, T c) { return a.addcmul(b, c, 0.3); }},
      {"addcdiv", [](T a, T b, T c) { return a.addcdiv(b, c); }},
      {"addcdiv of 0.3", [](T a, T b, T c) { return a.addcdiv(b, c, 0.3); }},
      {"isclose", [](T a, T b, T) { return a.isclose(b, 0.1, 0.01); }},
      {"isclose of NaN", [](T a, T b, T) { return a.isclose(b, 1e-5, 1e-8, true); }},
      {"threshold_backward", [](T a, T b, T) { return torch::threshold_backward(a, b, 0.1); }},
      {"leaky_relu_backward", [](T a, T b, T) { return torch::leaky_relu_backward(a, b, 0.1, false); }},
      {"sigmoid_backward", [](T a, T b, T) { return torch::sigmoid_backward(a, b); }},
      {"tanh_backward", [](T a, T b, T) { return torch::tanh_backward(a, b); }},
      {"silu_backward", [](T a, T b, T) { return torch::silu_backward(a, b); }},
      {"gelu_backward", [](T a, T b, T) { return torch::gelu_backward(a, b); }},
      {"gelu_backward of tanh", [](T a, T b, T) { return torch::gelu_backward(a, b, "tanh"); }},
      {"mse_loss_backward", [](T a, T b, T c) { return torch::mse_loss_backward(a, b, c, torch::Reduction::Mean); }}};
  const Tensor a = x.to("ahbm"), b = y.to("ahbm"), c = z.to("ahbm");
  for (const auto& [what, call] : calls)
    EXPECT_EQ(differing(call(x, y, z), call(a, b, c)), 0) << what << " of " << name(x.scalar_type());
}

Tensor shuffled(const Tensor& x, std::uint64_t seed) {
  const Tensor result = x.clone();
  auto* data = static_cast<std::uint16_t*>(result.data_ptr());
  std::mt19937_64 random(seed);
  for (std::int64_t i = x.numel() - 1; i > 0; --i)
    std::swap(data[i], data[random() % static_cast<std::uint64_t>(i + 1)]);
  return result;
}

TEST(SameBits, OneOperandOfEvery16BitPattern) {
  simulated([] {
    for (const DType dtype : {DType::f16, DType::bf16}) expect_same_unary_bits(all_patterns(dtype));
  });
}

TEST(SameBits, OneOperandOfRandomFloats) {
  simulated([] {
    constexpr std::int64_t kStep = 1 << (kSanitized ? 15 : 18);
    for (std::int64_t done = 0; done < float_count(); done += kStep)
      expect_same_unary_bits(random_floats(kStep, static_cast<std::uint64_t>(done)));
  });
}

TEST(SameBits, TwoAndThreeOperandsOf16BitPatterns) {
  simulated([] {
    for (const DType dtype : {DType::f16, DType::bf16}) {
      if (kSanitized && dtype == DType::f16) continue;
      const Tensor x = all_patterns(dtype), y = shuffled(x, 1), z = shuffled(x, 2);
      expect_same_binary_bits(x, y);
      expect_same_binary_bits(x, torch::ones_like(x));
      expect_same_ternary_bits(x, y, z);
      expect_same_composed_bits(x, y, z);
    }
  });
}

TEST(SameBits, TwoAndThreeOperandsOfRandomFloats) {
  simulated([] {
    constexpr std::int64_t kStep = 1 << (kSanitized ? 15 : 18);
    for (std::int64_t done = 0; done < float_count(); done += kStep) {
      const auto seed = static_cast<std::uint64_t>(3 * done);
      const Tensor x = random_floats(kStep, seed), y = random_floats(kStep, seed + 1, 12),
                   z = random_floats(kStep, seed + 2);
      expect_same_binary_bits(x, y);
      expect_same_ternary_bits(x, y, z);
      expect_same_composed_bits(x, y, z);
    }
  });
}

/// A number is not rounded to the type of a tensor of 16 bits.
TEST(SameBits, TensorsAndNumbers) {
  simulated([] {
    for (const DType dtype : {DType::f16, DType::bf16, DType::f32}) {
      if (kSanitized && dtype != DType::f16) continue;
      const Tensor x = dtype == DType::f32 ? random_floats(1 << 16, 9) : all_patterns(dtype), device = x.to("ahbm");
      for (const auto& row : numerics::binary_table()) {
        if (!takes_floats(row)) continue;
        const auto operation = std::get<BinaryOperation>(row.operation);
        if (operation == BinaryOperation::maximum || operation == BinaryOperation::minimum) continue;
        for (const torch::Scalar& number : {torch::Scalar(0.1), torch::Scalar(2), torch::Scalar(100'001)}) {
          if (kSanitized && number.toDouble() > 1) continue;
          EXPECT_EQ(differing(tensor::binary(operation, x, number), tensor::binary(operation, device, number)), 0)
              << row.name << " of " << name(dtype) << " and " << number.toDouble();
          EXPECT_EQ(differing(tensor::binary(operation, number, x), tensor::binary(operation, number, device)), 0)
              << row.name << " of " << number.toDouble() << " and " << name(dtype);
        }
      }
      EXPECT_EQ(differing(torch::add(x, x, 0.1), torch::add(device, device, 0.1)), 0) << name(dtype);
      EXPECT_EQ(differing(x.clamp(-0.1, 0.1), device.clamp(-0.1, 0.1)), 0) << name(dtype);
      EXPECT_EQ(differing(torch::where(x > 0.1, x, 0.1), torch::where(device > 0.1, device, 0.1)), 0) << name(dtype);
    }
  });
}

TEST(SameBits, OneOperandOfIntegers) {
  simulated([] {
    for (const DType dtype : {DType::i8, DType::u8, DType::i32, DType::i64}) {
      const Tensor x = torch::randint(-200, 200, {4096}, torch::kLong).to(dtype), device = x.to("ahbm");
      for (const auto& row : numerics::unary_table()) {
        if (row.takes == Takes::floats) continue;
        const auto operation = std::get<UnaryOperation>(row.operation);
        EXPECT_EQ(differing(tensor::unary(operation, x), tensor::unary(operation, device)), 0)
            << row.name << " of " << name(dtype);
      }
    }
  });
}

}  // namespace
}  // namespace kernbench
