// The reference of all keys of a description as a Markdown table: path, type, range, default, meaning.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>
#include <string_view>

#include "topology/walk.h"

namespace kernbench::topology {

inline std::string range_text(const FieldText& text) {
  if (text.shape == Shape::text || text.shape == Shape::truth)
    return fmt::format("{}", fmt::join(text.field->choices, ", "));
  return text.minimum == text.maximum ? text.minimum : fmt::format("{} to {}", text.minimum, text.maximum);
}

/// What Walk fills: one line for each key.
class ReferenceSink {
 public:
  static constexpr bool of_values = false;
  void key(const FieldText& text) {
    const std::string fallback =
        text.field->required ? "required" : (text.value.empty() ? "none" : fmt::format("`{}`", text.value));
    markdown += fmt::format("| `{}` | {} | {} | {} | {} |\n", text.path, text.type, range_text(text), fallback,
                            text.field->documentation);
  }
  void open(std::string_view, const std::string& path, std::string_view documentation, std::size_t) {
    markdown += fmt::format("| **`{}`** | | | | {} |\n", path, documentation);
  }
  void close() {}
  std::string markdown = "| key | type | range | default | meaning |\n|---|---|---|---|---|\n";
};

}  // namespace kernbench::topology
