#include "base/address.h"

#include <gtest/gtest.h>

#include <random>
#include <set>
#include <tuple>
#include <vector>

#include "kernbench/error.h"

namespace kernbench {
namespace {

TEST(Address, RoundTripsOverAllFieldsAndTheirLimits) {
  std::mt19937_64 random(1);
  for (const AddressRange& range : address_map()) {
    for (int i = 0; i < 20'000; ++i) {
      const auto pick = [&](std::uint64_t limit) {
        const std::uint64_t which = random() % 4;
        return which == 0 ? 0 : which == 1 ? limit - 1 : random() % limit;
      };
      const AddressFields fields{
          .sip = {static_cast<std::int32_t>(pick(PhysAddr::kMaximumSips))},
          .cube = {static_cast<std::int32_t>(pick(PhysAddr::kMaximumCubes))},
          .space = range.space,
          .pe = {range.pe_stride == 0 ? 0 : static_cast<std::int32_t>(pick(PhysAddr::kMaximumPes))},
          .offset = pick(range.size)};
      const PhysAddr address = PhysAddr::encode(fields);
      EXPECT_EQ(address.decode(), fields);
      EXPECT_EQ(address.sip(), fields.sip);
      EXPECT_EQ(address.cube(), fields.cube);
      EXPECT_EQ(PhysAddr::encode(address.decode()), address);
    }
  }
}

TEST(Address, RoundTripsOverEveryCombinationOfBoundariesOfTheFields) {
  const auto boundaries = [](std::uint64_t limit) {
    return std::vector<std::uint64_t>{0, 1, limit / 2 - 1, limit / 2, limit - 2, limit - 1};
  };
  const auto number = [](std::uint64_t value) { return static_cast<std::int32_t>(value); };
  std::set<std::uint64_t> values;
  std::size_t combinations = 0;
  for (const AddressRange& range : address_map()) {
    const auto pes = range.pe_stride == 0 ? std::vector<std::uint64_t>{0} : boundaries(PhysAddr::kMaximumPes);
    for (const std::uint64_t sip : boundaries(PhysAddr::kMaximumSips)) {
      for (const std::uint64_t cube : boundaries(PhysAddr::kMaximumCubes)) {
        for (const std::uint64_t pe : pes) {
          for (const std::uint64_t offset : boundaries(range.size)) {
            const AddressFields fields{{number(sip)}, {number(cube)}, range.space, {number(pe)}, offset};
            const PhysAddr address = PhysAddr::encode(fields);
            ASSERT_EQ(address.decode(), fields);
            values.insert(address.value());
            ++combinations;
          }
        }
      }
    }
  }
  EXPECT_EQ(values.size(), combinations) << "no two places have one address";
}

TEST(Address, TheByteAfterARangeIsTheFirstOfTheNext) {
  for (const AddressRange& range : address_map()) {
    const std::int32_t last_pe = range.pe_stride == 0 ? 0 : PhysAddr::kMaximumPes - 1;
    for (const std::int32_t pe : {0, last_pe}) {
      const PhysAddr last = PhysAddr::encode({{0}, {5}, range.space, {pe}, range.size - 1});
      const AddressFields next = PhysAddr(last.value() + 1).decode();
      EXPECT_EQ(next.offset, 0u);
      EXPECT_NE(std::tuple(next.space, next.pe, next.cube), std::tuple(range.space, PeId{pe}, CubeId{5}));
    }
  }
}

TEST(Address, EveryValueDecodes) {
  std::mt19937_64 random(2);
  for (int i = 0; i < 100'000; ++i) {
    const PhysAddr address(random());
    EXPECT_EQ(PhysAddr::encode(address.decode()), address);
  }
}

TEST(Address, RangesOfTheMapAreDisjointAndAscend) {
  std::uint64_t end = 0;
  for (const AddressRange& range : address_map()) {
    EXPECT_EQ(range.begin, end) << range.name;
    end = range.begin + range.size;
  }
}

TEST(Address, TextFollowsTheGrammarOfPartNames) {
  EXPECT_EQ(
      to_text(PhysAddr::encode({.sip = {0}, .cube = {2}, .space = AddressSpace::hbm, .pe = {}, .offset = 0x1f000})),
      "sip0.cube2.hbm+0x1f000");
  EXPECT_EQ(
      to_text(PhysAddr::encode({.sip = {1}, .cube = {15}, .space = AddressSpace::tcm, .pe = {7}, .offset = 0x40})),
      "sip1.cube15.pe7.tcm+0x40");
}

TEST(Address, SlicesOfACubeFollowEachOther) {
  const Bytes capacity(std::int64_t{4} << 30);
  const PhysAddr address = hbm_slice_address({{0}, {1}, {3}}, capacity, 16);
  EXPECT_EQ(to_text(address), "sip0.cube1.hbm+0x300000010");
  EXPECT_THROW(hbm_slice_address({{0}, {1}, {3}}, capacity, static_cast<std::uint64_t>(capacity.count())),
               OutOfBoundsError);
}

TEST(Address, FieldsBeyondTheirLimitAreErrorsThatNameTheField) {
  const auto message = [](const AddressFields& fields) {
    try {
      PhysAddr::encode(fields);
    } catch (const OutOfBoundsError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_EQ(message({.sip = {1 << 14}}).substr(0, 4), "SIP ");
  EXPECT_EQ(message({.cube = {1024}}).substr(0, 5), "cube ");
  EXPECT_EQ(message({.cube = {-1}}).substr(0, 5), "cube ");
  EXPECT_EQ(message({.space = AddressSpace::tcm, .pe = {1024}}).substr(0, 3), "PE ");
  EXPECT_EQ(message({.space = AddressSpace::hbm, .pe = {1}}).substr(0, 3), "PE ");
  EXPECT_EQ(message({.space = AddressSpace::tcm, .offset = 128u << 20}).substr(0, 7), "offset ");
}

}  // namespace
}  // namespace kernbench
