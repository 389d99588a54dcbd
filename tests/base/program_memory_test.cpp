// operator new of KernBench's own programs, which this program has too.
#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <new>
#include <random>
#include <set>
#include <thread>
#include <vector>

namespace kernbench {
namespace {

// Not as a new-expression, which the compiler may leave out together with its delete.
void* take(std::size_t bytes) {
  void* block = ::operator new(bytes);
  asm volatile("" : "+r"(block) : : "memory");
  return block;
}

struct Block {
  unsigned char* bytes;
  std::size_t size;
  unsigned char filled;
};

Block filled_block(std::size_t size, unsigned char with) {
  auto* const bytes = static_cast<unsigned char*>(take(size));
  std::memset(bytes, with, size);
  return {bytes, size, with};
}

bool is_intact(const Block& block) {
  for (std::size_t i = 0; i < block.size; ++i) {
    if (block.bytes[i] != block.filled) return false;
  }
  return true;
}

TEST(ProgramMemory, BlocksOfAllSizesAreApartAndKeepTheirBytes) {
  std::mt19937 random(7);
  std::vector<Block> blocks;
  for (int step = 0; step < 200'000; ++step) {
    const std::size_t size = random() % 100 == 0 ? random() % 100'000 : random() % 1'200;
    if (blocks.size() < 500 || random() % 2 == 0) {
      blocks.push_back(filled_block(size, static_cast<unsigned char>(random())));
      ASSERT_EQ(reinterpret_cast<std::uintptr_t>(blocks.back().bytes) % alignof(std::max_align_t), 0U) << size;
    }
    if (blocks.size() < 1'000) continue;
    const std::size_t which = random() % blocks.size();
    ASSERT_TRUE(is_intact(blocks[which])) << blocks[which].size;
    if (random() % 2 == 0) {
      ::operator delete(blocks[which].bytes);
    } else {
      ::operator delete(blocks[which].bytes, blocks[which].size);
    }
    blocks[which] = blocks.back();
    blocks.pop_back();
  }
  for (const Block& block : blocks) {
    EXPECT_TRUE(is_intact(block));
    ::operator delete(block.bytes);
  }
}

TEST(ProgramMemory, TheLatestBlockThatCameBackIsTheNextOneGiven) {
  for (std::size_t bytes = 1; bytes <= 1'024; bytes += 31) {
    std::vector<void*> blocks;
    for (int i = 0; i < 20; ++i) blocks.push_back(take(bytes));
    for (void* block : blocks) ::operator delete(block, bytes);
    for (int i = 19; i >= 0; --i) EXPECT_EQ(take(bytes), blocks[static_cast<std::size_t>(i)]) << bytes;
    for (void* block : blocks) ::operator delete(block);
  }
}

TEST(ProgramMemory, AThreadThatEndsLeavesItsBlocksToAll) {
  constexpr std::size_t kBytes = 1'000;
  constexpr int kBlocks = 500;
  std::set<void*> left;
  std::vector<void*> taken;
  std::thread([&] {
    std::vector<void*> own;
    for (int i = 0; i < kBlocks; ++i) own.push_back(take(kBytes));
    for (void* block : own) ::operator delete(block, kBytes);
    left.insert(own.begin(), own.end());
  }).join();
  // The first ones may come from the list that this thread has already.
  int again = 0;
  for (int i = 0; i < 2 * kBlocks; ++i) {
    taken.push_back(take(kBytes));
    again += left.contains(taken.back()) ? 1 : 0;
  }
  EXPECT_EQ(again, kBlocks);
  for (void* block : taken) ::operator delete(block, kBytes);
}

/// Addresses of all blocks that this thread takes, `kBlocks` in each round, and that a worker gives back.
std::size_t addresses_used(int rounds, std::size_t bytes) {
  constexpr std::size_t kBlocks = 500;
  std::set<void*> addresses;
  std::vector<void*> blocks;
  std::atomic<int> taken = 0, given_back = 0;
  std::thread worker([&] {
    for (int round = 1; round <= rounds; ++round) {
      taken.wait(round - 1);
      for (void* block : blocks) ::operator delete(block, bytes);
      given_back = round;
      given_back.notify_one();
    }
  });
  for (int round = 1; round <= rounds; ++round) {
    blocks.clear();
    for (std::size_t i = 0; i < kBlocks; ++i) blocks.push_back(take(bytes));
    addresses.insert(blocks.begin(), blocks.end());
    taken = round;
    taken.notify_one();
    given_back.wait(round - 1);
  }
  worker.join();
  return addresses.size();
}

TEST(ProgramMemory, WhatAThreadOnlyGivesBackIsTakenAgainWhileItRuns) {
  // 500 at once, and no more than 32 KiB and the rest of a look with each thread.
  for (const std::size_t bytes : {64, 192, 1'024}) EXPECT_LT(addresses_used(40, bytes), 3'000) << bytes;
}

TEST(ProgramMemory, AThreadThatNeverTakesLeavesItsBlocksToAll) {
  constexpr std::size_t kBytes = 976;
  std::vector<void*> blocks;
  for (int i = 0; i < 500; ++i) blocks.push_back(take(kBytes));
  const std::set<void*> given_back(blocks.begin(), blocks.end());
  std::thread([&] {
    for (void* block : blocks) ::operator delete(block, kBytes);
  }).join();
  std::size_t again = 0;
  for (void*& block : blocks) again += given_back.contains(block = take(kBytes)) ? 1 : 0;
  EXPECT_GE(again, 490U) << "all but those of the list that this thread has already";
  for (void* block : blocks) ::operator delete(block, kBytes);
}

TEST(ProgramMemory, ThreadsPassBlocksToEachOther) {
  std::vector<std::vector<Block>> of_thread(4);
  const auto in_threads = [&](auto act) {
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < of_thread.size(); ++i) threads.emplace_back(act, i);
    for (std::thread& thread : threads) thread.join();
  };
  for (std::size_t round = 0; round < 4; ++round) {
    in_threads([&](std::size_t thread) {
      for (std::size_t size = 1; size <= 600; ++size) {
        of_thread[thread].push_back(filled_block(size, static_cast<unsigned char>(thread + round)));
      }
    });
    in_threads([&](std::size_t thread) {
      std::vector<Block>& others = of_thread[(thread + 1) % of_thread.size()];
      for (const Block& block : others) {
        EXPECT_TRUE(is_intact(block));
        ::operator delete(block.bytes);
      }
      others.clear();
    });
  }
}

TEST(ProgramMemory, MemoryThatCannotBeHadIsAnError) {
  volatile std::size_t bytes = std::numeric_limits<std::ptrdiff_t>::max();
  EXPECT_THROW(take(bytes), std::bad_alloc);
  EXPECT_EQ(::operator new(bytes, std::nothrow), nullptr);
  ::operator delete(nullptr);
}

}  // namespace
}  // namespace kernbench
