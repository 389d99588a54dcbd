// Entries of an explanation whose texts are equal become one; the longest comes first.
#pragma once

#include <algorithm>
#include <compare>
#include <cstddef>
#include <span>
#include <vector>

#include "tile/explain/text_store.h"

namespace kernbench::tile {

/// Whether two texts are equal, found at once where they are the same one.
inline bool same_text(std::string_view a, std::string_view b) {
  return a.size() == b.size() && (a.data() == b.data() || a == b);
}

namespace longest_first_detail {

template <class Entry>
void add(Entry& sum, const Entry& more) {
  sum.time += more.time;
  sum.count += more.count;
  if constexpr (requires { sum.join(more); }) sum.join(more);
}

/// For few entries, of which most pairs differ at first sight.
template <class Entry>
std::vector<Entry*> by_comparing_all(std::span<Entry> all) {
  std::vector<Entry*> sums;
  sums.reserve(all.size());
  for (Entry& entry : all) {
    const auto same = std::ranges::find_if(sums, [&](const Entry* sum) { return same_texts(*sum, entry); });
    if (same == sums.end()) {
      sums.push_back(&entry);
    } else {
      add(**same, entry);
    }
  }
  return sums;
}

template <class Entry>
std::vector<Entry*> by_sorting(std::span<Entry> all) {
  std::vector<Entry*> sums;
  sums.reserve(all.size());
  for (Entry& entry : all) sums.push_back(&entry);
  std::ranges::sort(sums, [](const Entry* a, const Entry* b) { return order_of(*a, *b) < 0; });
  std::size_t count = 0;
  for (Entry* entry : sums) {
    if (count == 0 || !same_texts(*sums[count - 1], *entry)) {
      sums[count++] = entry;
    } else {
      add(*sums[count - 1], *entry);
    }
  }
  sums.resize(count);
  return sums;
}

}  // namespace longest_first_detail

/// `all`, where the first of those with equal texts stands for all of them with their sums of `time` and `count`. The
/// longest first; ties in the order of their texts. An entry has `same_texts(a, b)` and `order_of(a, b)`, which are
/// found by its type; `sum.join(more)`, if it has that, adds up what else there is.
template <class Entry>
std::vector<Entry*> longest_first(std::span<Entry> all) {
  constexpr std::size_t kFew = 48;
  std::vector<Entry*> sums =
      all.size() <= kFew ? longest_first_detail::by_comparing_all(all) : longest_first_detail::by_sorting(all);
  std::ranges::sort(sums, [](const Entry* a, const Entry* b) {
    return a->time != b->time ? a->time > b->time : order_of(*a, *b) < 0;
  });
  return sums;
}

}  // namespace kernbench::tile
