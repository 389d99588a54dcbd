// The program from outside: streams, files, signals and exit codes, on benches that misbehave on demand.
#include "process.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <thread>

#include "support/source_tree.h"

namespace kernbench::cli {
namespace {

using Json = nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

Finished run_fake(std::vector<std::string> arguments, const std::string& out = {}) {
  arguments.insert(arguments.begin(), {KERNBENCH_FAKE_PROGRAM, "run"});
  return run(std::move(arguments), out);
}

TEST(ProcessTest, AGoodRunShowsTheTableAndExitsWithZero) {
  const Finished run = run_fake({"good"});
  EXPECT_EQ(run.code, 0);
  EXPECT_THAT(run.out, AllOf(HasSubstr("good on ahbm-1sip"), HasSubstr("M=8 dtype=f16"), HasSubstr("20.000 us")));
  EXPECT_THAT(run.out, Not(HasSubstr("\x1b"))) << "a file is no terminal";
  EXPECT_THAT(run.err, IsEmpty());
}

TEST(ProcessTest, ExitCodesFollowFromHowTheRunEnded) {
  EXPECT_EQ(run_fake({"good"}).code, 0);
  EXPECT_EQ(run_fake({"wrong"}).code, 1);
  EXPECT_EQ(run_fake({"misconfigured"}).code, 2);
  EXPECT_EQ(run_fake({"good", "-p", "M=0"}).code, 2);
  EXPECT_EQ(run_fake({"throws"}).code, 3);
  EXPECT_EQ(run_fake({"partial"}).code, 3);
  EXPECT_EQ(run_fake({"unwritten"}).code, 2) << "a full disk is not the simulated program's fault";
  EXPECT_EQ(run_fake({"broken"}).code, 4);
  EXPECT_EQ(run_fake({"terminates"}).code, 4);
}

TEST(ProcessTest, EachErrorIsOneClearMessage) {
  EXPECT_EQ(run_fake({"misconfigured"}).err, "kernbench: error: x.yaml:3:5: unknown key\n");
  EXPECT_EQ(run_fake({"throws"}).err, "kernbench: OutOfMemoryError: TCM of 4 MiB is full\n  at sip0.cube0.pe1\n");
  EXPECT_THAT(run_fake({"broken"}).err, AllOf(HasSubstr("internal error: index 7 of 7"), HasSubstr("report it")));
  EXPECT_THAT(run_fake({"terminates"}).err, HasSubstr("internal error"));
}

TEST(ProcessTest, WhatWasMeasuredBeforeAnErrorIsShown) {
  const Finished run = run_fake({"partial"});
  EXPECT_THAT(run.out, AllOf(HasSubstr("before"), HasSubstr("error: DeadlockError")));
  EXPECT_EQ(run.err, "kernbench: DeadlockError: rank 0 waits\nrank 1 waits\n  at ring.cpp:7\n");
}

TEST(ProcessTest, QuietShowsOnlyProblems) {
  const Finished good = run_fake({"good", "-q"});
  EXPECT_THAT(good.out + good.err, IsEmpty());
  const Finished wrong = run_fake({"wrong", "--quiet"});
  EXPECT_THAT(wrong.out, IsEmpty());
  EXPECT_EQ(wrong.err,
            "kernbench: check failed: norm: 3 of 4,096 elements (0.1 %) outside of the tolerance; the worst, [1, 7], "
            "is 2.5, expected 2 (max abs error 0.5, max rel error 0.25)\n  at norm.cpp:12\n");
}

TEST(ProcessTest, JsonOnStandardOutputIsAloneThere) {
  for (const char* bench : {"good", "wrong", "partial", "throws", "broken", "printing"}) {
    const Finished run = run_fake({bench, "--json", "-"});
    const Json json = Json::parse(run.out);
    EXPECT_EQ(json["bench"], bench);
  }
  const Finished printing = run_fake({"printing", "--json", "-"});
  EXPECT_EQ(printing.err, "from a C++ stream\nfrom a C stream\n") << "what the program prints goes to standard error";
  EXPECT_THAT(run_fake({"printing"}).out, AllOf(HasSubstr("from a C++ stream\n"), HasSubstr("from a C stream\n")));
}

TEST(ProcessTest, ErrorsAreInTheJsonToo) {
  const Json json = Json::parse(run_fake({"throws", "--json", "-", "--seed", "7", "--correlation-id", "x y"}).out);
  EXPECT_EQ(json["status"], "error");
  EXPECT_EQ(json["error"]["type"], "OutOfMemoryError");
  EXPECT_EQ(json["error"]["message"], "TCM of 4 MiB is full");
  EXPECT_EQ(json["error"]["where"], "sip0.cube0.pe1");
  EXPECT_EQ(json["seed"], 7);
  EXPECT_EQ(json["correlation_id"], "x y");
  EXPECT_EQ(Json::parse(run_fake({"no_such_bench", "--json", "-"}).out)["error"]["type"], "ConfigurationError");
  EXPECT_EQ(Json::parse(run_fake({"partial", "--json", "-"}).out)["launches"].size(), 1u);
}

TEST(ProcessTest, JsonGoesToAFileBesideTheTable) {
  const TemporaryDirectory directory;
  const Finished run = run_fake({"good", "--json", directory.path("r.json"), "-p", "M=3"});
  EXPECT_EQ(run.code, 0);
  EXPECT_THAT(run.out, HasSubstr("good on"));
  const Json json = Json::parse(contents_of(directory.path("r.json")));
  EXPECT_EQ(json["parameters"], (Json{{"M", "3"}, {"dtype", "f16"}}));
  EXPECT_EQ(json["status"], "ok");
}

TEST(ProcessTest, PathsThatCannotBeWrittenAreFoundBeforeTheRun) {
  const TemporaryDirectory directory;
  const std::string missing = directory.path("none/r.json");
  // "endless" would never come back.
  const Finished json = run_fake({"endless", "--json", missing});
  EXPECT_EQ(json.code, 2);
  EXPECT_THAT(json.err, AllOf(HasSubstr("--json"), HasSubstr(missing), HasSubstr("does not exist")));
  const Finished log = run_fake({"endless", "--op-log", "/"});
  EXPECT_EQ(log.code, 2);
  EXPECT_THAT(log.err, AllOf(HasSubstr("--op-log"), HasSubstr("directory")));
  const Finished trace = run_fake({"endless", "--trace", missing});
  EXPECT_EQ(trace.code, 2);
  EXPECT_THAT(trace.err, AllOf(HasSubstr("--trace"), HasSubstr("does not exist")));
  const Finished twice = run_fake({"endless", "--op-log", directory.path("f"), "--trace", directory.path("f")});
  EXPECT_EQ(twice.code, 2);
  EXPECT_THAT(twice.err, HasSubstr("--op-log and --trace name the same file"));
  const Finished same = run_fake({"endless", "--op-log", directory.path("f"), "--json", directory.path("./f")});
  EXPECT_EQ(same.code, 2);
  EXPECT_THAT(same.err, HasSubstr("same file"));
  std::filesystem::create_symlink("g", directory.path("link"));
  const Finished linked = run_fake({"endless", "--op-log", directory.path("g"), "--trace", directory.path("link")});
  EXPECT_EQ(linked.code, 2);
  EXPECT_THAT(linked.err, HasSubstr("same file"));
}

TEST(ProcessTest, WhatACommandReadsIsNotOverwritten) {
  const TemporaryDirectory directory;
  const std::string machine = directory.path("m.yaml"), text = source_tree::read("topologies/tiny.yaml");
  std::ofstream(machine) << text;
  for (const char* option : {"--json", "--op-log", "--trace", "--wait-graph"}) {
    const Finished run = run_fake({"endless", "-t", machine, option, directory.path("./m.yaml")});
    EXPECT_EQ(run.code, 2);
    EXPECT_THAT(run.err, HasSubstr(std::string(option) + " would overwrite"));
    EXPECT_EQ(contents_of(machine), text);
  }
}

TEST(ProcessTest, InterruptKeepsWhatWasMeasuredAndExitsWith130) {
  const TemporaryDirectory directory;
  Process process({KERNBENCH_FAKE_PROGRAM, "run", "endless", "--json", directory.path("r.json")});
  ASSERT_TRUE(process.wait_for_error("running"));
  process.interrupt();
  const Finished run = process.finish();
  EXPECT_EQ(run.code, 130);
  EXPECT_THAT(run.err, HasSubstr("kernbench: interrupted: after 30 us"));
  EXPECT_THAT(run.out, HasSubstr("cut short"));
  EXPECT_EQ(Json::parse(contents_of(directory.path("r.json")))["error"]["type"], "Interrupted");
}

TEST(ProcessTest, ARunThatDoesNotListenIsStoppedBySecondInterruptOrByTime) {
  const std::vector<std::string> deaf{KERNBENCH_FAKE_PROGRAM, "run", "deaf"};
  Process by_time(deaf), terminated(deaf), twice(deaf);
  for (const Process* process : {&by_time, &terminated, &twice}) ASSERT_TRUE(process->wait_for_error("running"));
  by_time.interrupt();
  terminated.send(SIGTERM);
  twice.interrupt();
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  twice.interrupt();
  const Finished soon = twice.finish(), late = by_time.finish(), ended = terminated.finish();
  for (const Finished& run : {soon, late}) {
    EXPECT_EQ(run.code, 130);
    EXPECT_THAT(run.err, HasSubstr("kernbench: interrupted\n"));
  }
  EXPECT_EQ(ended.code, 143);
  EXPECT_THAT(ended.err, HasSubstr("kernbench: terminated\n"));
  EXPECT_LT(late.seconds, 20);
  EXPECT_LT(soon.seconds, late.seconds);
}

// timeout(1) signals the process, and then its group with the process in it.
TEST(ProcessTest, SignalsOfOneRequestAreOne) {
  const TemporaryDirectory directory;
  const auto command = [&](const char* file) {
    return std::vector<std::string>{KERNBENCH_FAKE_PROGRAM, "run", "slow", "--json", directory.path(file)};
  };
  Process terminated(command("term.json")), interrupted(command("int.json"));
  for (const Process* process : {&terminated, &interrupted}) ASSERT_TRUE(process->wait_for_error("running"));
  for (int time = 0; time < 2; ++time) {
    if (time == 1) std::this_thread::sleep_for(std::chrono::milliseconds(20));
    terminated.send(SIGTERM);
    interrupted.send(SIGINT);
  }
  EXPECT_EQ(terminated.finish().code, 128 + SIGTERM);
  EXPECT_EQ(interrupted.finish().code, 128 + SIGINT);
  for (const char* file : {"term.json", "int.json"})
    EXPECT_EQ(Json::parse(contents_of(directory.path(file)))["error"]["type"], "Interrupted");
}

TEST(ProcessTest, AClosedTerminalEndsARunAsSigtermDoes) {
  const auto before = std::signal(SIGHUP, SIG_DFL);  // a child inherits that it is ignored
  const TemporaryDirectory directory;
  Process process({KERNBENCH_FAKE_PROGRAM, "run", "endless", "--json", directory.path("r.json")});
  std::signal(SIGHUP, before);
  ASSERT_TRUE(process.wait_for_error("running"));
  process.send(SIGHUP);
  EXPECT_EQ(process.finish().code, 143);
  EXPECT_EQ(Json::parse(contents_of(directory.path("r.json")))["error"]["type"], "Interrupted");
}

TEST(ProcessTest, SigtermKeepsWhatWasMeasuredAndExitsWith143) {
  const TemporaryDirectory directory;
  Process process({KERNBENCH_FAKE_PROGRAM, "run", "endless", "--json", directory.path("r.json")});
  ASSERT_TRUE(process.wait_for_error("running"));
  process.send(SIGTERM);
  const Finished run = process.finish();
  EXPECT_EQ(run.code, 143);
  EXPECT_THAT(run.out, HasSubstr("cut short"));
  EXPECT_EQ(Json::parse(contents_of(directory.path("r.json")))["error"]["type"], "Interrupted");
}

TEST(ProcessTest, AnExitOfTheProgramIsAnErrorWithAWholeResult) {
  const TemporaryDirectory directory;
  const Finished run = run_fake({"exits", "--json", directory.path("r.json")});
  EXPECT_EQ(run.code, 3);
  EXPECT_THAT(run.err, AllOf(HasSubstr("ProgramExit: the program called exit(7)"), HasSubstr("multiprocessing::exit")));
  const Json json = Json::parse(contents_of(directory.path("r.json")));
  EXPECT_EQ(json["error"]["type"], "ProgramExit");
  EXPECT_EQ(json["bench"], "exits");
  const Finished piped = run_fake({"exits", "--json", "-"});
  EXPECT_EQ(piped.code, 3);
  EXPECT_EQ(Json::parse(piped.out)["error"]["type"], "ProgramExit");
}

TEST(ProcessTest, AResultIsWrittenWholeOrNotAtAll) {
  const TemporaryDirectory directory;
  const std::string file = directory.path("r.json"), folder = std::filesystem::path(file).parent_path();
  // Not what another run has left, either.
  const auto expect_nothing = [&] {
    EXPECT_EQ(contents_of(file), "");
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), {}), 1) << "nothing else is left";
  };
  std::ofstream(file) << "old";
  run_fake({"aborts", "--json", file});
  expect_nothing();
  // A disk that fills up while the result is written: files of more than 4 KiB are refused.
  const std::string command = std::string(KERNBENCH_FAKE_PROGRAM) + " run many -q --json " + file;
  const Finished full = kernbench::cli::run({"/bin/sh", "-c", "trap '' XFSZ; ulimit -f 8; exec " + command});
  EXPECT_EQ(full.code, 2);
  EXPECT_THAT(full.err, AllOf(HasSubstr("--json: cannot write"), HasSubstr("File too large")));
  expect_nothing();
}

