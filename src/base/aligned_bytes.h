// Bytes for elements of tensors and tiles.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <utility>

namespace kernbench {

/// Bytes on a cache-line boundary, not initialised. Throws std::bad_alloc.
class AlignedBytes {
 public:
  AlignedBytes() = default;
  explicit AlignedBytes(std::int64_t size);
  /// Zeros, aligned for any element. A page of many costs nothing until it is touched: a tensor may be far larger than
  /// what of it is used.
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
    void operator()(std::byte* data) const { std::free(data); }
  };
  AlignedBytes(void* block, std::size_t size);

  std::unique_ptr<std::byte, Release> data_;
  std::size_t size_ = 0;
};

}  // namespace kernbench
