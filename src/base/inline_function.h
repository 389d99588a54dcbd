// A function object with room for what it captures.
#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

namespace kernbench {

/// As std::move_only_function<Signature>, but captures of up to `kBytes` lie in the object; larger ones on the heap.
template <class Signature, std::size_t kBytes>
class InlineFunction;

template <class Result, class... Arguments, std::size_t kBytes>
class InlineFunction<Result(Arguments...), kBytes> {
 public:
  InlineFunction() = default;
  InlineFunction(std::nullptr_t) {}  // NOLINT(google-explicit-constructor)
  template <class Function>
    requires(!std::is_same_v<std::remove_cvref_t<Function>, InlineFunction> &&
             std::is_invocable_r_v<Result, std::remove_cvref_t<Function>&, Arguments...>)
  InlineFunction(Function&& function) {  // NOLINT(google-explicit-constructor)
    using Held = std::remove_cvref_t<Function>;
    if constexpr (fits<Held>) {
      ::new (static_cast<void*>(room_)) Held(std::forward<Function>(function));
      table_ = &kTable<Held>;
    } else {
      auto boxed = [held = std::make_unique<Held>(std::forward<Function>(function))](Arguments... arguments) -> Result {
        return (*held)(std::forward<Arguments>(arguments)...);
      };
      ::new (static_cast<void*>(room_)) decltype(boxed)(std::move(boxed));
      table_ = &kTable<decltype(boxed)>;
    }
  }
  InlineFunction(InlineFunction&& other) noexcept { take(other); }
  InlineFunction& operator=(InlineFunction&& other) noexcept {
    if (this == &other) return *this;
    reset();
    take(other);
    return *this;
  }
  InlineFunction& operator=(std::nullptr_t) {
    reset();
    return *this;
  }
  ~InlineFunction() { reset(); }

  explicit operator bool() const { return table_ != nullptr; }
  /// REQUIRES: it holds a function.
  Result operator()(Arguments... arguments) { return table_->call(room_, std::forward<Arguments>(arguments)...); }

 private:
  struct Table {
    Result (*call)(void* held, Arguments&&... arguments);
    void (*move)(void* from, void* to);
    void (*destroy)(void* held);
  };
  template <class Held>
  static constexpr bool fits = sizeof(Held) <= kBytes && alignof(Held) <= alignof(std::max_align_t) &&
                               std::is_nothrow_move_constructible_v<Held>;
  template <class Held>
  static constexpr Table kTable{[](void* held, Arguments&&... arguments) -> Result {
                                  return (*static_cast<Held*>(held))(std::forward<Arguments>(arguments)...);
                                },
                                [](void* from, void* to) {
                                  ::new (to) Held(std::move(*static_cast<Held*>(from)));
                                  static_cast<Held*>(from)->~Held();
                                },
                                [](void* held) { static_cast<Held*>(held)->~Held(); }};
  void take(InlineFunction& other) {
    table_ = std::exchange(other.table_, nullptr);
    if (table_ != nullptr) table_->move(other.room_, room_);
  }
  void reset() {
    const Table* table = std::exchange(table_, nullptr);
    if (table != nullptr) table->destroy(room_);
  }
  const Table* table_ = nullptr;
  alignas(std::max_align_t) std::byte room_[kBytes];
};

}  // namespace kernbench
