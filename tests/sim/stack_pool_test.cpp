#include "sim/stack_pool.h"

#include <gtest/gtest.h>

#include <cstring>
#include <set>
#include <vector>

namespace kernbench::sim {
namespace {

TEST(StackPoolTest, StacksAreAsLargeAsAskedAndDoNotOverlap) {
  StackPool pool;
  std::vector<Stack> stacks;
  for (std::size_t i = 0; i < 300; ++i) stacks.push_back(pool.acquire((i % 3 + 1) * 64 * 1024));
  for (std::size_t i = 0; i < stacks.size(); ++i) {
    EXPECT_GE(stacks[i].size, (i % 3 + 1) * 64 * 1024);
    std::memset(stacks[i].bottom, static_cast<int>(i % 251), stacks[i].size);
  }
  for (std::size_t i = 0; i < stacks.size(); ++i) {
    EXPECT_EQ(stacks[i].bottom[0], static_cast<std::byte>(i % 251));
    EXPECT_EQ(stacks[i].bottom[stacks[i].size - 1], static_cast<std::byte>(i % 251));
  }
}

TEST(StackPoolTest, AReleasedStackIsUsedAgain) {
  StackPool pool;
  const Stack first = pool.acquire(100'000);
  const Stack second = pool.acquire(100'000);
  pool.release(first);
  EXPECT_EQ(pool.acquire(100'000).bottom, first.bottom);
  EXPECT_NE(pool.acquire(100'000).bottom, second.bottom);
}

TEST(StackPoolTest, FirstFramesStartAtDifferentCacheLines) {
  StackPool pool;
  std::set<std::size_t> offsets;
  for (int i = 0; i < 64; ++i) offsets.insert(pool.acquire(64 * 1024).top_offset);
  EXPECT_GE(offsets.size(), 32u);
}

TEST(StackPoolTest, TheGuardLiesBelowTheStack) {
  StackPool pool;
  const Stack stack = pool.acquire(64 * 1024);
  EXPECT_TRUE(stack.guards(stack.bottom - 1));
  EXPECT_TRUE(stack.guards(stack.bottom - kGuardBytes));
  EXPECT_FALSE(stack.guards(stack.bottom - kGuardBytes - 1));
  EXPECT_FALSE(stack.guards(stack.bottom));
}

TEST(StackPoolTest, WithoutGuardRegionsManyStacksStillWork) {
  StackPool pool(StackPool::Protection::mprotect_few);
  std::size_t with_canary = 0;
  for (int i = 0; i < 40'000; ++i) {
    const Stack stack = pool.acquire(16 * 1024);
    stack.bottom[stack.size - 1] = std::byte{1};
    if (stack.guard != StackGuard::canary) continue;
    ++with_canary;
    EXPECT_FALSE(stack.canary_damaged());
    if (with_canary % 1'000 == 0) {
      stack.bottom[-1] = std::byte{1};
      EXPECT_TRUE(stack.canary_damaged());
    }
  }
  EXPECT_GT(with_canary, 30'000u);
}

}  // namespace
}  // namespace kernbench::sim
