#include "base/text.h"

#include <algorithm>
#include <array>
#include <vector>

namespace kernbench {
namespace {

struct PrintedUnit {
  std::int64_t size;
  const char* name;
};

// The first unit in which `count`, rounded to three decimals, stays below `limit`; else the last one.
std::string scaled(std::int64_t count, std::span<const PrintedUnit> units, std::int64_t limit) {
  const bool negative = count < 0;
  const auto magnitude = negative ? uint128{0} - static_cast<uint128>(count) : static_cast<uint128>(count);
  uint128 thousandths = 0;
  const char* name = "";
  for (const PrintedUnit& unit : units) {
    const auto size = static_cast<uint128>(unit.size);
    thousandths = (magnitude * 1000 + size / 2) / size;
    name = unit.name;
    if (thousandths < static_cast<uint128>(limit) * 1000) break;
  }
  std::string text = negative ? "-" : "";
  text += std::to_string(static_cast<std::uint64_t>(thousandths / 1000));
  if (const auto fraction = static_cast<int>(thousandths % 1000); fraction != 0) {
    std::string digits = std::to_string(1000 + fraction).substr(1);
    digits.erase(digits.find_last_not_of('0') + 1);
    text += '.';
    text += digits;
  }
  text += ' ';
  text += name;
  return text;
}

// Edit distance in which a swap of two neighbours counts once (optimal string alignment).
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before_last(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], before_last[j - 2] + 1);
    }
    std::swap(before_last, last);
    std::swap(last, row);
  }
  return last[b.size()];
}

}  // namespace

std::string to_text(Time time) {
  static constexpr std::array units{PrintedUnit{1, "ps"}, PrintedUnit{1'000, "ns"}, PrintedUnit{1'000'000, "us"},
                                    PrintedUnit{1'000'000'000, "ms"}, PrintedUnit{1'000'000'000'000, "s"}};
  return scaled(time.count(), units, 1000);
}

std::string to_text(Bytes bytes) {
  static constexpr std::array units{PrintedUnit{1, "B"},
                                    PrintedUnit{std::int64_t{1} << 10, "KiB"},
                                    PrintedUnit{std::int64_t{1} << 20, "MiB"},
                                    PrintedUnit{std::int64_t{1} << 30, "GiB"},
                                    PrintedUnit{std::int64_t{1} << 40, "TiB"},
                                    PrintedUnit{std::int64_t{1} << 50, "PiB"}};
  return scaled(bytes.count(), units, 1024);
}

std::string to_text(Bandwidth bandwidth) {
  static constexpr std::array units{PrintedUnit{1, "B/s"},
                                    PrintedUnit{1'000, "kB/s"},
                                    PrintedUnit{1'000'000, "MB/s"},
                                    PrintedUnit{1'000'000'000, "GB/s"},
                                    PrintedUnit{1'000'000'000'000, "TB/s"},
                                    PrintedUnit{1'000'000'000'000'000, "PB/s"}};
  return scaled(bandwidth.count(), units, 1000);
}

std::string to_text(SipId sip) {
  return "sip" + std::to_string(sip.value);
}

std::string to_text(CubeCoordinate cube) {
  return to_text(cube.sip) + ".cube" + std::to_string(cube.cube.value);
}

std::string to_text(PeCoordinate pe) {
  return to_text(CubeCoordinate{pe.sip, pe.cube}) + ".pe" + std::to_string(pe.pe.value);
}

std::string_view nearest(std::string_view word, std::span<const std::string_view> candidates) {
  std::string_view best;
  std::size_t best_distance = std::max<std::size_t>(1, word.size() / 3) + 1;
  for (const std::string_view candidate : candidates) {
    // A distance as long as the candidate itself would share nothing with it.
    if (const std::size_t distance = edit_distance(word, candidate);
        distance < best_distance && distance < candidate.size()) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

namespace {

/// Takes the digits at the front of `text`, without zeros before them.
std::string_view take_number(std::string_view& text) {
  const std::size_t end = std::min(text.find_first_not_of("0123456789"), text.size());
  std::string_view digits = text.substr(0, end);
  text.remove_prefix(end);
  digits.remove_prefix(std::min(digits.find_first_not_of('0'), digits.size()));
  return digits;
}

bool begins_with_digit(std::string_view text) {
  return !text.empty() && text.front() >= '0' && text.front() <= '9';
}

}  // namespace

bool NaturalLess::operator()(std::string_view a, std::string_view b) const {
  std::string_view left = a, right = b;
  while (!left.empty() && !right.empty()) {
    if (begins_with_digit(left) && begins_with_digit(right)) {
      const std::string_view x = take_number(left), y = take_number(right);
      if (x.size() != y.size()) return x.size() < y.size();
      if (x != y) return x < y;
      continue;
    }
    if (left.front() != right.front()) return left.front() < right.front();
    left.remove_prefix(1);
    right.remove_prefix(1);
  }
  return left.empty() && right.empty() ? a < b : left.size() < right.size();
}

}  // namespace kernbench
