#include "pairwise.h"

#include <set>
#include <utility>

namespace kernbench::testing {
namespace {

/// A value of a property.
using Value = std::pair<std::size_t, std::size_t>;
using ValuePair = std::pair<Value, Value>;

class Cover {
 public:
  explicit Cover(const std::vector<std::size_t>& sizes) : sizes_(sizes) {
    for (std::size_t a = 0; a < sizes.size(); ++a) {
      for (std::size_t b = a + 1; b < sizes.size(); ++b) {
        for (std::size_t i = 0; i < sizes[a]; ++i)
          for (std::size_t k = 0; k < sizes[b]; ++k) missing_.insert({{a, i}, {b, k}});
      }
    }
  }

  std::vector<Combination> all() {
    std::vector<Combination> rows;
    while (!missing_.empty()) rows.push_back(next(rows.size()));
    return rows;
  }

 private:
  /// Begins with a pair that is missing; of each further property takes the value with which most are.
  Combination next(std::size_t number) {
    constexpr std::size_t kOpen = ~std::size_t{0};
    Combination row(sizes_.size(), kOpen);
    const auto [first, second] = *missing_.begin();
    row[first.first] = first.second;
    row[second.first] = second.second;
    for (std::size_t property = 0; property < row.size(); ++property) {
      if (row[property] != kOpen) continue;
      std::size_t best = 0, most = 0;
      for (std::size_t i = 0; i < sizes_[property]; ++i) {
        const std::size_t value = (i + number) % sizes_[property];  // ties go to each in turn
        std::size_t pairs = 1;
        for (std::size_t other = 0; other < row.size(); ++other) {
          if (row[other] != kOpen) pairs += missing_.count(pair_of({property, value}, {other, row[other]}));
        }
        if (pairs > most) best = value, most = pairs;
      }
      row[property] = best;
    }
    for (std::size_t a = 0; a < row.size(); ++a)
      for (std::size_t b = a + 1; b < row.size(); ++b) missing_.erase({{a, row[a]}, {b, row[b]}});
    return row;
  }
  static ValuePair pair_of(Value a, Value b) { return a < b ? ValuePair{a, b} : ValuePair{b, a}; }

  const std::vector<std::size_t>& sizes_;
  std::set<ValuePair> missing_;
};

}  // namespace

std::vector<Combination> pairwise_cover(const std::vector<std::size_t>& sizes) {
  return Cover(sizes).all();
}

}  // namespace kernbench::testing
