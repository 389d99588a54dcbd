// Shadow memory against a list of accesses for each byte.
#include "tile/races/shadow_memory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <set>
#include <tuple>
#include <vector>

namespace kernbench::tile {
namespace {

using Seen = std::set<std::tuple<AccessKind, std::uint32_t, std::uint64_t>>;

Seen seen(const std::vector<MemoryAccess>& accesses) {
  Seen all;
  for (const MemoryAccess& each : accesses) all.emplace(each.kind, each.program, each.number);
  return all;
}

/// What is kept of a byte: a write stands for all before it, and of each program and kind the latest one counts.
void note(std::vector<MemoryAccess>& accesses, const MemoryAccess& access) {
  if (access.kind == AccessKind::write) accesses.clear();
  const auto same = [&](const MemoryAccess& each) {
    return each.program == access.program && each.kind == access.kind;
  };
  const auto before = std::ranges::find_if(accesses, same);
  if (before == accesses.end()) {
    accesses.push_back(access);
  } else if (before->number < access.number) {
    *before = access;
  }
}

class ShadowMemoryAndBytes : public ::testing::Test {
 protected:
  static constexpr std::uint64_t kCube = std::uint64_t{1} << PhysAddr::kLocalBits;
  static constexpr std::size_t kBytes = 96;

  void expect_alike() {
    for (std::uint64_t cube = 0; cube < 2; ++cube) {
      for (std::uint64_t byte = 0; byte < kBytes; ++byte) {
        Seen here;
        ShadowMemory copy = shadow_;
        copy.touch(cube * kCube + byte, 1, {0, 99, 0, AccessKind::read},
                   [&](const ShadowMemory::Accesses& accesses, std::uint64_t) { here = seen(accesses); });
        EXPECT_EQ(here, seen(bytes_[cube][byte])) << cube << " " << byte;
      }
    }
  }

  ShadowMemory shadow_;
  std::vector<std::vector<MemoryAccess>> bytes_[2] = {std::vector<std::vector<MemoryAccess>>(kBytes),
                                                      std::vector<std::vector<MemoryAccess>>(kBytes)};
};

TEST_F(ShadowMemoryAndBytes, KeepTheSameAccesses) {
  std::mt19937 random(2);
  for (int round = 0; round < 40; ++round) {
    for (std::uint64_t step = 0; step < 12; ++step) {
      const std::uint64_t first = random() % kBytes, bytes = 1 + random() % (kBytes - first);
      const MemoryAccess access{step, static_cast<std::uint32_t>(random() % 4), 0,
                                static_cast<AccessKind>(random() % 3)};
      const std::uint64_t cube = random() % 2;
      shadow_.touch(cube * kCube + first, bytes, access, [](const auto&, std::uint64_t) {});
      for (std::uint64_t byte = first; byte < first + bytes; ++byte) note(bytes_[cube][byte], access);
    }
    expect_alike();
    const auto gone = static_cast<std::uint32_t>(random() % 4);
    shadow_.forget([&](std::uint32_t program) { return program == gone; });
    for (auto& cube : bytes_) {
      for (auto& byte : cube) std::erase_if(byte, [&](const MemoryAccess& each) { return each.program == gone; });
    }
    expect_alike();
  }
}

TEST(ShadowMemory, VisitsWhatWasTouchedAlikeInOneAndAllOfTheRange) {
  ShadowMemory shadow;
  const auto visit = [&](std::uint64_t first, std::uint64_t bytes, const MemoryAccess& access) {
    std::vector<std::pair<std::uint64_t, std::size_t>> visited;
    shadow.touch(first, bytes, access, [&](const ShadowMemory::Accesses& accesses, std::uint64_t address) {
      visited.emplace_back(address, accesses.size());
    });
    return visited;
  };
  using Visited = std::vector<std::pair<std::uint64_t, std::size_t>>;
  EXPECT_EQ(visit(100, 50, {0, 0, 0, AccessKind::write}), (Visited{{100, 0}}));
  EXPECT_EQ(visit(100, 50, {1, 1, 0, AccessKind::read}), (Visited{{100, 1}}));
  EXPECT_EQ(shadow.size(), 1u);
  EXPECT_EQ(visit(120, 10, {2, 2, 0, AccessKind::read}), (Visited{{120, 2}}));
  EXPECT_EQ(shadow.size(), 3u);
  EXPECT_EQ(visit(90, 70, {3, 3, 0, AccessKind::read}), (Visited{{90, 0}, {100, 2}, {120, 3}, {130, 2}, {150, 0}}));
  EXPECT_EQ(shadow.size(), 5u);
  shadow.clear();
  EXPECT_EQ(shadow.size(), 0u);
}

}  // namespace
}  // namespace kernbench::tile
