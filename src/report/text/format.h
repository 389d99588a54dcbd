// Numbers as people read them in tables: few digits, aligned, with units.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "kernbench/units.h"

namespace kernbench::report {

/// A unit of simulated time, so that all times of a column can share one.
enum class TimeUnit : std::uint8_t { ps, ns, us, ms, s };

/// The unit in which `largest` is a number from 1 to below 1000 (in seconds: or more).
TimeUnit time_unit(Time largest);

/// "61.420 us": three decimals (none for ps). A time that is not zero but would show as zero is "<0.001 us".
std::string time_text(Time time, TimeUnit unit);
/// The same in the time's own unit.
std::string time_text(Time time);

/// "12.345": a fixed number of decimals, or three significant digits of what is too large for that.
std::string decimal_text(double value, int decimals);

/// "1,234,567".
std::string count_text(std::uint64_t count);

/// What `part` is of `whole`; no number if that is nothing.
double share(Time part, Time whole);

/// "68.5 %". A share that is not zero but would show as zero is "<0.1 %". No number at all: "-".
std::string percent_text(double share);

/// "280.1 TFLOP/s" for 280.1e12 and "FLOP/s", "1.05 PFLOP/s". No number at all, or a negative one: "-".
std::string rate_text(double per_second, std::string_view unit);

/// "24.00 MiB", "17 B".
std::string bytes_text(Bytes bytes);

/// A value of unknown kind: whole numbers in full with separators, others with six significant digits.
std::string value_text(double value);

/// "1.2e-07" for errors: three significant digits; "0" for zero, "nan" and "inf" as such.
std::string deviation_text(double value);

}  // namespace kernbench::report
