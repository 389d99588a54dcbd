// `kernbench sweep`: a bench for all combinations of some values, each run a process of its own.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <exception>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "base/quantity.h"
#include "base/text.h"
#include "cli/bench_file/child_process.h"
#include "cli/bench_file/compile_cache.h"
#include "cli/bench_file/content_hash.h"
#include "cli/build_id.h"
#include "cli/commands.h"
#include "cli/output_file.h"
#include "cli/status_line.h"
#include "cli/sweep/axes.h"
#include "cli/sweep/output.h"
#include "kernbench/error.h"
#include "report/json/read_json.h"

namespace kernbench::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostRuns = 10'000;
constexpr auto kLookInterval = std::chrono::milliseconds(20);

/// Where the runs' results go: the user's folder, or one that goes with the sweep.
class ResultFolder {
 public:
  /// Results of an earlier sweep stay when this one goes on with it, but for those beyond its `count`.
  ResultFolder(const std::string& wanted, bool resumes, std::size_t count) : wanted_(wanted) {
    std::error_code error;
    if (wanted.empty()) {
      scratch_.emplace(fs::temp_directory_path(error).string());
      return;
    }
    fs::create_directories(wanted, error);
    if (error)
      throw ConfigurationError(
          fmt::format("--results {}: cannot make the folder: {}", in_quotes(wanted), error.message()));
    if (!std::ofstream(log(0), std::ios::app))
      throw ConfigurationError(fmt::format("--results {}: cannot write into this folder: {}", in_quotes(wanted),
                                           std::generic_category().message(errno)));
    for (std::size_t number = resumes ? count : 0; forget(number); ++number) continue;
  }

  std::string json(std::size_t number) const { return path(fmt::format("{}.json", number + 1)); }
  std::string log(std::size_t number) const { return path(fmt::format("{}.log", number + 1)); }
  /// What the result is of; there once it is complete.
  std::string key(std::size_t number) const { return path(fmt::format("{}.key", number + 1)); }
  bool is_kept() const { return !scratch_; }
  /// Of an earlier sweep. Whether there was any.
  bool forget(std::size_t number) const {
    std::error_code ignored;
    const bool result = fs::remove(json(number), ignored), said = fs::remove(log(number), ignored);
    const bool known = fs::remove(key(number), ignored);
    return result || said || known;
  }

 private:
  std::string path(const std::string& name) const { return scratch_ ? scratch_->path(name) : wanted_ + "/" + name; }

  std::string wanted_;
  std::optional<ScratchFolder> scratch_;
};

class Sweep {
 public:
  Sweep(const SweepCommand& command, const Environment& environment)
      : command_(command),
        environment_(environment),
        points_(sweep::points_of(command.axes, kMostRuns)),
        folder_(command.results, command.resume, points_.size()),
        runs_(points_.size()) {}

  /// All runs that ended before the user asked to stop. The first alone: it compiles a C++ file, and the others find
  /// it.
  std::vector<sweep::Run> run() {
    StatusLine status(environment_.err, environment_.err_is_terminal);
    work(1, 1, status);
    work(command_.jobs, points_.size(), status);
    std::vector<sweep::Run> ended;
    for (std::optional<sweep::Run>& run : runs_) {
      if (run) ended.push_back(std::move(*run));
    }
    return ended;
  }
  std::size_t size() const { return points_.size(); }
  /// Of an earlier sweep.
  std::size_t taken_over() const { return taken_over_; }

 private:
  bool stopped() const { return environment_.stop_requested != nullptr && *environment_.stop_requested; }

