// `kernbench run FILE.cpp` from outside: what it compiles, keeps, runs and says.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "process.h"
#include "support/all_cases.h"
#include "support/sanitizers.h"
#include "support/source_tree.h"

namespace kernbench::cli {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

const std::string kExample = source_tree::path("examples/scaled_add/scaled_add.cpp");

void write(const std::string& path, const std::string& text) {
  std::ofstream(path) << text;
}

// Nothing here needs to be fast, and to compile it so takes a third longer.
constexpr std::string_view kQuickly = "-O0 -g0";

// The smallest file: quick to compile.
std::string small(const std::string& body, const std::string& before = "") {
  return "#include <kernbench/bench.h>\n#include <iostream>\n" + before +
         "\nKERNBENCH_BENCH(small, \"small\", {\"n\", 7, \"a number\"}) {\n" + body + "\n}\n";
}

// Benches of several tests in one file, which is compiled once for all of them: the headers take seconds to read.
const std::string kBenches = R"(#include <kernbench/kernbench.h>

#include <chrono>
#include <cstdlib>
#include <iostream>
#include <stdexcept>
#include <thread>

namespace torch = kernbench::torch;
namespace tl = kernbench::tl;
namespace mp = torch::multiprocessing;
namespace dist = torch::distributed;

void touch(tl::Tensor x) { tl::store(x, {0}, tl::load(x, {0}, {x.numel()})); }
KERNBENCH_BENCH(launches, "") {
  auto x = torch::ones({64}, torch::dtype(torch::kFloat).device("ahbm"));
  torch::launch("touch", touch, x);
  x += x;
}
KERNBENCH_BENCH(fails, "") {
  torch::ones({64}).view({63});
}

KERNBENCH_BENCH(throws, "") { throw std::runtime_error("out of luck"); }
KERNBENCH_BENCH(throws_int, "") { throw 3; }
KERNBENCH_BENCH(null, "") { volatile int* volatile nowhere = nullptr; *nowhere = 1; }
KERNBENCH_BENCH(aborts, "") { std::abort(); }
KERNBENCH_BENCH(exits, "") { std::exit(7); }
void exit_in_a_kernel(tl::In) { std::exit(0); }
KERNBENCH_BENCH(exits_quickly, "") { std::quick_exit(7); }
KERNBENCH_BENCH(exits_in_a_kernel, "") {
  torch::launch("k", exit_in_a_kernel, torch::ones({16}, torch::device("ahbm")));
  torch::ahbm::synchronize();
}
KERNBENCH_BENCH(terminates, "") { [&]() noexcept { throw 1; }(); }
KERNBENCH_BENCH(says_why, "") { [&]() noexcept { throw std::runtime_error("of no use"); }(); }
int deep(volatile int n) { volatile char room[4096]; room[n % 4096] = 1; return deep(n + 1) + room[0]; }
KERNBENCH_BENCH(overflows, "") { deep(0); }
KERNBENCH_BENCH(endless, "") { for (volatile int i = 0;; i = i + 1) {} }

int copies = 0;
struct Heavy {
  Heavy() = default;
  Heavy(const Heavy&) { if (++copies > 3) throw std::domain_error("no copy"); }
};
KERNBENCH_BENCH(copies_that_throw, "") {
  mp::spawn([](int, const Heavy&) {}, std::tuple<Heavy>(), {.nprocs = 2});
}
KERNBENCH_BENCH(simulates, "") { kernbench::simulate({}, [] {}); }
int deep_calls(int n) { volatile char room[4096]; room[n % 4096] = 1; return n == 0 ? 0 : deep_calls(n - 1) + room[0]; }
KERNBENCH_BENCH(deep_rank, "") { mp::spawn([](int) { deep_calls(1000); }); }
void again(int) { mp::spawn(again); }
KERNBENCH_BENCH(endless_spawns, "") { again(0); }
KERNBENCH_BENCH(swallows, "") {
  mp::spawn([](int rank) {
    if (rank == 1) throw std::runtime_error("the cause");
    try { dist::init_process_group("ahbm", rank, 2); } catch (...) {}
    try { dist::barrier(); } catch (...) {}
  }, {}, {.nprocs = 2});
}

KERNBENCH_BENCH(asks_for_more, "", {"n", 7, "a number"}) {
  mp::spawn([](int rank) {
    if (rank == 3) dist::init_process_group("ahbm", 0, 2);
    if (rank == 1 && kernbench::parameter<int>("n") == 8) throw std::runtime_error("not my day");
    kernbench::parameter<int>("n", 9);
  }, {}, {.nprocs = 4});
}

struct TwoMicroseconds final : kernbench::VectorModel {
  kernbench::Time end(const kernbench::VectorCommand& c) override {
    return c.start + kernbench::Time::microseconds(2);
  }
};
KERNBENCH_MODELS(registry) {
  registry.add_vector("two_us", [](const auto&, const auto&) { return std::make_unique<TwoMicroseconds>(); });
}
void add(tl::In x, tl::Tensor y) { tl::store(y, {0}, tl::load(x, {0}, {16}) + 1.0f); }
KERNBENCH_BENCH(models, "") {
  auto x = torch::zeros({16}, torch::dtype(torch::kFloat).device("ahbm")), y = torch::empty_like(x);
  torch::launch({.pes = {{kernbench::CubeId{0}, kernbench::PeId{0}}}}, "add", add, x, y);
}

void nothing(tl::In) {}
KERNBENCH_BENCH(lasts, "", {"ms", 1500, "how long"}) {
  auto x = torch::zeros({16}, torch::dtype(torch::kFloat).device("ahbm"));
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(kernbench::parameter<int>("ms"));
  while (std::chrono::steady_clock::now() < end) {
    torch::launch("nothing", nothing, x);
    torch::ahbm::synchronize();
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
}
KERNBENCH_BENCH(long_run, "") {
  auto x = torch::zeros({16}, torch::dtype(torch::kFloat).device("ahbm"));
  torch::launch("first", nothing, x);
  torch::ahbm::synchronize();
  std::cerr << "running\n";
  for (;;) { torch::launch("more", nothing, x); torch::ahbm::synchronize(); }
}
)";

// "user.cpp:12" of the line of kBenches in which `text` stands first.
std::string place_of(const std::string& text) {
  const std::size_t at = kBenches.find(text);
  EXPECT_NE(at, std::string::npos) << text;
  return "user.cpp:" + std::to_string(1 + std::count(kBenches.begin(), kBenches.begin() + static_cast<long>(at), '\n'));
}

// A trace is a sequence of fields of number 1, each with its length.
bool consists_of_whole_packets(std::string_view trace) {
  std::size_t packets = 0;
  while (!trace.empty()) {
    if (trace[0] != 0x0a) return false;
    std::size_t length = 0, at = 1;
    for (int shift = 0; at < trace.size(); shift += 7) {
      const auto byte = static_cast<unsigned char>(trace[at++]);
      length |= static_cast<std::size_t>(byte & 0x7f) << shift;
      if (byte < 0x80) break;
    }
    if (length == 0 || length > trace.size() - at) return false;
    trace.remove_prefix(at + length);
    ++packets;
  }
  return packets > 10;
}

// A folder with files, a cache of its own, and a compiler that counts how often it compiles.
class BenchFileTest : public testing::Test {
 protected:
  BenchFileTest() {
    write(counter(), "");
    write(compiler(),
          "#!/bin/sh\necho x >> " + counter() + "\nexec " KERNBENCH_COMPILER " \"$@\" " + std::string(kQuickly) + "\n");
    ::chmod(compiler().c_str(), 0755);
  }

