#include "trace/protobuf.h"

#include <bit>

namespace kernbench::trace {
namespace {

enum class WireType : std::uint8_t { varint = 0, fixed64 = 1, length = 2 };

constexpr std::uint64_t tag(std::uint32_t field, WireType type) {
  return (std::uint64_t{field} << 3) | static_cast<std::uint64_t>(type);
}

}  // namespace

void Message::append_varint(std::uint64_t value) {
  while (value >= 0x80) {
    bytes_ += static_cast<char>((value & 0x7f) | 0x80);
    value >>= 7;
  }
  bytes_ += static_cast<char>(value);
}

Message& Message::varint(std::uint32_t field, std::uint64_t value) {
  append_varint(tag(field, WireType::varint));
  append_varint(value);
  return *this;
}

Message& Message::real(std::uint32_t field, double value) {
  append_varint(tag(field, WireType::fixed64));
  const auto bits = std::bit_cast<std::uint64_t>(value);
  for (int shift = 0; shift < 64; shift += 8) bytes_ += static_cast<char>((bits >> shift) & 0xff);
  return *this;
}

Message& Message::text(std::uint32_t field, std::string_view value) {
  append_varint(tag(field, WireType::length));
  append_varint(value.size());
  bytes_ += value;
  return *this;
}

}  // namespace kernbench::trace
