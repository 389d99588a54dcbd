#include "base/number_set.h"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

namespace kernbench {
namespace {

TEST(NumberSet, FoldsNumbersInARow) {
  const auto text = [](const std::vector<int>& numbers) { return set_text(numbers); };
  EXPECT_EQ(text({}), "{}");
  EXPECT_EQ(text({1, 3}), "{1, 3}");
  EXPECT_EQ(text({0, 1, 2, 3}), "{0, 1, 2, 3}");
  EXPECT_EQ(text({0, 1, 2, 3, 4}), "{0-4}");
  EXPECT_EQ(text({0, 1, 2, 3, 4, 5, 6, 8}), "{0-6, 8}");
  EXPECT_EQ(text({0, 2, 3, 4, 5, 6, 9, 10}), "{0, 2-6, 9, 10}");
  std::vector<int> thousand(1000);
  std::iota(thousand.begin(), thousand.end(), 0);
  EXPECT_EQ(text(thousand), "{0-999}");
  std::vector<int> odd;
  for (int number = 1; number < 64; number += 2) odd.push_back(number);
  EXPECT_TRUE(text(odd).ends_with(", 61, 63}")) << text(odd);
  for (int number = 65; number < 1024; number += 2) odd.push_back(number);
  EXPECT_TRUE(text(odd).ends_with(", 61, 63, … 480 more}")) << text(odd);
}

}  // namespace
}  // namespace kernbench
