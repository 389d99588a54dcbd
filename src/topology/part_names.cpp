#include "topology/part_names.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace kernbench::topology {
namespace {

constexpr std::size_t kMostListed = 8;

// The word that begins at `start`, up to the next dot.
std::string_view word_at(std::string_view name, std::size_t start) {
  return name.substr(start, name.find('.', start) - start);
}

std::string listed(const std::vector<std::string_view>& words) {
  if (words.size() <= kMostListed) return fmt::format("{}", fmt::join(words, ", "));
  return fmt::format("{}, ... ({} in all)", fmt::join(std::span(words).first(kMostListed), ", "), words.size());
}

}  // namespace

bool is_part_pattern(std::string_view text) {
  constexpr std::size_t kLongest = 128;
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  const auto allowed = [&](char c) { return letter(c) || (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '*'; };
  return !text.empty() && text.size() <= kLongest && (letter(text.front()) || text.front() == '*') &&
         std::ranges::all_of(text, allowed);
}

bool fits(std::string_view pattern, std::string_view name) {
  std::size_t p = 0, n = 0;
  std::size_t star = std::string_view::npos, resume = 0;  // the last '*', and where what follows it was tried
  while (n < name.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = n;
    } else if (p < pattern.size() && pattern[p] == name[n]) {
      ++p;
      ++n;
    } else if (star != std::string_view::npos && name[resume] != '.') {
      n = ++resume;
      p = star + 1;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

PartNames::PartNames(std::vector<std::string_view> names) : names_(std::move(names)) {
  places_.reserve(names_.size());
  for (std::size_t place = 0; place < names_.size(); ++place) places_.emplace(names_[place], place);
}

bool PartNames::any_fits(std::string_view pattern) const {
  if (pattern.find('*') == std::string_view::npos) return places_.contains(pattern);
  return std::ranges::any_of(names_, [&](std::string_view name) { return fits(pattern, name); });
}

void PartNames::for_each(std::string_view pattern, const std::function<void(std::size_t)>& function) const {
  if (pattern.find('*') == std::string_view::npos) {
    const auto [begin, end] = places_.equal_range(pattern);
    for (auto found = begin; found != end; ++found) function(found->second);
    return;
  }
  for (std::size_t place = 0; place < names_.size(); ++place) {
    if (fits(pattern, names_[place])) function(place);
  }
}

namespace {

/// Whether some word fits both: by what is left of the one and of the other, from behind.
bool words_meet(std::string_view a, std::string_view b) {
  std::vector<char> behind(b.size() + 1), here(b.size() + 1);  // for what is left of b; of a, one letter less, and this
  for (std::size_t i = a.size() + 1; i-- > 0; behind.swap(here)) {
    for (std::size_t j = b.size() + 1; j-- > 0;) {
      const bool a_ends = i == a.size(), b_ends = j == b.size();
      if (a_ends && b_ends) {
        here[j] = 1;
      } else if (!a_ends && a[i] == '*') {
        here[j] = behind[j] != 0 || (!b_ends && here[j + 1] != 0);
      } else if (!b_ends && b[j] == '*') {
        here[j] = here[j + 1] != 0 || (!a_ends && behind[j] != 0);
      } else {
        here[j] = !a_ends && !b_ends && a[i] == b[j] && behind[j + 1] != 0;
      }
    }
  }
  return behind[0] != 0;
}

}  // namespace

bool may_meet(std::string_view a, std::string_view b) {
  for (;;) {
    const std::size_t a_dot = a.find('.'), b_dot = b.find('.');
    if (!words_meet(a.substr(0, a_dot), b.substr(0, b_dot))) return false;
    if (a_dot == a.npos || b_dot == b.npos) return a_dot == b_dot;
    a.remove_prefix(a_dot + 1);
    b.remove_prefix(b_dot + 1);
  }
}

std::string explain_unknown_part(std::string_view pattern, std::span<const std::string_view> names) {
  struct Candidate {
    std::string_view name;
    std::size_t next = 0;  // where its next word begins
  };
  std::vector<Candidate> candidates;
  for (const std::string_view name : names) candidates.push_back({name});
  std::vector<std::string_view> words;  // that the candidates have next
  const auto collect = [&] {
    words.clear();
    for (const Candidate& candidate : candidates) {
      if (candidate.next > candidate.name.size()) continue;
      const std::string_view word = word_at(candidate.name, candidate.next);
      if (std::ranges::find(words, word) == words.end()) words.push_back(word);
    }
  };
  for (std::size_t at = 0; at <= pattern.size();) {
    const std::string_view wanted = word_at(pattern, at);
    collect();
    if (std::ranges::none_of(words, [&](std::string_view word) { return fits(wanted, word); })) {
      const std::string_view before = at == 0 ? "the machine" : pattern.substr(0, at - 1);
      if (words.empty()) return fmt::format("{} has no parts", before);
      const std::string_view suggestion = nearest(wanted, words);
      return fmt::format("{} has no \"{}\"{}; there are {}", before, wanted,
                         suggestion.empty() ? "" : fmt::format(", did you mean \"{}\"?", suggestion), listed(words));
    }
    std::vector<Candidate> further;
    for (const Candidate& candidate : candidates) {
      if (candidate.next > candidate.name.size()) continue;
      const std::string_view word = word_at(candidate.name, candidate.next);
      if (fits(wanted, word)) further.push_back({candidate.name, candidate.next + word.size() + 1});
    }
    candidates = std::move(further);
    at += wanted.size() + 1;
  }
  collect();
  return fmt::format("{} is no link and no PE; there are {} below it", pattern, listed(words));
}

}  // namespace kernbench::topology
