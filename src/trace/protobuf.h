// The wire format of protocol buffers, as far as timelines need it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace kernbench::trace {

/// One message as bytes. Fields are appended in the order of the calls.
class Message {
 public:
  Message& varint(std::uint32_t field, std::uint64_t value);
  /// A negative number takes ten bytes, as int64 does.
  Message& integer(std::uint32_t field, std::int64_t value) { return varint(field, static_cast<std::uint64_t>(value)); }
  Message& real(std::uint32_t field, double value);
  Message& text(std::uint32_t field, std::string_view value);
  Message& message(std::uint32_t field, const Message& value) { return text(field, value.bytes_); }

  const std::string& bytes() const { return bytes_; }
  bool empty() const { return bytes_.empty(); }
  void clear() { bytes_.clear(); }

 private:
  void append_varint(std::uint64_t value);
  std::string bytes_;
};

}  // namespace kernbench::trace
