#include "hardware/bounds.h"

#include <algorithm>
#include <string>

#include "hardware/dma/multicast.h"
#include "hardware/gemm/systolic.h"
#include "hardware/hbm/slice_use.h"
#include "topology/models.h"

namespace kernbench::hardware {
namespace {

constexpr Time kLeast = Time::picoseconds(1);  // of a latency and of a service

using topology::Endpoint;

Time service(Bytes bytes, Bandwidth bandwidth, Bytes minimum) {
  return std::max(kLeast, transfer_time(std::max(bytes, minimum), bandwidth));
}

Time time_of(const BurstSums& sums, Bandwidth bandwidth, Bytes burst) {
  return service(burst, bandwidth, Bytes()) * sums.bursts + transfer_time(sums.others, bandwidth);
}

/// So many cycles, rounded down.
Time at_most(double cycles, Frequency clock) {
  constexpr double kRounding = 1e-6;  // of a picosecond: more than the division can be wrong
  return Time::picoseconds(static_cast<std::int64_t>(cycles * 1e12 / static_cast<double>(clock.count()) + kRounding));
}

Time full_array(const topology::PeSpec& pe, const GemmWork& work) {
  const double results = static_cast<double>(work.batch) * static_cast<double>(work.m) * static_cast<double>(work.n);
  const double cycles = static_cast<double>(fold_cycles(pe.gemm, work.operand, work.k)) / pe.gemm.efficiency.value();
  return at_most(results / pe.gemm.array.count() * cycles, pe.clock);
}

Time full_lanes(const topology::PeSpec& pe, const VectorWork& work) {
  constexpr double kLaneBytes = 4;
  double cycles = 0;
  work.each(DType::f32, [&](const VectorStep& step) {
    const auto width = static_cast<double>(std::max(step.item_bytes, pe.vector.narrowest.count()));
    const double groups = static_cast<double>(step.elements) * width / (kLaneBytes * pe.vector.lanes);
    cycles += groups * pe.vector.cycles[step.operation];
  });
  return at_most(cycles, pe.clock);
}

bool own(topology::ModelKind kind, const std::string& model) {
  const auto built_in = topology::built_in_models(kind);
  return std::ranges::find(built_in, model) == built_in.end();
}

}  // namespace

Bandwidth at_best(const topology::LinkSpec& link) {
  return link.packet ? Bandwidth::bytes_per_second(link.payload_rate().count() + 1) : link.bandwidth;
}

Bounds::Path Bounds::path(PeCoordinate pe, PeCoordinate other, Way way) {
  const auto index = [&](PeCoordinate at) { return static_cast<std::uint64_t>(layout_.place(at)); };
  const auto [path, is_new] =
      paths_.find_or_add((index(pe) << 34) | (index(other) << 3) | static_cast<std::uint64_t>(way));
  if (!is_new) return path;
  const Endpoint here = way == Way::between_slices ? Endpoint::hbm_slice(pe) : Endpoint::pe_port(pe);
  const bool in_sram = way == Way::to_sram || way == Way::from_sram;
  const bool from_memory = way == Way::from_slice || way == Way::from_sram;
  const Endpoint memory = in_sram ? topology::sram_port(topology_, other) : Endpoint::hbm_slice(other);
  for (const auto& hop : from_memory ? network_.route(memory, here) : network_.route(here, memory)) {
    const topology::LinkSpec& link = network_.link(hop.link).spec;
    path.latency += std::max(link.latency, kLeast);
    const Bandwidth rate = at_best(link);
    if (path.slowest == Bandwidth() || rate < path.slowest) path.slowest = rate;
  }
  return path;
}

Time Bounds::message(const Path& path) const {
  if (path.slowest == Bandwidth()) return {};
  return path.latency + std::max(kLeast, transfer_time(topology_.cube.noc.header, path.slowest));
}

Time Bounds::answer(const Path& path, const DmaLeg& leg) const {
  const Bytes bytes = leg.total();
  Time slowest = service(bytes, topology_.pe.tcm.bandwidth, Bytes());
  if (path.slowest != Bandwidth()) slowest = std::max(slowest, service(bytes, path.slowest, Bytes()));
  return topology_.cube.hbm.atomic + path.latency + kLeast + slowest;
}

Bounds::Way Bounds::way_of(const DmaLeg& leg, bool to_memory) {
  if (leg.in_sram()) return to_memory ? Way::to_sram : Way::from_sram;
  return to_memory ? Way::to_slice : Way::from_slice;
}

Bounds::Move Bounds::sram_data(const Path& path, const DmaLeg& leg) const {
  const Bytes bytes = leg.total();
  if (bytes == Bytes()) return {};
  const topology::SramSpec& sram = topology_.cube.sram;
  Time slowest = std::max(service(bytes, sram.bandwidth, Bytes()), service(bytes, topology_.pe.tcm.bandwidth, Bytes()));
  if (path.slowest != Bandwidth()) slowest = std::max(slowest, service(bytes, path.slowest, Bytes()));
  return {std::max(sram.latency, kLeast) + kLeast + path.latency, slowest};
}

Bounds::Move Bounds::data(const Path& path, const DmaLeg& leg) const {
  if (leg.in_sram()) return sram_data(path, leg);
  const topology::HbmSpec& hbm = topology_.cube.hbm;
  const Bytes granule = hbm.interleave;
  const Bandwidth channel = hbm.channel_bandwidth();
  const Bytes burst = topology_.cube.noc.burst;
  Time largest;
  BurstSums memory, links;
  for (const StridedRange& range : leg.ranges) {
    if (range.total() == Bytes()) continue;
    const RowAccesses row = accesses_of(range, granule);
    const Bytes large = row.whole > 0 ? granule : std::max(row.first, row.last);
    largest = std::max(largest, service(large, channel, hbm.access));
    const BurstSums in_memory = in_channels(range, granule, burst, hbm.access);
    const BurstSums on_links{in_memory.bursts, range.total() - burst * in_memory.bursts};
    memory.bursts += in_memory.bursts;
    memory.others += in_memory.others;
    links.bursts += on_links.bursts;
    links.others += on_links.others;
  }
  Time channels = time_of(memory, channel, burst);
  const Time port = time_of(links, topology_.pe.tcm.bandwidth, burst);
  const Time link = path.slowest == Bandwidth() ? Time() : time_of(links, path.slowest, burst);
  if (largest == Time::zero()) return {};
  // A model of one's own may serve faster than the figures say.
  if (own(topology::ModelKind::hbm, hbm.model)) channels = largest = Time::zero();
  const std::int64_t count = layout_.channels();
  const Time busiest = Time::picoseconds((channels.count() + count - 1) / count);
  return {std::max(hbm.latency, kLeast) + kLeast + path.latency,  // kLeast: the TCM port's
          std::max({busiest, largest, port, link})};
}

/// Before the bytes of a leg move, or behind that.
Time Bounds::request(PeCoordinate pe, const DmaWork& work, const DmaLeg& leg) {
  if (work.kind == DmaKind::multicast && work.multicast->home() != nullptr) {
    const DmaLeg& home = *work.multicast->home();
    const Time report = message(path(pe, home.slice, way_of(home, true)));
    return leg.in_sram() ? report : report + message(path(home.slice, leg.slice, Way::between_slices));
  }
  const Path back = path(pe, leg.slice, way_of(leg, !work.writes()));
  return work.kind == DmaKind::atomic ? answer(back, leg) : message(back);
}

CommandBound Bounds::dma(PeCoordinate pe, const DmaWork& work) {
  CommandBound longest;
  if (!own(topology::ModelKind::dma, topology_.pe.dma.model)) longest.setup = topology_.pe.dma.setup;
  for (std::size_t i = 0; i < work.legs.size(); ++i) {
    const DmaLeg& leg = work.legs[i];
    const Time asked = request(pe, work, leg);
    const auto [latency, moved] = data(path(pe, leg.slice, way_of(leg, work.writes())), leg);
    if (asked + latency + moved <= longest.request + longest.latency + longest.work) continue;
    longest.request = asked;
    longest.latency = latency;
    longest.work = moved;
    longest.leg = i;
  }
  return longest;
}

CommandBound Bounds::of(PeCoordinate pe, const Command& command) {
  switch (command.engine()) {
    case EngineKind::dma:
      return dma(pe, command.dma());
    case EngineKind::gemm:
      if (own(topology::ModelKind::gemm, topology_.pe.gemm.model)) return {};
      return {{}, {}, {}, full_array(pe_specs_.of(pe), command.gemm()), 0};
    case EngineKind::vector:
      if (own(topology::ModelKind::vector, topology_.pe.vector.model)) return {};
      return {{}, {}, {}, full_lanes(pe_specs_.of(pe), command.vector()), 0};
    case EngineKind::ipcq:
      if (command.queue_bytes() == Bytes(0)) return {};  // a signal
      return {{}, {}, {}, service(command.queue_bytes(), topology_.pe.tcm.bandwidth, Bytes()), 0};
  }
  return {};
}

}  // namespace kernbench::hardware
