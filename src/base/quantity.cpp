#include "base/quantity.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <optional>
#include <span>
#include <vector>

#include "base/text.h"
#include "kernbench/error.h"

namespace kernbench {
namespace {

struct Unit {
  std::string_view name;
  std::int64_t multiplier;  // in the base unit
};

constexpr std::array kTimeUnits{
    Unit{"ps", 1}, Unit{"ns", 1'000}, Unit{"us", 1'000'000}, Unit{"ms", 1'000'000'000}, Unit{"s", 1'000'000'000'000},
};
constexpr std::array kByteUnits{
    Unit{"B", 1},
    Unit{"KB", 1'000},
    Unit{"MB", 1'000'000},
    Unit{"GB", 1'000'000'000},
    Unit{"TB", 1'000'000'000'000},
    Unit{"PB", 1'000'000'000'000'000},
    Unit{"KiB", std::int64_t{1} << 10},
    Unit{"MiB", std::int64_t{1} << 20},
    Unit{"GiB", std::int64_t{1} << 30},
    Unit{"TiB", std::int64_t{1} << 40},
    Unit{"PiB", std::int64_t{1} << 50},
};
constexpr std::array kBandwidthUnits{
    Unit{"B/s", 1},
    Unit{"KB/s", 1'000},
    Unit{"MB/s", 1'000'000},
    Unit{"GB/s", 1'000'000'000},
    Unit{"TB/s", 1'000'000'000'000},
    Unit{"PB/s", 1'000'000'000'000'000},
    Unit{"KiB/s", std::int64_t{1} << 10},
    Unit{"MiB/s", std::int64_t{1} << 20},
    Unit{"GiB/s", std::int64_t{1} << 30},
    Unit{"TiB/s", std::int64_t{1} << 40},
    Unit{"PiB/s", std::int64_t{1} << 50},
};
constexpr std::array kFrequencyUnits{
    Unit{"Hz", 1},
    Unit{"kHz", 1'000},
    Unit{"MHz", 1'000'000},
    Unit{"GHz", 1'000'000'000},
    Unit{"THz", 1'000'000'000'000},
};
constexpr std::size_t kDecimalByteUnits = 6;  // B to PB stand first in the tables of bytes and bandwidth

struct Kind {
  std::string_view name;  // with its article
  std::string_view example;
  std::string_view base;  // plural of the base unit
  std::span<const Unit> units;
};

constexpr Kind kTime{"a time", "80ns", "picoseconds", kTimeUnits};
constexpr Kind kBytes{"an amount of data", "4MiB", "bytes", kByteUnits};
constexpr Kind kBandwidth{"a bandwidth", "1.2TB/s", "bytes per second", kBandwidthUnits};
constexpr Kind kFrequency{"a frequency", "1GHz", "hertz", kFrequencyUnits};
constexpr std::array<const Kind*, 4> kKinds{&kTime, &kBytes, &kBandwidth, &kFrequency};

constexpr std::size_t kMaximumDigits = 19;  // of the whole and of the fraction: all of it fits into 128 bits

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

std::size_t count_digits(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::find_if_not(text, is_digit) - text.begin());
}

const Unit* find_unit(std::span<const Unit> units, std::string_view name) {
  const auto found = std::ranges::find(units, name, &Unit::name);
  return found == units.end() ? nullptr : &*found;
}

std::string unit_list(const Kind& kind) {
  std::string list;
  for (const Unit& unit : kind.units) list += (list.empty() ? "" : ", ") + std::string(unit.name);
  return list;
}

[[noreturn]] void fail(const Kind& kind, std::string_view text, std::string_view reason) {
  throw ConfigurationError(
      fmt::format("expected {} such as {}, found {}{}", kind.name, kind.example, in_quotes(text), reason));
}

// A unit of this kind with a prefix that no known one has: "EB/s", "fs". The nearest one would be off by far.
bool has_unknown_prefix(const Kind& kind, std::string_view unit) {
  constexpr std::string_view kPrefixes = "afPEZY";
  if (unit.empty() || kPrefixes.find(unit.front()) == std::string_view::npos) return false;
  unit.remove_prefix(1);
  if (unit.starts_with('i')) unit.remove_prefix(1);
  return unit == (&kind == &kTime ? "s" : kind.units.front().name);
}

// The unit meant by a misspelt one: the same in another case, or else the nearest.
std::string_view likely_unit(const Kind& kind, std::string_view unit) {
  if (has_unknown_prefix(kind, unit)) return {};
  for (const std::string_view micro : {"\u00b5s", "\u03bcs"}) {
    if (&kind == &kTime && unit == micro) return "us";
  }
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
  std::vector<std::string_view> names;
  for (const Unit& known : kind.units) {
    if (std::ranges::equal(known.name, unit, {}, lower, lower)) return known.name;
    names.push_back(known.name);
  }
  return unit.size() > 16 ? std::string_view() : nearest(unit, names);
}

std::int64_t parse(const Kind& kind, std::string_view text);
std::string print(std::int64_t value, std::span<const Unit> decimal_units);

// Of a unit that counts bits ("Gb/s", "Mbit", "kbps") the prefix, in upper case; nothing for any other. Of "gb/s" only
// the case may be wrong.
std::optional<std::string> prefix_of_bits(const Kind& kind, std::string_view unit) {
  if (&kind != &kBandwidth && &kind != &kBytes) return std::nullopt;
  const auto cut = [&](std::string_view end) {
    const bool ends = unit.ends_with(end);
    if (ends) unit.remove_suffix(end.size());
    return ends;
  };
  const bool short_form = &kind == &kBandwidth && cut("ps");
  if (&kind == &kBandwidth && !short_form && !cut("/s")) return std::nullopt;
  const bool written_out = cut("bits") || cut("bit");
  if (!written_out && !cut("b")) return std::nullopt;
  const bool certain = written_out || short_form;
  std::string prefix(unit);
  if (certain && !prefix.empty() && prefix[0] >= 'a' && prefix[0] <= 'z')
    prefix[0] = static_cast<char>(prefix[0] - 'a' + 'A');
  const bool known = prefix.empty() || std::ranges::find(kind.units, prefix + std::string(kind.units.front().name),
                                                         &Unit::name) != kind.units.end();
  return known ? std::optional(prefix) : std::nullopt;
}

// Refuses a unit that counts bits, and shows the same in bytes where that is a whole number of them.
[[noreturn]] void fail_bits(const Kind& kind, std::string_view text, std::string_view unit, const std::string& prefix) {
  const std::string number(text.substr(0, text.size() - unit.size()));
  const std::string in_bytes = prefix + std::string(kind.units.front().name);
  std::string same;
  try {
    const std::int64_t bits = parse(kind, number + in_bytes);
    if (bits % 8 == 0) same = ": " + print(bits / 8, kind.units.first(kDecimalByteUnits));
  } catch (const ConfigurationError&) {  // NOLINT(bugprone-empty-catch): the number is wrong, too, and shows nothing
  }
  fail(kind, text, fmt::format(", whose unit counts bits; units of bytes are expected{}", same));
}

[[noreturn]] void fail_unit(const Kind& kind, std::string_view text, std::string_view unit) {
  if (unit.empty()) fail(kind, text, fmt::format(", which has no unit ({})", unit_list(kind)));
  if (unit.size() > 1 && (unit[0] == 'e' || unit[0] == 'E') && (is_digit(unit[1]) || unit[1] == '+' || unit[1] == '-'))
    fail(kind, text, ", whose number has an exponent; write it out");
  for (const Kind* other : kKinds) {
    if (find_unit(other->units, unit)) fail(kind, text, fmt::format(", which is {}", other->name));
  }
  if (const auto prefix = prefix_of_bits(kind, unit)) fail_bits(kind, text, unit, *prefix);
  const std::string_view near = likely_unit(kind, unit);
  fail(kind, text,
       near.empty() ? fmt::format(", whose unit is none of {}", unit_list(kind))
                    : fmt::format(", whose unit is unknown; did you mean \"{}\"?", near));
}

std::int64_t parse(const Kind& kind, std::string_view text) {
  const std::size_t whole = count_digits(text);
  if (whole == 0) {
    const bool negative = text.size() > 1 && text[0] == '-' && is_digit(text[1]);
    fail(kind, text, negative ? ", which is negative" : "");
  }
  if (whole > 1 && text[0] == '0') fail(kind, text, ", which has a leading zero");
  std::string_view rest = text.substr(whole);
  std::string_view fraction;
  if (rest.starts_with('.')) {
    fraction = rest.substr(1, count_digits(rest.substr(1)));
    if (fraction.empty()) fail(kind, text, ", which has no digit after the point");
    rest.remove_prefix(1 + fraction.size());
  }
  std::string_view name = rest;
  if (name.starts_with(' ')) name.remove_prefix(1);
  const Unit* unit = find_unit(kind.units, name);
  if (!unit) fail_unit(kind, text, name);
  if (whole > kMaximumDigits || fraction.size() > kMaximumDigits) fail(kind, text, ", which has too many digits");

  // The whole and the fraction are scaled apart: each product is below 10^19 * 2^50 and fits.
  const auto scaled = [&](std::string_view digits) {
    uint128 value = 0;
    for (const char digit : digits) value = value * 10 + static_cast<unsigned>(digit - '0');
    return value * static_cast<uint128>(unit->multiplier);
  };
  uint128 power = 1;
  for (std::size_t i = 0; i < fraction.size(); ++i) power *= 10;
  const uint128 part = scaled(fraction);
  if (part % power != 0) fail(kind, text, fmt::format(", which is no whole number of {}", kind.base));
  const uint128 value = scaled(text.substr(0, whole)) + part / power;
  if (value > static_cast<uint128>(INT64_MAX)) fail(kind, text, ", which is too large");
  return static_cast<std::int64_t>(value);
}

// Exact, because the multiplier is a power of ten.
std::string decimal(std::int64_t value, const Unit& unit) {
  std::string text = std::to_string(value / unit.multiplier);
  if (const std::int64_t rest = value % unit.multiplier; rest != 0) {
    std::string fraction = std::to_string(unit.multiplier + rest).substr(1);
    fraction.erase(fraction.find_last_not_of('0') + 1);
    text += '.' + fraction;
  }
  return text + std::string(unit.name);
}

std::string print(std::int64_t value, std::span<const Unit> decimal_units) {
  assert(value >= 0);
  const Unit* best = &decimal_units.front();
  for (const Unit& unit : decimal_units) {
    if (unit.multiplier <= value) best = &unit;
  }
  return decimal(value, *best);
}

}  // namespace

namespace {

/// How many bytes the character at the begin of `text` has in UTF-8, if it is one that shows and moves nothing else:
/// no control character, and none that changes the direction or the line. Otherwise 0.
std::size_t printable_bytes(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  if (byte(0) < 0x80) return byte(0) >= ' ' && byte(0) <= '~' ? 1 : 0;
  const std::size_t length = byte(0) >= 0xf5 ? 0 : byte(0) >= 0xf0 ? 4 : byte(0) >= 0xe0 ? 3 : byte(0) >= 0xc2 ? 2 : 0;
  if (length == 0 || text.size() < length) return 0;
  std::uint32_t code = byte(0) & (0xffu >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0u) != 0x80u) return 0;
    code = code << 6 | (byte(i) & 0x3fu);
  }
  constexpr std::array<std::uint32_t, 5> kLeast{0, 0, 0xa0, 0x800, 0x10000};  // of a character of so many bytes
  const auto within = [&](std::uint32_t first, std::uint32_t last) { return first <= code && code <= last; };
  const bool moves = within(0x200b, 0x200f) || within(0x2028, 0x202e) || within(0x2060, 0x206f) || code == 0xfeff;
  return code < kLeast[length] || code > 0x10ffff || within(0xd800, 0xdfff) || moves ? 0 : length;
}

}  // namespace

std::string printable(std::string_view text) {
  constexpr std::size_t limit = 60;
  std::string safe;
  while (!text.empty()) {
    const std::size_t bytes = printable_bytes(text);
    const std::size_t taken = std::max<std::size_t>(bytes, 1);
    if (safe.size() + taken > limit) return safe + "...";
    safe += bytes == 0 ? "?" : text.substr(0, bytes);
    text.remove_prefix(taken);
  }
  return safe;
}

std::string in_quotes(std::string_view text) {
  return '"' + printable(text) + '"';
}

Time parse_time(std::string_view text) {
  return Time::picoseconds(parse(kTime, text));
}
Bytes parse_bytes(std::string_view text) {
  return Bytes(parse(kBytes, text));
}
Bandwidth parse_bandwidth(std::string_view text) {
  return Bandwidth::bytes_per_second(parse(kBandwidth, text));
}
Frequency parse_frequency(std::string_view text) {
  return Frequency::hertz(parse(kFrequency, text));
}

std::int64_t parse_integer(std::string_view text) {
  const auto fail_integer = [&](std::string_view reason) {
    throw ConfigurationError(fmt::format("expected a whole number such as 32, found {}{}", in_quotes(text), reason));
  };
  const bool negative = text.starts_with('-');
  const std::string_view digits = text.substr(negative ? 1 : 0);
  if (digits.empty() || count_digits(digits) != digits.size()) fail_integer("");
  if (digits.size() > 1 && digits[0] == '0') fail_integer(", which has a leading zero");
  std::uint64_t value = 0;
  for (const char digit : digits) {
    if (digits.size() > kMaximumDigits) fail_integer(", which is too large");
    value = value * 10 + static_cast<unsigned>(digit - '0');
  }
  if (value > static_cast<std::uint64_t>(INT64_MAX)) fail_integer(", which is too large");
  return negative ? -static_cast<std::int64_t>(value) : static_cast<std::int64_t>(value);
}

std::string to_quantity(Time time) {
  return print(time.count(), kTimeUnits);
}

std::string to_quantity(Bytes bytes) {
  const std::int64_t value = bytes.count();
  const std::span<const Unit> units = kByteUnits;
  for (auto unit = units.rbegin(); unit != units.rend() - kDecimalByteUnits; ++unit) {
    if (value >= unit->multiplier && value % unit->multiplier == 0) return decimal(value, *unit);
  }
  return value % 1000 == 0 ? print(value, units.first(kDecimalByteUnits)) : decimal(value, units.front());
}

std::string to_quantity(Bandwidth bandwidth) {
  return print(bandwidth.count(), std::span<const Unit>(kBandwidthUnits).first(kDecimalByteUnits));
}

std::string to_quantity(Frequency frequency) {
  return print(frequency.count(), kFrequencyUnits);
}

}  // namespace kernbench
