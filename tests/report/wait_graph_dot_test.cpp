#include "report/wait_graph_dot.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace kernbench::report {
namespace {

RunResult deadlock() {
  RunResult result;
  result.error = ErrorResult{"DeadlockError", "m", ""};
  result.error->waits = {{"rank 0", "a message of \"b\"", "rank 1", true},
                         {"rank 1", "a credit", "rank 0", true},
                         {"rank 2", "its turn", "rank 0", false},
                         {"rank 2", "needs a signal: nobody left that could provide it", "", false}};
  return result;
}

TEST(WaitGraphDotTest, EveryPartyIsANodeAndEveryWaitAnEdge) {
  EXPECT_EQ(wait_graph_dot(deadlock()),
            "digraph waits {\n"
            "  rankdir=LR;\n"
            "  node [shape=box];\n"
            "  n0 [label=\"rank 0\", color=red, fontcolor=red, penwidth=2];\n"
            "  n1 [label=\"rank 1\", color=red, fontcolor=red, penwidth=2];\n"
            "  n2 [label=\"rank 2\"];\n"
            "  missing0 [label=\"needs a signal: nobody left that could provide it\", style=dashed];\n"
            "  n0 -> n1 [label=\"a message of \\\"b\\\"\", color=red, fontcolor=red, penwidth=2];\n"
            "  n1 -> n0 [label=\"a credit\", color=red, fontcolor=red, penwidth=2];\n"
            "  n2 -> n0 [label=\"its turn\"];\n"
            "  n2 -> missing0 [label=\"\"];\n"
            "}\n");
}

TEST(WaitGraphDotTest, WithoutADeadlockTheGraphIsEmpty) {
  EXPECT_EQ(wait_graph_dot(RunResult{}), "digraph waits {\n  rankdir=LR;\n  node [shape=box];\n}\n");
}

TEST(WaitGraphDotTest, LabelsCannotLeaveTheirQuotes) {
  RunResult result = deadlock();
  result.error->waits = {{"a\\\nb", "\"]; x", "", false}};
  const std::string text = wait_graph_dot(result);
  EXPECT_NE(text.find("\\\"]; x"), std::string::npos) << text;
  EXPECT_NE(text.find("label=\"a\\\\"), std::string::npos) << text;
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 7) << text;
}

}  // namespace
}  // namespace kernbench::report
