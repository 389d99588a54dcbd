// The tree of tracks of a timeline: SIPs, cubes, PEs and their parts; the host beside them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "trace/timeline_writer.h"

namespace kernbench::runtime {

class TraceTracks {
 public:
  explicit TraceTracks(trace::TimelineWriter& writer);

  /// The track of a part of the machine, by its name: "sip0.cube1.pe2.gemm" lies in pe2, in cube1, in sip0; what does
  /// not begin with a SIP belongs to the host. Made when first asked for; `rank` orders it among its siblings.
  trace::TrackId of(std::string_view part, std::int32_t rank);
  /// A track of the host: "main", "sip0 stream 0".
  trace::TrackId of_host(std::string_view name, std::int32_t rank);

 private:
  trace::TrackId group(std::string_view path);
  trace::TrackId made(std::string key, trace::TrackId parent, std::string_view name, std::int32_t rank);

  trace::TimelineWriter& writer_;
  trace::TrackId host_;
  std::map<std::string, trace::TrackId, std::less<>> tracks_;
};

}  // namespace kernbench::runtime
