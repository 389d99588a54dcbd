// Host work over one or several dimensions: each row (all elements that belong to one result) is brought to double or
// to 64-bit integers.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "kernbench/torch/tensor.h"
#include "tensor/strided.h"

namespace kernbench::tensor {

/// Dimensions as flags, from PyTorch's list of them; none, or an empty list, means all. ValueError when one is named
/// twice, IndexError when it does not exist.
std::vector<bool> chosen_dimensions(const char* call, torch::IntArrayRef dimensions, std::size_t rank);
/// The chosen dimensions, ascending.
Extents indices_of(const std::vector<bool>& chosen);
/// The shape with the chosen dimensions taken out, or with extent 1.
Extents reduced_shape(std::span<const std::int64_t> sizes, const std::vector<bool>& chosen, bool keepdim);

/// Reads a host tensor row by row, the chosen dimensions being the row, in row-major order of both.
template <class T>
class Rows {
 public:
  Rows(const torch::Tensor& x, const std::vector<bool>& chosen);
  std::int64_t count() const { return count_; }
  std::int64_t length() const { return length_; }
  /// All elements of a row; good until the next call.
  std::span<T> read(std::int64_t row);

 private:
  torch::Tensor dense_;  // rows one after another
  std::int64_t count_ = 1, length_ = 1;
  std::vector<T> buffer_;
};
extern template class Rows<double>;
extern template class Rows<std::int64_t>;

/// Writes results one after another, converted to the type of a dense host tensor.
template <class T>
void write_elements(const torch::Tensor& out, std::int64_t first, std::span<const T> values);
extern template void write_elements<double>(const torch::Tensor&, std::int64_t, std::span<const double>);
extern template void write_elements<std::int64_t>(const torch::Tensor&, std::int64_t, std::span<const std::int64_t>);

/// What a reduction makes of a row: of floats in double, of integers and bools in 64 bits. One may be left out.
struct RowReduction {
  std::function<double(std::span<const double>)> in_double;
  std::function<std::int64_t(std::span<const std::int64_t>)> in_integers;
};
/// Element i of `out` (dense) = reduction of row i.
void reduce_rows(const torch::Tensor& x, const std::vector<bool>& chosen, const RowReduction& reduction, bool floats,
                 const torch::Tensor& out);

/// A dense tensor of the shape of `x`, each row along `dimension` replaced by what `function` makes of it in place.
template <class T>
torch::Tensor map_rows(const torch::Tensor& x, std::int64_t dimension, DType result,
                       const std::function<void(std::span<T>)>& function);
extern template torch::Tensor map_rows<double>(const torch::Tensor&, std::int64_t, DType,
                                               const std::function<void(std::span<double>)>&);
extern template torch::Tensor map_rows<std::int64_t>(const torch::Tensor&, std::int64_t, DType,
                                                     const std::function<void(std::span<std::int64_t>)>&);

}  // namespace kernbench::tensor
