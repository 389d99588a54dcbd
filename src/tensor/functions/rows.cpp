#include "tensor/functions/rows.h"

#include <fmt/format.h>

#include "kernbench/error.h"
#include "numerics/conversion.h"
#include "tensor/dimensions.h"
#include "tensor/tensor_impl.h"

namespace kernbench::tensor {

std::vector<bool> chosen_dimensions(const char* call, torch::IntArrayRef dimensions, std::size_t rank) {
  std::vector<bool> chosen(std::max<std::size_t>(rank, 1), dimensions.empty());
  for (const std::int64_t dimension : dimensions) {
    const std::size_t at = wrap_dimension(dimension, rank);
    if (chosen[at]) throw ValueError(fmt::format("{}: dim {} appears multiple times in the list of dims", call, at));
    chosen[at] = true;
  }
  chosen.resize(rank);
  return chosen;
}

Extents indices_of(const std::vector<bool>& chosen) {
  Extents result;
  for (std::size_t d = 0; d < chosen.size(); ++d)
    if (chosen[d]) result.push_back(static_cast<std::int64_t>(d));
  return result;
}

Extents reduced_shape(std::span<const std::int64_t> sizes, const std::vector<bool>& chosen, bool keepdim) {
  Extents result;
  for (std::size_t d = 0; d < sizes.size(); ++d) {
    if (!chosen[d])
      result.push_back(sizes[d]);
    else if (keepdim)
      result.push_back(1);
  }
  return result;
}

template <class T>
Rows<T>::Rows(const torch::Tensor& x, const std::vector<bool>& chosen) {
  Extents order;
  for (std::size_t d = 0; d < chosen.size(); ++d)
    if (!chosen[d]) order.push_back(static_cast<std::int64_t>(d));
  const Extents row = indices_of(chosen);
  for (const std::int64_t d : order) count_ *= x.size(d);
  for (const std::int64_t d : row) length_ *= x.size(d);
  order.insert(order.end(), row.begin(), row.end());
  dense_ = x.permute(order).contiguous();
  buffer_.resize(static_cast<std::size_t>(length_));
}

template <class T>
std::span<T> Rows<T>::read(std::int64_t row) {
  const TensorImpl& impl = impl_of(dense_);
  numerics::convert(torch::scalar_type_of<T>(), reinterpret_cast<std::byte*>(buffer_.data()), impl.dtype,
                    impl.data() + row * length_ * item_size(impl.dtype), length_);
  return buffer_;
}

template class Rows<double>;
template class Rows<std::int64_t>;

template <class T>
void write_elements(const torch::Tensor& out, std::int64_t first, std::span<const T> values) {
  const TensorImpl& impl = impl_of(out);
  numerics::convert(impl.dtype, impl.data() + first * item_size(impl.dtype), torch::scalar_type_of<T>(),
                    reinterpret_cast<const std::byte*>(values.data()), static_cast<std::int64_t>(values.size()));
}

template void write_elements<double>(const torch::Tensor&, std::int64_t, std::span<const double>);
template void write_elements<std::int64_t>(const torch::Tensor&, std::int64_t, std::span<const std::int64_t>);

namespace {

template <class T, class Function>
void reduce_rows_of(Rows<T> rows, const Function& function, const torch::Tensor& out) {
  for (std::int64_t row = 0; row < rows.count(); ++row) {
    const T value = function(rows.read(row));
    write_elements<T>(out, row, {&value, 1});
  }
}

}  // namespace

void reduce_rows(const torch::Tensor& x, const std::vector<bool>& chosen, const RowReduction& reduction, bool floats,
                 const torch::Tensor& out) {
  if (floats)
    reduce_rows_of(Rows<double>(x, chosen), reduction.in_double, out);
  else
    reduce_rows_of(Rows<std::int64_t>(x, chosen), reduction.in_integers, out);
}

template <class T>
torch::Tensor map_rows(const torch::Tensor& x, std::int64_t dimension, DType result,
                       const std::function<void(std::span<T>)>& function) {
  const std::size_t rank = impl_of(x).sizes.size();
  const std::size_t at = wrap_dimension(dimension, rank);
  if (rank == 0) return map_rows<T>(x.reshape({1}), 0, result, function).reshape({});
  std::vector<bool> chosen(rank, false);
  chosen[at] = true;
  if (x.numel() == 0) return new_host_tensor(impl_of(x).sizes, result);
  Rows<T> rows(x, chosen);
  Extents sizes = reduced_shape(impl_of(x).sizes, chosen, false);
  sizes.push_back(rows.length());
  const torch::Tensor out = new_host_tensor(sizes, result);
  for (std::int64_t row = 0; row < rows.count(); ++row) {
    const std::span<T> values = rows.read(row);
    function(values);
    write_elements<T>(out, row * rows.length(), values);
  }
  return out.movedim(-1, static_cast<std::int64_t>(at)).contiguous();
}

template torch::Tensor map_rows<double>(const torch::Tensor&, std::int64_t, DType,
                                        const std::function<void(std::span<double>)>&);
template torch::Tensor map_rows<std::int64_t>(const torch::Tensor&, std::int64_t, DType,
                                              const std::function<void(std::span<std::int64_t>)>&);

}  // namespace kernbench::tensor
