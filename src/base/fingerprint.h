// A 64-bit hash that is the same on every machine (FNV-1a over little-endian words).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace kernbench {

/// Accumulates words and bytes; equal sequences give equal values on every machine. Not cryptographic.
class Fingerprint {
 public:
  void add(std::uint64_t word) {
    for (int shift = 0; shift < 64; shift += 8) add_byte(static_cast<std::uint8_t>(word >> shift));
  }
  void add(std::string_view text) {
    for (const char c : text) add_byte(static_cast<std::uint8_t>(c));
    add(text.size());
  }
  void add(std::span<const std::byte> bytes) {
    for (const std::byte b : bytes) add_byte(static_cast<std::uint8_t>(b));
    add(bytes.size());
  }
  std::uint64_t value() const { return value_; }

 private:
  void add_byte(std::uint8_t byte) { value_ = (value_ ^ byte) * 0x100000001b3u; }
  std::uint64_t value_ = 0xcbf29ce484222325u;
};

}  // namespace kernbench
