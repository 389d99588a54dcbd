#include "support/source_tree.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string_view>

namespace kernbench::source_tree {

std::string path(const std::string& path) {
  return std::string(KERNBENCH_SOURCE_DIR) + "/" + path;
}

std::string build_path(const std::string& path) {
  return std::string(KERNBENCH_BUILD_DIR) + "/" + path;
}

std::string read(const std::string& path) {
  std::ifstream file(source_tree::path(path), std::ios::binary);
  EXPECT_TRUE(file) << "cannot open " << source_tree::path(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

bool updates_golden() {
  const char* update = std::getenv("KERNBENCH_UPDATE_GOLDEN");
  return update != nullptr && std::string_view(update) == "1";
}

void expect_golden(const std::string& path, const std::string& content) {
  if (updates_golden()) {
    std::ofstream(source_tree::path(path), std::ios::binary) << content;
    return;
  }
  EXPECT_EQ(read(path), content) << path << " is out of date: run with KERNBENCH_UPDATE_GOLDEN=1";
}

void expect_golden_part(const std::string& path, const std::string& begin, const std::string& end,
                        const std::string& content) {
  const std::string page = read(path);
  const std::size_t first = page.find(begin), last = page.find(end);
  ASSERT_TRUE(first != std::string::npos && last != std::string::npos && first < last);
  expect_golden(path, page.substr(0, first) + begin + content + page.substr(last));
}

}  // namespace kernbench::source_tree
