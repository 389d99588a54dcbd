// Bytes for elements of tensors and tiles: blocks of any size, of which the large ones lie in huge pages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

namespace kernbench {

/// Bytes on a cache-line boundary, not initialised. Throws std::bad_alloc.
///
/// Large blocks ask the system for huge pages: the first touch of a page of 4 KiB costs about as much as filling it.
class AlignedBytes {
 public:
  AlignedBytes() = default;
  explicit AlignedBytes(std::int64_t size);
  /// Zeros, aligned for any element. Large blocks cost nothing until they are touched.
  static AlignedBytes zeros(std::int64_t size);

  std::byte* data() { return data_.get(); }
  const std::byte* data() const { return data_.get(); }
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  /// The bytes with a count of those who have them.
  std::shared_ptr<std::byte> share() && {
    size_ = 0;
    return std::move(data_);
  }

 private:
  struct Release {
    std::size_t mapped;  // zero: a block of the C library's
    void operator()(std::byte* data) const;
  };
  std::unique_ptr<std::byte, Release> data_;
  std::size_t size_ = 0;
};

}  // namespace kernbench
