#include "sim/stack_pool.h"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>

#include "base/sanitizers.h"
#include "base/text.h"
#include "kernbench/error.h"

#if __has_include(<valgrind/valgrind.h>)
#include <valgrind/valgrind.h>
#else
#define VALGRIND_STACK_REGISTER(begin, end) 0
#endif

#if KERNBENCH_ADDRESS_SANITIZER
#include <sanitizer/asan_interface.h>
#endif
#ifndef ASAN_UNPOISON_MEMORY_REGION
#define ASAN_UNPOISON_MEMORY_REGION(address, size) static_cast<void>(0)
#endif

namespace kernbench::sim {
namespace {

constexpr std::size_t kPage = 4096;
// MADV_GUARD_INSTALL and MADV_GUARD_REMOVE, newer than the libc headers.
constexpr int kGuardInstall = 102;
constexpr int kGuardRemove = 103;

// Each mprotect splits a mapping in three, and a process may have 65,530 mappings (vm.max_map_count's default).
constexpr std::size_t kMaxMprotected = 8'000;

constexpr std::uint64_t kCanary = 0x6b65726e62656e63;  // "kernbenc"
constexpr std::size_t kCanaryBytes = 128;

// Stacks at equal offsets in their pages would all compete for the same few lines of the first-level cache: their first
// frames start at different lines. Half a page of lines keeps an idle fiber within one page.
constexpr std::size_t kColours = 32;
constexpr std::size_t kLine = 64;

std::byte* map(std::size_t bytes) {
  void* memory =
      ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  return memory == MAP_FAILED ? nullptr : static_cast<std::byte*>(memory);
}

StackPool::Protection detect_protection() {
  std::byte* page = map(kPage);
  if (page == nullptr) return StackPool::Protection::mprotect_few;
  const bool works = ::madvise(page, kPage, kGuardInstall) == 0;
  ::munmap(page, kPage);
  return works ? StackPool::Protection::guard_region : StackPool::Protection::mprotect_few;
}

}  // namespace

bool Stack::canary_damaged() const {
  for (std::size_t offset = 0; offset < kCanaryBytes; offset += sizeof(kCanary)) {
    std::uint64_t word = 0;
    std::memcpy(&word, bottom - kCanaryBytes + offset, sizeof(word));
    if (word != kCanary) return true;
  }
  return false;
}

bool Stack::guards(const void* address) const {
  const auto* byte = static_cast<const std::byte*>(address);
  return byte >= bottom - kGuardBytes && byte < bottom;
}

bool Stack::open_guard(const void* address) const {
  std::byte* const lowest = bottom - kGuardBytes + kPage;
  if (guard != StackGuard::pages || static_cast<const std::byte*>(address) < lowest) return false;
  const int before = errno;
  // Whichever of the two made the guard: the other changes nothing.
  const bool opened = ::mprotect(lowest, kGuardBytes - kPage, PROT_READ | PROT_WRITE) == 0;
  static_cast<void>(::madvise(lowest, kGuardBytes - kPage, kGuardRemove));
  errno = before;
  return opened;
}

StackPool::StackPool() : protection_(detect_protection()) {}

StackPool::~StackPool() {
  for (const Arena& arena : arenas_) {
    ASAN_UNPOISON_MEMORY_REGION(arena.begin, arena.size);
    ::munmap(arena.begin, arena.size);
  }
}

Stack StackPool::acquire(std::size_t bytes) {
  bytes = std::max(4 * kPage, (bytes + kPage - 1) / kPage * kPage);
  // A stride of an odd number of pages spreads the stacks over the sets of a second-level cache.
  if (((bytes + kGuardBytes) / kPage) % 2 == 0) bytes += kPage;
  SizeClass& size_class = classes_[bytes];
  if (size_class.unused.empty()) return carve(size_class, bytes);
  const Stack stack = size_class.unused.back();
  size_class.unused.pop_back();
  return stack;
}

void StackPool::release(const Stack& stack) {
  ASAN_UNPOISON_MEMORY_REGION(stack.bottom, stack.size);
  classes_[stack.size].unused.push_back(stack);
}

Stack StackPool::carve(SizeClass& size_class, std::size_t bytes) {
  const std::size_t stride = bytes + kGuardBytes;
  if (size_class.next == size_class.end) add_arena(size_class, stride);
  std::byte* const guard = size_class.next;
  size_class.next += stride;
  // Not at the very top: a debugger looks a little beyond the first frame.
  const std::size_t colour = 1 + size_class.stacks_made++ % kColours;
  Stack stack{guard + kGuardBytes, bytes, colour * kLine, protect(guard)};
  if (stack.guard == StackGuard::canary) {
    for (std::size_t offset = 0; offset < kCanaryBytes; offset += sizeof(kCanary)) {
      std::memcpy(stack.bottom - kCanaryBytes + offset, &kCanary, sizeof(kCanary));
    }
  }
  static_cast<void>(VALGRIND_STACK_REGISTER(stack.bottom, stack.bottom + stack.size));
  return stack;
}

void StackPool::add_arena(SizeClass& size_class, std::size_t stride) {
  // Each arena is as large as all before it: few mappings for many stacks, little address space for few.
  const std::size_t count = std::clamp<std::size_t>(size_class.stacks_made, 16, 16'384);
  std::byte* const begin = map(count * stride);
  if (begin == nullptr) {
    throw OutOfMemoryError("no address space for " + std::to_string(count) + " fiber stacks of " +
                           to_text(Bytes(static_cast<std::int64_t>(stride))) + " after the first " +
                           std::to_string(size_class.stacks_made) + " (" + std::strerror(errno) +
                           "); raise the limit (ulimit -v, vm.overcommit_memory) or use fewer or smaller fibers");
  }
  arenas_.push_back({begin, count * stride});
  size_class.next = begin;
  size_class.end = begin + count * stride;
}

StackGuard StackPool::protect(std::byte* guard) {
  if (protection_ == Protection::guard_region && ::madvise(guard, kGuardBytes, kGuardInstall) == 0) {
    return StackGuard::pages;
  }
  if (mprotected_ < kMaxMprotected && ::mprotect(guard, kGuardBytes, PROT_NONE) == 0) {
    ++mprotected_;
    return StackGuard::pages;
  }
  return StackGuard::canary;
}

}  // namespace kernbench::sim
