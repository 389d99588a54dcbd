// Shared ownership by a count in the object itself.
#pragma once

#include <concepts>
#include <cstdint>
#include <utility>

namespace kernbench {

/// Base of objects that References share. Not for use by several threads. `dispose()` is called when the last reference
/// is gone, so that an object may go back to a pool.
class Counted {
 public:
  Counted() = default;
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;

 protected:
  virtual ~Counted() = default;
  virtual void dispose() noexcept { delete this; }
  std::uint32_t reference_count() const { return references_; }
  /// Of an object whose last share has been let go by release(), which is not adopted any more.
  void forget_references() { references_ = 0; }

 private:
  template <class T>
  friend class Reference;
  std::uint32_t references_ = 0;
};

/// Shares a Counted object, or nothing.
template <class T>
class Reference {
 public:
  Reference() = default;
  Reference(std::nullptr_t) {}  // NOLINT(google-explicit-constructor): as the standard's pointers
  explicit Reference(T* object) : object_(object) { acquire(); }
  Reference(const Reference& other) : object_(other.object_) { acquire(); }
  Reference(Reference&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  template <std::derived_from<T> Derived>
  Reference(const Reference<Derived>& other) : object_(other.get()) {  // NOLINT(google-explicit-constructor)
    acquire();
  }
  template <std::derived_from<T> Derived>
  Reference(Reference<Derived>&& other) noexcept : object_(other.release()) {}  // NOLINT(google-explicit-constructor)
  Reference& operator=(const Reference& other) {
    if (this != &other) Reference(other).swap(*this);
    return *this;
  }
  Reference& operator=(Reference&& other) noexcept {
    Reference(std::move(other)).swap(*this);
    return *this;
  }
  ~Reference() { reset(); }

  T* get() const { return object_; }
  T* operator->() const { return object_; }
  T& operator*() const { return *object_; }
  explicit operator bool() const { return object_ != nullptr; }
  void swap(Reference& other) noexcept { std::swap(object_, other.object_); }
  void reset() {
    Counted* object = std::exchange(object_, nullptr);
    if (object != nullptr && --object->references_ == 0) object->dispose();
  }
  /// Lets go without giving up the share, which another Reference adopts.
  T* release() noexcept { return std::exchange(object_, nullptr); }
  /// Takes over a share that release() has let go.
  static Reference adopt(T* object) noexcept {
    Reference reference;
    reference.object_ = object;
    return reference;
  }

  template <class Other>
  bool operator==(const Reference<Other>& other) const {
    return object_ == other.get();
  }
  bool operator==(std::nullptr_t) const { return object_ == nullptr; }

 private:
  void acquire() {
    if (object_ != nullptr) ++static_cast<Counted*>(object_)->references_;
  }
  T* object_ = nullptr;
};

}  // namespace kernbench
