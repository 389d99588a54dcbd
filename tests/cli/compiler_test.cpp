// The parts of `run FILE.cpp` that need no process: words, diagnostics, dependencies, the cache's bounds.
#include "cli/bench_file/compiler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "cli/bench_file/bench_file.h"
#include "cli/bench_file/compile_cache.h"
#include "cli/bench_file/content_hash.h"
#include "cli/bench_file/shared_library.h"
#include "cli/bench_file/way_out.h"
#include "kernbench/error.h"
#include "process.h"

namespace kernbench::cli {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(CompilerTest, PathsAndSourceSuffixesAreFiles) {
  for (const char* name : {"a.cpp", "a.cc", "a.cxx", "./a", "x/y"}) EXPECT_TRUE(is_bench_file(name)) << name;
  for (const char* name : {"gemm", "a.c", "cpp", "a.cpp.txt"}) EXPECT_FALSE(is_bench_file(name)) << name;
}

TEST(CompilerTest, AnErrorInAHeaderIsWhereTheSourceAskedForIt) {
  const std::string own = "dir/x.cpp:3:5: error: no\n", header = "lib/launch.h:92:39: error: static assertion failed\n";
  const std::string asked =
      "lib/launch.h:150:9:   required from 'void launch()'\ndir/x.cpp:8:16:   required from here\n";
  const auto place = [](const std::string& messages) { return first_error(messages, "dir/x.cpp").where; };
  EXPECT_EQ(place(own), "dir/x.cpp:3:5");
  EXPECT_EQ(place(header), "lib/launch.h:92:39");
  EXPECT_EQ(place(asked + header + own), "dir/x.cpp:8:16");
  EXPECT_EQ(place(asked + own), "dir/x.cpp:3:5");
  EXPECT_EQ(place(asked + "lib/launch.h:5:5: warning: unused\n" + header), "lib/launch.h:92:39");
  EXPECT_EQ(place("dir/y_x.cpp:8:16:   required from here\n" + header), "lib/launch.h:92:39");
  // clang says it behind.
  EXPECT_EQ(place(header + "dir/x.cpp:7:3: note: in instantiation of function template\n" + own), "dir/x.cpp:7:3");
  EXPECT_EQ(place(header + own), "lib/launch.h:92:39");
  EXPECT_EQ(first_error(asked + header, "x.cpp").message, "static assertion failed");
  EXPECT_EQ(place("nothing\n"), "");
}

TEST(CompilerTest, WordsAreSplitAsAShellDoes) {
  EXPECT_THAT(words_of("  -O3\t-I/a ", "x"), ElementsAre("-O3", "-I/a"));
  EXPECT_THAT(words_of("-DX='a b' \"-I/c d\" \\\"e\\ f ''", "x"), ElementsAre("-DX=a b", "-I/c d", "\"e f", ""));
  EXPECT_THAT(words_of("", "x"), IsEmpty());
  EXPECT_THROW(words_of("'a", "--cxxflags"), ConfigurationError);
}

TEST(CompilerTest, TheFirstErrorIsFoundAmongWarningsAndColours) {
  const Diagnostic plain = first_error(
      "In file included from a.cpp:1:\na.cpp:3:9: warning: unused\na.cpp:12:5: error: 'foo' was not declared\n"
      "b.h:1:1: error: another\n",
      "a.cpp");
  EXPECT_EQ(plain.where, "a.cpp:12:5");
  EXPECT_EQ(plain.message, "'foo' was not declared");
  const Diagnostic coloured = first_error(
      "\x1b[01m\x1b[Ka.cpp:1:10:\x1b[m\x1b[K \x1b[01;31m\x1b[Kfatal error: \x1b[m\x1b[Kx.h: No such file\n", "a.cpp");
  EXPECT_EQ(coloured.where, "a.cpp:1:10");
  EXPECT_EQ(coloured.message, "x.h: No such file");
  EXPECT_EQ(first_error("ld: cannot find -lx\n", "a.cpp").where, "");
}

TEST(CompilerTest, ANameOfLibtorchThatThereIsNotHasAWayOut) {
  const auto way_out = [](const std::string& message) { return std::string(way_out_of(message)); };
  EXPECT_THAT(way_out("‘class kernbench::torch::Tensor’ has no member named ‘backward’"), HasSubstr("mutable_grad()"));
  EXPECT_THAT(way_out("no member named 'backward' in 'kernbench::torch::Tensor'"), HasSubstr("docs/training.md"));
  EXPECT_THAT(way_out("‘torch::autograd’ has not been declared"), HasSubstr("there is no tape"));
  EXPECT_THAT(way_out("‘save’ is not a member of ‘torch’"), HasSubstr("safetensors::save_file"));
  EXPECT_THAT(way_out("‘kCUDA’ is not a member of ‘torch’"), HasSubstr("the device is \"ahbm\""));
  EXPECT_THAT(way_out("‘Conv2d’ is not a member of ‘kernbench::torch::nn’"), HasSubstr("docs/modules.md"));
  EXPECT_THAT(way_out("‘LBFGS’ is not a member of ‘kernbench::torch::optim’"), HasSubstr("docs/training.md lists"));
  EXPECT_THAT(way_out("no member named 'LBFGS' in namespace 'kernbench::torch::optim'"),
              HasSubstr("docs/training.md lists"));
  EXPECT_THAT(way_out("‘nll_loss_backward’ is not a member of ‘torch’"), HasSubstr("kernbench/torch/backward.h"));
  EXPECT_EQ(way_out("‘data’ was not declared in this scope"), "");
  EXPECT_EQ(way_out("cannot convert ‘kernbench::torch::Tensor’ to ‘data’"), "");
}

TEST(CompilerTest, DependenciesAreReadFromAMakeRule) {
  EXPECT_THAT(dependencies_of("a.so: a.cpp /x/b.h \\\n /y/c\\ d.h e$$f.h\n"),
              ElementsAre("a.cpp", "/x/b.h", "/y/c d.h", "e$f.h"));
  EXPECT_THAT(dependencies_of(""), IsEmpty());
}

TEST(CompilerTest, TheCompilerIsFoundByOptionThenEnvironmentThenBuild) {
  ::unsetenv("KERNBENCH_CXX");
  ::unsetenv("CXX");
  EXPECT_EQ(find_compiler("").named_by, "the build of this program");
  ::setenv("CXX", "sh -x", 1);
  EXPECT_EQ(find_compiler("").named_by, "CXX");
  EXPECT_EQ(find_compiler("").command.at(1), "-x");
  ::setenv("KERNBENCH_CXX", "/bin/sh", 1);
  EXPECT_THAT(find_compiler("").command, ElementsAre("/bin/sh"));
  EXPECT_EQ(find_compiler("/bin/true").named_by, "--compiler");
  EXPECT_THROW(find_compiler("/no/such"), ConfigurationError);
  ::unsetenv("KERNBENCH_CXX");
  ::unsetenv("CXX");
}

TEST(CompilerTest, HashesDifferInEveryByteAndSplit) {
  EXPECT_EQ(hash_of("abc"), hash_of("abc"));
  EXPECT_NE(hash_of("abc"), hash_of("abd"));
  EXPECT_NE(ContentHash().add("ab").add("c").text(), ContentHash().add("a").add("bc").text());
  EXPECT_NE(hash_of(std::string(8, '\0')), hash_of(std::string(9, '\0')));
  EXPECT_EQ(hash_of("x").size(), 32u);
}

TEST(CompilerTest, WhatIsNoLibraryHasNoFunctions) {
  EXPECT_THAT(functions_of("/no/such/file", ""), IsEmpty());
  const TemporaryDirectory directory;
  const std::string elf = contents_of("/proc/self/exe").substr(0, 4096);
  for (std::size_t length = 0; length <= elf.size(); length += 61) {
    std::ofstream(directory.path("cut.so"), std::ios::binary) << elf.substr(0, length);
    EXPECT_THAT(functions_of(directory.path("cut.so"), "kernbench_bench_"), IsEmpty());
  }
}

class CompileCacheTest : public testing::Test {
 protected:
  std::string make(const CompileCache& cache, const std::string& name, std::size_t bytes, int days_old) {
    std::ofstream(directory_.path("library"), std::ios::binary) << std::string(bytes, name.front());
    EXPECT_TRUE(cache.store(directory_.path("library"), cache.path_of(name), {source()}));
    fs::last_write_time(cache.path_of(name), fs::file_time_type::clock::now() - std::chrono::hours(24 * days_old));
    return cache.path_of(name);
  }
  std::string source() {
    if (!fs::exists(directory_.path("a.cpp"))) std::ofstream(directory_.path("a.cpp")) << "int x;\n";
    return directory_.path("a.cpp");
  }

