// Aligned columns of text, with colour where the reader's terminal has it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace kernbench::report {

enum class Style : std::uint8_t { plain, heading, faint, good, bad, warning };

/// Wraps text in terminal colours, or leaves it alone.
class Palette {
 public:
  explicit Palette(bool colour) : colour_(colour) {}
  std::string paint(Style style, std::string_view text) const;

 private:
  bool colour_;
};

enum class Align : std::uint8_t { left, right };

struct Column {
  std::string title;
  Align align = Align::right;
  std::size_t widest = 40;  // longer cells are shortened in their middle
};

struct Cell {
  std::string text;
  Style style = Style::plain;
};

/// Rows of cells under column titles. All cells are made printable, so that a name cannot break the layout.
class TextTable {
 public:
  explicit TextTable(std::vector<Column> columns) : columns_(std::move(columns)) {}

  /// Adds a row; cells that are missing at its end are empty. Requires no more cells than columns.
  void add(std::vector<Cell> row) { rows_.push_back(std::move(row)); }
  bool empty() const { return rows_.empty(); }

  /// The titles (unless all are empty) and rows, each line indented by two and without trailing blanks.
  std::string text(const Palette& palette) const;

 private:
  std::vector<std::size_t> widths() const;

  std::vector<Column> columns_;
  std::vector<std::vector<Cell>> rows_;
};

}  // namespace kernbench::report
