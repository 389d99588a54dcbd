// operator<< of tensors: values in aligned columns, then type and sizes.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <ostream>
#include <sstream>
#include <string>
#include <vector>

#include "kernbench/torch/tensor.h"
#include "numerics/conversion.h"
#include "tensor/dimensions.h"
#include "tensor/host_call.h"
#include "tensor/tensor_impl.h"

namespace kernbench::torch {

using tensor::impl_of;
using tensor::TensorImpl;

namespace {

/// Texts of all elements, by the format that suits them all: whole numbers, four decimals, or scientific.
class Texts {
 public:
  explicit Texts(const Tensor& dense) : impl_(impl_of(dense)), count_(impl_.numel()) {
    if (!is_floating_point(impl_.dtype)) {
      format_ = Format::integer;
    } else {
      choose_format();
    }
    for (std::int64_t i = 0; i < count_; ++i) {
      const std::string digits = text(i, 0);
      width_ = std::max(width_, digits.size() - (digits.starts_with('-') ? 1 : 0));
    }
    ++width_;  // a column for the sign
  }

  std::size_t width() const { return width_; }
  std::string text(std::int64_t element, std::size_t width) const {
    const numerics::Scalar value = value_of(element);
    switch (format_) {
      case Format::integer:
        return fmt::format("{:>{}}", value.as_integer(), width);
      case Format::whole:
        return fmt::format("{:>{}.0f}", value.as_double(), width);
      case Format::decimal:
        return fmt::format("{:>{}.4f}", value.as_double(), width);
      case Format::scientific:
        return fmt::format("{:>{}.4e}", value.as_double(), width);
    }
    return {};
  }

 private:
  enum class Format : std::uint8_t { integer, whole, decimal, scientific };

  numerics::Scalar value_of(std::int64_t element) const {
    return numerics::load_element(impl_.dtype, impl_.data() + element * item_size(impl_.dtype));
  }

  void choose_format() {
    bool whole = true;
    double low = INFINITY, high = 0;
    for (std::int64_t i = 0; i < count_; ++i) {
      const double value = std::abs(value_of(i).as_double());
      if (!std::isfinite(value)) continue;
      whole = whole && value == std::floor(value);
      high = std::max(high, value);
      if (value != 0) low = std::min(low, value);
    }
    const bool wide = high >= 1e5 || low < 1e-3;
    if (whole)
      format_ = high < 1e15 ? Format::whole : Format::scientific;
    else
      format_ = wide ? Format::scientific : Format::decimal;
  }

  const TensorImpl& impl_;
  std::int64_t count_;
  Format format_ = Format::decimal;
  std::size_t width_ = 0;
};

/// The last two dimensions as rows and columns, those before them one block after the other.
void print_blocks(std::ostream& out, const tensor::Extents& sizes, const Texts& texts) {
  const std::size_t outer = sizes.size() - 2;
  const std::int64_t rows = sizes[outer], columns = sizes[outer + 1];
  tensor::Extents at(outer, 0);
  std::int64_t element = 0;
  while (true) {
    if (outer > 0) {
      out << '(';
      for (const std::int64_t index : at) out << index + 1 << ',';
      out << ".,.) = \n";
    }
    for (std::int64_t row = 0; row < rows; ++row) {
      for (std::int64_t column = 0; column < columns; ++column)
        out << (column == 0 ? outer > 0 ? " " : "" : " ") << texts.text(element++, texts.width());
      out << '\n';
    }
    std::size_t level = outer;
    while (level > 0 && ++at[level - 1] == sizes[level - 1]) at[--level] = 0;
    if (level == 0) return;
    out << '\n';
  }
}

std::string shortest(const Tensor& scalar) {
  std::ostringstream text;
  const TensorImpl& impl = impl_of(scalar);
  const numerics::Scalar value = numerics::load_element(impl.dtype, impl.data());
  if (is_floating_point(impl.dtype))
    text << value.as_double();
  else
    text << value.as_integer();
  return text.str();
}

}  // namespace

std::ostream& operator<<(std::ostream& out, const TensorOperand& operand) {
  const Tensor& tensor = operand.tensor;
  const tensor::HostCall here("operator<<", operand.where);
  if (!tensor.defined()) return out << "[ Tensor (undefined) ]";
  const Tensor host = tensor::host_copy(tensor, tensor::HostRead::print);
  const tensor::Extents sizes = tensor.sizes().vec();
  if (sizes.empty()) {
    out << shortest(host) << '\n';
  } else if (tensor.numel() > 0) {
    const Texts texts(host);
    if (sizes.size() == 1)
      print_blocks(out, {sizes[0], 1}, texts);
    else
      print_blocks(out, sizes, texts);
  }
  return out << "[ " << (tensor.is_cpu() ? "CPU" : "AHBM") << tensor.scalar_type()
             << fmt::format("Type{{{}}} ]", fmt::join(sizes, ","));
}

}  // namespace kernbench::torch
