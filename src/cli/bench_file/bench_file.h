// A user's C++ file as benches: compiled once for each content, and loaded.
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/bench.h"

namespace kernbench::cli {

/// Whether the BENCH of a command line means a file: it has a '/', or ends in .cpp, .cc or .cxx.
bool is_bench_file(const std::string& name);

struct BenchFileOptions {
  std::string bench;                  // which of the file's; empty: the only one
  std::string compiler;               // empty: see find_compiler
  std::vector<std::string> cxxflags;  // texts, each of any number of words
  bool cache = true;
  double watchdog_seconds = 60;  // that its initialisers and registrations may take; 0: any
};

/// What a file's compilation needs from outside.
struct BenchFileHooks {
  std::function<void(std::string_view)> messages;      // the compiler's messages and notes, as they are to be shown
  std::function<void(const std::string&)> begin, end;  // a compilation begins and has ended; may be empty
  bool colour = false;
  const std::atomic<bool>* stop_requested = nullptr;
  std::function<void(const std::string&)> on_stuck;  // a file takes longer; called on another thread; may be empty
};

/// Compiles `path`, unless the cache has it, and loads it. ConfigurationError when there is no such file, no compiler
/// and no headers, when it does not compile (the compiler's messages have been shown), and when it does not define the
/// bench that is asked for; Error ("Interrupted") when the user stops the compiler.
Bench load_bench_file(const std::string& path, const BenchFileOptions& options, const BenchFileHooks& hooks);

/// What a file registers beside benches.
struct Extensions {
  CollectiveRegistry algorithms;
  ModelRegistry models;
};

/// Likewise for a file of extensions; ConfigurationError when it registers none.
Extensions load_extension_file(const std::string& path, const BenchFileOptions& options, const BenchFileHooks& hooks);

}  // namespace kernbench::cli
