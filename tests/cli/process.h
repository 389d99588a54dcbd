// Running a program as a user does: a process, its two streams and its exit code.
#pragma once

#include <csignal>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace kernbench::cli {

struct Finished {
  int code = 0;  // exit code, or 128 + signal
  std::string out, err;
  double seconds = 0;
  std::int64_t peak_memory = 0;  // bytes that it had in memory at most
};

/// A process under way.
class Process {
 public:
  /// `out` is a file that standard output goes to; "" captures it.
  explicit Process(std::vector<std::string> command, const std::string& out = {});
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  /// Waits, at most 30 s, until standard error contains `text`; returns whether it did.
  bool wait_for_error(const std::string& text) const;
  void interrupt() const { send(SIGINT); }
  void send(int signal) const;
  Finished finish();

 private:
  std::filesystem::path directory_;
  std::string out_;
  int id_ = -1;
  double start_ = 0;
};

/// Runs to the end: run({KERNBENCH_PROGRAM, "list"}).
Finished run(std::vector<std::string> command, const std::string& out = {});

/// Runs with standard error on a terminal (of 200 columns); what it wrote there is `err`.
Finished run_on_terminal(std::vector<std::string> command);

/// A directory that goes away with the object.
class TemporaryDirectory {
 public:
  TemporaryDirectory();
  ~TemporaryDirectory();
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  std::string path(const std::string& name) const { return (directory_ / name).string(); }

 private:
  std::filesystem::path directory_;
};

std::string contents_of(const std::string& path);

}  // namespace kernbench::cli