  // Makes the compiler give what it first made again and again: for tests in which it is asked often, and its work is
  // no matter.
  void compile_once() const {
    write(compiler(), "#!/bin/sh\necho x >> " + counter() + "\nkept=" + path("kept") +
                          R"(
for word; do
  case $before in
    -o) library=$word ;;
    -MF) rule=$word ;;
  esac
  before=$word
done
if [ -e "$kept.d" ]; then
  cp "$kept.so" "$library" && cp "$kept.d" "$rule"
  exit
fi
)" + KERNBENCH_COMPILER " \"$@\" " +
                          std::string(kQuickly) + " && cp \"$library\" \"$kept.so\" && cp \"$rule\" \"$kept.d\"\n");
  }

  std::string path(const std::string& name) const { return directory_.path(name); }
  std::string counter() const { return path("count"); }
  std::string compiler() const { return path("counting_compiler"); }
  std::string cache() const { return path("cache"); }
  std::size_t compilations() const { return contents_of(counter()).size() / 2; }
  std::string file(const std::string& text, const std::string& name = "user.cpp") const {
    write(path(name), text);
    return path(name);
  }
  std::vector<std::string> command(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), {"/usr/bin/env", "XDG_CACHE_HOME=" + cache(), "KERNBENCH_CXX=" + compiler(),
                                         KERNBENCH_PROGRAM, "run", "-t", "tiny"});
    return arguments;
  }
  Finished run(std::vector<std::string> arguments) const { return cli::run(command(std::move(arguments))); }
  // kBenches as a file of this build, whose library stays in a cache of its own for the other tests and the next time.
  static std::string benches() {
    const std::string folder = source_tree::build_path("tests/bench_files"), source = folder + "/user.cpp";
    if (contents_of(source) == kBenches) return source;
    fs::create_directories(folder);
    const std::string mine = source + std::to_string(::getpid());
    write(mine, kBenches);
    fs::rename(mine, source);
    return source;
  }
  static std::vector<std::string> command_of(const std::string& bench, std::vector<std::string> more) {
    std::vector<std::string> command{"/usr/bin/env",
                                     "XDG_CACHE_HOME=" + source_tree::build_path("tests/bench_files"),
                                     KERNBENCH_PROGRAM,
                                     "run",
                                     "-t",
                                     "tiny",
                                     benches(),
                                     "--bench",
                                     bench,
                                     "--compiler",
                                     KERNBENCH_COMPILER,
                                     "--cxxflags=" + std::string(kQuickly)};
    command.insert(command.end(), more.begin(), more.end());
    return command;
  }
  static Finished run_bench(const std::string& bench, std::vector<std::string> more) {
    return cli::run(command_of(bench, std::move(more)));
  }
  // The one library in the cache.
  std::string entry() const {
    std::vector<std::string> found;
    for (const auto& at : fs::directory_iterator(cache() + "/kernbench")) found.push_back(at.path().string());
    EXPECT_EQ(found.size(), 1u);
    return found.empty() ? "" : found.front();
  }

 private:
  TemporaryDirectory directory_;
};

