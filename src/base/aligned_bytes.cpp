#include "base/aligned_bytes.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <new>

namespace kernbench {

namespace {

constexpr std::size_t kLine = 64;
constexpr std::size_t kPage = std::size_t{4} << 10;
constexpr std::size_t kHugePage = std::size_t{2} << 20;

std::size_t rounded_up(std::size_t size, std::size_t unit) {
  return (size + unit - 1) / unit * unit;
}

/// New pages of zeros from the system, which begin with a huge one.
std::byte* map_zeros(std::size_t size) {
  const std::size_t in_pages = rounded_up(size, kPage), with_slack = in_pages + kHugePage;
  void* const memory = ::mmap(nullptr, with_slack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  auto* const begin = static_cast<std::byte*>(memory);
  const std::size_t before = (kHugePage - reinterpret_cast<std::uintptr_t>(begin) % kHugePage) % kHugePage;
  std::byte* const data = begin + before;
  if (before > 0) ::munmap(begin, before);
  if (before < kHugePage) ::munmap(data + in_pages, kHugePage - before);
  ::madvise(data, in_pages, MADV_HUGEPAGE);  // without them it is only slower
  return data;
}

}  // namespace

void AlignedBytes::Release::operator()(std::byte* data) const {
  if (mapped > 0)
    ::munmap(data, mapped);
  else
    std::free(data);
}

AlignedBytes::AlignedBytes(std::int64_t size) : size_(static_cast<std::size_t>(size)) {
  if (size_ >= kHugePage) {
    data_ = {map_zeros(size_), Release{size_}};
    return;
  }
  void* const block = std::aligned_alloc(kLine, rounded_up(std::max<std::size_t>(size_, 1), kLine));
  if (block == nullptr) throw std::bad_alloc();
  data_ = {static_cast<std::byte*>(block), Release{0}};
}

AlignedBytes AlignedBytes::zeros(std::int64_t size) {
  const auto bytes = static_cast<std::size_t>(size);
  if (bytes >= kHugePage) return AlignedBytes(size);  // has new pages
  AlignedBytes result;
  void* const block = std::calloc(std::max<std::size_t>(bytes, 1), 1);
  if (block == nullptr) throw std::bad_alloc();
  result.data_ = {static_cast<std::byte*>(block), Release{0}};
  result.size_ = bytes;
  return result;
}

}  // namespace kernbench
