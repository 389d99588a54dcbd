#include "cli/ccl/request.h"

#include <algorithm>

namespace kernbench::cli::ccl {

std::vector<Bytes> Sizes::all() const {
  std::vector<Bytes> sizes;
  for (Bytes size = least; size <= most;) {
    sizes.push_back(size);
    const Bytes next = factor > 1 ? size * factor : size + step;
    if (next <= size) break;  // 0 B times anything
    size = next;
  }
  return sizes;
}

const std::vector<TypeName>& type_names() {
  static const std::vector<TypeName> names{
      {"int8", DType::i8},       {"uint8", DType::u8},      {"int32", DType::i32},
      {"int64", DType::i64},     {"half", DType::f16},      {"float", DType::f32},
      {"bfloat16", DType::bf16}, {"f8e4m3", DType::f8e4m3}, {"f8e5m2", DType::f8e5m2}};
  return names;
}

std::string_view nccl_name(DType dtype) {
  return std::ranges::find(type_names(), dtype, &TypeName::dtype)->name;
}

const std::vector<ReductionName>& reduction_names() {
  using torch::distributed::ReduceOp;
  static const std::vector<ReductionName> names{{"sum", ReduceOp::SUM},
                                                {"prod", ReduceOp::PRODUCT},
                                                {"max", ReduceOp::MAX},
                                                {"min", ReduceOp::MIN},
                                                {"avg", ReduceOp::AVG}};
  return names;
}

}  // namespace kernbench::cli::ccl
