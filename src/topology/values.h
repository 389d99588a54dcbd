// Types of values in a topology file: name, example, parsing and printing of each.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/quantity.h"
#include "kernbench/units.h"
#include "topology/efficiency.h"
#include "topology/engine_operations.h"

namespace kernbench::topology {

/// The types that are one number in a file. `count` is the value in the base unit, in which bounds are given.
template <class T>
struct NumberTraits;

template <>
struct NumberTraits<std::int32_t> {
  static constexpr std::string_view type = "whole number";
  static constexpr std::string_view example = "32";
  static constexpr std::string_view pattern = "^-?(0|[1-9][0-9]*)$";
  static std::int64_t count(std::string_view text) { return parse_integer(text); }
  static std::int64_t count(std::int32_t value) { return value; }
  static std::int32_t value(std::int64_t count) { return static_cast<std::int32_t>(count); }
  static std::string print(std::int64_t count) { return std::to_string(count); }
};

template <>
struct NumberTraits<Time> {
  static constexpr std::string_view type = "time";
  static constexpr std::string_view example = "80ns";
  static constexpr std::string_view pattern = "^(0|[1-9][0-9]*)([.][0-9]+)? ?(ps|ns|us|ms|s)$";
  static std::int64_t count(std::string_view text) { return parse_time(text).count(); }
  static std::int64_t count(Time value) { return value.count(); }
  static Time value(std::int64_t count) { return Time::picoseconds(count); }
  static std::string print(std::int64_t count) { return to_quantity(value(count)); }
};

template <>
struct NumberTraits<Bytes> {
  static constexpr std::string_view type = "bytes";
  static constexpr std::string_view example = "4MiB";
  static constexpr std::string_view pattern = "^(0|[1-9][0-9]*)([.][0-9]+)? ?([KMGTP]i?)?B$";
  static std::int64_t count(std::string_view text) { return parse_bytes(text).count(); }
  static std::int64_t count(Bytes value) { return value.count(); }
  static Bytes value(std::int64_t count) { return Bytes(count); }
  static std::string print(std::int64_t count) { return to_quantity(value(count)); }
};

template <>
struct NumberTraits<Bandwidth> {
  static constexpr std::string_view type = "bandwidth";
  static constexpr std::string_view example = "1.2TB/s";
  static constexpr std::string_view pattern = "^(0|[1-9][0-9]*)([.][0-9]+)? ?([KMGTP]i?)?B/s$";
  static std::int64_t count(std::string_view text) { return parse_bandwidth(text).count(); }
  static std::int64_t count(Bandwidth value) { return value.count(); }
  static Bandwidth value(std::int64_t count) { return Bandwidth::bytes_per_second(count); }
  static std::string print(std::int64_t count) { return to_quantity(value(count)); }
};

template <>
struct NumberTraits<Frequency> {
  static constexpr std::string_view type = "frequency";
  static constexpr std::string_view example = "1GHz";
  static constexpr std::string_view pattern = "^(0|[1-9][0-9]*)([.][0-9]+)? ?[kMGT]?Hz$";
  static std::int64_t count(std::string_view text) { return parse_frequency(text).count(); }
  static std::int64_t count(Frequency value) { return value.count(); }
  static Frequency value(std::int64_t count) { return Frequency::hertz(count); }
  static std::string print(std::int64_t count) { return to_quantity(value(count)); }
};

template <>
struct NumberTraits<Efficiency> {
  static constexpr std::string_view type = "part of one";
  static constexpr std::string_view example = "0.92";
  static constexpr std::string_view pattern = "^(0[.][0-9]{1,6}|1([.]0{1,6})?)$";
  static std::int64_t count(std::string_view text) { return parse_efficiency(text); }
  static std::int64_t count(Efficiency value) { return value.millionths(); }
  static Efficiency value(std::int64_t count) { return Efficiency::millionths(count); }
  static std::string print(std::int64_t count) { return print_efficiency(count); }
};

/// A rate is written as a whole number or a fraction of two.
inline constexpr std::string_view kRateType = "steps per cycle";
inline constexpr std::string_view kRateExample = "2 or 1/4";
inline constexpr std::string_view kRatePattern = "^[1-9][0-9]*(/[1-9][0-9]*)?$";
inline std::string print_rate(Rate rate) {
  return rate.cycles == 1 ? std::to_string(rate.steps) : std::to_string(rate.steps) + "/" + std::to_string(rate.cycles);
}

/// Keys and values of free parameters: letters, digits and a few signs, so that they need no quoting rules of their
/// own.
inline bool is_parameter_text(std::string_view text) {
  constexpr std::size_t kLongest = 64;
  constexpr std::string_view kSigns = "._+-/%";
  for (const char c : text) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (!letter && kSigns.find(c) == std::string_view::npos) return false;
  }
  return !text.empty() && text.size() <= kLongest;
}

/// A type that NumberTraits knows.
template <class T>
concept Number = requires { NumberTraits<T>::type; };

}  // namespace kernbench::topology
