// The pieces that JSON text is written with. Values arrive as finished JSON text.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>

namespace kernbench::report {

/// A string with its quotes; bytes that are not UTF-8 become U+FFFD.
std::string quoted(std::string_view text);

inline std::string number(std::integral auto value) {
  return std::to_string(value);
}
/// The shortest text that reads back equal; null when it is not finite.
std::string number(double value);

/// Builds one object or array.
class Collection {
 public:
  Collection(char open, char close, std::string_view separator)
      : text_(1, open), separator_(separator), close_(close) {}

  void add(std::string_view json) {
    if (!empty_) text_ += separator_;
    empty_ = false;
    text_ += json;
  }
  void add(std::string_view key, std::string_view json) { add(quoted(key) + ": " + std::string(json)); }
  std::string finish() { return text_ += close_; }

 private:
  std::string text_;
  std::string_view separator_;
  char close_;
  bool empty_ = true;
};

inline Collection object() {
  return {'{', '}', ", "};
}

/// One element per line, so that text tools can pick and compare them; `indent` is that of the closing bracket.
template <class Range, class Write>
std::string lines(const Range& range, Write write, char open, char close, std::string_view indent = "  ") {
  if (range.empty()) return {open, close};
  const std::string next = "\n" + std::string(indent) + "  ";
  std::string out(1, open);
  std::string separator = next;
  for (const auto& element : range) {
    out += separator;
    out += write(element);
    separator = "," + next;
  }
  return out + "\n" + std::string(indent) + close;
}

/// An object whose keys stand on lines of their own, with a final newline; `out` was made with the separator ",\n  ".
std::string document(Collection out);

}  // namespace kernbench::report
