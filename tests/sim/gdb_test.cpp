// tools/gdb/kernbench_fibers.py, in a real gdb on a real process.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "support/sanitizers.h"
#include "support/source_tree.h"

namespace {

using testing::ContainsRegex;
using testing::HasSubstr;

std::string output_of(const std::string& command) {
  std::string output;
  FILE* pipe = ::popen((command + " 2>&1").c_str(), "r");
  if (pipe == nullptr) return output;
  char buffer[4096];
  while (std::fgets(buffer, sizeof buffer, pipe) != nullptr) output += buffer;
  ::pclose(pipe);
  return output;
}

TEST(GdbTest, TheCommandListsSuspendedFibersWithTheirStacks) {
  NOT_UNDER_SANITIZERS("the sanitizers' runtimes do not run under a debugger everywhere");
  if (output_of("gdb --version").find("GNU gdb") == std::string::npos) GTEST_SKIP() << "gdb is not installed";
  const std::string script = kernbench::source_tree::path("tools/gdb/kernbench_fibers.py");
  const std::string output = output_of(
      "gdb -nx -batch -ex 'set confirm off' -ex 'set debuginfod enabled off' -ex 'break stop_here' -ex run"
      " -ex 'source " +
      script + "' -ex 'kernbench fibers' -ex 'echo [after]\\n' -ex backtrace " KERNBENCH_GDB_SAMPLE);
  if (output.find("No symbol table") != std::string::npos || output.find("No symbol \"") != std::string::npos) {
    GTEST_SKIP() << "this build has no debug information";
  }
  if (output.find("Breakpoint 1, ") == std::string::npos) {
    GTEST_SKIP() << "gdb cannot run a program here:\n" << output;
  }
  EXPECT_THAT(output, HasSubstr("agent 1 'rank 1' (blocked, thread 1)\n"));
  EXPECT_THAT(output, HasSubstr("agent 2 'rank 2' (blocked, thread 1)\n"));
  EXPECT_THAT(output, HasSubstr("agent 3 'stopper' (running, thread 1)\n"));
  EXPECT_THAT(output, HasSubstr("3 fibers\n"));
  EXPECT_THAT(output, ContainsRegex("wait_for_message \\(box=.*, depth=3\\)"));
  EXPECT_THAT(output, ContainsRegex("wait_for_message \\(box=.*, depth=0\\)"));
  // The real stack of the process is as it was.
  const std::string after = output.substr(output.find("[after]"));
  EXPECT_THAT(after, HasSubstr("#0  "));
  EXPECT_THAT(after, HasSubstr("stop_here"));
}

}  // namespace
