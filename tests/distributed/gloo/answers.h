// What the programs show on PyTorch's gloo backend.
#pragma once

#include <map>
#include <string>
#include <utility>

namespace kernbench::testing::gloo {

struct Answers {
  std::string absent;                                          // why there are none; empty: there are
  std::map<std::pair<std::string, int>, std::string> by_name;  // text of all ranks, by program and number of ranks
};

/// Runs the Python programs, all in one go, and keeps what they write beside the test program for as long as they do
/// not change: each test is a process of its own.
const Answers& answers();

}  // namespace kernbench::testing::gloo
