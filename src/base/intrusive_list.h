// A list whose links lie in its elements: to take one out costs the same wherever it is.
#pragma once

#include <cstddef>
#include <iterator>

#include "base/reference.h"

namespace kernbench {

/// The links of an element in one list.
template <class T>
struct ListLink {
  T* previous = nullptr;
  T* next = nullptr;
};

/// Shares its elements, each of which is in at most one list by this link. Not copied.
template <class T, ListLink<T> T::* link>
class IntrusiveList {
 public:
  class Iterator {
   public:
    using value_type = T;
    using difference_type = std::ptrdiff_t;
    Iterator() = default;
    explicit Iterator(T* at) : at_(at) {}
    T& operator*() const { return *at_; }
    T* operator->() const { return at_; }
    Iterator& operator++() {
      at_ = (at_->*link).next;
      return *this;
    }
    Iterator operator++(int) {
      Iterator before = *this;
      ++*this;
      return before;
    }
    bool operator==(const Iterator&) const = default;

   private:
    T* at_ = nullptr;
  };

  IntrusiveList() = default;
  IntrusiveList(const IntrusiveList&) = delete;
  IntrusiveList& operator=(const IntrusiveList&) = delete;
  ~IntrusiveList() { clear(); }

  bool empty() const { return first_ == nullptr; }
  std::size_t size() const { return size_; }
  /// REQUIRES: !empty().
  T& front() const { return *first_; }
  T& back() const { return *last_; }
  Iterator begin() const { return Iterator(first_); }
  Iterator end() const { return Iterator(); }

  void push_back(Reference<T> element) {
    T* added = element.release();
    (added->*link) = {last_, nullptr};
    (last_ != nullptr ? (last_->*link).next : first_) = added;
    last_ = added;
    ++size_;
  }
  /// REQUIRES: the element is in this list. Returns the list's share of it.
  Reference<T> take(T& element) {
    const ListLink<T> links = element.*link;
    (links.previous != nullptr ? (links.previous->*link).next : first_) = links.next;
    (links.next != nullptr ? (links.next->*link).previous : last_) = links.previous;
    (element.*link) = {};
    --size_;
    return Reference<T>::adopt(&element);
  }
  Reference<T> take_front() { return take(*first_); }
  void clear() {
    while (!empty()) take_front();
  }
  bool contains(const T& element) const { return &element == first_ || (element.*link).previous != nullptr; }

 private:
  T* first_ = nullptr;
  T* last_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace kernbench
