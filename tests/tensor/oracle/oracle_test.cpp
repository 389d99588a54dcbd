// The snippets on kernbench/torch.h write what they write on libtorch.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <exception>
#include <iterator>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

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

std::optional<double> number(const std::string& word) {
  std::size_t end = 0;
  double value = 0;
  try {
    value = std::stod(word, &end);
  } catch (const std::exception&) {
    return std::nullopt;
  }
  return end == word.size() && std::isfinite(value) ? std::optional(value) : std::nullopt;
}

/// Whether a word is that of libtorch, or a real number one unit of the sixth digit from it: which way a number just
/// between two is rounded depends on the processor, by whose instructions libtorch chooses its kernels.
bool is_like(const std::string& ours, const std::string& theirs) {
  if (ours == theirs) return true;
  const auto is_real = [](const std::string& word) { return word.find_first_of(".e") != std::string::npos; };
  const auto a = number(ours), b = number(theirs);
  if (!a || !b || !(is_real(ours) || is_real(theirs))) return false;
  const double unit = std::pow(10.0, std::floor(std::log10(std::max(std::abs(*a), std::abs(*b)))) - 5);
  return std::abs(*a - *b) < 1.5 * unit;
}

/// The lines in which a snippet's output is not like libtorch's; empty: none.
std::string differences(const std::string& ours, const std::string& theirs) {
  std::istringstream our_lines(ours), their_lines(theirs);
  std::string result, our_line, their_line;
  while (true) {
    const bool more = bool(std::getline(our_lines, our_line)), more_there = bool(std::getline(their_lines, their_line));
    if (!more && !more_there) return result;
    const auto words = [](const std::string& line) {
      std::istringstream stream(line);
      return std::vector<std::string>(std::istream_iterator<std::string>(stream), {});
    };
    if (more == more_there && std::ranges::equal(words(our_line), words(their_line), is_like)) continue;
    result += "ours:     " + (more ? our_line : "(no more)") +
              "\nlibtorch: " + (more_there ? their_line : "(no more)") + "\n";
    if (!more) our_line.clear();
    if (!more_there) their_line.clear();
  }
}

TEST(LibtorchOracle, TheLastDigitOfARealNumberIsFree) {
  EXPECT_EQ(differences("Float [2] { 0.742189 -1.00000e-05 }\n", "Float [2] { 0.74219 -1.00001e-05 }\n"), "");
  EXPECT_EQ(differences("Float [1] { 1 }\n", "Float [1] { 0.999999 }\n"), "");
  EXPECT_NE(differences("Float [1] { 0.742189 }\n", "Float [1] { 0.742191 }\n"), "");
  EXPECT_NE(differences("Long [1] { 100000 }\n", "Long [1] { 100001 }\n"), "") << "whole numbers are exact";
  EXPECT_NE(differences("Float [1] { nan }\n", "Float [1] { 0.5 }\n"), "");
  EXPECT_NE(differences("a\n", "a\nb\n"), "") << "a line is missing";
  EXPECT_NE(differences("a b\n", "a\n"), "") << "a word too many";
}

TEST(LibtorchOracle, EverySnippetWritesWhatItWritesOnLibtorch) {
  // Our side runs in any case: under sanitizers, too, which build without libtorch.
  const kernbench::tensor::FakeContext context;
  std::ostringstream text;
  oracle::run_all(text);
  EXPECT_GE(oracle::snippets().size(), 300u);
  EXPECT_EQ(text.str().find("unexpected error"), std::string::npos) << text.str();
  const std::string program = KERNBENCH_LIBTORCH_ORACLE;
  if (program.empty()) GTEST_SKIP() << "libtorch is not installed (Debian: libtorch-dev), so nothing was compared";
  const auto ours = sections(text.str()), theirs = sections(output_of(program.c_str()));
  EXPECT_EQ(theirs.size(), oracle::snippets().size());
  for (const auto& [name, expected] : theirs) {
    const auto found = ours.find(name);
    ASSERT_NE(found, ours.end()) << name;
    EXPECT_EQ(differences(found->second, expected), "") << name;
  }
}

}  // namespace
