// Clocks against maps of numbers.
#include "tile/races/clock.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <random>
#include <vector>

namespace kernbench::tile {
namespace {

using Reference = std::map<std::uint32_t, std::uint32_t>;

void expect_equal(const Clock& clock, const Reference& reference, std::uint32_t programs) {
  for (std::uint32_t program = 0; program < programs; ++program) {
    const Clock::Entry* found = clock.find(program);
    const auto expected = reference.find(program);
    ASSERT_EQ(found != nullptr, expected != reference.end()) << program;
    if (found != nullptr) {
      EXPECT_EQ(found->release, expected->second) << program;
    }
  }
}

TEST(RaceClock, JoinsAndAddsAsMapsOfNumbersDo) {
  constexpr std::uint32_t kPrograms = 12;
  std::mt19937 random(1);
  std::vector<Clock> clocks(6);
  std::vector<Reference> references(clocks.size());
  for (int step = 0; step < 3000; ++step) {
    const std::size_t at = random() % clocks.size(), other = random() % clocks.size();
    if (random() % 40 == 0) {
      clocks[at] = {};
      references[at] = {};
    } else if (random() % 2 == 0) {
      const Clock::Entry entry{static_cast<std::uint32_t>(random() % kPrograms),
                               static_cast<std::uint32_t>(random() % 9)};
      clocks[at].add(entry);
      references[at][entry.program] = std::max(references[at][entry.program], entry.release);
    } else {
      clocks[at].join(clocks[other]);
      for (const auto& [program, release] : Reference(references[other]))
        references[at][program] = std::max(references[at][program], release);
    }
    expect_equal(clocks[at], references[at], kPrograms);
    expect_equal(clocks[other], references[other], kPrograms);
  }
}

}  // namespace
}  // namespace kernbench::tile
