#include "base/aligned_bytes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <utility>

namespace kernbench {
namespace {

// Also no multiples of a page or a line.
constexpr std::int64_t kMiB = std::int64_t{1} << 20;
constexpr std::int64_t kSizes[] = {0, 1, 63, 64, 4097, kMiB, 3 * kMiB + 5};

TEST(AlignedBytes, BeginOnALineAndCanAllBeWritten) {
  for (const std::int64_t size : kSizes) {
    AlignedBytes bytes(size);
    EXPECT_EQ(bytes.size(), static_cast<std::size_t>(size));
    EXPECT_EQ(bytes.empty(), size == 0);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(bytes.data()) % 64, 0) << size;
    std::memset(bytes.data(), 0xAB, bytes.size());
    EXPECT_TRUE(std::ranges::all_of(std::span(bytes.data(), bytes.size()), [](std::byte value) {
      return value == std::byte{0xAB};
    })) << size;
  }
}

TEST(AlignedBytes, AreZerosWhereTheseAreAskedForAlsoInMemoryThatHadOthers) {
  for (const std::int64_t size : kSizes) {
    std::memset(AlignedBytes(size).data(), 0xAB, static_cast<std::size_t>(size));
    const AlignedBytes zeros = AlignedBytes::zeros(size);
    EXPECT_EQ(zeros.size(), static_cast<std::size_t>(size));
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(zeros.data()) % alignof(std::max_align_t), 0) << size;
    EXPECT_TRUE(std::ranges::all_of(std::span(zeros.data(), zeros.size()), [](std::byte value) {
      return value == std::byte{0};
    })) << size;
  }
}

TEST(AlignedBytes, AreNobodysElseWhenTheyAreMovedOrShared) {
  for (const std::int64_t size : {std::int64_t{5}, kMiB}) {
    AlignedBytes first(size);
    const std::byte* const place = first.data();
    AlignedBytes second = std::move(first);
    EXPECT_EQ(second.data(), place);
    const std::shared_ptr<std::byte> shared = std::move(second).share();
    EXPECT_EQ(shared.get(), place);
    shared.get()[size - 1] = std::byte{1};  // is still there
  }
}

}  // namespace
}  // namespace kernbench
