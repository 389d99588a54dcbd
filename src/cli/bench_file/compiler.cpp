#include "cli/bench_file/compiler.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <string_view>
#include <utility>

#include "base/quantity.h"
#include "cli/bench_file/installation.h"
#include "kernbench/error.h"

namespace kernbench::cli {
namespace {

namespace fs = std::filesystem;

std::string environment_value(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

bool is_program(const std::string& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored) && ::access(path.c_str(), X_OK) == 0;
}

// The file that a command's name stands for, by PATH; empty when there is none.
std::string resolved(const std::string& name) {
  if (name.find('/') != std::string::npos) return is_program(name) ? name : "";
  const std::string path = environment_value("PATH");
  for (std::size_t start = 0; start <= path.size();) {
    const std::size_t end = std::min(path.find(':', start), path.size());
    const std::string candidate = fmt::format("{}/{}", path.substr(start, end - start), name);
    if (end > start && is_program(candidate)) return candidate;
    start = end + 1;
  }
  return "";
}

// A path with blanks is one word when there is such a program.
Compiler named(const std::string& text, const std::string& by) {
  Compiler out{{text}, by};
  if (!is_program(text)) out.command = words_of(text, by);
  const std::string name = out.command.empty() ? "" : out.command.front();
  const std::string path = resolved(name);
  if (path.empty()) {
    throw ConfigurationError(
        fmt::format("the C++ compiler {}, named by {}, was not found; install one (such as g++), or name another with "
                    "--compiler or the environment variable KERNBENCH_CXX",
                    in_quotes(name), by));
  }
  out.command.front() = path;
  return out;
}

std::string without_escapes(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\x1b') {
      out += text[i];
      continue;
    }
    while (i < text.size() && text[i] != 'm' && text[i] != 'K') ++i;  // colour, and gcc's erasing of the line's rest
  }
  return out;
}

}  // namespace

Compiler find_compiler(const std::string& option) {
  if (!option.empty()) return named(option, "--compiler");
  for (const char* variable : {"KERNBENCH_CXX", "CXX"}) {
    if (const std::string value = environment_value(variable); !value.empty()) return named(value, variable);
  }
  return named(is_program(building_compiler()) ? building_compiler() : "c++", "the build of this program");
}

std::string identity_of(const Compiler& compiler) {
  struct stat status{};
  std::error_code error;
  const fs::path path = fs::canonical(compiler.command.front(), error);
  if (error || ::stat(path.c_str(), &status) != 0) return fmt::format("{}", fmt::join(compiler.command, " "));
  return fmt::format("{} {} {} {} {}", fmt::join(compiler.command, " "), path.string(), status.st_size,
                     status.st_mtim.tv_sec, status.st_mtim.tv_nsec);
}

std::vector<std::string> compile_command(const Compiler& compiler, const CompileJob& job, const std::string& output,
                                         const std::string& dependencies) {
  std::vector<std::string> command = compiler.command;
  // No fused multiply-add, as in KernBench itself: a bench's own reference has the same bits on every machine.
  command.insert(command.end(), {"-std=c++20", "-O2", "-fPIC", "-shared", "-g", "-ffp-contract=off"});
  // The file's own functions call each other, whatever this program has of the same name.
  command.emplace_back("-Wl,-Bsymbolic-functions");
  if (job.colour) command.emplace_back("-fdiagnostics-color=always");
  for (const std::string& flag : building_flags()) command.push_back(flag);
  command.push_back("-I" + job.include_folder);
  command.insert(command.end(), {"-MMD", "-MF", dependencies, "-o", output});
  // A file of another suffix is compiled as C++ (-x c++); what comes after it, such as -lx, is not.
  const auto has = [&](const char* suffix) { return job.source.ends_with(suffix); };
  if (has(".cpp") || has(".cc") || has(".cxx")) {
    command.push_back(job.source);
  } else {
    command.insert(command.end(), {"-x", "c++", job.source, "-x", "none"});
  }
  command.insert(command.end(), job.flags.begin(), job.flags.end());
  return command;
}

