// Resources whose names differ in their numbers only are of one kind.
#pragma once

#include <string>

namespace kernbench::report {

/// "sip0.cube12.pe3.gemm" -> "sip*.cube*.pe*.gemm"
inline std::string kind_of(const std::string& name) {
  std::string out;
  bool in_number = false;
  for (const char c : name) {
    const bool digit = c >= '0' && c <= '9';
    if (!digit) out += c;
    if (digit && !in_number) out += '*';
    in_number = digit;
  }
  return out;
}

}  // namespace kernbench::report
