#include "sim/folding.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

namespace kernbench::sim {
namespace {

constexpr char kMark = '\x01';           // stands for a slot in a skeleton
constexpr std::size_t kMostListed = 16;  // ranges in a set of ranks
constexpr std::size_t kMostNumbers = 4;  // of parts; more are a star

bool is_digit(char letter) {
  return letter >= '0' && letter <= '9';
}
bool is_letter(char letter) {
  return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') || letter == '_';
}

std::size_t end_of_digits(std::string_view text, std::size_t at) {
  while (at < text.size() && is_digit(text[at])) ++at;
  return at;
}

/// "3", or "0.1" of nested spawns.
std::size_t end_of_path(std::string_view text, std::size_t at) {
  std::size_t end = end_of_digits(text, at);
  while (end + 1 < text.size() && text[end] == '.' && is_digit(text[end + 1])) end = end_of_digits(text, end + 1);
  return end;
}

std::string_view word_before(std::string_view text, std::size_t at) {
  std::size_t begin = at;
  while (begin > 0 && is_letter(text[begin - 1])) --begin;
  return text.substr(begin, at - begin);
}

/// What follows the number of an operation: its place in the source, and its queue on a PE.
bool names_queue(std::string_view rest) {
  if (rest.starts_with(" (")) rest.remove_prefix(std::min(rest.find(')') + 1, rest.size()));
  if (!rest.starts_with(" on sip")) return false;
  rest.remove_prefix(4);
  return rest.substr(0, rest.find(' ')).find(".pe") != std::string_view::npos;
}

struct Slot {
  SlotKind kind;
  std::size_t begin, end;  // of the value
  std::size_t from;        // of what the mark replaces; it goes to `end`
};

/// The slot whose value begins at `at`, where a digit is.
std::optional<Slot> slot_at(std::string_view text, std::size_t at) {
  constexpr std::array<std::string_view, 6> kParts{"sip", "cube", "pe", "receive", "send", "queue"};
  const std::string_view before = text.substr(0, at);
  if (before.ends_with("rank ")) return Slot{SlotKind::rank, at, end_of_path(text, at), at - 5};
  if (before.ends_with("src=") || before.ends_with("dst=")) {
    return Slot{SlotKind::peer, at, end_of_digits(text, at), at};
  }
  if (before.ends_with("stream ") || before.ends_with("ahbm:") ||
      std::ranges::find(kParts, word_before(text, at)) != kParts.end()) {
    return Slot{SlotKind::part, at, end_of_digits(text, at), at};
  }
  if (!before.ends_with('#')) return std::nullopt;
  const std::size_t end = end_of_path(text, at);
  const std::size_t last = text.substr(0, end).rfind('.');
  if (last != std::string_view::npos && last > at) return Slot{SlotKind::path, at, last, at};
  if (names_queue(text.substr(end))) return Slot{SlotKind::operation, at, end, at - 1};
  return std::nullopt;
}

/// "{0, 2-63}"
std::string rank_set(const std::vector<std::string>& ranks) {
  std::vector<std::string> ranges;
  const auto number = [](const std::string& text) -> std::optional<long> {
    if (text.empty() || text.size() > 9 || !std::ranges::all_of(text, is_digit)) return std::nullopt;
    return std::stol(text);
  };
  for (std::size_t i = 0; i < ranks.size();) {
    std::size_t end = i + 1;
    if (const auto first = number(ranks[i])) {
      while (end < ranks.size() && number(ranks[end]) == *first + static_cast<long>(end - i)) ++end;
    }
    if (end - i > 2) {
      ranges.push_back(ranks[i] + "-" + ranks[end - 1]);
    } else {
      ranges.insert(ranges.end(), ranks.begin() + static_cast<std::ptrdiff_t>(i),
                    ranks.begin() + static_cast<std::ptrdiff_t>(end));
    }
    i = end;
  }
  if (ranges.size() > kMostListed) {
    ranges.resize(kMostListed);
    ranges.emplace_back("…");
  }
  return fmt::format("{{{}}}", fmt::join(ranges, ", "));
}

std::string slot_text(SlotKind kind, const std::vector<std::string>& values) {
  const bool one = values.size() == 1;
  switch (kind) {
    case SlotKind::rank:
      return one ? "rank " + values.front() : "ranks " + rank_set(values);
    case SlotKind::operation:
      return one ? "#" + values.front() : "";
    case SlotKind::peer:
      return one ? values.front() : rank_set(values);
    case SlotKind::part:
    case SlotKind::path:
      break;
  }
  if (one) return values.front();
  return values.size() > kMostNumbers ? "*" : fmt::format("{{{}}}", fmt::join(values, ", "));
}

/// The skeleton of the name of a PE.
std::string_view place_on_machine() {
  static_assert(kMark == '\x01');
  return "sip\x01.cube\x01.pe\x01";
}

}  // namespace

Skeleton skeleton(std::string_view text) {
  Skeleton result;
  std::size_t done = 0;
  for (std::size_t at = 0; at < text.size();) {
    const bool begins = is_digit(text[at]) && (at == 0 || !is_digit(text[at - 1]));
    const auto slot = begins ? slot_at(text, at) : std::nullopt;
    if (!slot) {
      ++at;
      continue;
    }
    result.text.append(text.substr(done, slot->from - done)) += kMark;
    result.kinds.push_back(slot->kind);
    result.values.emplace_back(text.substr(slot->begin, slot->end - slot->begin));
    at = done = slot->end;
  }
  result.text.append(text.substr(done));
  return result;
}

// Numbers by value: the shorter one is smaller.
bool AlikeTexts::Less::operator()(const std::string& a, const std::string& b) const {
  return a.size() != b.size() ? a.size() < b.size() : a < b;
}

void AlikeTexts::add(const std::string& text, const Skeleton& skeleton) {
  if (texts_.empty()) {
    skeleton_ = skeleton.text;
    kinds_ = skeleton.kinds;
    values_.resize(kinds_.size());
  }
  if (!texts_.insert(text).second) return;
  for (std::size_t slot = 0; slot < values_.size(); ++slot) values_[slot].insert(skeleton.values[slot]);
}

std::string AlikeTexts::render(std::size_t first_slot, std::string_view pattern) const {
  std::string out;
  std::size_t slot = first_slot;
  for (const char letter : pattern) {
    if (letter != kMark) {
      out += letter;
      continue;
    }
    out += slot_text(kinds_[slot], {values_[slot].begin(), values_[slot].end()});
    ++slot;
  }
  return out;
}

std::string AlikeTexts::text() const {
  return render(0, skeleton_);
}

// The name of a program on a PE begins with the PE: the length of that, or else 0.
std::size_t AlikeTexts::end_of_place() const {
  const std::string_view place = place_on_machine();
  return skeleton_.size() > place.size() && skeleton_.starts_with(place) && skeleton_[place.size()] == ' '
             ? place.size()
             : 0;
}

bool AlikeTexts::names_ranks() const {
  for (std::size_t slot = 0; slot < kinds_.size(); ++slot) {
    if (kinds_[slot] == SlotKind::rank && values_[slot].size() > 1) return true;
  }
  return false;
}

bool AlikeTexts::is_plural() const {
  return size() > 1 && (is_program() || skeleton_ == place_on_machine() || skeleton_ == std::string(1, kMark));
}

std::string AlikeTexts::name() const {
  if (size() == 1) return *texts_.begin();
  if (const std::size_t end = end_of_place()) {
    const std::string_view all = skeleton_;
    return fmt::format("{} programs of {} ({})", size(), render(3, all.substr(end + 1)), render(0, all.substr(0, end)));
  }
  if (skeleton_ == place_on_machine()) return fmt::format("{} PEs ({})", size(), text());
  return names_ranks() ? text() : fmt::format("each of {} {}", size(), text());
}

FoldedNames fold_names(const std::vector<std::string>& names) {
  std::vector<AlikeTexts> groups;
  std::map<std::string, std::size_t> places;
  for (const std::string& name : names) {
    const Skeleton own = skeleton(name);
    const auto [place, fresh] = places.try_emplace(own.text, groups.size());
    if (fresh) groups.emplace_back();
    groups[place->second].add(name, own);
  }
  std::vector<std::string> texts;
  for (const AlikeTexts& group : groups) {
    texts.push_back(group.name());
    if (texts.size() == kMostNumbers && groups.size() > kMostNumbers) {
      texts.push_back(fmt::format("{} others", groups.size() - kMostNumbers));
      break;
    }
  }
  if (texts.size() < 2) return {texts.empty() ? "" : texts.front(), !groups.empty() && groups.front().is_plural()};
  const std::string last = std::move(texts.back());
  texts.pop_back();
  return {fmt::format("{} and {}", fmt::join(texts, ", "), last), true};
}

void FoldedLines::add(const ReportLine& line) {
  const Skeleton name = skeleton(line.name), what = skeleton(line.what), tail = skeleton(line.tail);
  const std::string key = name.text + '\n' + line.verb + '\n' + what.text + '\n' + tail.text;
  const auto [place, fresh] = places_.try_emplace(key, groups_.size());
  if (fresh) groups_.push_back({{}, {}, {}, line.verb});
  Group& group = groups_[place->second];
  group.names.add(line.name, name);
  group.whats.add(line.what, what);
  group.tails.add(line.tail, tail);
  ++group.lines;
}

std::string FoldedLines::text(std::size_t index) const {
  const Group& group = groups_[index];
  const std::string what = group.whats.is_plural() ? group.whats.name() : group.whats.text();
  return fmt::format("{} {}{}{}{}", group.names.name(), group.names.is_plural() ? plural(group.verb) : group.verb,
                     what.empty() ? "" : " ", what, group.tails.text());
}

std::string plural(std::string_view predicate) {
  const std::size_t end = std::min(predicate.find(' '), predicate.size());
  const std::string_view verb = predicate.substr(0, end), rest = predicate.substr(end);
  if (verb == "has") return "have" + std::string(rest);
  if (verb == "is") return "are" + std::string(rest);
  return std::string(verb.ends_with('s') ? verb.substr(0, verb.size() - 1) : verb) + std::string(rest);
}

}  // namespace kernbench::sim
