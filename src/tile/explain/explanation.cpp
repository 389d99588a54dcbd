#include "tile/explain/explanation.h"

#include <fmt/format.h>

#include <string_view>

#include "sim/program_call.h"

namespace kernbench::tile {

namespace {

/// What the kernel called: reports tell the kinds of loads apart.
std::string_view name_of_call(const numerics::Source& source) {
  if (source.operation == nullptr) return "read";
  const std::string_view kind = source.operation;
  if (kind == "gather_lanes") return "gather";
  return kind == "gather" || kind == "buffer_load" ? "load" : kind;
}

/// " at my.cpp:12 (kernel mine#0)", of what is known.
std::string place_of(const numerics::Source& source) {
  std::string text;
  if (const std::string place = sim::place_text(source.where); !place.empty()) text = " at " + place;
  if (source.work != nullptr) text += fmt::format(" (kernel {})", source.work);
  return text;
}

/// " (element [0, 3] of x)", of what is known.
std::string unwritten_text(const numerics::Source& source) {
  const numerics::NamedPlace& place = source.unwritten;
  return place.names ? " (" + place.names->name(place.range, place.offset) + ")" : "";
}

}  // namespace

std::string explanation(const numerics::Source& source) {
  using enum numerics::Cause;
  const std::string place = place_of(source);
  const std::string call = fmt::format("the {}{}", name_of_call(source), place);
  switch (source.cause) {
    case never_written:
      return fmt::format("{} read memory that nobody had written{}; initialise it", call, unwritten_text(source));
    case outside:
      return call + " has lanes outside of the tensor and no `other`; give it an `other` value";
    case masked:
      return call + " has lanes that are masked off and no `other`; give it an `other` value";
    case masked_or_outside:
      return call + " has lanes that are masked off or outside of the tensor, and no `other`; give it an `other` value";
    case masked_atomic:
      return call + " has no old value of lanes that are masked off; use the result under the same mask";
    case divide_by_zero:
      return fmt::format("the integer division by 0{} made it; keep 0 out of the divisor", place);
    case remainder_by_zero:
      return fmt::format("the integer remainder by 0{} made it; keep 0 out of the divisor", place);
    case shift_count:
      return fmt::format(
          "the shift{} made it, by a count below 0 or not below the width of the type; keep counts within", place);
    case no_lanes:
      return fmt::format("{} is of no lanes; reduce at least one", call);
    case no_such_lane:
      return call + " has indices outside of the axis; keep them within 0 and its extent";
    case no_such_bin:
      return call + " counts numbers that are none of its bins; mask them off, or give it more bins";
    case given:
      break;
  }
  return "it was written as invalid; initialise it";
}

}  // namespace kernbench::tile
