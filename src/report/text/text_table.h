// Aligned columns of text, with colour where the reader's terminal has it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace kernbench::report {

enum class Style : std::uint8_t { plain, heading, faint, good, bad, warning };

/// How text is shown: in terminal colours or plain; long texts shortened in their middle, or whole.
class Palette {
 public:
  explicit Palette(bool colour, bool cuts = false) : colour_(colour), cuts_(cuts) {}
  std::string paint(Style style, std::string_view text) const;
  /// `text` as one line, in at most `width` columns where long texts are shortened.
  std::string fit(std::string_view text, std::size_t width) const;

 private:
  bool colour_, cuts_;
};

enum class Align : std::uint8_t { left, right };

struct Column {
  std::string title;
  Align align = Align::right;
  std::size_t widest = 40;  // longer cells are shortened in their middle, where the palette says so
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
  std::vector<std::size_t> widths(const Palette& palette) const;

  std::vector<Column> columns_;
  std::vector<std::vector<Cell>> rows_;
};

}  // namespace kernbench::report
