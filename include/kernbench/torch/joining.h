// Functions that join tensors, take them apart, and choose from them.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string_view>
#include <vector>

#include "kernbench/torch/tensor.h"

namespace kernbench::torch {

/// Some tensors: `torch::cat({a, b})`. Valid as long as what it was made from.
class TensorList {
 public:
  TensorList(std::initializer_list<Tensor> tensors) : size_(tensors.size()) { data_ = tensors.begin(); }
  TensorList(const std::vector<Tensor>& tensors) : data_(tensors.data()), size_(tensors.size()) {}  // NOLINT
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  const Tensor* begin() const { return data_; }
  const Tensor* end() const { return data_ + size_; }
  const Tensor& operator[](std::size_t index) const { return data_[index]; }

 private:
  const Tensor* data_;
  std::size_t size_;
};

// ---- joining and choosing --------------------------------------------------------------------------------------

/// Products and sums by an equation: einsum("bij,bjk->bik", {a, b}); "..." stands for dimensions that broadcast, a
/// letter twice in one operand for its diagonal. Operands are multiplied from left to right, each time as a batch of
/// products of matrices (bmm), after sums over what nobody else has.
Tensor einsum(std::string_view equation, TensorList operands, Where where = Where::current());
Tensor cat(TensorList tensors, std::int64_t dimension = 0, Where where = Where::current());
inline Tensor concat(TensorList tensors, std::int64_t dimension = 0, Where where = Where::current()) {
  return cat(tensors, dimension, where);
}
Tensor stack(TensorList tensors, std::int64_t dimension = 0, Where where = Where::current());
Tensor hstack(TensorList tensors, Where where = Where::current());
Tensor vstack(TensorList tensors, Where where = Where::current());
inline Tensor tile(const TensorOperand& x, IntArrayRef repeats) {
  return x.tensor.tile(repeats, x.where);
}
inline Tensor repeat_interleave(const TensorOperand& x, std::int64_t repeats,
                                std::optional<std::int64_t> dimension = std::nullopt) {
  return x.tensor.repeat_interleave(repeats, dimension, x.where);
}
inline Tensor flip(const TensorOperand& x, IntArrayRef dimensions) {
  return x.tensor.flip(dimensions, x.where);
}
inline Tensor roll(const TensorOperand& x, IntArrayRef shifts, IntArrayRef dimensions = {}) {
  return x.tensor.roll(shifts, dimensions, x.where);
}
/// With `value` around it: pairs of sizes before and after, of the last dimension first. Negative ones cut off.
Tensor constant_pad_nd(const TensorOperand& x, IntArrayRef pad, const Scalar& value = 0);
/// 1 at each class of [...], 0 elsewhere: Long [..., num_classes]; -1: one more than the largest class, a host read. A
/// class that is none is an error on the host; on a device, whose elements the host does not wait for, its row is 0.
Tensor one_hot(const TensorOperand& x, std::int64_t num_classes = -1);
inline Tensor reshape(const TensorOperand& x, IntArrayRef sizes) {
  return x.tensor.reshape(sizes, x.where);
}
inline Tensor transpose(const TensorOperand& x, std::int64_t dimension0, std::int64_t dimension1) {
  return x.tensor.transpose(dimension0, dimension1, x.where);
}
inline Tensor swapaxes(const TensorOperand& x, std::int64_t axis0, std::int64_t axis1) {
  return x.tensor.transpose(axis0, axis1, x.where);
}
inline Tensor permute(const TensorOperand& x, IntArrayRef dimensions) {
  return x.tensor.permute(dimensions, x.where);
}
inline Tensor narrow(const TensorOperand& x, std::int64_t dimension, std::int64_t start, std::int64_t length) {
  return x.tensor.narrow(dimension, start, length, x.where);
}
inline Tensor select(const TensorOperand& x, std::int64_t dimension, std::int64_t index) {
  return x.tensor.select(dimension, index, x.where);
}
inline Tensor unsqueeze(const TensorOperand& x, std::int64_t dimension) {
  return x.tensor.unsqueeze(dimension, x.where);
}
inline Tensor squeeze(const Tensor& x, Where where = Where::current()) {
  return x.squeeze(where);
}
inline Tensor squeeze(const Tensor& x, std::int64_t dimension, Where where = Where::current()) {
  return x.squeeze(dimension, where);
}
inline Tensor t(const TensorOperand& x) {
  return x.tensor.t(x.where);
}
inline Tensor flatten(const TensorOperand& x, std::int64_t first = 0, std::int64_t last = -1) {
  return x.tensor.flatten(first, last, x.where);
}
inline Tensor movedim(const Tensor& x, std::int64_t source, std::int64_t destination, Where where = Where::current()) {
  return x.movedim(source, destination, where);
}
inline Tensor movedim(const Tensor& x, IntArrayRef source, IntArrayRef destination, Where where = Where::current()) {
  return x.movedim(source, destination, where);
}
inline Tensor diagonal(const TensorOperand& x, std::int64_t offset = 0, std::int64_t dimension1 = 0,
                       std::int64_t dimension2 = 1) {
  return x.tensor.diagonal(offset, dimension1, dimension2, x.where);
}
inline Tensor index_select(const TensorOperand& x, std::int64_t dimension, const Tensor& index) {
  return x.tensor.index_select(dimension, index, x.where);
}
inline Tensor gather(const TensorOperand& x, std::int64_t dimension, const Tensor& index) {
  return x.tensor.gather(dimension, index, x.where);
}
inline Tensor index_add(const TensorOperand& x, std::int64_t dimension, const Tensor& index, const Tensor& source,
                        const Scalar& alpha = 1) {
  return x.tensor.index_add(dimension, index, source, alpha, x.where);
}
inline Tensor scatter(const Tensor& x, std::int64_t dimension, const Tensor& index, const Tensor& source,
                      Where where = Where::current()) {
  return x.scatter(dimension, index, source, where);
}
inline Tensor scatter(const Tensor& x, std::int64_t dimension, const Tensor& index, const Scalar& value,
                      Where where = Where::current()) {
  return x.scatter(dimension, index, value, where);
}
inline Tensor scatter(const Tensor& x, std::int64_t dimension, const Tensor& index, const Tensor& source,
                      std::string_view reduce, Where where = Where::current()) {
  return x.scatter(dimension, index, source, reduce, where);
}
inline Tensor scatter(const Tensor& x, std::int64_t dimension, const Tensor& index, const Scalar& value,
                      std::string_view reduce, Where where = Where::current()) {
  return x.scatter(dimension, index, value, reduce, where);
}
inline Tensor scatter_add(const TensorOperand& x, std::int64_t dimension, const Tensor& index, const Tensor& source) {
  return x.tensor.scatter_add(dimension, index, source, x.where);
}
inline Tensor index_fill(const Tensor& x, std::int64_t dimension, const Tensor& index, const Scalar& value,
                         Where where = Where::current()) {
  return x.index_fill(dimension, index, value, where);
}
inline Tensor index_fill(const Tensor& x, std::int64_t dimension, const Tensor& index, const Tensor& value,
                         Where where = Where::current()) {
  return x.index_fill(dimension, index, value, where);
}
inline Tensor index_copy(const TensorOperand& x, std::int64_t dimension, const Tensor& index, const Tensor& source) {
  return x.tensor.index_copy(dimension, index, source, x.where);
}
inline Tensor take(const TensorOperand& x, const Tensor& index) {
  return x.tensor.take(index, x.where);
}
inline Tensor put(const TensorOperand& x, const Tensor& index, const Tensor& source, bool accumulate = false) {
  return x.tensor.put(index, source, accumulate, x.where);
}
inline Tensor nonzero(const TensorOperand& x) {
  return x.tensor.nonzero(x.where);
}
inline Tensor argwhere(const TensorOperand& x) {
  return x.tensor.argwhere(x.where);
}
inline Tensor diag(const TensorOperand& x, std::int64_t diagonal = 0) {
  return x.tensor.diag(diagonal, x.where);
}
inline Tensor as_strided(const TensorOperand& x, IntArrayRef size, IntArrayRef stride,
                         std::optional<std::int64_t> storage_offset = std::nullopt) {
  return x.tensor.as_strided(size, stride, storage_offset, x.where);
}
/// gather, whose operands broadcast apart from the dimension; without one, of all elements in their order.
Tensor take_along_dim(const TensorOperand& x, const Tensor& indices,
                      std::optional<std::int64_t> dimension = std::nullopt);
/// Each line along its own dimension of a shape that all span, as views; "xy": the first two exchanged.
std::vector<Tensor> meshgrid(TensorList tensors, std::string_view indexing = "ij", Where where = Where::current());
inline Tensor masked_select(const TensorOperand& x, const Tensor& mask) {
  return x.tensor.masked_select(mask, x.where);
}
inline Tensor masked_fill(const TensorOperand& x, const Tensor& mask, const Scalar& value) {
  return x.tensor.masked_fill(mask, value, x.where);
}
inline Tensor tril(const TensorOperand& x, std::int64_t diagonal = 0) {
  return x.tensor.tril(diagonal, x.where);
}
inline Tensor triu(const TensorOperand& x, std::int64_t diagonal = 0) {
  return x.tensor.triu(diagonal, x.where);
}
inline Tensor clone(const TensorOperand& x) {
  return x.tensor.clone(x.where);
}
inline std::vector<Tensor> unbind(const TensorOperand& x, std::int64_t dimension = 0) {
  return x.tensor.unbind(dimension, x.where);
}
inline std::vector<Tensor> chunk(const TensorOperand& x, std::int64_t chunks, std::int64_t dimension = 0) {
  return x.tensor.chunk(chunks, dimension, x.where);
}
inline std::vector<Tensor> split(const Tensor& x, std::int64_t size, std::int64_t dimension = 0,
                                 Where where = Where::current()) {
  return x.split(size, dimension, where);
}
inline std::vector<Tensor> split(const Tensor& x, IntArrayRef sizes, std::int64_t dimension = 0,
                                 Where where = Where::current()) {
  return x.split(sizes, dimension, where);
}
inline std::vector<Tensor> split_with_sizes(const TensorOperand& x, IntArrayRef sizes, std::int64_t dimension = 0) {
  return x.tensor.split_with_sizes(sizes, dimension, x.where);
}

}  // namespace kernbench::torch
