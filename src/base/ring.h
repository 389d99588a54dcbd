// A queue in a circular buffer that keeps its room.
#pragma once

#include <cstddef>
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
  T& operator[](std::size_t n) { return room_[place(n)]; }
  const T& operator[](std::size_t n) const { return room_[place(n)]; }
  T& front() { return room_[first_]; }
  T& back() { return room_[place(size_ - 1)]; }
  const T& back() const { return room_[place(size_ - 1)]; }
  const T& front() const { return room_[first_]; }
  void push_back(T element) {
    if (size_ == room_.size()) grow();
    room_[place(size_++)] = std::move(element);
  }
  /// REQUIRES: !empty().
  T take_front() {
    T element = std::exchange(room_[first_], T());
    first_ = place(1);
    --size_;
    return element;
  }
  /// Takes out the n-th from the front; those behind it move up. REQUIRES: n < size().
  void erase(std::size_t n) {
    if (n == 0) {
      take_front();
      return;
    }
    for (; n + 1 < size_; ++n) (*this)[n] = std::move((*this)[n + 1]);
    (*this)[n] = T();
    --size_;
  }
  void clear() {
    while (!empty()) take_front();
  }

 private:
  std::size_t place(std::size_t n) const {
    const std::size_t at = first_ + n;
    return at < room_.size() ? at : at - room_.size();
  }
  void grow() {
    std::vector<T> room;
    room.reserve(room_.empty() ? 4 : 2 * room_.size());
    for (std::size_t n = 0; n < size_; ++n) room.push_back(std::move((*this)[n]));
    room.resize(room.capacity());
    room_ = std::move(room);
    first_ = 0;
  }
  std::vector<T> room_;
  std::size_t first_ = 0, size_ = 0;
};

}  // namespace kernbench