  void work(std::size_t jobs, std::size_t until, StatusLine& status) {
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < std::min(jobs, until - next_); ++i) {
      threads.emplace_back([this, until] {
        while (const auto number = take(until)) runs_[*number] = one(*number);
      });
    }
    while (done_ < until && !stopped()) {
      status.show(fmt::format("{} of {} runs done", done_.load(), points_.size()));
      std::this_thread::sleep_for(kLookInterval);
    }
    for (std::thread& thread : threads) thread.join();
  }
  std::optional<std::size_t> take(std::size_t until) {
    const std::scoped_lock lock(mutex_);
    if (next_ >= until || stopped()) return std::nullopt;
    return next_++;
  }

  std::optional<sweep::Run> one(std::size_t number) {
    const std::string json = folder_.json(number);
    std::vector<std::string> arguments{"run"};
    arguments.insert(arguments.end(), command_.run.begin(), command_.run.end());
    for (std::string& each : sweep::arguments_of(command_.axes, points_[number])) arguments.push_back(std::move(each));
    const std::string key = folder_.is_kept() ? key_of(arguments) : "";
    if (std::optional<sweep::Run> kept = kept_run(number, key)) {
      ++done_;
      ++taken_over_;
      return kept;
    }
    folder_.forget(number);
    arguments.insert(arguments.end(), {"--quiet", "--json", json});
    const ChildResult child = environment_.run_again(arguments, folder_.log(number));
    ++done_;
    if (child.stopped) return std::nullopt;
    const std::string text = read_whole(json).value_or("");
    if (folder_.is_kept() && !text.empty()) std::ofstream(folder_.key(number)) << key;
    return run_of(number, text, child);
  }
  /// The same run of an earlier sweep; none where its result is not there, or no result any more.
  std::optional<sweep::Run> kept_run(std::size_t number, const std::string& key) const {
    if (!command_.resume || read_whole(folder_.key(number)) != key) return std::nullopt;
    const std::string text = read_whole(folder_.json(number)).value_or("");
    if (text.empty()) return std::nullopt;
    try {
      return run_of(number, text, {});
    } catch (const std::exception&) {
      return std::nullopt;
    }
  }
  sweep::Run run_of(std::size_t number, const std::string& text, const ChildResult& child) const {
    sweep::Run run{points_[number], {}};
    if (!text.empty()) {
      run.result = report::from_json(text, folder_.json(number));
      run.exit_code = exit_code_of(run.result);
    } else {
      run.result.error = report::ErrorResult{"ProgramError", "no result: " + why_none(child), ""};
      run.result.status = report::RunStatus::error;
      const bool is_known = child.exit_code > 0 && child.exit_code <= static_cast<int>(ExitCode::internal);
      run.exit_code = is_known ? static_cast<ExitCode>(child.exit_code) : ExitCode::program;
    }
    return run;
  }
  /// Of the program, the command, and the contents of the files that it names.
  static std::string key_of(const std::vector<std::string>& arguments) {
    ContentHash hash;
    hash.add(build_id());
    for (const std::string& argument : arguments) {
      std::error_code ignored;
      const std::string value = argument.substr(argument.find('=') + 1);  // all of it where there is none
      hash.add(argument);
      if (fs::is_regular_file(value, ignored)) hash.add(read_whole(value).value_or(""));
    }
    return hash.text();
  }
  static std::string why_none(const ChildResult& child) {
    if (child.error != 0) return "this program cannot be started again";
    const std::size_t begin = child.output.find_first_not_of(" \n");
    const std::string said = begin == std::string::npos ? "it said nothing" : child.output.substr(begin);
    return fmt::format("exit code {}: {}", child.exit_code, said);
  }

  const SweepCommand& command_;
  const Environment& environment_;
  std::vector<sweep::Point> points_;
  ResultFolder folder_;
  std::vector<std::optional<sweep::Run>> runs_;  // by point; none: not ended
  std::mutex mutex_;
  std::size_t next_ = 0;
  std::atomic<std::size_t> done_ = 0, taken_over_ = 0;
};

/// The worst of all.
ExitCode worst_code_of(const std::vector<sweep::Run>& runs) {
  ExitCode worst = ExitCode::ok;
  for (const sweep::Run& run : runs) worst = std::max(worst, run.exit_code);
  return worst;
}

/// "gemm on ahbm-1sip, 6 runs"; without the machine where it varies.
std::string title_of(const std::vector<sweep::Run>& runs) {
  const report::RunResult& first = runs.front().result;
  const bool one_machine =
      std::ranges::all_of(runs, [&](const sweep::Run& run) { return run.result.topology == first.topology; });
  const std::string machine = one_machine && !first.topology.empty() ? " on " + first.topology : "";
  return fmt::format("{}{}, {} run{}", first.bench, machine, runs.size(), runs.size() == 1 ? "" : "s");
}

}  // namespace

ExitCode sweep_bench(const SweepCommand& command, const Environment& environment) {
  std::optional<OutputFile> csv;
  if (!command.csv.empty() && command.csv != "-") csv.emplace("--csv", command.csv);
  if (csv) {
    std::vector<InputFile> inputs;
    for (const std::string& argument : command.run) inputs.push_back({"the command", argument});
    for (const sweep::Axis& axis : command.axes)
      for (const std::string& value : axis.values) inputs.push_back({"--over", value});
    require_no_input(*csv, inputs);
  }
  Sweep sweep(command, environment);
  const std::vector<sweep::Run> runs = sweep.run();
  const bool complete = runs.size() == sweep.size();
  if (sweep.taken_over() > 0) {
    environment.err(fmt::format("kernbench: {} of {} results are those that {} had\n", sweep.taken_over(), sweep.size(),
                                command.results));
  }
  if (!runs.empty()) {
    const std::string rows = sweep::to_csv(command.axes, runs);
    if (csv) csv->write(rows);
    const bool colour = use_colour(command.colour, environment.out_is_terminal);
    environment.out(command.csv == "-" ? rows
                                       : sweep::to_table(title_of(runs), command.axes, runs, command.metrics, colour));
  }
  if (complete) return worst_code_of(runs);
  environment.err(fmt::format("kernbench: interrupted: {} of {} runs done{}\n", runs.size(), sweep.size(),
                              command.results.empty() ? "" : "; --resume goes on with the others"));
  return ExitCode::interrupted;
}

}  // namespace kernbench::cli
