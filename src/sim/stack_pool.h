// Stacks for fibers: reserved in bulk, resident only where touched, used again, and fenced against overflow.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace kernbench::sim {

/// How an overflow of a stack is noticed.
enum class StackGuard : std::uint8_t {
  pages,   // the pages below it fault
  canary,  // a pattern below it is looked at when the fiber yields
};

/// A stack [bottom, bottom + size), with kGuardBytes that belong to nobody below it.
struct Stack {
  std::byte* bottom = nullptr;
  std::size_t size = 0;
  std::size_t top_offset = 0;  // where the first frame begins, below the top
  StackGuard guard = StackGuard::pages;

  /// True when something was written below the bottom. Only for a stack with a canary.
  bool canary_damaged() const;
  /// True when a fault at `address` is an overflow of this stack.
  bool guards(const void* address) const;
  /// Makes the guard pages usable but the lowest, where `address` must not be; false: it is, or the system refuses. For
  /// what must come to its end before the fiber can. A signal handler may call it.
  bool open_guard(const void* address) const;
};

/// The space between two stacks. A frame larger than this can step over the guard.
inline constexpr std::size_t kGuardBytes = 17 * 4096;

/// Owns the address space of all its stacks until it is destroyed.
class StackPool {
 public:
  /// What the kernel can do: guard regions (Linux 6.13), else mprotect for the first stacks, canaries for the others.
  enum class Protection : std::uint8_t { guard_region, mprotect_few };

  StackPool();
  explicit StackPool(Protection protection) : protection_(protection) {}
  ~StackPool();
  StackPool(const StackPool&) = delete;
  StackPool& operator=(const StackPool&) = delete;

  /// A stack of at least `bytes`. Throws OutOfMemoryError when the address space or the system's limits do not allow
  /// it.
  Stack acquire(std::size_t bytes);
  void release(const Stack& stack);

  Protection protection() const { return protection_; }

 private:
  struct Arena {
    std::byte* begin;
    std::size_t size;
  };
  struct SizeClass {
    std::vector<Stack> unused;
    std::byte* next = nullptr;  // the part of the last arena that was never used
    std::byte* end = nullptr;
    std::size_t stacks_made = 0;
  };

  void add_arena(SizeClass& size_class, std::size_t stride);
  Stack carve(SizeClass& size_class, std::size_t bytes);
  StackGuard protect(std::byte* guard);

  Protection protection_;
  std::size_t mprotected_ = 0;
  std::map<std::size_t, SizeClass> classes_;  // by usable bytes
  std::vector<Arena> arenas_;
};

}  // namespace kernbench::sim
