#include "hardware/physical_map.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "bench.h"
#include "kernbench/error.h"

namespace kernbench::hardware {
namespace {

TEST(PhysicalMap, EveryByteOfEverySliceHasAnAddressOfItsOwn) {
  topology::Topology topology = small_machine({2, 1}, {2, 1}, 2);
  topology.cube.hbm.capacity = Bytes(64);
  const PhysicalMap map(topology);
  std::uint64_t before = 0;
  for (int sip = 0; sip < 2; ++sip) {
    for (int cube = 0; cube < 2; ++cube) {
      for (int pe = 0; pe < 2; ++pe) {
        for (std::uint64_t offset = 0; offset < 32; ++offset) {
          const SliceByte byte{at(sip, cube, pe), offset};
          const PhysAddr address = map.hbm(byte.slice, byte.offset);
          EXPECT_EQ(map.slice_of(address), byte);
          EXPECT_EQ(address.decode().space, AddressSpace::hbm);
          const bool first = sip == 0 && cube == 0 && pe == 0 && offset == 0;
          EXPECT_TRUE(first || address.value() > before) << "ascending, so no two are equal";
          before = address.value();
        }
        EXPECT_THROW(map.hbm(at(sip, cube, pe), 32), OutOfBoundsError);
      }
    }
  }
  const DmaLeg part = leg(at(1, 0, 1), 5, 10);
  EXPECT_EQ(to_text(map.first(part, part.ranges.front())), "sip1.cube0.hbm+0x25");
}

TEST(PhysicalMap, AnAddressOfNoSliceIsAnError) {
  const PhysicalMap map(tiny());
  const auto error = [&](const AddressFields& fields) {
    try {
      map.slice_of(PhysAddr::encode(fields));
    } catch (const OutOfBoundsError& caught) {
      return std::string(caught.what());
    }
    return std::string("none");
  };
  EXPECT_EQ(error({}), "none");
  EXPECT_EQ(error({.sip = {1}}), "sip1.cube0.hbm+0x0 is no address of the machine's HBM");
  EXPECT_EQ(error({.cube = {1}}), "sip0.cube1.hbm+0x0 is no address of the machine's HBM");
  EXPECT_EQ(error({.offset = 2u << 20}), "sip0.cube0.hbm+0x200000 is no address of the machine's HBM");
  EXPECT_EQ(error({.space = AddressSpace::tcm}), "sip0.cube0.pe0.tcm+0x0 is no address of the machine's HBM");
}

TEST(PhysicalMap, AMachineThatDoesNotFitIntoItsAddressesIsNotBuilt) {
  const auto error = [](const std::function<void(topology::Topology&)>& change) {
    topology::Topology topology = tiny();
    change(topology);
    try {
      sim::Scheduler scheduler;
      const Machine machine(scheduler, topology, {});
    } catch (const ConfigurationError& caught) {
      return std::string(caught.what());
    }
    return std::string("none");
  };
  EXPECT_EQ(error([](topology::Topology&) {}), "none");
  EXPECT_EQ(error([](topology::Topology& t) { t.cube.hbm.capacity = address_limit(AddressSpace::hbm); }), "none");
  EXPECT_EQ(error([](topology::Topology& t) { t.cube.hbm.capacity = Bytes(std::int64_t{1} << 40); }),
            "cube.hbm.capacity is 1TiB, but physical addresses have room for 512GiB: make it smaller");
  EXPECT_EQ(error([](topology::Topology& t) { t.cube.sram.capacity = Bytes(std::int64_t{257} << 30); }),
            "cube.sram.capacity is 257GiB, but physical addresses have room for 256GiB: make it smaller");
  EXPECT_EQ(error([](topology::Topology& t) { t.pe.tcm.capacity = Bytes(std::int64_t{129} << 20); }),
            "pe.tcm.capacity is 129MiB, but physical addresses have room for 128MiB: make it smaller");
  EXPECT_EQ(error([](topology::Topology& t) { t.sip.cubes = {33, 32}; }),
            "sip.cubes.mesh gives 1056, but a physical address tells 1024 apart: use fewer");
}

}  // namespace
}  // namespace kernbench::hardware