namespace {

/// "x.cpp:12:5" of a line "path/x.cpp:12:5: …" that goes on with `mark`, when x.cpp is the name of `source`; else
/// empty.
std::string place_in(const std::string& source, std::string_view line, std::string_view mark) {
  const std::string name = std::filesystem::path(source).filename().string() + ":";
  const std::size_t place = line.find(name), end = line.find(mark, place);
  const bool whole = place == 0 || (place != std::string_view::npos && line[place - 1] == '/');
  return whole && end != std::string_view::npos ? std::string(line.substr(0, end)) : std::string();
}

/// Where the source asked for a template that the lines around are about.
std::string asked_for_in(const std::string& source, std::string_view line) {
  const std::string by_gcc = place_in(source, line, ":   required from");
  return by_gcc.empty() ? place_in(source, line, ": note: in instantiation of") : by_gcc;
}

/// The error that a line tells of, or an empty one.
Diagnostic error_of(std::string_view line) {
  for (const std::string_view mark : {": error: ", ": fatal error: "}) {
    const std::size_t at = line.find(mark);
    if (at == std::string_view::npos) continue;
    return {std::string(line.substr(0, at)), std::string(line.substr(at + mark.size()))};
  }
  return {};
}

}  // namespace

// gcc says before an error, or a warning, what asked for the template, and clang behind it.
Diagnostic first_error(const std::string& messages, const std::string& source) {
  std::istringstream lines(without_escapes(messages));
  Diagnostic first;
  std::string asked;
  for (std::string line; std::getline(lines, line);) {
    if (std::string place = asked_for_in(source, line); !place.empty()) {
      asked = std::move(place);
      if (!first.where.empty()) break;
      continue;
    }
    if (line.find(": warning: ") != std::string::npos) asked.clear();
    Diagnostic error = error_of(line);
    if (error.where.empty()) continue;
    if (!first.where.empty()) break;  // the next one
    first = std::move(error);
    const bool is_own = !place_in(source, line, ": error: ").empty();
    if (is_own) asked.clear();
    if (is_own || !asked.empty()) break;
  }
  if (!asked.empty()) first.where = asked;
  return first;
}

std::vector<std::string> dependencies_of(const std::string& rule) {
  std::vector<std::string> out;
  std::string word;
  const auto end_word = [&] {
    if (!word.empty()) out.push_back(std::exchange(word, {}));
  };
  // After the target's colon: blanks separate, "\ " and "\#" and "$$" stand for a character, "\" ends a line.
  for (std::size_t i = std::min(rule.find(": "), rule.size()) + 1; i < rule.size(); ++i) {
    const char c = rule[i];
    const char next = i + 1 < rule.size() ? rule[i + 1] : '\n';
    if (c == '\\' && (next == ' ' || next == '#')) {
      word += next;
      ++i;
    } else if (c == '\\' && next == '\n') {
      end_word();
      ++i;
    } else if (c == '$' && next == '$') {
      word += '$';
      ++i;
    } else if (c == ' ' || c == '\n' || c == '\t') {
      end_word();
    } else {
      word += c;
    }
  }
  end_word();
  return out;
}

std::vector<std::string> words_of(const std::string& text, const std::string& option) {
  std::vector<std::string> out;
  std::string word;
  bool inside = false;  // of a word, which may be empty: ""
  char quote = '\0';
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quote != '\0' && c == quote) {
      quote = '\0';
    } else if (quote == '\0' && (c == '"' || c == '\'')) {
      quote = c;
      inside = true;
    } else if (c == '\\' && quote != '\'' && i + 1 < text.size()) {
      word += text[++i];
      inside = true;
    } else if (quote == '\0' && (c == ' ' || c == '\t' || c == '\n')) {
      if (inside) out.push_back(std::exchange(word, {}));
      inside = false;
    } else {
      word += c;
      inside = true;
    }
  }
  if (quote != '\0') throw ConfigurationError(fmt::format("{} {}: a quote is not closed", option, in_quotes(text)));
  if (inside) out.push_back(word);
  return out;
}

}  // namespace kernbench::cli
