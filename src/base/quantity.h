// Quantities as people write them, "1.2TB/s", "4MiB", "80ns", "1GHz": exact parsing and exact printing.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "kernbench/units.h"

namespace kernbench {

/// Each parses a decimal number and a unit, with at most one space between them. Decimal fractions are exact: "1.2TB/s"
/// is 1'200'000'000'000 B/s, and what is no whole number of the base unit is an error, never rounded.
/// Units are case-sensitive; a number without a unit is an error. All throw ConfigurationError, whose message names the
/// text, what is expected, an example and the likely cure.
///
/// Time: ps ns us ms s.
Time parse_time(std::string_view text);
/// Bytes: B, KB MB GB TB PB (powers of 1000), KiB MiB GiB TiB PiB (powers of 1024).
Bytes parse_bytes(std::string_view text);
/// Bandwidth: the units of bytes with "/s".
Bandwidth parse_bandwidth(std::string_view text);
/// Frequency: Hz kHz MHz GHz THz.
Frequency parse_frequency(std::string_view text);
/// A whole number without a unit: decimal digits with an optional minus sign, no leading zeros.
std::int64_t parse_integer(std::string_view text);

/// Each prints the shortest exact form in the largest suitable unit, so that parsing it gives the same value back:
/// "1.2TB/s", "1.5ns", "36GiB", "1536B", "1GHz". Requires a value that is not negative.
std::string to_quantity(Time time);
std::string to_quantity(Bytes bytes);
std::string to_quantity(Bandwidth bandwidth);
std::string to_quantity(Frequency frequency);

/// User text for an error message: cut to 60 bytes of UTF-8, '?' for each byte that is not of a printable character.
std::string printable(std::string_view text);
/// The same in quotes.
std::string in_quotes(std::string_view text);

}  // namespace kernbench
