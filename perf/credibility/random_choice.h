// A random choice that is the same on every machine.
#pragma once

#include <random>
#include <vector>

namespace kernbench::credibility {

template <class T>
const T& one_of(std::mt19937_64& random, const std::vector<T>& choices) {
  return choices[random() % choices.size()];
}

}  // namespace kernbench::credibility
