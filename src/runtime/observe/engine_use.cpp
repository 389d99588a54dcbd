#include "runtime/observe/engine_use.h"

#include <algorithm>
#include <utility>

#include "base/flat_table.h"
#include "hardware/bounds.h"
#include "hardware/traffic.h"
#include "kernbench/dtype.h"
#include "topology/engine_operations.h"
#include "topology/models.h"

namespace kernbench::runtime {
namespace {

void add(PePeaks& peaks, const topology::PeSpec& pe) {
  const auto clock = static_cast<double>(pe.clock.count());
  peaks.gemm += pe.gemm.array.count() * clock * pe.gemm.efficiency.value();
  peaks.vector += pe.vector.lanes * clock;
  peaks.tcm += static_cast<double>(pe.tcm.bandwidth.count());
}

/// Whether the figures of the description are those of the model.
bool has_peak(topology::ModelKind kind, const std::string& model) {
  return std::ranges::count(topology::built_in_models(kind), model) > 0;
}

/// The sum over all types, and the names of those that take most.
struct Total {
  tile::TypeWork work;
  std::string types;
};

template <class Works, class Name>
Total total_of(const Works& works, Name name_of) {
  std::vector<std::pair<double, std::size_t>> order;
  Total total;
  for (std::size_t type = 0; type < works.size(); ++type) {
    total.work.operations += works[type].operations;
    total.work.demand += works[type].demand;
    if (works[type].operations > 0) order.emplace_back(-works[type].demand, type);
  }
  std::ranges::sort(order);
  for (const auto& [demand, type] : order) {
    if (!total.types.empty()) total.types += ", ";
    total.types += name_of(type);
  }
  return total;
}

/// The entry of a kind of engine; `device` and `used` are what they do together, in units of demand.
EngineResult entry(std::string engine, const Total& total, Time busiest, Time duration, double device, double used) {
  EngineResult result{std::move(engine), total.types, total.work.operations, busiest, 0, 0, 0};
  if (duration > Time::zero()) result.attained = result.work / duration.in_seconds();
  if (total.work.demand > 0) {
    result.device_peak = device * (total.work.operations / total.work.demand);
    result.used_peak = used * (total.work.operations / total.work.demand);
  }
  return result;
}

Total bytes_of(Bytes bytes) {
  const auto count = static_cast<double>(bytes.count());
  return {{count, count}, ""};
}

Roof roof_of(double compute, double bandwidth, const Roofline& roofline) {
  Roof roof{compute, bandwidth, 0, 0, false};
  const double memory = roofline.intensity * bandwidth;
  roof.compute_bound = compute <= memory;
  roof.roof = std::min(compute, memory);
  roof.share = roof.roof > 0 ? roofline.attained / roof.roof : 0;
  return roof;
}

double share_of(const EngineResult& engine) {
  return engine.device_peak > 0 ? engine.attained / engine.device_peak : 0;
}

struct BusiestLink {
  std::string name;
  Bytes bytes;
  Bandwidth rate;  // of bytes, beside what packets need
  Time time;
};

/// That needs the longest time for what the launch moves over it; of equal ones the first of the machine.
BusiestLink busiest_link(const tile::LaunchRecord& record, const hardware::Machine& machine) {
  if (!record.traffic) return {};
  const auto& links = machine.network().links();
  FlatTable<Bytes> by_link;
  record.traffic->for_each([&](std::span<const hardware::Stage> route, Bytes bytes) {
    for (const hardware::Stage& stage : route) {
      if (stage.server.value < links.size()) by_link.find_or_add(stage.server.value).first += bytes;
    }
  });
  BusiestLink busiest;
  std::size_t place = links.size();
  by_link.for_each([&](std::uint64_t link, Bytes bytes) {
    const Bandwidth rate = hardware::at_best(links[link].spec);
    const Time time = transfer_time(bytes, rate);
    if (time < busiest.time || (time == busiest.time && link >= place)) return;
    place = link;
    busiest = {{}, bytes, rate, time};
  });
  if (place < links.size()) busiest.name = links[place].name;
  return busiest;
}

}  // namespace

PePeaks peaks_of(std::span<const PeCoordinate> pes, const hardware::Machine& machine) {
  PePeaks peaks;
  for (const PeCoordinate at : pes) add(peaks, machine.pe_spec(at));
  return peaks;
}

PePeaks peaks_of(SipId sip, const hardware::Machine& machine) {
  const topology::Topology& topology = machine.topology();
  PePeaks peaks;
  for (CubeId cube{0}; cube.value < topology.sip.cubes.count(); ++cube.value) {
    for (PeId pe{0}; pe.value < topology.cube.pes.count(); ++pe.value) add(peaks, machine.pe_spec({sip, cube, pe}));
  }
  return peaks;
}

void set_peaks(RunResult& result, const hardware::Machine& machine) {
  const topology::Topology& topology = machine.topology();
  const PePeaks device = peaks_of(SipId{0}, machine);
  for (const topology::GemmOperandInfo& type : topology::kGemmOperands) {
    const topology::Rate rate = topology.pe.gemm.rate[type.operand];
    const double peak = 2 * device.gemm * rate.steps / rate.cycles;
    result.peak_gemm.emplace_back(type.key, peak);
    if (type.operand == topology::GemmOperand::f16) result.peak_flops = peak;
  }
  result.peak_vector = device.vector;
  result.peak_hbm_bandwidth = Bandwidth::bytes_per_second(topology.cube.slice_bandwidth().count() *
                                                          topology.cube.pes.count() * topology.sip.cubes.count());
}

std::vector<EngineResult> engines_of(const tile::LaunchRecord& record, SipId sip, std::span<const PeCoordinate> pes,
                                     Time duration, const hardware::Machine& machine) {
  using topology::ModelKind;
  const topology::Topology& topology = machine.topology();
  PePeaks device = peaks_of(sip, machine), used = peaks_of(pes, machine);
  if (!has_peak(ModelKind::gemm, topology.pe.gemm.model)) device.gemm = used.gemm = 0;
  if (!has_peak(ModelKind::vector, topology.pe.vector.model)) device.vector = used.vector = 0;
  double slice_peak = static_cast<double>(topology.cube.slice_bandwidth().count());
  if (!has_peak(ModelKind::hbm, topology.cube.hbm.model)) slice_peak = 0;
  Time busiest_slice;
  for (const auto& [at, slice] : record.slices) busiest_slice = std::max(busiest_slice, slice.use.least_time(topology));
  if (slice_peak == 0) busiest_slice = Time::zero();

  const Total gemm = total_of(record.work.gemm, [](std::size_t type) { return topology::kGemmOperands[type].key; });
  const Total vector = total_of(record.work.vector, [](std::size_t type) { return name(static_cast<DType>(type)); });
  const tile::BusiestProgram& busiest = record.busiest;
  std::vector<EngineResult> engines = {
      entry("gemm", gemm, busiest.gemm, duration, device.gemm, used.gemm),
      entry("vector", vector, busiest.vector, duration, device.vector, used.vector),
      entry("hbm", bytes_of(record.hbm_bytes), busiest_slice, duration, slice_peak * topology.pes_per_sip(),
            slice_peak * static_cast<double>(record.slices.size())),
      entry("tcm", bytes_of(record.tcm_bytes), transfer_time(busiest.tcm_bytes, topology.pe.tcm.bandwidth), duration,
            device.tcm, used.tcm)};
  if (const BusiestLink link = busiest_link(record, machine); link.bytes > Bytes()) {
    const Total bytes{bytes_of(link.bytes).work, link.name};
    const auto rate = static_cast<double>(link.rate.count());
    engines.push_back(entry("link", bytes, link.time, duration, rate, rate));
  }
  std::erase_if(engines, [](const EngineResult& engine) { return engine.work <= 0; });
  return engines;
}

Roofline roofline_of(const std::vector<EngineResult>& engines) {
  const EngineResult* compute = nullptr;
  const EngineResult* hbm = nullptr;
  for (const EngineResult& engine : engines) {
    if (engine.device_peak <= 0) continue;
    if (engine.engine == "hbm") hbm = &engine;
    if (engine.engine != "gemm" && engine.engine != "vector") continue;
    if (compute == nullptr || share_of(engine) > share_of(*compute)) compute = &engine;
  }
  if (compute == nullptr || hbm == nullptr) return {};
  Roofline roofline;
  roofline.engine = compute->engine;
  roofline.intensity = compute->work / hbm->work;
  roofline.attained = compute->attained;
  roofline.used = roof_of(compute->used_peak, hbm->used_peak, roofline);
  roofline.device = roof_of(compute->device_peak, hbm->device_peak, roofline);
  return roofline;
}

}  // namespace kernbench::runtime
