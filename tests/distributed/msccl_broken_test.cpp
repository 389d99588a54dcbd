// Broken MSCCL files: each is refused with file, line, element, reason and fix; and no file, however broken, does
// worse.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "distributed/msccl/schedule.h"
#include "msccl_schedules.h"
#include "support/source_tree.h"

namespace kernbench::testing {
namespace {

using ::testing::HasSubstr;

struct Broken {
  std::string title, from, to;
  std::string behind = {};  // where to look for `from`
};

const std::string kGpu1 = "<gpu id=\"1\"";

const std::vector<Broken> kBroken{
    {"no XML", "</algo>", "</alg>"},
    {"nothing", exchange_of_halves(), ""},
    {"another document", exchange_of_halves(), "<topology/>"},
    {"second document", "</algo>\n", "</algo>\n<!-- and -->\n<algo name=\"more\"/>\n"},
    {"text before the document", "<algo", "see\n<algo"},
    {"text behind the document", "</algo>\n", "</algo>\n\nand so on\n"},
    {"text behind the document, and a comment", "</algo>\n", "</algo>\nand so on<!-- . -->\n"},
    {"NUL byte", "</algo>\n", std::string("</algo>\n\0", 9)},
    {"text between gpus", kGpu1, "rank 1:\n" + kGpu1},
    {"CDATA between threadblocks", "<tb id=\"1\"", "<![CDATA[<tb/>]]><tb id=\"1\""},
    {"text in a step", "srcoff=\"1\"/>", "srcoff=\"1\">one</step>"},
    {"element in a step", "srcoff=\"1\"/>", "srcoff=\"1\"><step/></step>"},
    {"declaration of a type", "<algo", "<!DOCTYPE algo>\n<algo"},
    {"reference that is not defined", "name=\"halves\"", "name=\"&x;\""},
    {"ampersand that is no reference", "name=\"halves\"", "name=\"a & b\""},
    {"reference to no character", "name=\"halves\"", "name=\"&lt;&#x110000;\""},
    {"number of gpus with a sign", "ngpus=\"2\"", "ngpus=\"+2\""},
    {"number of chunks with a sign", "i_chunks=\"2\"", "i_chunks=\"+2\""},
    {"unknown attribute", "srcoff=\"1\"", "srcof=\"1\""},
    {"attribute given twice", "chan=\"0\"", "chan=\"0\" chan=\"0\""},
    {"unknown collective", "coll=\"allreduce\"", "coll=\"allreduced\""},
    {"unknown step type", "type=\"rrc\"", "type=\"rcr\""},
    {"unknown buffer", "srcbuf=\"i\"", "srcbuf=\"input\""},
    {"number that is none", "srcoff=\"1\"", "srcoff=\"one\""},
    {"missing gpu", "ngpus=\"2\"", "ngpus=\"3\""},
    {"gpu given twice", kGpu1, "<gpu id=\"0\""},
    {"threadblock given twice", "<tb id=\"1\"", "<tb id=\"0\""},
    {"threadblock that talks to its own gpu", "send=\"1\"", "send=\"0\""},
    {"send without a peer", "send=\"1\"", "send=\"-1\""},
    {"receive without a peer", "recv=\"1\"", "recv=\"-1\""},
    {"channel that is not there", "nchannels=\"2\"", "nchannels=\"1\""},
    {"steps out of order", "<step s=\"1\"", "<step s=\"2\""},
    {"chunk behind the buffer", "dstoff=\"1\" cnt=\"1\"", "dstoff=\"1\" cnt=\"2\""},
    {"too few chunks", "i_chunks=\"2\" o_chunks=\"2\"", "i_chunks=\"3\" o_chunks=\"3\""},
    {"dependency on a step that is not there", "deps=\"1\"", "deps=\"7\""},
    {"dependency on a step that tells nobody", "hasdep=\"1\"", "hasdep=\"0\""},
    {"two threadblocks on one channel", "chan=\"1\"", "chan=\"0\""},
    {"send that nobody receives", "<step s=\"1\" type=\"r\" dstbuf=\"i\" dstoff=\"0\"/>\n", "", kGpu1},
    {"receive that nobody sends",
     "<step s=\"0\" type=\"s\" srcbuf=\"i\" srcoff=\"1\" depid=\"0\" deps=\"1\"/>\n<step s=\"1\"", "<step s=\"0\"",
     kGpu1},
    {"cycle of a dependency", "<step s=\"0\" type=\"s\" srcbuf=\"i\" srcoff=\"1\"/>",
     "<step s=\"0\" type=\"s\" srcbuf=\"i\" srcoff=\"1\" depid=\"1\" deps=\"0\"/>"},
    {"scratch that was never written", "srcbuf=\"i\" srcoff=\"1\"", "srcbuf=\"s\" srcoff=\"0\""},
    {"contribution that is added twice", "type=\"r\" dstbuf=\"i\" dstoff=\"1\"",
     "type=\"rrc\" srcbuf=\"i\" srcoff=\"1\" dstbuf=\"i\" dstoff=\"1\""},
    {"contribution that is missing", "type=\"rrc\"", "type=\"r\""},
    {"chunk at a wrong place", "dstbuf=\"i\" dstoff=\"1\" cnt=\"1\"", "dstbuf=\"i\" dstoff=\"0\" cnt=\"1\""},
    {"different chunks reduced", "srcbuf=\"i\" srcoff=\"0\" dstbuf=\"i\" dstoff=\"0\"",
     "srcbuf=\"i\" srcoff=\"1\" dstbuf=\"i\" dstoff=\"0\""},
    {"chunk that two threadblocks use in no order", "depid=\"0\" deps=\"1\"", ""},
};

TEST(BrokenSchedule, IsRefusedWithFileLineElementReasonAndFix) {
  ASSERT_EQ(msccl_error_of(exchange_of_halves()), "");
  std::string report;
  for (const Broken& broken : kBroken) {
    std::string text = with(exchange_of_halves(), broken.from, broken.to, broken.behind);
    if (broken.title == "cycle of a dependency")
      text = with(text, "depid=\"0\" deps=\"1\"", "depid=\"0\" deps=\"1\" hasdep=\"1\"");
    const std::string error = msccl_error_of(text);
    EXPECT_THAT(error, ::testing::MatchesRegex("x\\.xml:[0-9]+: .*(algo|gpu|tb|step|file).*")) << broken.title;
    report += broken.title + "\n" + error + "\n\n";
  }
  source_tree::expect_golden("tests/distributed/golden/broken_schedules.txt", report);
}

TEST(BrokenSchedule, OfWhatOnlyCopiesMayNotReduceOrChangeItsInput) {
  const std::string gather = msccl_text("recursive_doubling_allgather_4"), exchange = msccl_text("pairwise_alltoall_4");
  EXPECT_THAT(
      msccl_error_of(with(gather, "type=\"r\" srcbuf=\"i\" srcoff=\"-1\"", "type=\"rrc\" srcbuf=\"o\" srcoff=\"0\"")),
      HasSubstr("reduces, but all_gather only copies; take r, rcs or cpy"));
  EXPECT_THAT(msccl_error_of(with(exchange, "dstbuf=\"o\" dstoff=\"3\"", "dstbuf=\"i\" dstoff=\"3\"")),
              HasSubstr("writes i[3], but the input of all_to_all does not change"));
  EXPECT_THAT(msccl_error_of(with(exchange, "inplace=\"0\"", "inplace=\"1\"")),
              HasSubstr("inplace=\"1\" is not for alltoall"));
  EXPECT_THAT(msccl_error_of(with(gather, "type=\"cpy\"", "type=\"nop\"")), HasSubstr("which was never written"));
}

TEST(Schedule, MayHaveCommentsADeclarationAndReferences) {
  const std::string text = with(exchange_of_halves(), "name=\"halves\"", "name=\"&lt;a&gt;&amp;x;&#65;&#x42;\"");
  EXPECT_EQ(msccl_error_of("<?xml version=\"1.0\"?>\n<!-- &x; -->\n" + with(text, kGpu1, "<!-- & -->" + kGpu1) +
                           "<!-- the end -->\n"),
            "");
  EXPECT_EQ(distributed::msccl::parse(text, "x.xml").name, "<a>&x;AB");
}

TEST(BrokenSchedule, MayBeAnyText) {
  const std::vector<std::string> seeds{exchange_of_halves(), msccl_text("allpairs_allreduce_4"),
                                       msccl_text("recursive_doubling_allgather_4"),
                                       msccl_text("ring_reducescatter_4")};
  const std::vector<std::string> words{"\"", "<",   ">",  "/>",  "-1",    "0",   "1",    "2",   "99999999999", "i", "o",
                                       "s",  "rrc", "re", "cpy", "<step", "cnt", "deps", "=\"", "</tb>",       "&", ""};
  constexpr unsigned kSeed = 20261125;
  SCOPED_TRACE(kSeed);
  std::mt19937 random(kSeed);
  int refused = 0, planned = 0;
  constexpr int rounds = 800;
  for (int round = 0; round < rounds; ++round) {
    std::string text = seeds[static_cast<std::size_t>(round) % seeds.size()];
    const int changes = 1 + static_cast<int>(random() % 3);
    for (int change = 0; change < changes; ++change) {
      const std::size_t at = random() % text.size(), length = random() % 4;
      text.replace(at, std::min(length, text.size() - at), words[random() % words.size()]);
    }
    (msccl_error_of(text).empty() ? planned : refused) += 1;
  }
  EXPECT_GT(refused, rounds / 2);
  EXPECT_GT(planned, 0);
}

TEST(BrokenSchedule, ThatIsHugeIsRefusedBeforeItIsChecked) {
  std::string steps;
  constexpr int kSteps = 60'000;
  for (int step = 1; step < kSteps; ++step)
    steps +=
        "<step s=\"" + std::to_string(step) + "\" type=\"cpy\" srcbuf=\"i\" srcoff=\"0\" dstbuf=\"s\" dstoff=\"0\"/>";
  const std::string first = "<step s=\"0\" type=\"s\" srcbuf=\"i\" srcoff=\"1\"/>\n";
  EXPECT_THAT(msccl_error_of(with(exchange_of_halves(), first, first + steps)),
              HasSubstr("is one too many: the steps of a file move at most 50000 chunks"));
}

TEST(BrokenSchedule, ThatWaitsTooOftenIsRefusedBeforeItIsChecked) {
  std::string steps;
  constexpr int kSteps = 50'000;
  for (int step = 1; step < kSteps; ++step) steps += "<step s=\"" + std::to_string(step) + "\" type=\"nop\"/>";
  const std::string first = "<step s=\"0\" type=\"s\" srcbuf=\"i\" srcoff=\"1\"/>\n";
  EXPECT_THAT(msccl_error_of(with(exchange_of_halves(), first, first + steps)),
              HasSubstr("move at most 50000 chunks, and a nop counts as one"));
}

}  // namespace
}  // namespace kernbench::testing