TEST_F(BenchFileTest, AUsageErrorOfAllRanksIsSaidOnceAndEndsWithTwo) {
  const std::string message = "parameter n of asks_for_more is \"7\"; expected a whole number from 9 to 2147483647";
  const Finished all = run_bench("asks_for_more", {"--json", path("all.json")});
  EXPECT_EQ(all.code, 2);
  EXPECT_THAT(all.err, HasSubstr("(on ranks {0, 1, 2}):\nConfigurationError at 0 ps: " + message));
  EXPECT_EQ(all.err.find(message), all.err.rfind(message));
  const Json error = Json::parse(contents_of(path("all.json")))["error"];
  EXPECT_EQ(error["type"], "SpawnException");
  ASSERT_EQ(error["errors"].size(), 1u);
  EXPECT_EQ(error["errors"][0]["ranks"], (Json{0, 1, 2}));
  EXPECT_EQ(error["errors"][0]["time_ps"], 0);
  EXPECT_EQ(error["errors"][0]["type"], "ConfigurationError");
  EXPECT_EQ(error["errors"][0]["message"], message);
  EXPECT_EQ(error["victims"].dump(), "[3]");
  const Finished some = run_bench("asks_for_more", {"-p", "n=8", "--json", "-"});
  EXPECT_EQ(some.code, 3) << "one of the ranks has failed by itself";
  EXPECT_EQ(Json::parse(some.out)["error"]["errors"].size(), 2u);
}

TEST_F(BenchFileTest, TheExampleRunsWithItsParametersLikeABuiltInBench) {
  NOT_UNDER_SANITIZERS("a compilation, and runs like those of other files");
  const Finished shown = run({kExample, "-p", "n=5000", "-p", "alpha=0.5"});
  EXPECT_EQ(shown.code, 0) << shown.err;
  EXPECT_THAT(shown.out, AllOf(HasSubstr("scaled_add on tiny"), HasSubstr("alpha=0.5 n=5000"), HasSubstr("passed")));
  EXPECT_THAT(shown.err, IsEmpty());
  const Json json = Json::parse(run({kExample, "-q", "--json", "-", "--no-data"}).out);
  EXPECT_EQ(json["bench"], "scaled_add");
  EXPECT_EQ(json["parameters"], (Json{{"n", "1048576"}, {"alpha", "2"}}));
  EXPECT_EQ(json["checks"][0]["status"], "skipped");
  EXPECT_EQ(compilations(), 1u) << "the second run finds the first one's library";
  const Finished wrong = run({kExample, "-p", "alhpa=1"});
  EXPECT_EQ(wrong.code, 2);
  EXPECT_THAT(wrong.err, HasSubstr("scaled_add has no parameter \"alhpa\", did you mean \"alpha\"?"));
  const Finished bad = run({kExample, "-p", "n=0"});
  EXPECT_EQ(bad.code, 2);
  EXPECT_THAT(bad.err, HasSubstr("parameter n of scaled_add is \"0\"; expected a whole number of at least 1"));
}

TEST_F(BenchFileTest, ABuiltInBenchIsAFileLikeAUsers) {
  NOT_UNDER_SANITIZERS("compilations");
  const std::vector<std::string> how{"-q", "--json", "-", "-p", "dtype=f32"};
  for (const auto& [file, name] : {std::pair("vector_add.cpp", "vector_add"), {"normalize.cpp", "softmax"}}) {
    if (name == std::string("softmax") && !takes_all_cases()) continue;
    std::vector<std::string> of_file{source_tree::path(std::string("benches/") + file), "--bench", name};
    std::vector<std::string> built_in{name};
    of_file.insert(of_file.end(), how.begin(), how.end());
    built_in.insert(built_in.end(), how.begin(), how.end());
    const Json compiled = Json::parse(run(of_file).out), shipped = Json::parse(run(built_in).out);
    EXPECT_EQ(compiled["status"], "ok") << name;
    EXPECT_EQ(compiled["fingerprint"], shipped["fingerprint"]) << name;
    EXPECT_EQ(compiled["parameters"], shipped["parameters"]) << name;
    EXPECT_EQ(compiled["origin"]["kind"], "file") << name;
    EXPECT_EQ(shipped["origin"]["kind"], "built-in") << name;
  }
}

