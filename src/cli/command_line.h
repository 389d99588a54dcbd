// The command line as values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "cli/bench.h"
#include "cli/bench_file/bench_file.h"
#include "cli/ccl/request.h"
#include "cli/sweep/axes.h"
#include "distributed/algorithm_description.h"
#include "kernbench/error.h"
#include "report/sections/table.h"
#include "topology/models.h"

namespace kernbench::cli {

/// A command line that cannot be understood; `command()` is the command it was given to, possibly empty.
class UsageError : public ConfigurationError {
 public:
  UsageError(const std::string& message, std::string command)
      : ConfigurationError(message), command_(std::move(command)) {}
  const std::string& command() const { return command_; }

 private:
  std::string command_;
};

enum class ColourMode : std::uint8_t { automatic, always, never };
enum class DescribeFormat : std::uint8_t { table, keys, yaml, json_schema, json };

/// --help and --version: print and leave.
struct ShowText {
  std::string text;
};

struct ListCommand {
  ColourMode colour = ColourMode::automatic;
};

struct DescribeCommand {
  std::string topology;
  std::optional<distributed::DescriptionRequest> algorithm;  // in place of the topology, on which it runs
  std::vector<std::string> load;                             // C++ files with collective algorithms and models
  std::optional<topology::ModelNames> models;                // of these files; none: the topology may name any
  std::string msccl;                                         // file whose schedule is the algorithm
  std::vector<std::string> overrides;
  DescribeFormat format = DescribeFormat::table;
  ColourMode colour = ColourMode::automatic;
};

struct RunCommand {
  std::string bench;  // a built-in bench's name, or a C++ file (is_bench_file)
  BenchFileOptions file;
  std::vector<std::string> load;  // C++ files with collective algorithms
  SimulateOptions options;        // but for its parameters and models, which are the bench's
  ParameterTexts parameters;
  std::string json;        // file, "-" for standard output, "" for none
  std::string wait_graph;  // file, "" for none
  bool explain = false;    // whether more slots would break a deadlock
  bool quiet = false;
  report::TableKind report = report::TableKind::brief;
  ColourMode colour = ColourMode::automatic;
};

struct SweepCommand {
  std::vector<std::string> run;  // arguments of `run` that are the same for all
  std::vector<sweep::Axis> axes;
  std::vector<std::string> metrics;  // that the table shows; none: the main ones
  std::size_t jobs = 1;              // at one time
  std::string csv;                   // file, "-" for standard output in place of the table, "" for none
  std::string results;               // folder for the result of each run, "" for none
  bool resume = false;               // whether results that are there already are taken
  ColourMode colour = ColourMode::automatic;
};

enum class DiffFormat : std::uint8_t { table, json };

struct DiffCommand {
  std::string a, b;  // files that `run --json` wrote
  DiffFormat format = DiffFormat::table;
  bool exit_code = false;  // tell by the exit code whether the outcomes differ
  ColourMode colour = ColourMode::automatic;
};

struct CclCommand {
  ccl::Request request;
  std::vector<std::string> load;   // C++ files with collective algorithms
  std::vector<std::string> msccl;  // MSCCL files
  std::string tune;                // file for the best algorithms, "" for none
  SimulateOptions options;
  std::string json, csv;           // files, "-" for standard output in place of the table, "" for none
  bool compare = false;            // algorithms side by side
  std::vector<std::string> notes;  // options of nccl-tests that change nothing here
};

using Command = std::variant<ShowText, ListCommand, DescribeCommand, RunCommand, DiffCommand, CclCommand, SweepCommand>;

/// Understands the arguments after the program's name. Throws UsageError.
Command parse_command_line(const std::vector<std::string>& arguments);

}  // namespace kernbench::cli
