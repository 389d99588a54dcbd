#include "tensor/element.h"

#include <cstring>

namespace kernbench::tensor {

namespace {

template <class T>
Element element(T value) {
  Element result;
  std::memcpy(result.bytes.data(), &value, sizeof(T));
  result.size = sizeof(T);
  return result;
}

}  // namespace

Element element_of(DType dtype, const torch::Scalar& value) {
  switch (dtype) {
    case DType::boolean:
      return element(value.to<bool>());
    case DType::u8:
      return element(value.to<std::uint8_t>());
    case DType::i8:
      return element(value.to<std::int8_t>());
    case DType::i32:
      return element(value.to<std::int32_t>());
    case DType::i64:
      return element(value.to<std::int64_t>());
    case DType::f8e4m3:
      return element(value.to<torch::Float8_e4m3fn>().bits);
    case DType::f8e5m2:
      return element(value.to<torch::Float8_e5m2>().bits);
    case DType::f16:
      return element(value.to<torch::Half>().bits);
    case DType::bf16:
      return element(value.to<torch::BFloat16>().bits);
    case DType::f32:
      return element(value.to<float>());
    case DType::f64:
      return element(value.to<double>());
  }
  return {};
}

}  // namespace kernbench::tensor
