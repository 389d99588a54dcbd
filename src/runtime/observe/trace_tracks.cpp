#include "runtime/observe/trace_tracks.h"

#include <algorithm>
#include <charconv>
#include <utility>

namespace kernbench::runtime {
namespace {

// Cubes come after all that belongs to the SIP itself, PEs after all that belongs to the cube.
constexpr std::int32_t kGroupRank = 1 << 24;

/// The number of "sip12", given "sip"; -1 for anything else.
std::int32_t number_of(std::string_view component, std::string_view kind) {
  if (!component.starts_with(kind)) return -1;
  component.remove_prefix(kind.size());
  std::int32_t number = -1;
  const auto [rest, error] = std::from_chars(component.data(), component.data() + component.size(), number);
  return error == std::errc() && rest == component.data() + component.size() ? number : -1;
}

// The length of the prefix of `part` that names a SIP, a cube or a PE: "sip0.cube1.pe2" of "sip0.cube1.pe2.gemm".
std::size_t group_length(std::string_view part) {
  std::size_t length = 0;
  for (const std::string_view kind : {"sip", "cube", "pe"}) {
    const std::size_t start = length == 0 ? 0 : length + 1;
    if (start >= part.size()) break;
    const std::size_t end = std::min(part.find('.', start), part.size());
    if (number_of(part.substr(start, end - start), kind) < 0) break;
    length = end;
  }
  return length;
}

}  // namespace

TraceTracks::TraceTracks(trace::TimelineWriter& writer) : writer_(writer), host_(writer.add_process("host", 1)) {}

trace::TrackId TraceTracks::of(std::string_view part, std::int32_t rank) {
  if (const auto known = tracks_.find(part); known != tracks_.end()) return known->second;
  const std::size_t length = group_length(part);
  if (length == 0) return made(std::string(part), host_, part, rank);
  return made(std::string(part), group(part.substr(0, length)), part.substr(length + 1), rank);
}

trace::TrackId TraceTracks::of_host(std::string_view name, std::int32_t rank) {
  std::string key = "host " + std::string(name);
  if (const auto known = tracks_.find(key); known != tracks_.end()) return known->second;
  return made(std::move(key), host_, name, rank);
}

trace::TrackId TraceTracks::group(std::string_view path) {
  if (const auto known = tracks_.find(path); known != tracks_.end()) return known->second;
  const std::size_t dot = path.rfind('.');
  if (dot == std::string_view::npos) {
    const trace::TrackId sip = writer_.add_process(path, number_of(path, "sip") + 2);
    tracks_.emplace(path, sip);
    return sip;
  }
  const std::string_view name = path.substr(dot + 1);
  const std::int32_t number = std::max(number_of(name, "cube"), number_of(name, "pe"));
  return made(std::string(path), group(path.substr(0, dot)), name, kGroupRank + number);
}

trace::TrackId TraceTracks::made(std::string key, trace::TrackId parent, std::string_view name, std::int32_t rank) {
  const trace::TrackId track = writer_.add_track(parent, name, rank);
  tracks_.emplace(std::move(key), track);
  return track;
}

}  // namespace kernbench::runtime
