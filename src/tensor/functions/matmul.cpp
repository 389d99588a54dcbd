// matmul, mm, bmm, mv, dot, outer, addmm, linear of kernbench/torch/operations.h.
#include <fmt/format.h>

#include <vector>

#include "kernbench/error.h"
#include "kernbench/torch/operations.h"
#include "numerics/conversion.h"
#include "numerics/gemm/gemm.h"
#include "tensor/dimensions.h"
#include "tensor/functions/dispatch.h"
#include "tensor/functions/rows.h"
#include "tensor/host_call.h"
#include "tensor/promotion.h"

namespace kernbench::torch {

using tensor::ComputePlace;
using tensor::Extents;
using tensor::impl_of;
using tensor::MatmulOptions;
using tensor::TensorImpl;

namespace {

/// Extents of one product [m,k] x [k,n].
struct Product {
  std::int64_t m, n, k;
};

/// Floats accumulate as on the devices: one chain of f32 fused multiply-adds over k (f64: in double).
template <class T>
void multiply_plainly(const Product& size, const T* a, const T* b, T* c) {
  for (std::int64_t i = 0; i < size.m; ++i) {
    for (std::int64_t p = 0; p < size.k; ++p) {
      const T factor = a[i * size.k + p];
      for (std::int64_t j = 0; j < size.n; ++j) c[i * size.n + j] += factor * b[p * size.n + j];
    }
  }
}

template <class T>
std::vector<T> elements_as(const std::byte* data, ScalarType type, std::int64_t count) {
  std::vector<T> result(static_cast<std::size_t>(count));
  constexpr ScalarType kType = std::is_same_v<T, std::uint64_t> ? kLong : scalar_type_of<T>();
  numerics::convert(kType, reinterpret_cast<std::byte*>(result.data()), type, data, count);
  return result;
}

/// out = alpha * c + beta * addend, row by row of the dense result.
void finish(const double alpha, const double beta, const std::vector<double>& c, const Tensor& addend,
            const Tensor& out) {
  const auto count = static_cast<std::int64_t>(c.size());
  std::vector<double> result(c);
  if (alpha != 1)
    for (double& value : result) value *= alpha;
  if (addend.defined() && count > 0) {
    const Tensor dense = addend.contiguous();
    const auto values = elements_as<double>(impl_of(dense).data(), dense.scalar_type(), count);
    for (std::size_t i = 0; i < result.size(); ++i) result[i] += beta * values[i];
  }
  tensor::write_elements<double>(out, 0, result);
}

void multiply_floats(const Product& size, const std::byte* a, const std::byte* b, ScalarType type, double* c) {
  const std::int64_t count = size.m * size.n;
  if (type == kDouble) {
    multiply_plainly(size, reinterpret_cast<const double*>(a), reinterpret_cast<const double*>(b), c);
    return;
  }
  std::vector<float> left, right, sums(static_cast<std::size_t>(count), 0.0f);
  numerics::MatrixView x{a, type, size.k}, y{b, type, size.n};
  if (item_size(type) == 1) {  // the matrix multiply takes 16 and 32 bits
    left = elements_as<float>(a, type, size.m * size.k);
    right = elements_as<float>(b, type, size.k * size.n);
    x = {reinterpret_cast<const std::byte*>(left.data()), kFloat, size.k};
    y = {reinterpret_cast<const std::byte*>(right.data()), kFloat, size.n};
  }
  numerics::multiply_accumulate(numerics::best_instruction_set(), size.m, size.n, size.k, x, y, sums.data(), size.n);
  std::copy(sums.begin(), sums.end(), c);
}

/// Integers wrap; alpha and beta lose their fractions, as in PyTorch.
void multiply_integers(const Product& size, std::int64_t batches, const TensorImpl& a, const TensorImpl& b,
                       const MatmulOptions& options, const Tensor& out) {
  const auto left = elements_as<std::uint64_t>(a.data(), a.dtype, a.numel());
  const auto right = elements_as<std::uint64_t>(b.data(), b.dtype, b.numel());
  std::vector<std::uint64_t> c(static_cast<std::size_t>(out.numel()), 0);
  for (std::int64_t g = 0; g < batches; ++g)
    multiply_plainly(size, left.data() + g * size.m * size.k, right.data() + g * size.k * size.n,
                     c.data() + g * size.m * size.n);
  const auto alpha = static_cast<std::uint64_t>(static_cast<std::int64_t>(options.alpha));
  const auto beta = static_cast<std::uint64_t>(static_cast<std::int64_t>(options.beta));
  std::vector<std::uint64_t> addends(c.size(), 0);
  if (options.addend.defined() && !c.empty()) {
    const Tensor dense = options.addend.contiguous();
    addends = elements_as<std::uint64_t>(impl_of(dense).data(), dense.scalar_type(), dense.numel());
  }
  std::vector<std::int64_t> result(c.size());
  for (std::size_t i = 0; i < c.size(); ++i) result[i] = static_cast<std::int64_t>(alpha * c[i] + beta * addends[i]);
  tensor::write_elements<std::int64_t>(out, 0, result);
}

void multiply_on_host(const Tensor& given_a, const Tensor& given_b, const MatmulOptions& options, const Tensor& out) {
  const Tensor dense_a = given_a.contiguous(), dense_b = given_b.contiguous();
  const TensorImpl &a = impl_of(dense_a), &b = impl_of(dense_b);
  const Product size{dense_a.size(-2), dense_b.size(-1), dense_a.size(-1)};
  const std::int64_t batches = dense_a.dim() == 3 ? dense_a.size(0) : 1;
  if (!is_floating_point(a.dtype)) return multiply_integers(size, batches, a, b, options, out);
  std::vector<double> c(static_cast<std::size_t>(out.numel()), 0.0);
  const std::int64_t item = item_size(a.dtype);
  for (std::int64_t g = 0; g < batches; ++g) {
    multiply_floats(size, a.data() + g * size.m * size.k * item, b.data() + g * size.k * size.n * item, a.dtype,
                    c.data() + g * size.m * size.n);
  }
  finish(options.alpha, options.beta, c, options.addend, out);
}

void check_types(const char* call, const Tensor& a, const Tensor& b, const char* which = "both operands") {
  if (a.scalar_type() != b.scalar_type()) {
    tensor::fail(call, fmt::format("expected {} to have the same dtype, but got {} and {}; convert one with .to(…)",
                                   which, tensor::describe(a), tensor::describe(b)));
  }
  if (a.scalar_type() == kBool) tensor::fail_type(call, kBool, "convert the operands to numbers first");
}

void check_rank(const char* call, const char* which, const Tensor& x, std::int64_t rank) {
  if (x.dim() != rank)
    tensor::fail(call, fmt::format("{} must be a {}-D tensor, but it is {}", which, rank, tensor::describe(x)));
}

/// [m,k] x [k,n], or batched with equal batches.
Tensor product(const char* call, const Tensor& a, const Tensor& b, const MatmulOptions& options = {}) {
  std::vector<tensor::DeviceOperand> operands{a, b};
  if (options.addend.defined()) operands.emplace_back(options.addend);
  const ComputePlace place = tensor::place_of(call, operands);
  check_types(call, a, b);
  if (a.size(-1) != b.size(-2)) {
    tensor::fail(call, fmt::format("mat1 and mat2 shapes cannot be multiplied ({}x{} and {}x{}); the second extent of "
                                   "the first must be the first extent of the second",
                                   a.size(-2), a.size(-1), b.size(-2), b.size(-1)));
  }
  Extents sizes = impl_of(a).sizes;
  sizes.back() = b.size(-1);
  Tensor out = tensor::new_result(call, place, sizes, a.scalar_type());
  if (out.numel() == 0) return out;
  MatmulOptions expanded = options;
  if (options.addend.defined()) expanded.addend = options.addend.expand(sizes);
  if (!place.on_device()) {
    multiply_on_host(a, b, expanded, out);
  } else if (a.size(-1) == 0) {
    out.zero_();
    if (expanded.addend.defined()) out.add_(expanded.addend, expanded.beta);
  } else {
    tensor::device_kernels(call).matmul(a, b, expanded, out);
  }
  return out;
}

/// The batch extents of an operand of matmul: all but the last two.
Extents batch_of(const Tensor& x) {
  const auto& sizes = impl_of(x).sizes;
  return {sizes.begin(), sizes.end() - 2};
}

Tensor with_batch(const Tensor& x, const Extents& batch) {
  Extents sizes = batch;
  sizes.push_back(x.size(-2));
  sizes.push_back(x.size(-1));
  Tensor expanded = x.expand(sizes);
  if (batch.size() == 1) return expanded;
  std::int64_t count = 1;
  for (const std::int64_t extent : batch) count *= extent;
  return expanded.reshape({count, x.size(-2), x.size(-1)});
}

/// All but the last dimension as one. Extents of 0 leave none of them open.
Tensor as_rows(const Tensor& x) {
  std::int64_t rows = 1;
  for (std::int64_t d = 0; d + 1 < x.dim(); ++d) rows *= x.size(d);
  return x.reshape({rows, x.size(-1)});
}

/// Both operands have at least two dimensions, one of them more.
Tensor batched(const Tensor& a, const Tensor& b) {
  const Extents batch = tensor::broadcast_sizes(batch_of(a), batch_of(b));
  Extents sizes = batch;
  sizes.push_back(a.size(-2));
  sizes.push_back(b.size(-1));
  // Rows of all batches at once where the second operand is one matrix.
  if (b.dim() == 2) return product("matmul", as_rows(a), b).reshape(sizes);
  return product("matmul", with_batch(a, batch), with_batch(b, batch)).reshape(sizes);
}

}  // namespace

Tensor Tensor::mm(const Tensor& other, Where where) const {
  const tensor::HostCall here("mm", where);
  check_rank("mm", "self", *this, 2);
  check_rank("mm", "mat2", other, 2);
  return product("mm", *this, other);
}

Tensor Tensor::bmm(const Tensor& other, Where where) const {
  const tensor::HostCall here("bmm", where);
  check_rank("bmm", "self", *this, 3);
  check_rank("bmm", "mat2", other, 3);
  if (size(0) != other.size(0)) {
    tensor::fail("bmm", fmt::format("both operands must have one batch size, but they are {} and {}; expand one, or "
                                    "use matmul, which broadcasts",
                                    tensor::describe(*this), tensor::describe(other)));
  }
  return product("bmm", *this, other);
}

Tensor Tensor::mv(const Tensor& vector, Where where) const {
  const tensor::HostCall here("mv", where);
  check_rank("mv", "self", *this, 2);
  check_rank("mv", "vec", vector, 1);
  return product("mv", *this, vector.unsqueeze(1)).squeeze(1);
}

Tensor Tensor::dot(const Tensor& other, Where where) const {
  const tensor::HostCall here("dot", where);
  check_rank("dot", "self", *this, 1);
  check_rank("dot", "tensor", other, 1);
  if (numel() != other.numel()) {
    tensor::fail("dot", fmt::format("inconsistent tensor size: expected the same number of elements, but got {} and "
                                    "{} elements",
                                    numel(), other.numel()));
  }
  return product("dot", unsqueeze(0), other.unsqueeze(1)).reshape({});
}

Tensor Tensor::outer(const Tensor& other, Where where) const {
  const tensor::HostCall here("outer", where);
  check_rank("outer", "self", *this, 1);
  check_rank("outer", "vec2", other, 1);
  return unsqueeze(1).mul(other.unsqueeze(0));
}

Tensor Tensor::matmul(const Tensor& other, Where where) const {
  const tensor::HostCall here("matmul", where);
  if (dim() == 0 || other.dim() == 0) {
    tensor::fail("matmul", fmt::format("both arguments to matmul need to be at least 1D, but they are {}D and {}D",
                                       dim(), other.dim()));
  }
  if (dim() == 1 && other.dim() == 1) return dot(other);
  if (dim() == 1) return unsqueeze(0).matmul(other).squeeze(-2);
  if (other.dim() == 1) return matmul(other.unsqueeze(1)).squeeze(-1);
  return dim() == 2 && other.dim() == 2 ? product("matmul", *this, other) : batched(*this, other);
}

Tensor Tensor::addmm(const Tensor& a, const Tensor& b, const Scalar& beta, const Scalar& alpha, Where where) const {
  const tensor::HostCall here("addmm", where);
  check_rank("addmm", "mat1", a, 2);
  check_rank("addmm", "mat2", b, 2);
  MatmulOptions options{.alpha = alpha.toDouble(), .beta = beta.toDouble()};
  if (options.beta != 0) {
    check_types("addmm", *this, a);
    options.addend = *this;
  }
  return product("addmm", a, b, options);
}

Tensor linear(const TensorOperand& x, const Tensor& weight, const std::optional<Tensor>& bias) {
  const tensor::HostCall here("linear", x.where);
  if (weight.dim() == 1) {
    const Tensor result = x.tensor.matmul(weight);
    return bias && bias->defined() ? result.add(*bias) : result;
  }
  check_rank("linear", "weight", weight, 2);
  if (x.tensor.dim() == 0) {
    tensor::fail("linear", fmt::format("the input must have one dimension at least, the features, but it is {}",
                                       tensor::describe(x.tensor)));
  }
  check_types("linear", x.tensor, weight, "input and weight");
  Extents sizes = impl_of(x.tensor).sizes;
  MatmulOptions options;
  if (bias && bias->defined()) {
    check_types("linear", x.tensor, *bias, "input and bias");
    options.beta = 1;
    options.addend = *bias;
  }
  if (sizes.back() != weight.size(1)) {
    tensor::fail("linear", fmt::format("mat1 and mat2 shapes cannot be multiplied: the input is {}, the weight {}; "
                                       "the last extent of both must be equal",
                                       tensor::describe(x.tensor), tensor::describe(weight)));
  }
  const Tensor result = product("linear", as_rows(x.tensor), weight.t(), options);
  sizes.back() = weight.size(0);
  return result.reshape(sizes);
}

}  // namespace kernbench::torch
