// Sets of ranks in messages.
#pragma once

#include <span>
#include <string>

namespace kernbench {

constexpr int kMostInARow = 4;  // that a set shows one by one

/// "{1, 3}". Of more than four numbers in a row the first and the last stand for all: "{0-6, 8}".
std::string set_text(std::span<const int> ascending);

}  // namespace kernbench
