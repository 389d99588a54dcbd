// A growable first-in first-out ring without allocation once it is large enough.
#pragma once

#include <cassert>
#include <cstddef>
#include <utility>
#include <vector>

namespace kernbench::hardware::fabric {

template <class T>
class Ring {
 public:
  bool empty() const { return size_ == 0; }
  std::size_t size() const { return size_; }
  T& front() { return (*this)[0]; }
  const T& front() const { return (*this)[0]; }
  T& operator[](std::size_t index) { return slots_[(head_ + index) & mask_]; }
  const T& operator[](std::size_t index) const { return slots_[(head_ + index) & mask_]; }

  void push_back(T value) {
    if (size_ > mask_ || slots_.empty()) grow();
    ++size_;
    (*this)[size_ - 1] = std::move(value);
  }
  void pop_front() {
    assert(size_ > 0);
    head_ = (head_ + 1) & mask_;
    --size_;
  }
  void clear() { head_ = size_ = 0; }

 private:
  void grow() {
    std::vector<T> larger(slots_.empty() ? 8 : slots_.size() * 2);  // a power of two, so that the mask works
    for (std::size_t i = 0; i < size_; ++i) larger[i] = std::move((*this)[i]);
    slots_ = std::move(larger);
    mask_ = slots_.size() - 1;
    head_ = 0;
  }

  std::vector<T> slots_;
  std::size_t mask_ = 0;  // one less than there are slots
  std::size_t head_ = 0;
  std::size_t size_ = 0;
};

}  // namespace kernbench::hardware::fabric
