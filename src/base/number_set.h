// Sets of ranks in messages.
#pragma once

#include <span>
#include <string>

namespace kernbench {

constexpr int kMostInARow = 4;   // that a set shows one by one
constexpr int kMostInASet = 32;  // numbers and rows of numbers

/// "{1, 3}". Of more than four numbers in a row the first and the last stand for all: "{0-6, 8}". What is beyond 32 is
/// counted: "{1, 3, …, 63, … 480 more}".
std::string set_text(std::span<const int> ascending);

}  // namespace kernbench
