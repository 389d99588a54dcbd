// Comparison with a file in tests/report/golden; KERNBENCH_UPDATE_GOLDEN=1 rewrites the file instead.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

namespace kernbench::report {

inline void expect_golden(const std::string& file, const std::string& actual) {
  const std::string path = std::string(KERNBENCH_SOURCE_DIR) + "/tests/report/golden/" + file;
  const char* update = std::getenv("KERNBENCH_UPDATE_GOLDEN");
  if (update != nullptr && std::string(update) == "1") {
    std::ofstream(path, std::ios::binary) << actual;
    return;
  }
  std::ifstream in(path, std::ios::binary);
  ASSERT_TRUE(in) << path << " is missing; KERNBENCH_UPDATE_GOLDEN=1 writes it";
  std::ostringstream expected;
  expected << in.rdbuf();
  EXPECT_EQ(actual, expected.str()) << "if the change is meant, KERNBENCH_UPDATE_GOLDEN=1 updates " << path;
}

}  // namespace kernbench::report
