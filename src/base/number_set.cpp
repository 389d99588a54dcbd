#include "base/number_set.h"

#include <fmt/format.h>

namespace kernbench {

std::string set_text(std::span<const int> numbers) {
  std::string text;
  int shown = 0;
  const auto add = [&](const std::string& element) { text += (text.empty() ? "" : ", ") + element; };
  for (std::size_t first = 0; first < numbers.size();) {
    if (shown++ == kMostInASet) {
      add(fmt::format("… {} more", numbers.size() - first));
      break;
    }
    std::size_t end = first + 1;
    while (end < numbers.size() && numbers[end] == numbers[end - 1] + 1) ++end;
    if (end - first > static_cast<std::size_t>(kMostInARow)) {
      add(fmt::format("{}-{}", numbers[first], numbers[end - 1]));
      first = end;
    } else {
      add(fmt::to_string(numbers[first++]));
    }
  }
  return "{" + text + "}";
}

}  // namespace kernbench
