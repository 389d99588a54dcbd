// What several devices share must be a multiple of them: known before any rank starts.
#pragma once

#include <kernbench/kernbench.h>

#include <cstdint>
#include <string>

namespace benches {

/// ConfigurationError unless `divisor` divides `value`: "num_attention_heads (8) must be divisible by …", with what to
/// do behind it.
inline void check_divides(const std::string& name, std::int64_t value, const std::string& by, std::int64_t divisor,
                          const std::string& fix = {}) {
  if (value % divisor == 0) return;
  throw kernbench::ConfigurationError(name + " (" + std::to_string(value) + ") must be divisible by " + by + " (" +
                                      std::to_string(divisor) + ")" + (fix.empty() ? "" : "; " + fix));
}

}  // namespace benches