TEST_F(BenchFileTest, ParametersAreTypedAndAnUndeclaredOneIsAnErrorOfTheProgram) {
  const std::string source =
      file(small("  std::cout << kernbench::parameter<int>(\"n\") + 1 << ' '\n"
                 "            << kernbench::parameter<double>(\"n\") / 2 << ' '\n"
                 "            << kernbench::parameter<std::string>(\"n\") << '\\n';\n"
                 "  kernbench::parameter<int>(\"nn\");"));
  const Finished result = run({source, "-q"});
  EXPECT_EQ(result.out, "8 3.5 7\n");
  EXPECT_EQ(result.code, 3);
  EXPECT_THAT(result.err,
              AllOf(HasSubstr("ValueError"), HasSubstr("bench small declares no parameter \"nn\"; it declares n")));
  EXPECT_THAT(run({source, "-q", "-p", "n=3000000000"}).err, HasSubstr("expected a whole number from -2147483648"));
}

TEST_F(BenchFileTest, ACompilationErrorShowsTheCompilersTextAndTheFirstErrorsPlace) {
  NOT_UNDER_SANITIZERS("compilations");
  const std::string source = file(small("  int x = undeclared_name;"));
  const Finished result = run({source, "--json", path("r.json")});
  EXPECT_EQ(result.code, 2);
  EXPECT_THAT(result.out, IsEmpty());
  EXPECT_THAT(result.err, HasSubstr("undeclared_name"));
  EXPECT_THAT(result.err, HasSubstr("kernbench: error: " + source + ":5:11: does not compile: "));
  const Json json = Json::parse(contents_of(path("r.json")));
  EXPECT_EQ(json["error"]["type"], "ConfigurationError");
  EXPECT_EQ(json["error"]["where"], source + ":5:11");
  EXPECT_EQ(run({source}).code, 2);
  EXPECT_EQ(compilations(), 2u) << "what does not compile is not kept";
}

TEST_F(BenchFileTest, WhatIsNoBenchFileIsSaidPlainly) {
  const auto expect_usage_error = [](const Finished& result, const std::string& text) {
    EXPECT_EQ(result.code, 2);
    EXPECT_THAT(result.err, HasSubstr(text));
  };
  expect_usage_error(run({path("none.cpp")}), "there is no file \"" + path("none.cpp") + "\"\n");
  expect_usage_error(run({"./none.cpp"}),
                     "there is no file \"./none.cpp\"; relative paths begin at the working "
                     "directory, " +
                         fs::current_path().string());
  fs::create_directory(path("folder.cpp"));
  expect_usage_error(run({path("folder.cpp")}), "is a folder");
  expect_usage_error(run({"/dev/null"}), "cannot read");
  expect_usage_error(run({file("int x;\n")}), "defines no bench: write KERNBENCH_BENCH");
  for (const char* name : {"user.cpp", "a_Z1b.cpp"})  // that looks like a symbol's name
    expect_usage_error(run({file(small("f();", "void f();"), name)}), "undefined symbol: f()");
  expect_usage_error(run({file(small("")), "--compiler", "no_such_compiler"}),
                     "the C++ compiler \"no_such_compiler\", named by --compiler, was not found");
  expect_usage_error(run({file(small("")), "--cxxflags", "\"x"}), "a quote is not closed");
  expect_usage_error(run({file(small("")), "--compiler", "/bin/false"}), "ended with exit code 1");
  expect_usage_error(run({"gemm", "--bench", "x"}), "--bench is for C++ files");
}

TEST_F(BenchFileTest, AProgramWithAMainIsToldHowToBecomeABench) {
  NOT_UNDER_SANITIZERS("a compilation");
  const Finished result = run({file("#include <kernbench/bench.h>\nint main() {}\n")});
  EXPECT_EQ(result.code, 2);
  EXPECT_THAT(result.err, AllOf(HasSubstr("in place of main()"), HasSubstr("find_package(KernBench)")));
}

TEST_F(BenchFileTest, OneOfSeveralBenchesIsChosenByName) {
  const std::string source = file(
      "#include <kernbench/bench.h>\n#include <iostream>\n"
      "KERNBENCH_BENCH(second, \"b\") { std::cout << \"second\\n\"; }\n"
      "KERNBENCH_BENCH(first, \"a\", {\"x\", true, \"t\"}) { std::cout << \"first\\n\"; }\n");
  const Finished several = run({source});
  EXPECT_EQ(several.code, 2);
  EXPECT_THAT(several.err, HasSubstr("defines 2 benches: second, first; choose one with --bench NAME"));
  EXPECT_EQ(run({source, "--bench", "first", "-q"}).out, "first\n");
  EXPECT_EQ(run({source, "--bench", "second", "-q"}).out, "second\n");
  const Finished unknown = run({source, "--bench", "thrid"});
  EXPECT_EQ(unknown.code, 2);
  EXPECT_THAT(unknown.err, HasSubstr("defines no bench \"thrid\"; it defines second, first"));
}

