// A queue in a circular buffer that keeps its room.
#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>
#include <vector>

namespace kernbench {

/// First in, first out. Allocates only while it grows beyond what it has ever held.
template <class T>
class Ring {
 public:
  bool empty() const { return size_ == 0; }
  std::size_t size() const { return size_; }
  /// The n-th from the front. REQUIRES: n < size().
  T& operator[](std::size_t n) { return slots_[(head_ + n) & mask_]; }
  const T& operator[](std::size_t n) const { return slots_[(head_ + n) & mask_]; }
  T& front() { return slots_[head_]; }
  const T& front() const { return slots_[head_]; }
  T& back() { return (*this)[size_ - 1]; }
  const T& back() const { return (*this)[size_ - 1]; }
  void push_back(T element) {
    if (size_ == slots_.size()) grow();
    (*this)[size_++] = std::move(element);
  }
  /// REQUIRES: !empty().
  void pop_front() {
    let_go(front());
    head_ = (head_ + 1) & mask_;
    --size_;
  }
  /// REQUIRES: !empty().
  T take_front() {
    T element = std::move(front());
    pop_front();
    return element;
  }
  /// Takes out the n-th from the front; those behind it move up. REQUIRES: n < size().
  void erase(std::size_t n) {
    if (n == 0) return pop_front();
    for (; n + 1 < size_; ++n) (*this)[n] = std::move((*this)[n + 1]);
    let_go((*this)[n]);
    --size_;
  }
  void clear() {
    if constexpr (std::is_trivially_destructible_v<T>) {
      head_ = size_ = 0;
    } else {
      while (!empty()) pop_front();
    }
  }

 private:
  /// What an element holds is given back at once, not when its slot is used again.
  static void let_go(T& element) {
    if constexpr (!std::is_trivially_destructible_v<T>) element = T();
  }
  void grow() {
    std::vector<T> larger(slots_.empty() ? 8 : 2 * slots_.size());  // a power of two, so that the mask works
    for (std::size_t n = 0; n < size_; ++n) larger[n] = std::move((*this)[n]);
    slots_ = std::move(larger);
    mask_ = slots_.size() - 1;
    head_ = 0;
  }

  std::vector<T> slots_;
  std::size_t mask_ = 0;  // one less than there are slots
  std::size_t head_ = 0, size_ = 0;
};

}  // namespace kernbench
