#include "runtime/observe/trace_tracks.h"

#include <fmt/format.h>

#include "base/text.h"

namespace kernbench::runtime {
namespace {

// Cubes come after all that belongs to the SIP itself, PEs after all that belongs to the cube.
constexpr std::int32_t kGroupRank = 1 << 24;

}  // namespace

TraceTracks::TraceTracks(trace::TimelineWriter& writer) : writer_(writer), host_(writer.add_process("host", 1)) {}

trace::TrackId TraceTracks::of(const PartId& part, std::int32_t rank, std::size_t place) {
  if (const auto known = parts_.find({part, place}); known != parts_.end()) return known->second;
  const trace::TrackId parent = of(Group{scope_of(part.kind), part.at});
  const std::string name = local_name(part);
  const trace::TrackId track =
      writer_.add_track(parent, place == 0 ? name : fmt::format("{} ({})", name, place + 1), rank);
  parts_.emplace(std::pair(part, place), track);
  return track;
}

trace::TrackId TraceTracks::of_host(std::string_view name, std::int32_t rank) {
  if (const auto known = host_tracks_.find(name); known != host_tracks_.end()) return known->second;
  const trace::TrackId track = writer_.add_track(host_, name, rank);
  host_tracks_.emplace(name, track);
  return track;
}

trace::TrackId TraceTracks::of(const Group& group) {
  const auto& [sip, cube, pe] = group.at;
  if (group.scope == PartScope::machine) return host_;
  if (const auto known = groups_.find(group); known != groups_.end()) return known->second;
  trace::TrackId track;
  if (group.scope == PartScope::sip) {
    track = writer_.add_process(to_text(sip), sip.value + 2);
  } else if (group.scope == PartScope::cube) {
    const trace::TrackId parent = of(Group{PartScope::sip, {sip, {}, {}}});
    track = writer_.add_track(parent, fmt::format("cube{}", cube.value), kGroupRank + cube.value);
  } else {
    const trace::TrackId parent = of(Group{PartScope::cube, {sip, cube, {}}});
    track = writer_.add_track(parent, fmt::format("pe{}", pe.value), kGroupRank + pe.value);
  }
  groups_.emplace(group, track);
  return track;
}

}  // namespace kernbench::runtime
