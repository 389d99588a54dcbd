#include "topology/print.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "base/address.h"
#include "base/quantity.h"
#include "topology/reference_sink.h"
#include "topology/walk.h"

namespace kernbench::topology {
namespace {

constexpr std::size_t kCommentColumn = 36;

// A plain null would be read as nothing, and a leading '-' or '.' has a meaning of its own.
std::string yaml_value(const FieldText& text) {
  const std::string& value = text.value;
  const bool null = value == "null" || value == "Null" || value == "NULL";
  const bool quotes = text.shape == Shape::text && (null || value.front() == '-' || value.front() == '.');
  return quotes ? '"' + value + '"' : value;
}

class YamlSink {
 public:
  static constexpr bool of_values = true;
  void key(const FieldText& field) {
    if (!field.value.empty()) {
      line(field.depth, fmt::format("{}: {}", field.field->key, yaml_value(field)), field.field->documentation);
    }
  }
  void open(std::string_view key, const std::string&, std::string_view documentation, std::size_t depth) {
    // Bare, a '*' would begin an alias.
    const char* const quote = key.starts_with('*') ? "\"" : "";
    line(depth, fmt::format("{0}{1}{0}:", quote, key), documentation);
  }
  void close() {}
  std::string text;

 private:
  void line(std::size_t depth, const std::string& content, std::string_view comment) {
    const std::string indented = std::string(2 * depth, ' ') + content;
    text += comment.empty() ? indented + "\n" : fmt::format("{:<{}}  # {}\n", indented, kCommentColumn, comment);
  }
};

class RowSink {
 public:
  static constexpr bool of_values = true;
  void key(const FieldText& text) {
    if (text.value.empty() && text.path.starts_with("overrides.")) return;
    rows.push_back({text.path, text.value, std::string(text.field->documentation)});
  }
  void open(std::string_view, const std::string&, std::string_view, std::size_t) {}
  void close() {}

  struct Row {
    std::string path, value, documentation;
  };
  std::vector<Row> rows;
};

template <class Sink>
Sink walk(const Topology& topology) {
  Sink sink;
  Walk<Sink> visitor(sink);
  describe(visitor, topology);
  return sink;
}

}  // namespace

std::string to_yaml(const Topology& topology) {
  return walk<YamlSink>(topology).text;
}

std::vector<std::pair<std::string, std::string>> settings(const Topology& topology) {
  std::vector<std::pair<std::string, std::string>> values;
  for (auto& row : walk<RowSink>(topology).rows) {
    if (!row.value.empty()) values.emplace_back(std::move(row.path), std::move(row.value));
  }
  return values;
}

std::string to_table(const Topology& topology) {
  const auto rows = walk<RowSink>(topology).rows;
  std::size_t path_width = 0, value_width = 0;
  for (const auto& row : rows) {
    path_width = std::max(path_width, row.path.size());
    value_width = std::max(value_width, row.value.size());
  }
  std::string table;
  for (const auto& row : rows) {
    table += fmt::format("{:<{}}  {:<{}}  {}\n", row.path, path_width, row.value.empty() ? "-" : row.value, value_width,
                         row.documentation);
  }
  return table;
}

std::string reference_table() {
  return walk<ReferenceSink>(Topology{}).markdown;
}

std::string address_table() {
  std::string out = "| space | of | from | bytes | holds |\n|---|---|---|---|---|\n";
  for (const AddressRange& range : address_map()) {
    const Bytes size(static_cast<std::int64_t>(range.size)), stride(static_cast<std::int64_t>(range.pe_stride));
    const std::string step = range.pe_stride == 0 ? "" : fmt::format(" + PE * {}", to_quantity(stride));
    out +=
        fmt::format("| `{}` | {} | `{:#x}`{} | {} | {} |\n", range.name, range.pe_stride == 0 ? "the cube" : "each PE",
                    range.begin, step, to_quantity(size), range.description);
  }
  return out;
}

}  // namespace kernbench::topology
