// A folder for the files of one test process: tests that run side by side do not meet in it.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>

namespace kernbench::test_files {

/// With a slash at its end. It exists.
inline std::string folder() {
  const std::string folder = ::testing::TempDir() + "kernbench_" + std::to_string(::getpid()) + "/";
  std::filesystem::create_directories(folder);
  return folder;
}

}  // namespace kernbench::test_files
