#include "report/json/split_array.h"

#include <cstddef>
#include <utility>

namespace kernbench::report {
namespace {

constexpr std::size_t kNone = std::string_view::npos;

class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  std::size_t at() const { return at_; }
  void skip_blanks() {
    const std::size_t next = text_.find_first_not_of(" \t\n\r", at_);
    at_ = next == kNone ? text_.size() : next;
  }
  /// The next character that is not blank; 0: the text has ended.
  char next() {
    skip_blanks();
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool take(char character) {
    if (next() != character) return false;
    ++at_;
    return true;
  }
  /// What stands between the quotes, escapes as they are.
  std::optional<std::string_view> string() {
    if (!take('"')) return std::nullopt;
    const std::size_t begin = at_;
    for (;;) {
      at_ = text_.find_first_of("\"\\", at_);
      if (at_ == kNone) return std::nullopt;
      if (text_[at_] == '"') return text_.substr(begin, at_++ - begin);
      at_ += 2;  // of an escape sequence the second character has no meaning here
      if (at_ > text_.size()) return std::nullopt;
    }
  }
  /// Over a value; brackets need only be as many.
  bool value() {
    std::size_t depth = 0;
    do {
      switch (next()) {
        case '\0':
          return false;
        case '"':
          if (!string()) return false;
          break;
        case '{':
        case '[':
          ++depth;
          ++at_;
          break;
        case '}':
        case ']':
          if (depth == 0) return false;
          --depth;
          ++at_;
          break;
        case ',':
        case ':':
          if (depth == 0) return false;
          ++at_;
          break;
        default: {  // a number, true, false or null
          const std::size_t end = text_.find_first_of(" \t\n\r\"{}[],:", at_);
          at_ = end == kNone ? text_.size() : end;
        }
      }
    } while (depth > 0);
    return true;
  }

 private:
  std::string_view text_;
  std::size_t at_ = 0;
};

bool elements_of(Scanner& scan, std::string_view text, std::vector<std::string_view>& elements) {
  if (!scan.take('[')) return false;
  if (scan.take(']')) return true;
  do {
    if (scan.next() != '{') return false;
    const std::size_t begin = scan.at();
    if (!scan.value()) return false;
    elements.push_back(text.substr(begin, scan.at() - begin));
  } while (scan.take(','));
  return scan.take(']');
}

}  // namespace

std::optional<ArrayParts> split_array(std::string_view text, std::string_view key) {
  Scanner scan(text);
  if (!scan.take('{')) return std::nullopt;
  ArrayParts parts;
  std::size_t begin = kNone, end = 0;
  do {
    const auto name = scan.string();
    if (!name || !scan.take(':')) return std::nullopt;
    if (*name != key) {
      if (!scan.value()) return std::nullopt;
      continue;
    }
    if (begin != kNone) return std::nullopt;
    scan.skip_blanks();
    begin = scan.at();
    if (!elements_of(scan, text, parts.elements)) return std::nullopt;
    end = scan.at();
  } while (scan.take(','));
  if (begin == kNone) return std::nullopt;
  parts.rest.reserve(text.size() - (end - begin) + 2);
  parts.rest.append(text.substr(0, begin)).append("[]").append(text.substr(end));
  return parts;
}

}  // namespace kernbench::report
