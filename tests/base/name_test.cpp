#include "base/name.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/name_format.h"
#include "base/part.h"

namespace kernbench {
namespace {

constexpr PeCoordinate kNamedPe{SipId{0}, CubeId{2}, PeId{5}};

/// The values of its slots, which tell it from names that are alike.
std::vector<std::string> values(const Name& name) {
  std::vector<std::string> all;
  for (const Name::Slot& slot : name.slots()) all.emplace_back(name.value(slot));
  return all;
}
using Values = std::vector<std::string>;

TEST(NameTest, PlainTextHasNoSlotsWhateverItSays) {
  const Name name = "rank 3 on sip0.cube2.pe5 of gemm#7";
  EXPECT_EQ(name.text(), "rank 3 on sip0.cube2.pe5 of gemm#7");
  EXPECT_TRUE(name.slots().empty());
}

TEST(NameTest, SlotsSurviveBeingPutTogether) {
  const Name call = named("recv{} (ring.cpp:{}) on {}", operation_number(7), 17,
                          to_name(PartId(PartKind::receive_queue, kNamedPe, 1)));
  EXPECT_EQ(call.text(), "recv#7 (ring.cpp:17) on sip0.cube2.pe5.ipcq.receive1");
  EXPECT_EQ(values(call), (Values{"7", "0", "2", "5", "1"}));
  const Name all = join({Name::rank(3), Name::rank("0.1"), "main"}, ", ") + ": " + call;
  EXPECT_EQ(all.text(), "rank 3, rank 0.1, main: " + call.text());
  EXPECT_EQ(values(all), (Values{"3", "0.1", "7", "0", "2", "5", "1"}));
  EXPECT_EQ(all.slots()[0].number, 3);
  EXPECT_EQ(all.slots()[1].number, -1) << "a path";
  EXPECT_EQ(all.part(0, 16).text(), "rank 3, rank 0.1");
  EXPECT_EQ(values(all.part(8, 16)), (Values{"0.1"}));
}

TEST(NameTest, NamesOfPartsAreTheirTexts) {
  for (std::size_t kind = 0; kind < kPartKindCount; ++kind) {
    const PartId part(static_cast<PartKind>(kind), kNamedPe, 3);
    EXPECT_EQ(to_name(part).text(), to_text(part));
  }
  EXPECT_EQ(to_name(kNamedPe).text(), "sip0.cube2.pe5");
  EXPECT_EQ(values(to_name(CubeCoordinate{SipId{1}, CubeId{4}})), (Values{"1", "4"}));
}

TEST(NameTest, OnlyAProgramAndAPeBeginWithAPe) {
  EXPECT_EQ(to_name(kNamedPe).lead(), Name::Lead::pe);
  const Name program = Name::program(kNamedPe, named("ring#{}.4", Name::path("1")));
  EXPECT_EQ(program.text(), "sip0.cube2.pe5 ring#1.4");
  EXPECT_EQ(program.lead(), Name::Lead::pe);
  EXPECT_EQ(program.lead_end(), 14u);
  EXPECT_EQ(values(program), (Values{"0", "2", "5", "1"}));
  EXPECT_EQ((to_name(kNamedPe) + ".tcm").lead(), Name::Lead::none);
  EXPECT_EQ(("the end of " + program).lead(), Name::Lead::none);
}

TEST(NameTest, WhatSomebodyHasCalledIsHisOwn) {
  const Name call =
      named("{}, which {} has not received", Name::owned(Name::rank(0), "send to " + Name::rank(1)), Name::rank(1));
  EXPECT_EQ(call.text(), "rank 0's send to rank 1, which rank 1 has not received");
  EXPECT_EQ(call.seen_by(Name::rank(0)).text(), "its send to rank 1, which rank 1 has not received");
  EXPECT_EQ(values(call.seen_by(Name::rank(0))), (Values{"1", "1"}));
  EXPECT_EQ(call.seen_by(Name::rank(1)), call);
  EXPECT_EQ(Name("rank 0's send").seen_by(Name::rank(0)).text(), "rank 0's send") << "a text that nobody owns";
}

TEST(NameTest, AreFormattedAsTheirTexts) {
  EXPECT_EQ(fmt::format("{:>8}", Name::rank(3)), "  rank 3");
}

}  // namespace
}  // namespace kernbench
