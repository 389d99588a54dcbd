// The tree of tracks of a timeline: SIPs, cubes, PEs and their parts; the host beside them.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "base/part.h"
#include "trace/timeline_writer.h"

namespace kernbench::runtime {

class TraceTracks {
 public:
  explicit TraceTracks(trace::TimelineWriter& writer);

  /// The track of a part of the machine: that of sip0.cube1.pe2.gemm lies in pe2, in cube1, in sip0; what belongs to no
  /// SIP belongs to the host. Made when first asked for; `rank` orders it among its siblings. A part that does several
  /// things at a time has a track for each `place`: "gemm", "gemm (2)".
  trace::TrackId of(const PartId& part, std::int32_t rank, std::size_t place = 0);
  /// A track of the host: "main", "sip0 stream 0".
  trace::TrackId of_host(std::string_view name, std::int32_t rank);

 private:
  /// A SIP, a cube or a PE.
  struct Group {
    PartScope scope;
    PeCoordinate at;  // as far as the scope reaches
    auto operator<=>(const Group&) const = default;
  };
  trace::TrackId of(const Group& group);

  trace::TimelineWriter& writer_;
  trace::TrackId host_;
  std::map<std::pair<PartId, std::size_t>, trace::TrackId> parts_;
  std::map<Group, trace::TrackId> groups_;
  std::map<std::string, trace::TrackId, std::less<>> host_tracks_;
};

}  // namespace kernbench::runtime
