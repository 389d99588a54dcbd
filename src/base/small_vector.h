// A vector whose first elements lie in itself.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace kernbench {

/// Up to `kInline` elements without an allocation; beyond, all of them lie on the heap. Elements are made by default
/// and assigned, so a T is cheap to make empty.
template <class T, std::size_t kInline>
class SmallVector {
 public:
  SmallVector() = default;

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T* data() { return more_ ? more_.get() : inline_.data(); }
  const T* data() const { return more_ ? more_.get() : inline_.data(); }
  T* begin() { return data(); }
  T* end() { return data() + size_; }
  const T* begin() const { return data(); }
  const T* end() const { return data() + size_; }
  T& operator[](std::size_t index) { return data()[index]; }
  const T& operator[](std::size_t index) const { return data()[index]; }
  T& front() { return *begin(); }
  T& back() { return *(end() - 1); }
  const T& front() const { return *begin(); }
  const T& back() const { return *(end() - 1); }
  operator std::span<const T>() const { return {data(), size_}; }  // NOLINT(google-explicit-constructor)

  void push_back(T element) {
    if (size_ == capacity_) grow();
    data()[size_++] = std::move(element);
  }
  void clear() {
    for (T& element : *this) element = T();
    size_ = 0;
  }
  template <class Range>
  void assign(Range&& elements) {
    clear();
    for (auto&& element : elements) push_back(std::forward<decltype(element)>(element));
  }

 private:
  void grow() {
    auto more = std::make_unique<T[]>(2 * capacity_);
    std::move(begin(), end(), more.get());
    more_ = std::move(more);
    capacity_ *= 2;
  }
  std::size_t size_ = 0, capacity_ = kInline;
  std::array<T, kInline> inline_{};
  std::unique_ptr<T[]> more_;
};

}  // namespace kernbench
