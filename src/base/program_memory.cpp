// operator new and delete of KernBench's own programs. A simulation makes and drops many small objects of few sizes: a
// block that comes back goes to a list of its size, and the latest is the next one given. All other memory is that of
// the C library. Arrays, and forms that do not throw, come here by way of the standard library's own.
//
// Small blocks lie in one range of addresses that is reserved once. It is handed out in spans, each of blocks of one
// size, so that an address tells the size of its block. Each thread has lists of its own. What they hold when it ends
// goes to all, and what they hold too much while it runs: a worker gives back what the simulation has taken.
#include <sys/mman.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <mutex>
#include <new>
#include <utility>

namespace kernbench {
namespace {

constexpr std::size_t kUnit = 16;
constexpr std::size_t kMost = 1024;  // bytes of a small block
constexpr std::size_t kSizes = kMost / kUnit;
constexpr std::size_t kSpan = std::size_t{64} << 10;
constexpr std::size_t kRange = std::size_t{16} << 30;  // of addresses; memory is taken when it is used
constexpr std::size_t kRefill = 2048;                  // bytes that a list gets at once, about
// A thread looks at a list whenever so many bytes have come back to it, and keeps so many of them. To look seldom, and
// at few, is cheaper than a count that each block given and each block back would change.
constexpr std::size_t kLookAfter = std::size_t{32} << 10;
constexpr std::size_t kKeep = kLookAfter / 4;
// Where no program has memory.
constexpr std::uintptr_t kNowhere = std::uintptr_t{1} << 63;

struct Free {
  Free* next;
  Free* next_list;  // of the first block of a list that a thread has left
};
static_assert(sizeof(Free) <= kUnit);
using Lists = std::array<Free*, kSizes>;  // by size

/// What a thread has.
struct Own {
  Lists lists = {};
  /// Blocks that may come back before the list is looked at.
  std::array<std::int32_t, kSizes> until_look = {};
};

/// What all threads share.
struct Range {
  std::mutex mutex;
  bool reserved = false;  // or tried to
  std::size_t spans = 0;  // handed out
  struct Open {
    std::uintptr_t next = 0;
    std::uintptr_t end = 0;
  };
  std::array<Open, kSizes> open = {};  // the span that blocks of a size come from
  Lists left = {};                     // the first of the lists that threads have left, whatever their lengths
};

constinit Range range;
constinit std::uintptr_t begin_of_range = kNowhere;
constinit std::array<std::uint8_t, kRange / kSpan> class_of_span{};
constinit thread_local Own own{};

std::size_t class_of(std::size_t bytes) {
  return bytes == 0 ? 0 : (bytes - 1) / kUnit;
}

bool is_small(const void* block) {
  return reinterpret_cast<std::uintptr_t>(block) - begin_of_range < kRange;
}

std::size_t bytes_of(std::size_t size) {
  return (size + 1) * kUnit;
}

void put(std::size_t size, void* block) {
  auto* const freed = ::new (block) Free;
  freed->next = std::exchange(own.lists[size], freed);
}

/// REQUIRES: the mutex of the range is held.
void leave(std::size_t size, Free* first) {
  first->next_list = std::exchange(range.left[size], first);
}

bool open_span(std::size_t size) {
  if (!std::exchange(range.reserved, true)) {
    void* const memory =
        ::mmap(nullptr, kRange, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory != MAP_FAILED) {
      ::madvise(memory, kRange, MADV_HUGEPAGE);  // a machine's state is read all over the place
      begin_of_range = reinterpret_cast<std::uintptr_t>(memory);
    }
  }
  if (begin_of_range == kNowhere || range.spans == class_of_span.size()) return false;
  class_of_span[range.spans] = static_cast<std::uint8_t>(size);
  const std::uintptr_t span = begin_of_range + range.spans++ * kSpan;
  range.open[size] = {span, span + kSpan};
  return true;
}

/// Gives the lists of a thread to all when it ends.
struct LeavesLists {
  LeavesLists() = default;
  LeavesLists(const LeavesLists&) = delete;
  LeavesLists& operator=(const LeavesLists&) = delete;
  ~LeavesLists() {
    const std::scoped_lock lock(range.mutex);
    for (std::size_t size = 0; size < kSizes; ++size) {
      if (Free* const first = std::exchange(own.lists[size], nullptr)) leave(size, first);
    }
  }
};

/// Whatever a thread has lists of, it comes by here first.
void leave_lists_at_end() {
  [[maybe_unused]] thread_local const LeavesLists leaves_lists;
}

/// False: there is no room for more.
[[gnu::noinline]] bool refill(std::size_t size) {
  leave_lists_at_end();
  const std::scoped_lock lock(range.mutex);
  if (Free* const first = range.left[size]) {
    range.left[size] = first->next_list;
    own.lists[size] = first;
    return true;
  }
  const std::size_t bytes = bytes_of(size);
  Range::Open& open = range.open[size];
  for (std::size_t given = 0; given == 0 || given + bytes <= kRefill; given += bytes) {
    if (open.end - open.next < bytes && !open_span(size)) return given > 0;
    put(size, reinterpret_cast<void*>(open.next));  // NOLINT(performance-no-int-to-ptr): an address of the range
    open.next += bytes;
  }
  return true;
}

/// Leaves to all what the list holds beyond its latest blocks.
[[gnu::noinline]] void look_at_list(std::size_t size) {
  leave_lists_at_end();
  own.until_look[size] = static_cast<std::int32_t>(kLookAfter / bytes_of(size));
  Free* last = own.lists[size];
  for (std::size_t kept = kKeep / bytes_of(size); kept > 1 && last != nullptr; --kept) last = last->next;
  if (last == nullptr || last->next == nullptr) return;
  Free* const rest = std::exchange(last->next, nullptr);
  const std::scoped_lock lock(range.mutex);
  leave(size, rest);
}

void give_back(std::size_t size, void* block) {
  put(size, block);
  if (--own.until_look[size] < 0) [[unlikely]] {
    look_at_list(size);
  }
}

void* large_block(std::size_t bytes) {
  while (true) {
    if (void* const block = std::malloc(bytes)) return block;
    const std::new_handler handler = std::get_new_handler();
    if (handler == nullptr) throw std::bad_alloc();
    handler();
  }
}

/// A small block, unless there is no room for more.
[[gnu::noinline]] void* slow_block(std::size_t bytes) {
  if (bytes > kMost || !refill(class_of(bytes))) return large_block(bytes);
  return ::operator new(bytes);
}

}  // namespace
}  // namespace kernbench

void* operator new(std::size_t bytes) {
  using namespace kernbench;
  const std::size_t size = class_of(bytes);
  if (bytes > kMost || own.lists[size] == nullptr) [[unlikely]] {
    return slow_block(bytes);
  }
  Free* const block = own.lists[size];
  own.lists[size] = block->next;
  __builtin_prefetch(block->next, 1);  // what was given back long ago is in no cache any more
  return block;
}

void operator delete(void* block) noexcept {
  using namespace kernbench;
  if (!is_small(block)) return std::free(block);
  const auto span = (reinterpret_cast<std::uintptr_t>(block) - begin_of_range) / kSpan;
  give_back(class_of_span[span], block);
}

void operator delete(void* block, std::size_t bytes) noexcept {
  using namespace kernbench;
  if (!is_small(block)) return std::free(block);
  give_back(class_of(bytes), block);
}
