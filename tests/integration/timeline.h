// Reads a timeline back, independently of what writes it: a small decoder of Perfetto's trace format.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "kernbench/units.h"

namespace kernbench::test {

struct TimelineTrack {
  std::string name;  // its own: "gemm"
  std::string path;  // with those above it: "sip0.cube0.pe1.gemm"; without the process for the host's
  std::uint64_t parent = 0;
  std::int64_t rank = 0;
  bool process = false;
};

struct TimelineEvent {
  enum class Type : std::uint8_t { begin = 1, end = 2, instant = 3 };
  Time time;
  Type type = Type::begin;
  std::uint64_t track = 0;
  std::string name;
  std::map<std::string, std::string> arguments;  // numbers as text
};

struct Slice {
  Time start, end;
  std::string name;
  std::map<std::string, std::string> arguments;
  std::size_t depth = 0;
};

struct Timeline {
  std::map<std::uint64_t, TimelineTrack> tracks;
  std::vector<TimelineEvent> events;  // in the order of the file
  std::vector<std::string> interned;  // event names, in the order of the file
  std::size_t names_in_full = 0;      // event names that were not interned
  std::vector<std::string> problems;  // what a reader would trip over

  /// The slices by the path of their track, in order of time. What does not nest, or does not end, is a problem.
  std::map<std::string, std::vector<Slice>> slices();
  std::vector<TimelineEvent> instants() const;
};

/// Decodes bytes; a cut message is a problem, what came before it is there.
Timeline decode_timeline(const std::string& bytes);

/// The time that the slices cover; where they overlap it counts once.
Time covered(std::vector<Slice> slices);

}  // namespace kernbench::test
