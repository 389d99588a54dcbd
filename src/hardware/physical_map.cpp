#include "hardware/physical_map.h"

#include <string>

#include "base/quantity.h"
#include "kernbench/error.h"

namespace kernbench::hardware {

namespace {

void check_size(const std::string& key, Bytes size, AddressSpace space) {
  const Bytes limit = address_limit(space);
  if (size <= limit) return;
  throw ConfigurationError(key + " is " + to_quantity(size) + ", but physical addresses have room for " +
                           to_quantity(limit) + ": make it smaller");
}

void check_count(const std::string& key, std::int64_t count, std::int64_t limit) {
  if (count <= limit) return;
  throw ConfigurationError(key + " gives " + std::to_string(count) + ", but a physical address tells " +
                           std::to_string(limit) + " apart: use fewer");
}

}  // namespace

PhysicalMap::PhysicalMap(const topology::Topology& topology)
    : sips_(topology.system.sips),
      cubes_(topology.sip.cubes.count()),
      pes_(topology.cube.pes.count()),
      slice_(topology.cube.hbm.capacity.count() / pes_) {
  check_count("system.sips.count", sips_, PhysAddr::kMaximumSips);
  check_count("sip.cubes.mesh", cubes_, PhysAddr::kMaximumCubes);
  check_count("cube.pes.mesh", pes_, PhysAddr::kMaximumPes);
  check_size("cube.hbm.capacity", topology.cube.hbm.capacity, AddressSpace::hbm);
  check_size("cube.sram.capacity", topology.cube.sram.capacity, AddressSpace::sram);
  check_size("pe.tcm.capacity", topology.pe.tcm.capacity, AddressSpace::tcm);
}

SliceByte PhysicalMap::slice_of(PhysAddr address) const {
  const AddressFields fields = address.decode();
  const auto slice = static_cast<std::uint64_t>(slice_.count());
  const std::uint64_t pe = slice == 0 ? 0 : fields.offset / slice;
  const bool exists = fields.sip.value < sips_ && fields.cube.value < cubes_ && slice > 0 &&
                      pe < static_cast<std::uint64_t>(pes_) && fields.space == AddressSpace::hbm;
  if (!exists) throw OutOfBoundsError(to_text(address) + " is no address of the machine's HBM");
  return {{fields.sip, fields.cube, PeId{static_cast<std::int32_t>(pe)}}, fields.offset % slice};
}

}  // namespace kernbench::hardware
