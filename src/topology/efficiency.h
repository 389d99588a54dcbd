// The part of a nominal rate that is left.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "kernbench/units.h"

namespace kernbench::topology {

/// A part of one, exact to a millionth: 0.92. One, without a value.
class Efficiency {
 public:
  constexpr Efficiency() = default;
  /// REQUIRES: from 1 to kOne.
  static constexpr Efficiency millionths(std::int64_t count) {
    Efficiency efficiency;
    efficiency.millionths_ = count;
    return efficiency;
  }
  static constexpr std::int64_t kOne = 1'000'000;

  constexpr std::int64_t millionths() const { return millionths_; }
  constexpr double value() const { return static_cast<double>(millionths_) / kOne; }
  /// What is left of a rate, rounded down.
  constexpr Bandwidth of(Bandwidth nominal) const {
    const auto left = static_cast<uint128>(nominal.count()) * static_cast<uint128>(millionths_) / kOne;
    return Bandwidth::bytes_per_second(static_cast<std::int64_t>(left));
  }
  /// How many cycles `cycles` at the full rate take, rounded up.
  constexpr std::int64_t stretched(std::int64_t cycles) const {
    const auto scaled = static_cast<uint128>(cycles) * kOne;
    return static_cast<std::int64_t>((scaled + static_cast<uint128>(millionths_) - 1) /
                                     static_cast<uint128>(millionths_));
  }
  constexpr bool operator==(const Efficiency&) const = default;

 private:
  std::int64_t millionths_ = kOne;
};

/// The millionths in a text such as "0.92" or "1". Throws ConfigurationError.
std::int64_t parse_efficiency(std::string_view text);
/// The shortest text: "0.92".
std::string print_efficiency(std::int64_t millionths);

}  // namespace kernbench::topology