TEST(ProcessTest, AResultTakesThePlaceOfItsTargetWithItsPermissions) {
  const TemporaryDirectory directory;
  const std::string file = directory.path("r.json"), link = directory.path("link");
  std::ofstream(file) << "old";
  std::filesystem::permissions(file, std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  std::filesystem::create_symlink("r.json", link);
  EXPECT_EQ(run_fake({"good", "-q", "--json", link}).code, 0);
  EXPECT_TRUE(std::filesystem::is_symlink(link));
  EXPECT_EQ(Json::parse(contents_of(file))["bench"], "good");
  EXPECT_EQ(std::filesystem::status(file).permissions(),
            std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
}

TEST(ProcessTest, AReaderThatGoesAwayIsNoError) {
  const std::string program = KERNBENCH_FAKE_PROGRAM;
  const Finished run =
      kernbench::cli::run({"/bin/sh", "-c", "{ " + program + " run many --json -; echo code $? >&2; } | head -n 1"});
  EXPECT_EQ(run.out, "{\n");
  EXPECT_EQ(run.err, "code 0\n");
}

TEST(ProcessTest, AFullDiskIsAnError) {
  const Finished run = run_fake({"good"}, "/dev/full");
  EXPECT_EQ(run.code, 2);
  EXPECT_EQ(run.err, "kernbench: error: cannot write standard output: No space left on device\n");
  EXPECT_EQ(run_fake({"good", "-q", "--json", "/dev/full"}).code, 2);
  const Finished log =
      kernbench::cli::run({KERNBENCH_PROGRAM, "run", "vector_add", "-t", "tiny", "-q", "--op-log", "/dev/full"});
  EXPECT_EQ(log.code, 2);
  EXPECT_EQ(log.err,
            "kernbench: OutputError: cannot write the operation log: No space left on device\n  at /dev/full\n");
}

TEST(ProcessTest, ColourIsForTerminalsUnlessAskedFor) {
  EXPECT_THAT(run_fake({"good", "--color", "always"}).out, HasSubstr("\x1b[1m"));
  EXPECT_THAT(run_fake({"good", "--color=never"}).out, Not(HasSubstr("\x1b")));
}

}  // namespace
}  // namespace kernbench::cli
