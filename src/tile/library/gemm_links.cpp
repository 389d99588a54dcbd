#include "tile/library/gemm_links.h"

#include <algorithm>

#include "tile/library/gemm_units.h"

namespace kernbench::tile::library {

namespace {

double ns_of_lane(Bandwidth bandwidth, std::int32_t lanes) {
  return ns_of_byte(bandwidth) * lanes;
}

}  // namespace

LinkLoads::LinkLoads(const topology::Topology& topology)
    : cubes_(topology.sip.cubes),
      pes_(topology.cube.pes),
      in_cube_(ns_of_byte(topology.cube.noc.link.payload_rate())),
      crossing_x_(ns_of_lane(topology.sip.link.payload_rate(), pes_.height)),
      crossing_y_(ns_of_lane(topology.sip.link.payload_rate(), pes_.width)) {
  const auto routers = static_cast<std::size_t>(cubes_.count()) * static_cast<std::size_t>(pes_.count());
  for (Lines* lines : {&rows_, &columns_}) lines->up.resize(routers), lines->down.resize(routers);
}

void LinkLoads::clear() {
  for (Lines* lines : {&rows_, &columns_}) {
    std::ranges::fill(lines->up, 0);
    std::ranges::fill(lines->down, 0);
  }
}

void LinkLoads::add(Lines& lines, std::int32_t first, std::int32_t from, std::int32_t to, double bytes) {
  if (from == to) return;
  std::vector<double>& differences = from < to ? lines.up : lines.down;
  const auto line = differences.begin() + first;
  line[std::min(from, to)] += bytes;
  line[std::max(from, to)] -= bytes;
}

void LinkLoads::add(PeCoordinate from, PeCoordinate to, double bytes) {
  const auto x = [&](PeCoordinate pe) { return pe.cube.value % cubes_.width * pes_.width + pe.pe.value % pes_.width; };
  const auto y = [&](PeCoordinate pe) { return pe.cube.value / cubes_.width * pes_.height + pe.pe.value / pes_.width; };
  const std::int32_t width = cubes_.width * pes_.width, height = cubes_.height * pes_.height;
  add(rows_, y(from) * width, x(from), x(to), bytes);
  add(columns_, x(to) * height, y(from), y(to), bytes);
}

/// Of lines of `length` routers, `pes` of which are in one cube.
void LinkLoads::append_times(std::vector<double>& times, const std::vector<double>& differences, std::int32_t length,
                             std::int32_t pes, double crossing) const {
  double load = 0;
  for (std::size_t i = 0; i < differences.size(); ++i) {
    const auto at = static_cast<std::int32_t>(i) % length;
    load = at == 0 ? differences[i] : load + differences[i];
    times.push_back(load * ((at + 1) % pes == 0 ? crossing : in_cube_));
  }
}

std::vector<double> LinkLoads::times() const {
  std::vector<double> times;
  for (const auto* differences : {&rows_.up, &rows_.down})
    append_times(times, *differences, cubes_.width * pes_.width, pes_.width, crossing_x_);
  for (const auto* differences : {&columns_.up, &columns_.down})
    append_times(times, *differences, cubes_.height * pes_.height, pes_.height, crossing_y_);
  return times;
}

BusiestLink busiest_link(const LinkLoads& a, const LinkLoads& b) {
  const std::vector<double> of_a = a.times(), of_b = b.times();
  BusiestLink busiest;
  for (std::size_t i = 0; i < of_a.size(); ++i) {
    busiest.a = std::max(busiest.a, of_a[i]);
    busiest.b = std::max(busiest.b, of_b[i]);
    busiest.both = std::max(busiest.both, of_a[i] + of_b[i]);
  }
  return busiest;
}

}  // namespace kernbench::tile::library
