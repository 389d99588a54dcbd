// The pending events of one simulation, as a 4-ary heap.
//
// Layout: the four children of a node are one 64-byte line of keys (node i is stored at i + 3, so that its children,
// 4i + 1 … 4i + 4, begin at a multiple of four), and the payloads lie in a parallel array, which a comparison never
// touches. Unused places hold the greatest key, so that no family needs a bounds check.
//
// An event that fires usually schedules the next one, so pop() leaves a hole at the root, and a push() that follows
// sinks the new entry from there: one walk through the heap for the pair instead of two.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>

#include "kernbench/units.h"
#include "sim/phase.h"

namespace kernbench::sim {

/// A priority queue of (key, payload), least key first. Its order is that of the keys alone; the order of equal keys is
/// unspecified. EventKey{max, max} is reserved.
class EventQueue {
 public:
  struct Entry {
    EventKey key;
    std::uint32_t payload = 0;
    bool operator==(const Entry&) const = default;
  };

  bool empty() const { return size_ == 0; }
  std::size_t size() const { return size_; }

  /// The entry of the least key. Requires !empty().
  Entry top() {
    if (hole_) fill_hole();
    return {{keys_[kRoot].time, keys_[kRoot].order}, payloads_[kRoot]};
  }

  void push(EventKey key, std::uint32_t payload) {
    if (hole_) {
      hole_ = false;
      sink(kRoot + ++size_, {{key.order, key.time}, payload});
      return;
    }
    if (size_ + kRoot >= capacity_) grow();
    rise(kRoot + size_++, {{key.order, key.time}, payload});
  }

  /// Removes and returns the entry of the least key. Requires !empty().
  Entry pop() {
    const Entry result = top();
    --size_;
    hole_ = true;
    return result;
  }

  /// Removes every entry whose payload does not satisfy `keep`, in linear time.
  template <class Keep>
  void retain(Keep keep) {
    if (hole_) fill_hole();
    const std::size_t end = kRoot + size_;
    std::size_t kept = kRoot;
    for (std::size_t place = kRoot; place < end; ++place) {
      if (keep(payloads_[place])) put(kept++, load(place), payloads_[place]);
    }
    std::fill(keys_.get() + kept, keys_.get() + end, kGreatest);
    size_ = kept - kRoot;
    // An entry only moves among the places up to its own: rising in place overwrites nothing that is still to come.
    for (std::size_t place = kRoot; place < kept; ++place) rise(place, {load(place), payloads_[place]});
  }

 private:
  static constexpr std::size_t kRoot = 3;
  static constexpr std::size_t kLine = 64;

  // The low half first: in memory this is one 128-bit number (time, order).
  struct Key {
    std::uint64_t order;
    std::uint64_t time;
  };
  struct Node : Key {
    std::uint32_t payload;
  };
  struct Candidate : Key {
    std::size_t place;
  };
  static constexpr Key kGreatest{UINT64_MAX, UINT64_MAX};

  static constexpr std::size_t first_child(std::size_t place) { return 4 * place - 8; }
  static constexpr std::size_t parent(std::size_t place) { return place / 4 + 2; }

  // The halves of a key are loaded and stored one by one. A 16-byte load, which gcc would like to make of two, has to
  // wait until the two 8-byte stores before it have left the store buffer.
  Key load(std::size_t place) const {
    std::uint64_t order = keys_[place].order;
    std::uint64_t time = keys_[place].time;
    keep_apart(order, time);
    return {order, time};
  }
  void put(std::size_t place, const Key& key, std::uint32_t payload) {
    std::uint64_t order = key.order;
    std::uint64_t time = key.time;
    keep_apart(order, time);
    keys_[place].order = order;
    keys_[place].time = time;
    payloads_[place] = payload;
  }
  static void keep_apart(std::uint64_t& a, std::uint64_t& b) { asm("" : "+r"(a), "+r"(b)); }

  static bool less(const Key& a, const Key& b) {
    return ((static_cast<uint128>(a.time) << 64) | a.order) < ((static_cast<uint128>(b.time) << 64) | b.order);
  }

  // best = other if other < best, without a branch, which would be mispredicted every second time.
  static void take_lesser(Candidate& best, const Candidate& other) {
#if defined(__x86_64__)
    // gcc makes a branch of every way to say this in C++.
    std::uint64_t difference = other.time;
    asm("cmp %[best_order], %[other_order]\n\t"
        "sbb %[best_time], %[difference]\n\t"
        "cmovc %[other_order], %[best_order]\n\t"
        "cmovc %[other_time], %[best_time]\n\t"
        "cmovc %[other_place], %[best_place]"
        : [best_order] "+&r"(best.order), [best_time] "+&r"(best.time), [best_place] "+&r"(best.place),
          [difference] "+&r"(difference)
        : [other_order] "r"(other.order), [other_time] "r"(other.time), [other_place] "r"(other.place)
        : "cc");
#else
    if (less(other, best)) best = other;
#endif
  }

  Candidate candidate(std::size_t place) const { return {load(place), place}; }

  Candidate least_of_four(std::size_t first) const {
    Candidate left = candidate(first);
    Candidate right = candidate(first + 2);
    take_lesser(left, candidate(first + 1));
    take_lesser(right, candidate(first + 3));
    take_lesser(left, right);
    return left;
  }

  // Puts `node` into the tree of the places below `end` whose root is vacant. The node usually belongs near the leaves:
  // the hole sinks all the way without a look at it, then the node rises.
  void sink(std::size_t end, Node node) {
    std::size_t hole = kRoot;
    for (std::size_t child = first_child(hole); child < end; child = first_child(hole)) {
      const Candidate least = least_of_four(child);
      put(hole, least, payloads_[least.place]);
      hole = least.place;
    }
    rise(hole, node);
  }

  void rise(std::size_t place, Node node) {
    while (place > kRoot) {
      const std::size_t above = parent(place);
      const Key key = load(above);
      if (!less(node, key)) break;
      put(place, key, payloads_[above]);
      place = above;
    }
    put(place, node, node.payload);
  }

  // Fills the hole at the root with the last entry.
  void fill_hole() {
    hole_ = false;
    const std::size_t last = kRoot + size_;
    const Node node{load(last), payloads_[last]};
    keys_[last] = kGreatest;
    if (size_ > 0) sink(last, node);
  }

  void grow() {
    const std::size_t capacity = std::max<std::size_t>(64, capacity_ * 2);
    Keys keys(static_cast<Key*>(::operator new(capacity * sizeof(Key), std::align_val_t{kLine})));
    auto payloads = std::make_unique<std::uint32_t[]>(capacity);
    std::copy(keys_.get(), keys_.get() + capacity_, keys.get());
    std::copy(payloads_.get(), payloads_.get() + capacity_, payloads.get());
    std::fill(keys.get() + capacity_, keys.get() + capacity, kGreatest);
    keys_ = std::move(keys);
    payloads_ = std::move(payloads);
    capacity_ = capacity;
  }

  struct Free {
    void operator()(Key* keys) const { ::operator delete(keys, std::align_val_t{kLine}); }
  };
  using Keys = std::unique_ptr<Key[], Free>;

  Keys keys_;
  std::unique_ptr<std::uint32_t[]> payloads_;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
  bool hole_ = false;  // the root is vacant; one more place than size_ is in use
};

}  // namespace kernbench::sim
