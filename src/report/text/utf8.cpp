#include "report/text/utf8.h"

#include <algorithm>
#include <array>
#include <cstdint>

namespace kernbench::report {
namespace {

struct Lead {
  std::size_t length;
  std::uint32_t bits;
  std::uint32_t least;  // smaller values have a shorter encoding, which is the only valid one
};

Lead lead_of(unsigned char byte) {
  if (byte < 0x80) return {1, byte, 0};
  if ((byte & 0xE0) == 0xC0) return {2, byte & 0x1Fu, 0x80};
  if ((byte & 0xF0) == 0xE0) return {3, byte & 0x0Fu, 0x800};
  if ((byte & 0xF8) == 0xF0) return {4, byte & 0x07u, 0x10000};
  return {0, 0, 0};
}

std::size_t step(std::string_view text, std::size_t at) {
  const std::size_t length = utf8_length(text, at);
  return length == 0 ? 1 : length;
}

struct Range {
  std::uint32_t first, last;
};

// source: Unicode 15.1, EastAsianWidth.txt (W and F), whole blocks where these differ in unassigned characters only.
constexpr std::array<Range, 17> kWide = {{{0x1100, 0x115F},
                                          {0x231A, 0x231B},
                                          {0x2329, 0x232A},
                                          {0x2E80, 0x303E},
                                          {0x3041, 0xA4CF},
                                          {0xA960, 0xA97F},
                                          {0xAC00, 0xD7A3},
                                          {0xF900, 0xFAFF},
                                          {0xFE10, 0xFE19},
                                          {0xFE30, 0xFE6F},
                                          {0xFF01, 0xFF60},
                                          {0xFFE0, 0xFFE6},
                                          {0x1B000, 0x1B2FF},
                                          {0x1F300, 0x1F64F},
                                          {0x1F680, 0x1F6FF},
                                          {0x1F900, 0x1F9FF},
                                          {0x20000, 0x3FFFD}}};
// source: Unicode 15.1, general categories Mn, Me and Cf of the scripts below, and the Hangul vowels and finals.
constexpr std::array<Range, 14> kNoWidth = {{{0x0300, 0x036F},
                                             {0x0483, 0x0489},
                                             {0x0591, 0x05BD},
                                             {0x064B, 0x065F},
                                             {0x1160, 0x11FF},
                                             {0x1AB0, 0x1AFF},
                                             {0x1DC0, 0x1DFF},
                                             {0x200B, 0x200F},
                                             {0x20D0, 0x20FF},
                                             {0x302A, 0x302D},
                                             {0xD7B0, 0xD7FF},
                                             {0xFE00, 0xFE0F},
                                             {0xFE20, 0xFE2F},
                                             {0xFEFF, 0xFEFF}}};

template <std::size_t kCount>
bool in(const std::array<Range, kCount>& ranges, std::uint32_t code) {
  const auto after = std::ranges::upper_bound(ranges, code, {}, &Range::first);
  return after != ranges.begin() && code <= std::prev(after)->last;
}

/// Of the character at text[at], which may be no UTF-8.
std::size_t columns_of(std::string_view text, std::size_t at) {
  const std::size_t length = utf8_length(text, at);
  if (length < 2) return 1;
  std::uint32_t code = lead_of(static_cast<unsigned char>(text[at])).bits;
  for (std::size_t i = 1; i < length; ++i) code = code << 6 | (static_cast<unsigned char>(text[at + i]) & 0x3Fu);
  if (in(kNoWidth, code)) return 0;
  return in(kWide, code) ? 2 : 1;
}

}  // namespace

std::size_t utf8_length(std::string_view text, std::size_t at) {
  const Lead lead = lead_of(static_cast<unsigned char>(text[at]));
  if (lead.length == 0 || at + lead.length > text.size()) return 0;
  std::uint32_t code = lead.bits;
  for (std::size_t i = 1; i < lead.length; ++i) {
    const auto byte = static_cast<unsigned char>(text[at + i]);
    if ((byte & 0xC0) != 0x80) return 0;
    code = code << 6 | (byte & 0x3Fu);
  }
  const bool surrogate = code >= 0xD800 && code <= 0xDFFF;
  return code < lead.least || code > 0x10FFFF || surrogate ? 0 : lead.length;
}

std::size_t display_width(std::string_view text) {
  std::size_t width = 0;
  for (std::size_t at = 0; at < text.size(); at += step(text, at)) width += columns_of(text, at);
  return width;
}

std::string one_line(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = utf8_length(text, at);
    const auto byte = static_cast<unsigned char>(text[at]);
    // U+0080..U+009F are control characters too, and some terminals obey them.
    const bool control =
        byte < 0x20 || byte == 0x7F || (byte == 0xC2 && length == 2 && static_cast<unsigned char>(text[at + 1]) < 0xA0);
    if (length == 0 || control) {
      out += '?';
    } else {
      out += text.substr(at, length);
    }
    at += length == 0 ? 1 : length;
  }
  while (out.ends_with(' ')) out.pop_back();
  return out;
}

std::string shortened(std::string_view text, std::size_t width) {
  const std::size_t full = display_width(text);
  if (full <= width) return std::string(text);
  const std::size_t head = (width - 2) / 2;
  const std::size_t tail = width - 2 - head;
  std::string first;
  std::size_t at = 0, column = 0;
  for (; column + columns_of(text, at) <= head; at += step(text, at)) {
    column += columns_of(text, at);
    first += text.substr(at, step(text, at));
  }
  while (full - column > tail || columns_of(text, at) == 0) {  // a mark does not begin the rest
    column += columns_of(text, at);
    at += step(text, at);
    if (at >= text.size()) break;
  }
  return first + ".." + std::string(text.substr(at));
}

}  // namespace kernbench::report
