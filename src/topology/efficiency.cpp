#include "topology/efficiency.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/quantity.h"
#include "kernbench/error.h"

namespace kernbench::topology {

std::int64_t parse_efficiency(std::string_view text) {
  constexpr std::size_t kPlaces = 6;
  const auto digits = [](std::string_view part) {
    return std::ranges::all_of(part, [](char c) { return c >= '0' && c <= '9'; });
  };
  const auto fail = [&](std::string_view reason) {
    throw ConfigurationError(fmt::format("expected a part of one such as 0.92, found {}{}", in_quotes(text), reason));
  };
  const std::size_t point = text.find('.');
  const std::string_view whole = text.substr(0, point);
  const std::string_view places = point == std::string_view::npos ? std::string_view() : text.substr(point + 1);
  const bool number =
      !whole.empty() && digits(whole) && digits(places) && (point == std::string_view::npos || !places.empty());
  if (!number || (whole != "0" && whole != "1")) fail("");
  if (places.size() > kPlaces) fail(", which has more than six decimal places");
  std::int64_t millionths = 0;
  for (std::size_t place = 0; place < kPlaces; ++place) {
    millionths = 10 * millionths + (place < places.size() ? places[place] - '0' : 0);
  }
  return millionths + (whole == "1" ? Efficiency::kOne : 0);
}

std::string print_efficiency(std::int64_t millionths) {
  if (millionths % Efficiency::kOne == 0) return std::to_string(millionths / Efficiency::kOne);
  std::string text = fmt::format("{}.{:06}", millionths / Efficiency::kOne, millionths % Efficiency::kOne);
  text.erase(text.find_last_not_of('0') + 1);
  return text;
}

}  // namespace kernbench::topology
