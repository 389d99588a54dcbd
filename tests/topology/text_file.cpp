#include "text_file.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string_view>

namespace kernbench::topology::testing {
namespace {

std::string full_path(const std::string& path) {
  return std::string(KERNBENCH_SOURCE_DIR) + "/" + path;
}

}  // namespace

std::string read_source_file(const std::string& path) {
  std::ifstream file(full_path(path), std::ios::binary);
  EXPECT_TRUE(file) << "cannot open " << full_path(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

void expect_golden(const std::string& path, const std::string& content) {
  const char* update = std::getenv("KERNBENCH_UPDATE_GOLDEN");
  if (update && std::string_view(update) == "1") {
    std::ofstream(full_path(path), std::ios::binary) << content;
    return;
  }
  EXPECT_EQ(read_source_file(path), content) << path << " is out of date: run with KERNBENCH_UPDATE_GOLDEN=1";
}

}  // namespace kernbench::topology::testing
