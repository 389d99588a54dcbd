// `kernbench describe --algorithm`: its table, its JSON and its options.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "cli/program.h"
#include "support/source_tree.h"

namespace kernbench::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

struct Shown {
  int code = 0;
  std::string out, err;
};

Shown describe_on(int sips, std::vector<std::string> more) {
  Shown shown;
  Environment environment;
  environment.out = [&](std::string_view text) { shown.out += text; };
  environment.err = [&](std::string_view text) { shown.err += text; };
  std::vector<std::string> arguments{"describe", "ahbm-2sip", "--set", "system.sips.count=" + std::to_string(sips)};
  arguments.insert(arguments.end(), more.begin(), more.end());
  shown.code = static_cast<int>(run_program(arguments, environment));
  return shown;
}

Shown describe_on_four(std::vector<std::string> more) {
  return describe_on(4, std::move(more));
}

TEST(DescribeAlgorithm, TheTableOfManyRanksIsCutWithCountsAndTheJsonIsNot) {
  const Shown table = describe_on(40, {"--algorithm", "ring_allreduce"});
  ASSERT_EQ(table.code, 0) << table.err;
  EXPECT_THAT(table.out,
              AllOf(HasSubstr("\n  and 24 more ranks (see --format json)\n"), HasSubstr("sip15"),
                    Not(HasSubstr("sip17")), HasSubstr("0 to 1, 1 to 2, 2 to 3, 3 to 4, …, 39 to 0 (40 in all)\n")));
  const Shown all = describe_on(40, {"--algorithm", "ring_allreduce", "--format", "json"});
  ASSERT_EQ(all.code, 0) << all.err;
  const auto json = nlohmann::json::parse(all.out);
  EXPECT_EQ(json["ranks"].size(), 40u);
  EXPECT_EQ(json["steps"][0]["messages"].size(), 40u);
}

TEST(DescribeAlgorithm, TheDetourOfAFailedLinkIsCutWithACount) {
  const Shown shown = describe_on(
      10, {"--set", "overrides.sip0.io.to_sip1.failed=true", "--algorithm", "ring_allreduce", "--ranks", "10"});
  ASSERT_EQ(shown.code, 0) << shown.err;
  EXPECT_THAT(shown.out, HasSubstr("sip0.io.to_sip9, sip9.io.to_sip8, sip8.io.to_sip7, …, sip2.io.to_sip1 (9 in all)"));
}

TEST(DescribeAlgorithm, TheWayFromCornerToCornerOfAMeshIsShownWhole) {
  const Shown shown = describe_on(16, {"--set", "system.sips.topology=mesh_2d", "--algorithm", "ring_allreduce"});
  ASSERT_EQ(shown.code, 0) << shown.err;
  const auto table = shown.out.substr(0, shown.out.find("Steps"));
  EXPECT_THAT(table,
              AllOf(HasSubstr("sip12.io.to_sip8, sip8.io.to_sip4, sip4.io.to_sip0\n"), Not(HasSubstr("in all"))));
}

TEST(DescribeAlgorithm, OneRankMoreIsInTheSingular) {
  EXPECT_THAT(describe_on(17, {"--algorithm", "ring_allreduce"}).out, HasSubstr("and 1 more rank (see"));
}

TEST(DescribeAlgorithm, TheTableHasNeighboursAndSteps) {
  const Shown shown = describe_on_four({"--algorithm", "ring_allreduce", "--bytes", "1M"});
  EXPECT_EQ(shown.code, 0) << shown.err;
  EXPECT_THAT(shown.out, AllOf(HasSubstr("ring_allreduce, all_reduce\n"), HasSubstr("4, each a SIP of 128 PEs"),
                               HasSubstr("Neighbour registers of each PE"), HasSubstr("sip3.io.to_sip0"),
                               HasSubstr("Steps for 1 MiB"), HasSubstr("256 KiB  0 to 1, 1 to 2, 2 to 3, 3 to 0"),
                               HasSubstr(", beside the launch")));
  EXPECT_THAT(describe_on_four({"--algorithm", "direct_gather"}).out, HasSubstr("the algorithm describes none"));
  EXPECT_THAT(describe_on_four({"--algorithm", "ring_broadcast"}).out, Not(HasSubstr("fold order")));
}

TEST(DescribeAlgorithm, TheJsonHasTheSame) {
  const Shown shown =
      describe_on_four({"--algorithm", "direct", "--operation", "broadcast", "--bytes", "6K", "--format", "json"});
  ASSERT_EQ(shown.code, 0) << shown.err;
  const auto json = nlohmann::json::parse(shown.out);
  EXPECT_EQ(json["algorithm"], "direct_broadcast");
  EXPECT_EQ(json["operation"], "broadcast");
  EXPECT_EQ(json["bytes"], 6 * 1024);
  ASSERT_EQ(json["ranks"].size(), 4u);
  EXPECT_EQ(json["ranks"][1]["place"], "sip1");
  ASSERT_EQ(json["ranks"][1]["sends"].size(), 3u);
  EXPECT_EQ(json["ranks"][1]["sends"][0]["peer"], 2);
  EXPECT_EQ(json["ranks"][1]["sends"][0]["links"][0], "sip1.io.to_sip2");
  EXPECT_EQ(json["ranks"][1]["receives"][0]["peer"], 0);
  ASSERT_EQ(json["steps"].size(), 1u);
  EXPECT_EQ(json["steps"][0]["messages"][0], (nlohmann::json{{"from", 0}, {"to", 1}, {"bytes", 2048}}));
  EXPECT_GT(json["estimate_ns"], 0);
}

TEST(DescribeAlgorithm, OfAnMscclFileIsItsSchedule) {
  const std::string file = source_tree::path("collectives/msccl/ring_allreduce_4.xml");
  const Shown shown = describe_on_four({"--msccl", file, "--bytes", "1M"});
  EXPECT_EQ(shown.code, 0) << shown.err;
  EXPECT_THAT(shown.out, AllOf(HasSubstr("ring_allreduce_4, all_reduce\n"), HasSubstr("sip3.io.to_sip0")));
  const Shown missing = describe_on_four({"--msccl", "no.xml"});
  EXPECT_EQ(missing.code, 2);
  EXPECT_THAT(missing.err, HasSubstr("no.xml"));
}

TEST(DescribeAlgorithm, UsageErrorsNameTheOptionAndTheFix) {
  const auto error = [](std::vector<std::string> more) {
    const Shown shown = describe_on_four(std::move(more));
    EXPECT_NE(shown.code, 0);
    return shown.err;
  };
  EXPECT_THAT(error({"--algorithm", "ring_alreduce"}), HasSubstr("did you mean \"ring_allreduce\"?"));
  EXPECT_THAT(error({"--algorithm", "ring", "--format", "yaml"}), HasSubstr("expected table or json"));
  EXPECT_THAT(error({"--format", "json"}), HasSubstr("--format json is for --algorithm NAME"));
  EXPECT_THAT(error({"--algorithm", "ring", "--ranks", "0"}), HasSubstr("--ranks"));
  EXPECT_THAT(error({"--ranks", "4"}), HasSubstr("--ranks is for --algorithm NAME"));
  EXPECT_THAT(error({"--load", "x.cpp"}), HasSubstr("this program loads no files"));
  EXPECT_THAT(error({"--algorithm", "ring", "--msccl", "x.xml"}), HasSubstr("give one of them"));
}

}  // namespace
}  // namespace kernbench::cli
