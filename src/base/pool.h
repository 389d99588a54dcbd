// Memory for objects that come and go: blocks go back to a free list, the last one given back is the next one given.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>
#include <vector>

namespace kernbench {

/// Blocks of one size each. Objects may outlive the pool: its memory goes when the last block has come back. Not for
/// use by several threads.
class Pool {
 public:
  Pool() : store_(new Store) {}
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;
  ~Pool() { store_->close(); }

  /// The store behind the pool, which blocks go back to.
  class Store {
   public:
    void* take(std::size_t bytes) {
      ++taken_;
      const std::size_t size_class = class_of(bytes);
      if (size_class >= free_.size()) free_.resize(size_class + 1, nullptr);
      if (free_[size_class] == nullptr) refill(size_class);
      Free* block = free_[size_class];
      free_[size_class] = block->next;
      __builtin_prefetch(block->next, 1);  // what was given back long ago is in no cache any more
      return block;
    }
    void give_back(void* block, std::size_t bytes) noexcept {
      auto* freed = ::new (block) Free;
      freed->next = std::exchange(free_[class_of(bytes)], freed);
      if (--taken_ == 0 && closed_) delete this;
    }

   private:
    friend class Pool;
    struct Free {
      Free* next;
    };
    static constexpr std::size_t kUnit = 64;  // a cache line
    static constexpr std::size_t kBlocks = 16;
    static std::size_t class_of(std::size_t bytes) { return (bytes + kUnit - 1) / kUnit; }
    void refill(std::size_t size_class) {
      const std::size_t size = size_class * kUnit;
      slabs_.emplace_back(static_cast<std::byte*>(::operator new(size * kBlocks, std::align_val_t{kUnit})));
      for (std::size_t i = kBlocks; i-- > 0;) {
        auto* block = ::new (slabs_.back().get() + i * size) Free;
        block->next = std::exchange(free_[size_class], block);
      }
    }
    void close() {
      closed_ = true;
      if (taken_ == 0) delete this;
    }
    struct Release {
      void operator()(std::byte* slab) const { ::operator delete(slab, std::align_val_t{kUnit}); }
    };
    std::vector<std::unique_ptr<std::byte, Release>> slabs_;
    std::vector<Free*> free_;  // by size in units
    std::size_t taken_ = 0;
    bool closed_ = false;
  };
  Store& store() { return *store_; }

 private:
  Store* store_;  // owns itself
};

/// A standard allocator over a pool, for std::allocate_shared.
template <class T>
class PoolAllocator {
 public:
  using value_type = T;
  explicit PoolAllocator(Pool& pool) : store_(&pool.store()) {}
  template <class Other>
  PoolAllocator(const PoolAllocator<Other>& other) : store_(other.store()) {}  // NOLINT(google-explicit-constructor)
  T* allocate(std::size_t count) { return static_cast<T*>(store_->take(count * sizeof(T))); }
  void deallocate(T* objects, std::size_t count) noexcept { store_->give_back(objects, count * sizeof(T)); }
  Pool::Store* store() const { return store_; }
  template <class Other>
  bool operator==(const PoolAllocator<Other>& other) const {
    return store_ == other.store();
  }

 private:
  Pool::Store* store_;
};

/// std::make_shared with memory of a pool.
template <class T, class... Arguments>
std::shared_ptr<T> make_pooled(Pool& pool, Arguments&&... arguments) {
  return std::allocate_shared<T>(PoolAllocator<T>(pool), std::forward<Arguments>(arguments)...);
}

}  // namespace kernbench
