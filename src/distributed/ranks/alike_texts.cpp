#include "distributed/ranks/alike_texts.h"

#include <fmt/format.h>

#include <charconv>
#include <cstddef>
#include <set>

#include "base/number_set.h"

namespace kernbench::distributed {
namespace {

constexpr char kMark = '\x01';
constexpr std::size_t kMostDigits = 9;          // that fit into an int
constexpr std::size_t kMostSetCharacters = 80;  // of the values of one number

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/// A text, cut at its whole numbers: `words` stand before, between and behind `numbers`.
struct Cut {
  std::vector<std::string> words;
  std::vector<int> numbers;
};

std::size_t end_of_digits(std::string_view text, std::size_t begin) {
  while (begin < text.size() && is_digit(text[begin])) ++begin;
  return begin;
}

/// Whether the digits at `begin` number a thing, as both numbers of "tensor#11.0" do.
bool numbers_a_thing(std::string_view text, std::size_t begin) {
  while (begin > 1 && text[begin - 1] == '.' && is_digit(text[begin - 2])) {
    for (--begin; begin > 0 && is_digit(text[begin - 1]);) --begin;
  }
  return begin > 0 && text[begin - 1] == '#';
}

Cut cut(std::string_view text) {
  Cut result{{""}, {}};
  for (std::size_t i = 0; i < text.size();) {
    if (!is_digit(text[i])) {
      result.words.back() += text[i++];
      continue;
    }
    std::size_t end = end_of_digits(text, i);
    const bool decimal =
        end + 1 < text.size() && text[end] == '.' && is_digit(text[end + 1]) && !numbers_a_thing(text, i);
    if (decimal) end = end_of_digits(text, end + 1);
    const bool padded = text[i] == '0' && end - i > 1;  // it would not read as it was written
    if (decimal || padded || end - i > kMostDigits) {
      result.words.back() += text.substr(i, end - i);
    } else {
      std::from_chars(text.data() + i, text.data() + end, result.numbers.emplace_back());
      result.words.emplace_back();
    }
    i = end;
  }
  return result;
}

std::string values_text(const std::set<int>& values) {
  if (values.size() == 1) return std::to_string(*values.begin());
  const std::vector<int> ascending(values.begin(), values.end());
  std::string text = set_text(ascending);
  if (text.size() <= kMostSetCharacters) return text;
  return fmt::format("{{{} values from {} to {}}}", values.size(), ascending.front(), ascending.back());
}

}  // namespace

std::string pattern_of_text(std::string_view text) {
  const Cut parts = cut(text);
  std::string pattern = parts.words.front();
  for (std::size_t i = 1; i < parts.words.size(); ++i) pattern += kMark + parts.words[i];
  return pattern;
}

std::string alike_text(const std::vector<std::string>& texts) {
  const Cut first = cut(texts.front());
  std::vector<std::set<int>> values(first.numbers.size());
  for (const std::string& text : texts) {
    const Cut parts = cut(text);
    for (std::size_t i = 0; i < values.size(); ++i) values[i].insert(parts.numbers[i]);
  }
  std::string result = first.words.front();
  for (std::size_t i = 0; i < values.size(); ++i) result += values_text(values[i]) + first.words[i + 1];
  return result;
}

}  // namespace kernbench::distributed
