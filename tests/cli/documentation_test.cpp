// docs/cli.md says what the program says.
#include <gtest/gtest.h>

#include <regex>
#include <set>

#include "process.h"
#include "support/source_tree.h"

namespace kernbench::cli {
namespace {

std::set<std::string> long_options(const std::string& text) {
  std::set<std::string> out;
  const std::regex option("--[a-z][a-z-]*");
  for (std::sregex_iterator at(text.begin(), text.end(), option), end; at != end; ++at) out.insert(at->str());
  return out;
}

std::string all_help() {
  std::string out = run({KERNBENCH_PROGRAM, "--help"}).out;
  for (const char* command : {"list", "describe", "run", "sweep", "diff", "ccl"})
    out += run({KERNBENCH_PROGRAM, command, "--help"}).out;
  return out;
}

TEST(DocumentationTest, EveryFlagOfTheHelpIsInTheManual) {
  const std::string manual = source_tree::read("docs/cli.md");
  const std::set<std::string> flags = long_options(all_help());
  EXPECT_GE(flags.size(), 16u);
  for (const std::string& flag : flags) EXPECT_NE(manual.find("`" + flag), std::string::npos) << flag;
  for (const char* command : {"list", "describe", "run", "sweep", "diff", "ccl"}) {
    EXPECT_NE(manual.find(std::string("kernbench ") + command), std::string::npos) << command;
  }
}

TEST(DocumentationTest, TheManualNamesNoFlagThatTheProgramLacks) {
  const std::set<std::string> known = long_options(all_help());
  for (const std::string& flag : long_options(source_tree::read("docs/cli.md"))) {
    EXPECT_TRUE(known.contains(flag)) << flag;
  }
}

}  // namespace
}  // namespace kernbench::cli
