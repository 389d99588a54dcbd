// Functions that join tensors, take them apart, and choose from them.
#pragma once

#include <initializer_list>
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

Tensor cat(TensorList tensors, std::int64_t dimension = 0);
inline Tensor concat(TensorList tensors, std::int64_t dimension = 0) {
  return cat(tensors, dimension);
}
Tensor stack(TensorList tensors, std::int64_t dimension = 0);
Tensor hstack(TensorList tensors);
Tensor vstack(TensorList tensors);
inline Tensor reshape(const Tensor& x, IntArrayRef sizes) {
  return x.reshape(sizes);
}
inline Tensor transpose(const Tensor& x, std::int64_t dimension0, std::int64_t dimension1) {
  return x.transpose(dimension0, dimension1);
}
inline Tensor permute(const Tensor& x, IntArrayRef dimensions) {
  return x.permute(dimensions);
}
inline Tensor narrow(const Tensor& x, std::int64_t dimension, std::int64_t start, std::int64_t length) {
  return x.narrow(dimension, start, length);
}
inline Tensor select(const Tensor& x, std::int64_t dimension, std::int64_t index) {
  return x.select(dimension, index);
}
inline Tensor unsqueeze(const Tensor& x, std::int64_t dimension) {
  return x.unsqueeze(dimension);
}
inline Tensor squeeze(const Tensor& x) {
  return x.squeeze();
}
inline Tensor squeeze(const Tensor& x, std::int64_t dimension) {
  return x.squeeze(dimension);
}
inline Tensor t(const Tensor& x) {
  return x.t();
}
inline Tensor flatten(const Tensor& x, std::int64_t first = 0, std::int64_t last = -1) {
  return x.flatten(first, last);
}
inline Tensor movedim(const Tensor& x, std::int64_t source, std::int64_t destination) {
  return x.movedim(source, destination);
}
inline Tensor movedim(const Tensor& x, IntArrayRef source, IntArrayRef destination) {
  return x.movedim(source, destination);
}
inline Tensor diagonal(const Tensor& x, std::int64_t offset = 0, std::int64_t dimension1 = 0,
                       std::int64_t dimension2 = 1) {
  return x.diagonal(offset, dimension1, dimension2);
}
inline Tensor index_select(const Tensor& x, std::int64_t dimension, const Tensor& index) {
  return x.index_select(dimension, index);
}
inline Tensor gather(const Tensor& x, std::int64_t dimension, const Tensor& index) {
  return x.gather(dimension, index);
}
inline Tensor masked_select(const Tensor& x, const Tensor& mask) {
  return x.masked_select(mask);
}
inline Tensor masked_fill(const Tensor& x, const Tensor& mask, const Scalar& value) {
  return x.masked_fill(mask, value);
}
inline Tensor tril(const Tensor& x, std::int64_t diagonal = 0) {
  return x.tril(diagonal);
}
inline Tensor triu(const Tensor& x, std::int64_t diagonal = 0) {
  return x.triu(diagonal);
}
inline Tensor clone(const Tensor& x) {
  return x.clone();
}
inline std::vector<Tensor> unbind(const Tensor& x, std::int64_t dimension = 0) {
  return x.unbind(dimension);
}
inline std::vector<Tensor> chunk(const Tensor& x, std::int64_t chunks, std::int64_t dimension = 0) {
  return x.chunk(chunks, dimension);
}
inline std::vector<Tensor> split(const Tensor& x, std::int64_t size, std::int64_t dimension = 0) {
  return x.split(size, dimension);
}
inline std::vector<Tensor> split(const Tensor& x, IntArrayRef sizes, std::int64_t dimension = 0) {
  return x.split(sizes, dimension);
}
inline std::vector<Tensor> split_with_sizes(const Tensor& x, IntArrayRef sizes, std::int64_t dimension = 0) {
  return x.split_with_sizes(sizes, dimension);
}

}  // namespace kernbench::torch
