// The snippets on kernbench/torch.h write what they write on libtorch.
#include <gtest/gtest.h>

#include <cstdio>
#include <map>
#include <sstream>

#include "../fake_context.h"
#include "snippets.h"

namespace {

/// Output of each snippet, by name.
std::map<std::string, std::string> sections(const std::string& text) {
  std::map<std::string, std::string> result;
  std::istringstream lines(text);
  std::string line, name;
  while (std::getline(lines, line)) {
    if (line.starts_with("### "))
      result[name = line.substr(4)] = "";
    else
      result[name] += line + "\n";
  }
  return result;
}

std::string output_of(const char* program) {
  std::string text;
  std::FILE* pipe = popen(program, "r");
  if (pipe == nullptr) return text;
  char buffer[4096];
  for (std::size_t n = 0; (n = std::fread(buffer, 1, sizeof buffer, pipe)) > 0;) text.append(buffer, n);
  EXPECT_EQ(pclose(pipe), 0);
  return text;
}

TEST(LibtorchOracle, EverySnippetWritesWhatItWritesOnLibtorch) {
  const std::string program = KERNBENCH_LIBTORCH_ORACLE;
  if (program.empty()) GTEST_SKIP() << "libtorch is not installed (Debian: libtorch-dev), so nothing was compared";
  const kernbench::tensor::FakeContext context;
  std::ostringstream text;
  oracle::run_all(text);
  const auto ours = sections(text.str()), theirs = sections(output_of(program.c_str()));
  EXPECT_EQ(theirs.size(), oracle::snippets().size());
  EXPECT_GE(oracle::snippets().size(), 300u);
  for (const auto& [name, expected] : theirs) {
    SCOPED_TRACE(name);
    EXPECT_EQ(ours.at(name), expected);
  }
}

}  // namespace
