// Programs with modules.
#pragma once

#include <gtest/gtest.h>

#include <functional>

#include "kernbench/kernbench.h"

namespace kernbench::torch::nn {

/// Runs `body` as a program on "tiny"; an error of it fails the test.
inline RunResult on_tiny(const std::function<void()>& body) {
  return simulate({.topology = "tiny"}, body);
}

}  // namespace kernbench::torch::nn