TEST_F(BenchFileTest, TheCacheIsLeftWhenAnythingChanges) {
  NOT_UNDER_SANITIZERS("six compilations");
  write(path("mine.h"), "inline int answer() { return 1; }\n");
  const std::string text = small("  std::cout << answer() << '\\n';", "#include \"mine.h\"");
  const std::string source = file(text);
  const auto expect = [&](const std::string& out, std::size_t total, std::vector<std::string> more = {}) {
    more.insert(more.begin(), {source, "-q"});
    const Finished result = run(more);
    EXPECT_EQ(result.out, out) << result.err;
    EXPECT_EQ(compilations(), total);
  };
  expect("1\n", 1);
  expect("1\n", 1);
  write(path("mine.h"), "inline int answer() { return 2; }\n");
  expect("2\n", 2);
  expect("2\n", 2);
  file(text + "// changed\n");
  expect("2\n", 3);
  file(text);
  expect("2\n", 3);
  expect("2\n", 4, {"--cxxflags", "-DX"});
  expect("2\n", 4, {"--cxxflags=-DX"});
  expect("2\n", 5, {"--no-cache"});
  fs::remove(path("mine.h"));
  EXPECT_EQ(run({source}).code, 2) << "a header that is gone is an error, not a hit";
}

TEST_F(BenchFileTest, TheResultSaysFromWhichFilesItComesAndDiffSaysThatTheyChanged) {
  NOT_UNDER_SANITIZERS("a compilation");
  compile_once();
  file("constexpr int kStep = 1;\n", "step.h");
  const std::string source = file(small("  std::cout << kStep;", "#include \"step.h\"\n"));
  const auto result = [&](const std::string& name, std::vector<std::string> more = {}) {
    more.insert(more.begin(), {source, "-q", "--json", path(name)});
    EXPECT_EQ(run(more).code, 0);
    return Json::parse(contents_of(path(name)))["origin"];
  };
  const Json first = result("a.json");
  EXPECT_EQ(first["kind"], "file");
  EXPECT_EQ(first["path"], source);
  ASSERT_EQ(first["files"].size(), 2u) << "the program's own headers are left out: " << first;
  EXPECT_EQ(first["files"][0]["path"], "user.cpp");
  EXPECT_EQ(first["files"][1]["path"], "step.h");
  EXPECT_THAT(std::string(first["compiler"]), Not(IsEmpty()));
  EXPECT_THAT(std::string(first["build"]), testing::MatchesRegex("[0-9a-f]{40}"));
  EXPECT_EQ(result("cached.json"), first);
  EXPECT_EQ(result("anew.json", {"--no-cache"}), first);
  const auto differences = [&](const std::string& other) {
    return cli::run({KERNBENCH_PROGRAM, "diff", path("a.json"), path(other)}).out;
  };
  EXPECT_THAT(differences("cached.json"), HasSubstr("Nothing differs."));
  file("constexpr int kStep = 2;\n", "step.h");
  result("header.json", {"-p", "n=8"});
  EXPECT_THAT(
      differences("header.json"),
      testing::ContainsRegex("What changed\n  step.h +[0-9a-f]{8} +-> +[0-9a-f]{8} +the program changed\n  n "));
  file(small("  std::cout << kStep + 1;", "#include \"step.h\"\n"));
  result("source.json", {"--cxxflags", "-O1"});
  EXPECT_THAT(
      differences("source.json"),
      AllOf(testing::ContainsRegex("What changed\n  user.cpp +[0-9a-f]{8} +-> +[0-9a-f]{8} +the program changed\n"),
            HasSubstr("-O1")));
}

TEST_F(BenchFileTest, AFullCacheIsSaidAndNoObstacle) {
  NOT_UNDER_SANITIZERS("a compilation");
  fs::create_directories(cache());
  const std::string mount = "mount -t tmpfs -o size=8k none " + cache() + " 2>/dev/null";
  if (std::system(mount.c_str()) != 0) GTEST_SKIP() << "needs the right to mount a small file system";
  const Finished result = run({file(small("  std::cout << 7;")), "-q"});
  EXPECT_EQ(std::system(("umount " + cache()).c_str()), 0);
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(result.out, "7");
  EXPECT_THAT(
      result.err,
      testing::MatchesRegex("kernbench: note: .* is compiled again at each run: the cache .* has [0-9]+ bytes left\n"))
      << "nothing of the compiler";
}

TEST_F(BenchFileTest, ADamagedEntryIsMadeAnew) {
  NOT_UNDER_SANITIZERS("a compilation");
  compile_once();
  const std::string source = file(small("  std::cout << \"ran\\n\";"));
  EXPECT_EQ(run({source, "-q"}).out, "ran\n");
  const std::string whole = contents_of(entry());
  std::string flipped = whole;
  flipped[whole.size() / 2] = static_cast<char>(~flipped[whole.size() / 2]);
  std::size_t expected = 1;
  for (const std::string& damaged : {whole.substr(0, whole.size() / 2), flipped, std::string(), whole + "x"}) {
    write(entry(), damaged);
    const Finished result = run({source, "-q"});
    EXPECT_EQ(result.out, "ran\n") << result.err;
    EXPECT_EQ(compilations(), ++expected);
  }
}