  TemporaryDirectory directory_;
};

TEST_F(CompileCacheTest, TooOldAndTooMuchGoLongestUnusedFirst) {
  const CompileCache cache(directory_.path("cache"), {std::chrono::hours(24 * 10), 3000});
  ASSERT_EQ(cache.prepare(), "");
  const std::string old = make(cache, "old", 100, 11), first = make(cache, "first", 1000, 3);
  const std::string second = make(cache, "second", 1000, 2), third = make(cache, "third", 1000, 1);
  EXPECT_TRUE(cache.holds(first)) << "and this was a use";
  cache.trim(third);
  EXPECT_FALSE(fs::exists(old));
  EXPECT_TRUE(fs::exists(first));
  EXPECT_FALSE(fs::exists(second));
  EXPECT_TRUE(fs::exists(third));
  CompileCache(directory_.path("cache"), {std::chrono::hours(0), 0}).trim(third);
  EXPECT_FALSE(fs::exists(first));
  EXPECT_TRUE(fs::exists(third)) << "what was just made stays";
}

TEST_F(CompileCacheTest, AnEntryHoldsWhileItsFilesAreAsTheyWere) {
  const CompileCache cache(directory_.path("cache"));
  ASSERT_EQ(cache.prepare(), "");
  const std::string entry = make(cache, "entry", 5000, 0);
  EXPECT_TRUE(cache.holds(entry));
  std::ofstream(source()) << "int y;\n";
  EXPECT_FALSE(cache.holds(entry));
  std::ofstream(source()) << "int x;\n";
  EXPECT_TRUE(cache.holds(entry));
  const std::string whole = contents_of(entry);
  for (std::size_t length = 0; length < whole.size(); length += 97) {
    std::ofstream(entry, std::ios::binary) << whole.substr(0, length);
    EXPECT_FALSE(cache.holds(entry)) << length;
  }
}

}  // namespace
}  // namespace kernbench::cli
