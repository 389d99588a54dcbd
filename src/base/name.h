// Names in reports: texts that know which of their numbers tell them from names that are alike.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "kernbench/coordinates.h"

namespace kernbench {

/// What may differ between names that are alike.
enum class SlotKind : std::uint8_t {
  rank,       // "rank 3"
  part,       // the number of a part: that of "sip0", "receive1" or "stream 2"
  path,       // the rank in the name of what it made: that of "ring_allreduce#3.1"
  operation,  // "#7"
};

/// A text with slots: the places of what may differ. Plain text is a name without slots. Names are put together with +
/// and named(), and keep their slots. A name is made when a report is, or once for what bears it.
class Name {
 public:
  struct Slot {
    SlotKind kind;
    std::size_t begin, end;    // in the text, with "rank " or '#'
    std::int64_t number = -1;  // -1: it is none, as "0.1"
  };
  /// What a name begins with.
  enum class Lead : std::uint8_t {
    none,
    pe,     // a PE, and then nothing, or a blank and what runs there
    owner,  // who has called it, and "'s "
  };

  Name() = default;
  // Implicit: plain text is a name.
  Name(std::string text) : text_(std::move(text)) {}  // NOLINT(*-explicit-*)
  Name(std::string_view text) : text_(text) {}        // NOLINT(*-explicit-*)
  Name(const char* text) : text_(text) {}             // NOLINT(*-explicit-*)
  /// "rank 3", "rank 0.1" in a nested spawn.
  static Name rank(std::int64_t rank) { return slot(SlotKind::rank, rank); }
  static Name rank(std::string_view path);
  static Name slot(SlotKind kind, std::int64_t number);
  /// Of ranks that a path names: "0.1".
  static Name path(std::string_view path);
  /// What runs on a PE: "sip0.cube2.pe5 gemm#3".
  static Name program(PeCoordinate pe, const Name& what);
  /// "rank 0's send".
  static Name owned(const Name& owner, const Name& what);

  const std::string& text() const { return text_; }
  operator const std::string&() const { return text_; }  // NOLINT(*-explicit-*): the slots are for reports only
  bool empty() const { return text_.empty(); }
  const std::vector<Slot>& slots() const { return slots_; }
  /// The value of one of its slots: "3" of "rank 3".
  std::string_view value(const Slot& slot) const;
  Lead lead() const { return lead_; }
  /// Where the lead ends: behind the PE, or the owner.
  std::size_t lead_end() const { return lead_end_; }
  /// The same as this owner sees it: "its send" of "rank 0's send".
  Name seen_by(const Name& owner) const;
  /// From `begin` to `end`; requires that no slot lies across either.
  Name part(std::size_t begin, std::size_t end) const;

  Name& operator+=(const Name& more);
  friend Name operator+(Name left, const Name& right) { return std::move(left += right); }
  /// Equal when their texts are.
  friend bool operator==(const Name& a, const Name& b) { return a.text_ == b.text_; }

 private:
  friend Name to_name(PeCoordinate pe);
  void append_slot(SlotKind kind, std::string_view before, std::int64_t number);
  void append_pe(PeCoordinate pe);

  std::string text_;
  std::vector<Slot> slots_;
  Lead lead_ = Lead::none;
  std::size_t lead_end_ = 0;
};

/// "#7": of an operation.
inline Name operation_number(std::uint64_t number) {
  return Name::slot(SlotKind::operation, static_cast<std::int64_t>(number));
}

Name to_name(SipId sip);
Name to_name(CubeCoordinate cube);
Name to_name(PeCoordinate pe);

/// With `separator` in between.
Name join(const std::vector<Name>& names, std::string_view separator);

/// A text in which "{}" stands for each of `kHoles` names.
template <std::size_t kHoles>
struct NamePattern {
  std::string_view text;
  consteval NamePattern(const char* pattern) : text(pattern) {  // NOLINT(*-explicit-*): as a format string
    std::size_t holes = 0;
    for (std::size_t at = text.find("{}"); at != std::string_view::npos; at = text.find("{}", at + 2)) ++holes;
    if (holes != kHoles) throw "a pattern has as many holes as names";
  }
};

namespace detail {
Name fill(std::string_view pattern, std::initializer_list<Name> names);

template <class Part>
Name name_of(const Part& part) {
  if constexpr (std::is_integral_v<Part>) {
    return std::to_string(part);
  } else {
    return part;
  }
}
}  // namespace detail

/// As fmt::format, of names, texts and integers: named("{} of {}", what, to_name(pe)).
template <class... Parts>
Name named(std::type_identity_t<NamePattern<sizeof...(Parts)>> pattern, const Parts&... parts) {
  return detail::fill(pattern.text, {detail::name_of(parts)...});
}

}  // namespace kernbench
