#include "report/utf8.h"

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
  for (std::size_t at = 0; at < text.size(); at += step(text, at)) ++width;
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
  std::string out;
  std::size_t index = 0;
  for (std::size_t at = 0; at < text.size(); at += step(text, at), ++index) {
    if (index == head) out += "..";
    if (index < head || index >= full - tail) out += text.substr(at, step(text, at));
  }
  return out;
}

}  // namespace kernbench::report
