#include "base/aligned_bytes.h"

#include <algorithm>
#include <new>

namespace kernbench {

static constexpr std::size_t kLine = 64;

static std::size_t in_lines(std::int64_t size) {
  return std::max<std::size_t>((static_cast<std::size_t>(size) + kLine - 1) / kLine, 1) * kLine;
}

AlignedBytes::AlignedBytes(void* block, std::size_t size) : data_(static_cast<std::byte*>(block)), size_(size) {
  if (block == nullptr) throw std::bad_alloc();
}

AlignedBytes::AlignedBytes(std::int64_t size)
    : AlignedBytes(std::aligned_alloc(kLine, in_lines(size)), static_cast<std::size_t>(size)) {}

AlignedBytes AlignedBytes::zeros(std::int64_t size) {
  return {std::calloc(in_lines(size), 1), static_cast<std::size_t>(size)};
}

}  // namespace kernbench
