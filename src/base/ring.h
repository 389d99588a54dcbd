// A queue in a circular buffer that keeps its room.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>

namespace kernbench {

/// First in, first out. Allocates only while it grows beyond what it has ever held.
template <class T>
class Ring {
 public:
  Ring() = default;
  Ring(const Ring& other) { append(other); }
  Ring& operator=(const Ring& other) {
    if (this == &other) return *this;
    clear();
    append(other);
    return *this;
  }
  Ring(Ring&& other) noexcept { swap(other); }
  Ring& operator=(Ring&& other) noexcept {
    Ring moved(std::move(other));
    swap(moved);
    return *this;
  }
  ~Ring() = default;

  bool empty() const { return size_ == 0; }
  std::size_t size() const { return size_; }
  /// The n-th from the front. REQUIRES: n < size().
  T& operator[](std::size_t n) { return slots_[(head_ + n) & mask_]; }
  const T& operator[](std::size_t n) const { return slots_[(head_ + n) & mask_]; }
  T& front() { return slots_[head_]; }
  const T& front() const { return slots_[head_]; }
  T& back() { return (*this)[size_ - std::size_t{1}]; }
  const T& back() const { return (*this)[size_ - std::size_t{1}]; }
  // Inlined, so that an element whose fields are in registers goes from there to its slot.
  [[gnu::always_inline]] void push_back(T element) {
    if (size_ == capacity_) grow();
    (*this)[size_++] = std::move(element);
  }
  /// Puts an element before all others.
  void push_front(T element) {
    if (size_ == capacity_) grow();
    head_ = (head_ - 1) & mask_;
    ++size_;
    front() = std::move(element);
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
  void append(const Ring& other) {
    for (std::size_t n = 0; n < other.size(); ++n) push_back(other[n]);
  }
  void swap(Ring& other) noexcept {
    std::swap(slots_, other.slots_);
    std::swap(capacity_, other.capacity_);
    std::swap(mask_, other.mask_);
    std::swap(head_, other.head_);
    std::swap(size_, other.size_);
  }
  void grow() {
    const std::uint32_t capacity = capacity_ == 0 ? 8 : 2 * capacity_;  // a power of two, so that the mask works
    auto larger = std::make_unique<T[]>(capacity);
    for (std::uint32_t n = 0; n < size_; ++n) larger[n] = std::move((*this)[n]);
    slots_ = std::move(larger);
    capacity_ = capacity;
    mask_ = capacity - 1;
    head_ = 0;
  }

  std::unique_ptr<T[]> slots_;
  // Small, so that a buffer of the fabric is one cache line.
  std::uint32_t capacity_ = 0;
  std::uint32_t mask_ = 0;  // one less
  std::uint32_t head_ = 0, size_ = 0;
};

}  // namespace kernbench