TEST_F(BenchFileTest, ACacheThatCannotBeWrittenIsNoObstacle) {
  NOT_UNDER_SANITIZERS("a compilation");
  write(cache(), "a file where the folder should be");
  const Finished result = run({file(small("  std::cout << \"ran\\n\";")), "-q"});
  EXPECT_EQ(result.code, 0);
  EXPECT_EQ(result.out, "ran\n");
  EXPECT_THAT(result.err, AllOf(StartsWith("kernbench: note: "), HasSubstr("is compiled again at each run")));
}

TEST_F(BenchFileTest, ProcessesAtTheSameTimeShareACache) {
  NOT_UNDER_SANITIZERS("a compilation");
  compile_once();
  const std::string source = file(small("  std::cout << \"ran\\n\";"));
  EXPECT_EQ(run({source, "-q", "--no-cache"}).out, "ran\n");
  std::vector<std::unique_ptr<Process>> processes;
  for (int i = 0; i < 4; ++i) processes.push_back(std::make_unique<Process>(command({source, "-q"})));
  for (auto& process : processes) {
    const Finished result = process->finish();
    EXPECT_EQ(result.code, 0) << result.err;
    EXPECT_EQ(result.out, "ran\n");
  }
  entry();
  const std::size_t before = compilations();
  EXPECT_EQ(run({source, "-q"}).out, "ran\n");
  EXPECT_EQ(compilations(), before);
}

TEST_F(BenchFileTest, LaunchesAndErrorsNameTheLinesOfTheFile) {
  const std::string ones = place_of("auto x = torch::ones"), touch = place_of("torch::launch(\"touch\""),
                    twice = place_of("x += x;");
  const Finished shown = run_bench("launches", {});
  EXPECT_EQ(shown.code, 0) << shown.err;
  EXPECT_THAT(shown.out, AllOf(ContainsRegex("\n  touch#0 [^\n]*  " + touch + "\n"),
                               ContainsRegex("\n  add#0 [^\n]*  " + twice + "\n")));
  const Json json = Json::parse(run_bench("launches", {"-q", "--json", "-"}).out);
  EXPECT_EQ(json["launches"][0]["where"], ones);
  EXPECT_EQ(json["launches"][1]["where"], touch);
  EXPECT_EQ(json["launches"][2]["where"], twice);
  const Finished failed = run_bench("fails", {"-q"});
  EXPECT_EQ(failed.code, 3);
  EXPECT_THAT(failed.err, HasSubstr("\n  at " + place_of(".view({63})") + " (view)"));
}

TEST_F(BenchFileTest, HoweverAProgramFailsTheMessageSaysSo) {
  const auto expect = [&](const std::string& bench, const std::string& text) {
    const Finished result = run_bench(bench, {"-q", "--watchdog", "1"});
    EXPECT_EQ(result.code, 3) << bench;
    EXPECT_THAT(result.err, HasSubstr(text)) << bench;
  };
  expect("throws", "std::runtime_error: out of luck");
  expect("throws_int", "not a std::exception");
#if !KERNBENCH_ADDRESS_SANITIZER && !KERNBENCH_THREAD_SANITIZER  // these report crashes themselves
  expect("null",
         "crashed (segmentation fault) at address 0x0000000000000000\n  on fiber main\n  while running " + benches());
  expect("aborts", "aborted");
  const std::string json = path("result.json");
  std::ofstream(json) << "the result of another run";
  EXPECT_EQ(run_bench("aborts", {"-q", "--json", json}).code, 3);
  EXPECT_EQ(std::filesystem::file_size(json), 0u) << "a run that dies leaves no result, its own nor another's";
#endif
  expect("terminates", "std::terminate");
  expect("says_why", "global variable: of no use");
  expect("exits", "ProgramExit: the program called exit(7) on fiber \"main\"");
  expect("exits_quickly", "ProgramExit: the program called quick_exit() on fiber \"main\"");
  expect("exits_in_a_kernel", "ProgramExit: the program called exit(0) on fiber \"sip0.cube0.pe0");
  expect("overflows", "stack");
  expect("endless", "main");
}

TEST_F(BenchFileTest, HoweverARankFailsTheMessageSaysSo) {
  const auto expect = [&](const std::string& bench, const std::vector<std::string>& texts) {
    const Finished result = run_bench(bench, {"-q"});
    EXPECT_EQ(result.code, 3) << bench;
    for (const std::string& text : texts) EXPECT_THAT(result.err, HasSubstr(text)) << bench;
    EXPECT_LE(std::ranges::count(result.err, '\n'), 20) << result.err;
  };
  expect("copies_that_throw", {"(on ranks {0, 1}):\nstd::domain_error at 0 ps: no copy\n  at " +
                               place_of("mp::spawn([](int, const Heavy&)") + " "});
  expect("simulates", {"ContextError: kernbench::simulate was called inside of a simulation"});
  expect("endless_spawns",
         {"NestingError at 0 ps: torch::multiprocessing::spawn was called by a rank that is 1000 spawns "
          "deep, which is the limit: does each rank spawn others without an end?\n  at " +
          place_of("void again(int)") + " "});
  expect("swallows",
         {"std::runtime_error at 0 ps: the cause\n", "Unwound because of it: rank 0 (waits for init_process"});
#if !KERNBENCH_ADDRESS_SANITIZER && !KERNBENCH_THREAD_SANITIZER
  expect("deep_rank",
         {"StackOverflowError at 0 ps: fiber 'rank 0' overflowed its stack of 1 MiB", "--stack-size 8MiB"});
  EXPECT_EQ(run_bench("deep_rank", {"-q", "--stack-size", "8MiB"}).code, 0) << "as the message says";
#endif
}

