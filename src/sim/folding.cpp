#include "sim/folding.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "base/number_set.h"

namespace kernbench::sim {
namespace {

constexpr std::size_t kMostListed = 16;  // ranges in a set of ranks
constexpr std::size_t kMostNumbers = 4;  // of parts; more are a star

/// Stands for a slot in a pattern.
char mark_of(SlotKind kind) {
  return static_cast<char>(1 + static_cast<int>(kind));
}

/// "{0, 2-63}"
template <class Values>
std::string rank_set(const Values& ranks) {
  std::vector<std::string> ranges;
  std::size_t runs = 0;
  for (auto first = ranks.begin(); first != ranks.end();) {
    auto end = std::next(first), last = first;
    std::ptrdiff_t count = 1;
    while (end != ranks.end() && first->number >= 0 && end->number == first->number + count) {
      last = end++;
      ++count;
    }
    if (++runs > kMostListed) {
      ranges.emplace_back("…");
      break;
    }
    if (count > kMostInARow) {
      ranges.push_back(first->text + "-" + last->text);
    } else {
      for (auto each = first; each != end; ++each) ranges.push_back(each->text);
    }
    first = end;
  }
  return fmt::format("{{{}}}", fmt::join(ranges, ", "));
}

/// "{0, 1}", or a star for many.
template <class Values>
std::string number_set(const Values& values) {
  if (values.size() > kMostNumbers) return "*";
  std::vector<std::string> texts;
  for (const auto& value : values) texts.push_back(value.text);
  return fmt::format("{{{}}}", fmt::join(texts, ", "));
}

}  // namespace

std::string pattern_of(const Name& name) {
  std::string pattern;
  std::size_t done = 0;
  for (const Name::Slot& slot : name.slots()) {
    pattern.append(name.text(), done, slot.begin - done) += mark_of(slot.kind);
    done = slot.end;
  }
  return pattern.append(name.text(), done);
}

void AlikeNames::add(const Name& name) {
  if (texts_.empty()) {
    first_ = name;
    values_.resize(name.slots().size());
  }
  if (!texts_.insert(name.text()).second) return;
  for (std::size_t slot = 0; slot < values_.size(); ++slot) {
    const Name::Slot& mine = name.slots()[slot];
    values_[slot].insert({std::string(name.value(mine)), mine.number});
  }
}

Name AlikeNames::slot_name(std::size_t slot) const {
  const Name::Slot& place = first_.slots()[slot];
  if (values_[slot].size() == 1) return first_.part(place.begin, place.end);
  switch (place.kind) {
    case SlotKind::rank:
      return "ranks " + rank_set(values_[slot]);
    case SlotKind::operation:
      return {};
    case SlotKind::part:
    case SlotKind::path:
      break;
  }
  return number_set(values_[slot]);
}

// Of the first text, with what all have in place of its slots.
Name AlikeNames::render(std::size_t begin, std::size_t end) const {
  Name out;
  std::size_t done = begin;
  for (std::size_t slot = 0; slot < values_.size(); ++slot) {
    const Name::Slot& place = first_.slots()[slot];
    if (place.begin < begin || place.end > end) continue;
    out += std::string_view(first_.text()).substr(done, place.begin - done);
    out += slot_name(slot);
    done = place.end;
  }
  out += std::string_view(first_.text()).substr(done, end - done);
  return out;
}

Name AlikeNames::text() const {
  return render(0, first_.text().size());
}

bool AlikeNames::is_rank() const {
  const auto& slots = first_.slots();
  return slots.size() == 1 && slots[0].kind == SlotKind::rank && slots[0].end - slots[0].begin == first_.text().size();
}

bool AlikeNames::names_ranks() const {
  for (std::size_t slot = 0; slot < values_.size(); ++slot) {
    if (first_.slots()[slot].kind == SlotKind::rank && values_[slot].size() > 1) return true;
  }
  return false;
}

bool AlikeNames::is_plural() const {
  return size() > 1 && (is_of_pes() || is_rank());
}

Name AlikeNames::name() const {
  if (size() == 1) return first_;
  if (!is_of_pes()) return names_ranks() ? text() : named("each of {} {}", size(), text());
  const std::size_t end = first_.lead_end(), all = first_.text().size();
  if (end == all) return named("{} PEs ({})", size(), text());
  return named("{} programs of {} ({})", size(), render(end + 1, all), render(0, end));
}

FoldedNames fold_names(const std::vector<Name>& names) {
  std::vector<AlikeNames> groups;
  std::map<std::string, std::size_t> places;
  for (const Name& name : names) {
    const auto [place, fresh] = places.try_emplace(pattern_of(name), groups.size());
    if (fresh) groups.emplace_back();
    groups[place->second].add(name);
  }
  std::vector<Name> texts;
  for (const AlikeNames& group : groups) {
    texts.push_back(group.name());
    if (texts.size() == kMostNumbers && groups.size() > kMostNumbers) {
      texts.push_back(named("{} others", groups.size() - kMostNumbers));
      break;
    }
  }
  if (texts.size() < 2) return {texts.empty() ? Name() : texts.front(), !groups.empty() && groups.front().is_plural()};
  const Name last = std::move(texts.back());
  texts.pop_back();
  return {named("{} and {}", join(texts, ", "), last), true};
}

void FoldedLines::add(const ReportLine& line) {
  const std::string key = fmt::format("{}\n{}\n{}\n{}", pattern_of(line.name), line.verb.singular,
                                      pattern_of(line.what), pattern_of(line.tail));
  const auto [place, fresh] = places_.try_emplace(key, groups_.size());
  if (fresh) groups_.push_back({{}, {}, {}, line.verb});
  Group& group = groups_[place->second];
  group.names.add(line.name);
  group.whats.add(line.what);
  group.tails.add(line.tail);
  ++group.lines;
}

Name FoldedLines::line(std::size_t index) const {
  const Group& group = groups_[index];
  const Name what = group.whats.is_plural() ? group.whats.name() : group.whats.text();
  return named("{} {}{}{}{}", group.names.name(), group.verb.of(group.names.is_plural()), what.empty() ? "" : " ", what,
               group.tails.text());
}

}  // namespace kernbench::sim
