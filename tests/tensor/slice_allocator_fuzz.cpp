// Reads arbitrary bytes as requests to a slice's allocator, and holds it to a plain picture of the memory: what it
// gives is aligned, inside, and nobody else's; what it refuses has no room; what comes back is whole again.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <map>
#include <optional>
#include <vector>

#include "tensor/placement/slice_allocator.h"

namespace {

using kernbench::Bytes;
using kernbench::tensor::SliceAllocator;

void require(bool condition) {
  if (!condition) std::abort();
}

/// Which granules are taken, and by what.
class Picture {
 public:
  Picture(std::int64_t capacity, std::int64_t granule)
      : granule_(granule), taken_(static_cast<std::size_t>(capacity / granule)) {}

  std::int64_t granules(std::int64_t bytes) const {
    return (std::max<std::int64_t>(bytes, 1) + granule_ - 1) / granule_;
  }

  void mark(std::uint64_t address, std::int64_t bytes, bool taken) {
    require(address % static_cast<std::uint64_t>(granule_) == 0);
    const auto first = static_cast<std::size_t>(address / static_cast<std::uint64_t>(granule_));
    const auto count = static_cast<std::size_t>(granules(bytes));
    require(first + count <= taken_.size());
    for (std::size_t i = first; i < first + count; ++i) {
      require(taken_[i] != taken);
      taken_[i] = taken;
    }
  }

  /// Runs of free granules by their length; what the allocator must have as free blocks.
  void check(const SliceAllocator& memory) const {
    std::int64_t free = 0, largest = 0, run = 0;
    std::size_t blocks = 0;
    for (const bool taken : taken_) {
      run = taken ? 0 : run + 1;
      blocks += run == 1 ? 1 : 0;
      free += taken ? 0 : 1;
      largest = std::max(largest, run);
    }
    require(memory.free_bytes() == Bytes(free * granule_));
    require(memory.largest_free() == Bytes(largest * granule_));
    require(memory.free_blocks() == blocks);
  }

 private:
  std::int64_t granule_;
  std::vector<bool> taken_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const std::int64_t granule = std::int64_t{1} << (data[0] % 9), capacity = granule * data[1] + data[0] % granule;
  SliceAllocator memory{Bytes(capacity), Bytes(granule)};
  Picture picture(capacity, granule);
  require(memory.capacity() == Bytes(capacity / granule * granule));
  std::map<std::uint64_t, std::int64_t> live;
  // Two bytes each: an even first one asks for a size, an odd one gives a block back.
  for (std::size_t i = 2; i + 1 < size; i += 2) {
    const std::int64_t value = data[i + 1];
    if (data[i] % 2 == 0) {
      const std::int64_t bytes = data[i] == 254 ? INT64_MAX - value : value * (1 + data[i] / 2);
      const Bytes largest = memory.largest_free();
      const std::optional<std::uint64_t> address = memory.allocate(Bytes(bytes));
      require(address.has_value() == (bytes <= largest.count() && largest.count() > 0));
      if (address) {
        picture.mark(*address, bytes, true);
        require(live.emplace(*address, bytes).second);
      }
    } else if (!live.empty()) {
      const auto block = std::next(live.begin(), value % static_cast<std::int64_t>(live.size()));
      picture.mark(block->first, block->second, false);
      memory.free(block->first, Bytes(block->second));
      live.erase(block);
    }
    picture.check(memory);
  }
  for (const auto& [address, bytes] : live) memory.free(address, Bytes(bytes));
  require(memory.free_bytes() == memory.capacity());
  require(memory.free_blocks() == (memory.capacity() > Bytes(0) ? 1U : 0U));
  return 0;
}
