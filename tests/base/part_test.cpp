// Names of parts and their kinds.
#include "base/part.h"

#include <gtest/gtest.h>

#include <set>

namespace kernbench {
namespace {

constexpr PeCoordinate kPe{SipId{10}, CubeId{2}, PeId{35}};

/// What the kind's text is: the name with '*' for each number.
std::string with_stars(const std::string& name) {
  std::string out;
  for (const char c : name) {
    const bool digit = c >= '0' && c <= '9';
    if (!digit) out += c;
    if (digit && (out.empty() || out.back() != '*')) out += '*';
  }
  return out;
}

PartId any_of(PartKind kind) {
  PartId part(kind, 12);
  if (scope_of(kind) != PartScope::machine) part.at.sip = kPe.sip;
  if (scope_of(kind) >= PartScope::cube) part.at.cube = kPe.cube;
  if (scope_of(kind) == PartScope::pe) part.at.pe = kPe.pe;
  return part;
}

TEST(PartId, HasOneName) {
  EXPECT_EQ(to_text(PartId(PartKind::gemm, kPe)), "sip10.cube2.pe35.gemm");
  EXPECT_EQ(to_text(PartId(PartKind::hbm_channel, kPe, 3)), "sip10.cube2.pe35.hbm.channel3");
  EXPECT_EQ(to_text(PartId(PartKind::sram, CubeCoordinate{SipId{1}, CubeId{0}})), "sip1.cube0.sram");
  EXPECT_EQ(to_text(PartId(PartKind::io_row_from_mesh, SipId{1}, 4)), "sip1.io.row4.from_mesh");
  EXPECT_EQ(to_text(PartId(PartKind::host_to_sip, 7)), "host.to_sip7");
  EXPECT_EQ(to_text(PartId()), "");
  EXPECT_EQ(local_name(PartId(PartKind::dma_queue, kPe, 1)), "dma.queue1");
}

TEST(PartKind, IsTheNameWithStarsForItsNumbers) {
  EXPECT_EQ(to_text(PartKind::none), "");
  EXPECT_EQ(to_text(PartKind::dma_queue), "sip*.cube*.pe*.dma.queue*");
  std::set<std::string> names;
  for (std::size_t number = 1; number < kPartKindCount; ++number) {
    const auto kind = static_cast<PartKind>(number);
    const std::string name = to_text(any_of(kind));
    EXPECT_EQ(to_text(kind), with_stars(name));
    EXPECT_EQ(part_kind(name), kind) << name;
    EXPECT_EQ(part_kind(to_text(kind)), kind) << name;
    EXPECT_TRUE(names.insert(name).second) << name << " twice";
  }
}

TEST(PartKind, OfWhatIsNoPartIsUnknown) {
  for (const char* name : {"", "sip0", "sip0.cube1", "sip0.cube1.pe2", "sip.cube1.pe2.gemm", "sip0.cube1.pe2.gemm2",
                           "sip0.cube1.pe2.", "sip0.cube1.gemm", "gemm", "sip0.cube1.pe2.dma.queue", "other",
                           "sip0.cube1.pe2.hbm.channel", "sip0..cpu", "host.to_sip", "xsip0.io.cpu"}) {
    EXPECT_EQ(part_kind(name), std::nullopt) << name;
  }
  EXPECT_EQ(part_kind("sip0.cube*.pe12.gemm"), PartKind::gemm);
}

}  // namespace
}  // namespace kernbench
