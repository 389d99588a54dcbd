#include "report/json/json_text.h"

#include <charconv>
#include <cmath>

#include "report/text/utf8.h"

namespace kernbench::report {
namespace {

void append_escaped(std::string& out, char c) {
  switch (c) {
    case '"':
      out += "\\\"";
      return;
    case '\\':
      out += "\\\\";
      return;
    case '\n':
      out += "\\n";
      return;
    case '\r':
      out += "\\r";
      return;
    case '\t':
      out += "\\t";
      return;
    default:
      break;
  }
  const auto code = static_cast<unsigned char>(c);
  if (code >= 0x20 && code != 0x7f) {
    out += c;
    return;
  }
  constexpr std::string_view kDigits = "0123456789abcdef";
  out += "\\u00";
  out += kDigits[code >> 4];
  out += kDigits[code & 15];
}

}  // namespace

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = utf8_length(text, at);
    if (length == 0) {
      out += "\xEF\xBF\xBD";
      ++at;
    } else if (length == 1) {
      append_escaped(out, text[at++]);
    } else {
      out += text.substr(at, length);
      at += length;
    }
  }
  return out += '"';
}

std::string number(double value) {
  if (!std::isfinite(value)) return "null";
  char buffer[32];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value).ptr;
  return std::string(buffer, end);
}

std::string document(Collection out) {
  std::string text = out.finish();
  text.insert(1, "\n  ");
  text.insert(text.size() - 1, "\n");
  return text += '\n';
}

}  // namespace kernbench::report
