#include "parallel/rank_generator.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <sstream>

#include "kernbench/error.h"

namespace kernbench::tp {

namespace {

std::vector<std::string> words_of(const std::string& order) {
  std::vector<std::string> words;
  std::istringstream stream(order);
  for (std::string word; std::getline(stream, word, '-');) words.push_back(word);
  return words;
}

/// An axis with its distance between neighbours.
struct Strided {
  int size, stride;
};

/// The sum of the strides of place number `index` of a box, the first axis fastest.
int offset_of(int index, const std::vector<Strided>& axes) {
  int offset = 0;
  for (const Strided& axis : axes) {
    offset += index % axis.size * axis.stride;
    index /= axis.size;
  }
  return offset;
}

int count_of(const std::vector<Strided>& axes) {
  int count = 1;
  for (const Strided& axis : axes) count *= axis.size;
  return count;
}

}  // namespace

std::vector<ParallelSize> ordered_axes(const std::vector<ParallelSize>& sizes, const std::string& order) {
  std::vector<ParallelSize> axes;
  for (const std::string& word : words_of(order)) {
    const auto named = std::ranges::find(sizes, word, &ParallelSize::kind);
    if (named == sizes.end()) {
      throw ValueError(fmt::format(
          "initialize_model_parallel: the order \"{}\" names \"{}\"; there are tp, cp, ep, dp and pp", order, word));
    }
    if (std::ranges::find(axes, word, &ParallelSize::kind) != axes.end()) {
      throw ValueError(fmt::format("initialize_model_parallel: the order \"{}\" names {} twice", order, word));
    }
    axes.push_back(*named);
  }
  for (const ParallelSize& each : sizes) {
    if (std::ranges::find(axes, each.kind, &ParallelSize::kind) != axes.end()) continue;
    if (each.size != 1) {
      throw ValueError(
          fmt::format("initialize_model_parallel: the size of ({}) is ({}), but you haven't specified the order ({})",
                      each.kind, each.size, order));
    }
    axes.push_back(each);
  }
  return axes;
}

std::vector<std::vector<int>> groups_along(const std::vector<ParallelSize>& axes,
                                           const std::vector<std::string>& kinds) {
  std::vector<Strided> along, across;
  int stride = 1;
  for (const ParallelSize& axis : axes) {
    (std::ranges::find(kinds, axis.kind) != kinds.end() ? along : across).push_back({axis.size, stride});
    stride *= axis.size;
  }
  std::vector<std::vector<int>> groups(static_cast<std::size_t>(count_of(across)));
  for (std::size_t group = 0; group < groups.size(); ++group) {
    const int first = offset_of(static_cast<int>(group), across);
    for (int place = 0; place < count_of(along); ++place) groups[group].push_back(first + offset_of(place, along));
  }
  return groups;
}

}  // namespace kernbench::tp
