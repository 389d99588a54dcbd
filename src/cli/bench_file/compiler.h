// The C++ compiler that makes a shared library of a user's file.
#pragma once

#include <atomic>
#include <string>
#include <vector>

namespace kernbench::cli {

/// A compiler: the command's words, the first a path, and who named it.
struct Compiler {
  std::vector<std::string> command;
  std::string named_by;  // "--compiler", "KERNBENCH_CXX", "CXX" or "the build"
};

/// The compiler to use: `option` (--compiler), else the environment's KERNBENCH_CXX, else CXX, else the one that built
/// this program, else c++. Each may hold several words ("ccache g++"). ConfigurationError when it does not exist.
Compiler find_compiler(const std::string& option);

/// What stands for this compiler in a cache key: its file's path, size and time of change. Asking the compiler for its
/// version would start it.
std::string identity_of(const Compiler& compiler);

struct CompileJob {
  std::string source;              // as the user wrote it
  std::vector<std::string> flags;  // the user's own, last
  std::string include_folder;
  bool colour = false;  // of the compiler's messages
};

/// The words of the command that compiles the job to the library `output` and lists in `dependencies` what it read.
std::vector<std::string> compile_command(const Compiler& compiler, const CompileJob& job, const std::string& output,
                                         const std::string& dependencies);

/// Where the first error of a compiler's messages is ("x.cpp:12:5"), and what it says. Empty when there is none. Of an
/// error in a header that a template of `source` has led to, where in `source` it was asked for.
struct Diagnostic {
  std::string where, message;
};
Diagnostic first_error(const std::string& messages, const std::string& source);

/// The files that a list of dependencies in the form of make names, the source file included.
std::vector<std::string> dependencies_of(const std::string& rule);

/// The words of a text, as a shell splits it: blanks separate, quotes and backslashes hold together.
/// ConfigurationError, which names `option`, for a quote that is not closed.
std::vector<std::string> words_of(const std::string& text, const std::string& option);

}  // namespace kernbench::cli
