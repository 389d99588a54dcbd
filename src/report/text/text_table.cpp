#include "report/text/text_table.h"

#include <algorithm>

#include "report/text/utf8.h"

namespace kernbench::report {
namespace {

constexpr std::size_t kIndent = 2;
constexpr std::size_t kGap = 2;

std::string_view escape(Style style) {
  switch (style) {
    case Style::plain:
      return "";
    case Style::heading:
      return "\x1b[1m";
    case Style::faint:
      return "\x1b[2m";
    case Style::good:
      return "\x1b[32m";
    case Style::bad:
      return "\x1b[1;31m";
    case Style::warning:
      return "\x1b[33m";
  }
  return "";
}

// Pads `text` to `width`; keeps pending blanks apart, so that a line never ends in them.
void append(std::string& line, std::string& blanks, const std::string& text, std::size_t width, Align align,
            std::string_view painted) {
  const std::size_t padding = width - std::min(width, display_width(text));
  if (align == Align::right) blanks.append(padding, ' ');
  if (!text.empty()) {
    line += blanks;
    line += painted;
    blanks.clear();
  }
  if (align == Align::left) blanks.append(padding, ' ');
  blanks.append(kGap, ' ');
}

}  // namespace

std::string Palette::paint(Style style, std::string_view text) const {
  if (!colour_ || style == Style::plain || text.empty()) return std::string(text);
  return std::string(escape(style)) + std::string(text) + "\x1b[0m";
}

std::string Palette::fit(std::string_view text, std::size_t width) const {
  const std::string line = one_line(text);
  return cuts_ ? shortened(line, width) : line;
}

std::vector<std::size_t> TextTable::widths(const Palette& palette) const {
  std::vector<std::size_t> out;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    std::size_t width = display_width(columns_[i].title);
    for (const auto& row : rows_) {
      if (i < row.size()) width = std::max(width, display_width(palette.fit(row[i].text, columns_[i].widest)));
    }
    out.push_back(width);
  }
  return out;
}

std::string TextTable::text(const Palette& palette) const {
  const std::vector<std::size_t> width = widths(palette);
  std::string out;
  const auto write = [&](const std::vector<Cell>& row) {
    std::string blanks(kIndent, ' ');
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string cell = palette.fit(row[i].text, columns_[i].widest);
      append(out, blanks, cell, width[i], columns_[i].align, palette.paint(row[i].style, cell));
    }
    out += '\n';
  };
  std::vector<Cell> titles;
  for (const Column& column : columns_) titles.push_back({column.title, Style::faint});
  if (std::any_of(titles.begin(), titles.end(), [](const Cell& title) { return !title.text.empty(); })) write(titles);
  for (const auto& row : rows_) write(row);
  return out;
}

}  // namespace kernbench::report
