// Loads and stores in every form: values against a plain model, times against the laws.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "memory_model.h"
#include "programs.h"

namespace kernbench {
namespace {

using testing::error_of;
using testing::error_type_of;
using ::testing::HasSubstr;
using testing::MemoryMode;
using testing::one_pe;
using testing::run_random_accesses;
using testing::tiny;

TEST(MemoryForms, EveryLaneIsThatOfAPlainInterpreterInProgramOrder) {
  for (std::uint32_t seed = 0; seed < 1200; ++seed) {
    run_random_accesses(seed, {.cubes = seed % 3 == 0 ? 4 : 1});
    if (HasFailure()) return;
  }
}

TEST(MemoryForms, ExactEventsTakeTheSameTimes) {
  for (std::uint32_t seed = 2000; seed < 2200; ++seed) {
    const int cubes = seed % 3 == 0 ? 4 : 1;
    const auto coalesced = run_random_accesses(seed, {.cubes = cubes});
    const auto exact = run_random_accesses(seed, {.exact = true, .cubes = cubes});
    ASSERT_EQ(coalesced.simulated_time, exact.simulated_time) << "seed " << seed;
    ASSERT_EQ(coalesced.times_fingerprint, exact.times_fingerprint) << "seed " << seed;
  }
}

TEST(MemoryForms, WithoutDataTheTimesAreTheSame) {
  for (std::uint32_t seed = 3000; seed < 3300; ++seed) {
    const int cubes = seed % 3 == 0 ? 4 : 1;
    const auto with = run_random_accesses(seed, {.known_only = true, .cubes = cubes});
    const auto without = run_random_accesses(seed, {.data = false, .known_only = true, .cubes = cubes});
    ASSERT_EQ(with.simulated_time, without.simulated_time) << "seed " << seed;
    ASSERT_EQ(with.times_fingerprint, without.times_fingerprint) << "seed " << seed;
  }
}

}  // namespace
}  // namespace kernbench
