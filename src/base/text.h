// Small text helpers that several layers share.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "kernbench/coordinates.h"
#include "kernbench/units.h"

namespace kernbench {

/// "1.234 us", "17 ps", "2.5 ms": three decimals at most, in the unit that keeps the number below 1000.
std::string to_text(Time time);
/// "4 MiB", "1.5 KiB", "17 B".
std::string to_text(Bytes bytes);
/// "1.2 TB/s", "150 GB/s".
std::string to_text(Bandwidth bandwidth);

/// The one grammar of part names: "sip0", "sip0.cube2", "sip0.cube2.pe5".
std::string to_text(SipId sip);
std::string to_text(CubeCoordinate cube);
std::string to_text(PeCoordinate pe);

/// The candidate nearest to `word` by edit distance when near enough to be a likely typo, else "".
std::string_view nearest(std::string_view word, std::span<const std::string_view> candidates);

/// The order of names in which numbers stand by their value: "64 B" before "1024 B". Strict; equal names only are
/// equal.
struct NaturalLess {
  using is_transparent = void;
  bool operator()(std::string_view a, std::string_view b) const;
};

}  // namespace kernbench