TEST_F(BenchFileTest, AFileBringsComponentModelsAlong) {
  const Json json = Json::parse(run_bench("models", {"-q", "--json", "-", "--set", "pe.vector.model=two_us"}).out);
  ASSERT_TRUE(json["error"].is_null()) << json["error"];
  EXPECT_EQ(json["launches"].back()["name"], "add#0");
  EXPECT_EQ(json["launches"].back()["breakdown_ps"]["vector"], 2'000'000);
  EXPECT_EQ(
      Json::parse(run_bench("models", {"-q", "--json", "-", "--set", "pe.vector.model=none"}).out)["error"]["type"],
      "ConfigurationError");
}

TEST_F(BenchFileTest, AnyBenchRunsWithTheComponentModelsOfALoadedFile) {
  const std::string models = file(
      "#include <kernbench/models.h>\n"
      "#include <memory>\n"
      "using namespace kernbench;\n"
      "struct Slow final : DmaModel { Time setup(const DmaDescriptor&) override { return Time::microseconds(5); } };\n"
      "KERNBENCH_MODELS(registry) {\n"
      "  registry.add_dma(\"slow\", [](const auto&, const auto&) { return std::make_unique<Slow>(); });\n"
      "}\n",
      "models.cpp");
  const auto run_with = [&](std::vector<std::string> more) {
    std::vector<std::string> arguments{"vector_add", "-p", "n=4096"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run(arguments);
  };
  const Finished slow = run_with({"--load", models, "--set", "pe.dma.model=slow", "--json", path("slow.json")});
  ASSERT_EQ(slow.code, 0) << slow.err;
  ASSERT_EQ(run_with({"--json", path("plain.json")}).code, 0);
  const auto time_in = [&](const char* name) {
    return Json::parse(contents_of(path(name))).at("simulated_time_ps").get<std::int64_t>();
  };
  EXPECT_GT(time_in("slow.json"), time_in("plain.json") + 5'000'000);
  EXPECT_THAT(run_with({"--load", models, "--load", models}).err, HasSubstr("DMA model \"slow\" was added before"));
  EXPECT_THAT(run_with({"--load", file("int unused;\n", "empty.cpp")}).err,
              HasSubstr("registers no collective algorithm and no component model"));
}

TEST_F(BenchFileTest, AFileThatNeverEndsToRegisterIsStopped) {
  const std::string models = file(
      "#include <kernbench/models.h>\n"
      "KERNBENCH_MODELS(registry) { (void)registry; for (volatile int i = 0;; i = i + 1) {} }\n",
      "endless.cpp");
  const Finished result = run({"vector_add", "-p", "n=64", "-q", "--load", models, "--watchdog", "1"});
  EXPECT_EQ(result.code, 3);
  EXPECT_THAT(result.err, HasSubstr("endless.cpp, which initialises and registers what it has, has run for more than "
                                    "1 s"));
}

TEST_F(BenchFileTest, DescribeChecksTheModelsOfALoadedFile) {
  const std::string models = file(
      "#include <kernbench/models.h>\n"
      "#include <memory>\n"
      "using namespace kernbench;\n"
      "struct Slow final : DmaModel { Time setup(const DmaDescriptor&) override { return Time::microseconds(5); } };\n"
      "KERNBENCH_MODELS(registry) {\n"
      "  registry.add_dma(\"unhurried\", [](const auto&, const ModelParameters& parameters) {\n"
      "    parameters.integer(\"steps\", 1);\n"
      "    return std::make_unique<Slow>();\n  });\n"
      "}\n",
      "models.cpp");
  const auto describe = [&](const std::string& model, const std::string& parameter) {
    return cli::run({"/usr/bin/env", "XDG_CACHE_HOME=" + cache(), "KERNBENCH_CXX=" + compiler(), KERNBENCH_PROGRAM,
                     "describe", "tiny", "--load", models, "--set", "pe.dma.model=" + model, "--set",
                     "pe.dma.parameters." + parameter + "=2"});
  };
  const Finished known = describe("unhurried", "steps");
  EXPECT_EQ(known.code, 0) << known.err;
  EXPECT_THAT(known.out, HasSubstr("unhurried, of your own"));
  const Finished typo = describe("unhuried", "steps");
  EXPECT_EQ(typo.code, 2);
  EXPECT_THAT(typo.err, HasSubstr("did you mean \"unhurried\"?"));
  const Finished parameter = describe("unhurried", "stepps");
  EXPECT_EQ(parameter.code, 2);
  EXPECT_THAT(parameter.err, HasSubstr("stepps"));
  const auto describe_ring = [&](const std::string& model) {
    return cli::run({"/usr/bin/env", "XDG_CACHE_HOME=" + cache(), "KERNBENCH_CXX=" + compiler(), KERNBENCH_PROGRAM,
                     "describe", "tiny", "--set", "system.sips.count=2", "--algorithm", "ring_allreduce", "--load",
                     models, "--set", "pe.dma.model=" + model});
  };
  EXPECT_EQ(describe_ring("unhurried").code, 0);
  EXPECT_THAT(describe_ring("unhuried").err, HasSubstr("did you mean \"unhurried\"?"));
}

TEST_F(BenchFileTest, WhatAFileThrowsWhileItRegistersIsAnErrorOfTheFile) {
  const std::string source = file(
      "#include <kernbench/error.h>\n#include <kernbench/models.h>\n#include <cstdio>\n#include <cstdlib>\n"
      "#include <stdexcept>\n#include <string>\n"
      "KERNBENCH_MODELS(registry) {\n  (void)registry;\n  std::fputs(\"registering\\n\", stderr);\n"
      "  const std::string what = std::getenv(\"THROWN\");\n"
      "  if (what == \"number\") throw 7;\n"
      "  if (what == \"standard\") throw std::runtime_error(\"cannot read my table\");\n"
      "  throw kernbench::OutOfBoundsError(\"no row 7\");\n}\n",
      "table.cpp");
  const auto error_of = [&](const std::string& thrown) {
    auto arguments = command({"vector_add", "-p", "n=64", "-q", "--load", source});
    arguments.insert(arguments.begin() + 1, "THROWN=" + thrown);
    const Finished result = cli::run(arguments);
    EXPECT_EQ(result.code, 2) << thrown;
    EXPECT_THAT(result.err, HasSubstr("table.cpp: its KERNBENCH_MODELS threw "));
    EXPECT_EQ(result.err.find(".so"), std::string::npos) << "the library is none of the user's files: " << result.err;
    const Finished again = cli::run(arguments);
    EXPECT_EQ(again.err, result.err) << "from the cache";
    EXPECT_EQ(again.err.find("registering"), again.err.rfind("registering")) << "once";
    EXPECT_EQ(compilations(), 1u);
    return result.err;
  };
  EXPECT_THAT(error_of("number"), HasSubstr("int: 7 was thrown"));
  EXPECT_THAT(error_of("standard"), HasSubstr("std::runtime_error: cannot read my table"));
  EXPECT_THAT(error_of("own"), HasSubstr("OutOfBoundsError: no row 7"));
}

TEST_F(BenchFileTest, ALongRunShowsOnATerminalHowFarItIs) {
  NOT_UNDER_SANITIZERS("three runs of more than a second");
  const std::string source = file(small(""));
  EXPECT_THAT(run_on_terminal(command({source})).err, HasSubstr("\r\x1b[Kcompiling " + source + "\r\r\x1b[K"))
      << "shown, and gone";
  const Finished shown = run_on_terminal(command_of("lasts", {}));
  EXPECT_EQ(shown.code, 0) << shown.err;
  EXPECT_THAT(shown.err,
              testing::ContainsRegex("\r\x1b\\[Ksimulated [0-9.]+ ms, [0-9]+ launches completed, [0-9.]+ [kM] "
                                     "events/s, 1 s\r"));
  EXPECT_TRUE(shown.err.ends_with("\r\x1b[K")) << "nothing is left";
  EXPECT_THAT(run_on_terminal(command_of("lasts", {"-q"})).err, IsEmpty());
  EXPECT_THAT(run_bench("lasts", {}).err, IsEmpty()) << "a file is no terminal";
}

TEST_F(BenchFileTest, InterruptsReachTheProgramAndTheCompiler) {
  run_bench("launches", {"-q"});  // it is compiled now: what follows waits for the run
  Process running(command_of("long_run", {"-q", "--json", path("r.json"), "--trace", path("t")}));
  ASSERT_TRUE(running.wait_for_error("running"));
  running.interrupt();
  const Finished result = running.finish();
  EXPECT_EQ(result.code, 130);
  EXPECT_THAT(result.err, HasSubstr("kernbench: interrupted: the run was asked to stop"));
  const Json json = Json::parse(contents_of(path("r.json")));
  EXPECT_EQ(json["error"]["type"], "Interrupted");
  EXPECT_EQ(json["launches"][0]["name"], "fill#0");
  EXPECT_TRUE(consists_of_whole_packets(contents_of(path("t"))));

  const std::string source = file(small(""));
  write(compiler(), "#!/bin/sh\necho compiling > " + counter() + "\nsleep 60\n");
  write(counter(), "");
  Process compiling(command({source, "-q", "--no-cache"}));
  for (int i = 0; i < 3000 && compilations() == 0; ++i) ::usleep(10'000);
  compiling.interrupt();
  const Finished stopped = compiling.finish();
  EXPECT_EQ(stopped.code, 130);
  EXPECT_THAT(stopped.err, HasSubstr("kernbench: interrupted: while " + source + " was being compiled"));
  EXPECT_LT(stopped.seconds, 30);
}

}  // namespace
}  // namespace kernbench::cli
