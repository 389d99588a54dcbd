// The only unit that includes CLI11, which is slow to compile. CLI11 splits the arguments and prints help; the values
// are read and checked in options/, so that all errors have one voice.
#include "cli/command_line.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string_view>

#include "base/quantity.h"
#include "base/text.h"
#include "cli/options/ccl_options.h"
#include "cli/options/describe_options.h"
#include "cli/options/diff_options.h"
#include "cli/options/list_options.h"
#include "cli/options/option_set.h"
#include "cli/options/run_options.h"
#include "cli/options/sweep_options.h"
#include "cli/version.h"

namespace kernbench::cli {
namespace {

constexpr const char* kExamples = R"(Examples:
  kernbench list
  kernbench run gemm
  kernbench run my_bench.cpp
  kernbench run gemm -p M=4096 -p N=4096 -p K=4096 --set cube.hbm.bandwidth=2TB/s
  kernbench run gemm --json - | python3 -m json.tool
  kernbench diff before.json after.json
  kernbench sweep gemm --over M=512,1024,2048 --no-data
  kernbench describe ahbm-2sip
  kernbench ccl all_reduce -b 1K -e 64M -f 4

Exit codes: 0 ok, 1 a check failed, 2 usage or configuration, 3 the simulated program
failed, 4 internal error, 130 interrupted, 143 terminated.
"kernbench COMMAND --help" says more about each command.)";

std::string without_empty_lines_at_end(std::string text) {
  while (text.ends_with("\n\n")) text.pop_back();
  return text;
}

class CliOptionSet final : public OptionSet {
 public:
  explicit CliOptionSet(CLI::App& command) : command_(command) {}
  void text(const std::string& names, Texts& values, const std::string& type, const std::string& help) override {
    add(names, values, type, help);
  }
  void hidden_text(const std::string& names, Texts& values) override { add(names, values, "TEXT", "")->group(""); }
  void flag(const std::string& names, bool& given, const std::string& help) override {
    command_.add_flag(names, given, help)->disable_flag_override();
  }
  void footer(const std::string& text) override { command_.footer(text); }
  void pass_on_others() override { command_.allow_extras(); }

 private:
  CLI::Option* add(const std::string& names, Texts& values, const std::string& type, const std::string& help) {
    return command_.add_option(names, values, help)
        ->type_name(type)
        ->type_size(1)
        ->expected(1)
        ->allow_extra_args(false)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
        ->default_str("");
  }

  CLI::App& command_;
};

template <class Options>
CLI::App* add_command(CLI::App& app, Options& options) {
  CLI::App* const command = app.add_subcommand(Options::kCommand, Options::kSummary);
  CliOptionSet set(*command);
  options.declare(set);
  return command;
}

std::string suggestion(const std::string& word, const Texts& candidates) {
  const std::vector<std::string_view> views(candidates.begin(), candidates.end());
  const std::string_view near = nearest(word, views);
  // Any two letters are near to each other.
  return near.empty() || word.size() <= 2 ? "" : ", did you mean \"" + std::string(near) + "\"?";
}

Texts option_names(const CLI::App& app) {
  Texts names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    for (const std::string& name : option->get_snames()) names.push_back("-" + name);
  }
  return names;
}

// What CLI11 could not place: an unknown option first, since a word after it may only be that option's value.
void reject_leftovers(const CLI::App& app, const Texts& leftovers) {
  if (leftovers.empty()) return;
  const auto is_option = [](const std::string& text) { return text.size() > 1 && text.front() == '-'; };
  const auto option = std::find_if(leftovers.begin(), leftovers.end(), is_option);
  if (option != leftovers.end()) {
    const std::string name = option->substr(0, option->find('='));
    throw ConfigurationError("unknown option " + in_quotes(name) + suggestion(name, option_names(app)));
  }
  throw ConfigurationError("unexpected argument " + in_quotes(leftovers.front()));
}

void reject_unknown_command(const CLI::App& app, const Texts& leftovers) {
  Texts commands;
  for (const CLI::App* command : app.get_subcommands({})) commands.push_back(command->get_name());
  if (leftovers.empty()) throw ConfigurationError("a command is missing: list, describe, run, sweep, diff or ccl");
  if (leftovers.front().starts_with('-')) reject_leftovers(app, leftovers);
  const std::string near = suggestion(leftovers.front(), commands);
  throw ConfigurationError("unknown command " + in_quotes(leftovers.front()) +
                           (near.empty() ? "; there are list, describe, run, sweep, diff and ccl" : near));
}

// CLI11 says "--seed: 1 required TEXT missing", and "quiet was given a disallowed flag override".
std::string message_of(const CLI::ParseError& error) {
  std::string text = error.what();
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) == nullptr) return text;
  const std::string option = text.substr(0, text.find_first_of(": "));
  if (text.find("flag override") == std::string::npos) return option + " needs a value";
  return (option.size() == 1 ? "-" : "--") + option + " takes no value";
}

// "help run" is "run --help".
Texts normalised(Texts arguments) {
  if (!arguments.empty() && arguments.front() == "help") {
    arguments.erase(arguments.begin());
    arguments.emplace_back("--help");
  }
  return arguments;
}

class Parser {
 public:
  Parser()
      : app_("KernBench: how long a kernel takes on an AI accelerator, whether its numbers are right, and why.",
             "kernbench") {
    app_.set_version_flag("--version", std::string("kernbench ") + version(), "Show the version and leave");
    app_.footer(kExamples);
    app_.require_subcommand(0);
    app_.allow_extras();
    list_app_ = add_command(app_, list_);
    describe_app_ = add_command(app_, describe_);
    run_app_ = add_command(app_, run_);
    diff_app_ = add_command(app_, diff_);
    sweep_app_ = add_command(app_, sweep_);
    ccl_app_ = add_command(app_, ccl_);
    for (CLI::App* app : {&app_, list_app_, describe_app_, run_app_, diff_app_, sweep_app_, ccl_app_}) {
      app->set_help_flag("-h,--help", "Show this help and leave");
      app->get_formatter()->column_width(30);
    }
  }

  Command parse(const Texts& arguments) {
    Texts reversed = normalised(arguments);
    std::reverse(reversed.begin(), reversed.end());  // as CLI11 wants them
    try {
      app_.parse(reversed);
    } catch (const CLI::CallForHelp&) {
      return ShowText{without_empty_lines_at_end(app_.help())};
    } catch (const CLI::CallForVersion&) {
      return ShowText{app_.version() + "\n"};
    } catch (const CLI::ParseError& error) {
      throw ConfigurationError(message_of(error));
    }
    return chosen();
  }

  std::string command_name() const {
    const auto commands = app_.get_subcommands();
    return commands.empty() ? "" : commands.front()->get_name();
  }

 private:
  Command chosen() const {
    const auto commands = app_.get_subcommands();
    if (commands.empty()) reject_unknown_command(app_, app_.remaining());
    reject_leftovers(app_, app_.remaining());
    if (commands.front() == sweep_app_) return checked_sweep(sweep_app_->remaining());
    reject_leftovers(*commands.front(), commands.front()->remaining());
    // CLI11 takes a second command's name for a command even where it stands for something else.
    if (commands.size() > 1) reject_leftovers(app_, {commands[1]->get_name()});
    if (commands.front() == list_app_) return list_.command();
    if (commands.front() == describe_app_) return describe_.command();
    if (commands.front() == diff_app_) return diff_.command();
    if (commands.front() == ccl_app_) return ccl_.command();
    return run_.command();
  }

  /// What is given to run is understood by it, with the first value of each axis.
  Command checked_sweep(const Texts& others) const {
    Command command = sweep_.command(others);
    const auto& out = std::get<SweepCommand>(command);
    Texts first{"run"};
    first.insert(first.end(), others.begin(), others.end());
    sweep::Point point;
    for (const sweep::Axis& axis : out.axes) point.push_back(axis.values.front());
    for (const std::string& each : sweep::arguments_of(out.axes, point)) first.push_back(each);
    Parser().parse(first);
    return command;
  }

  CLI::App app_;
  ListOptions list_;
  DescribeOptions describe_;
  RunOptions run_;
  DiffOptions diff_;
  SweepOptions sweep_;
  CclOptions ccl_;
  CLI::App* list_app_ = nullptr;
  CLI::App* describe_app_ = nullptr;
  CLI::App* run_app_ = nullptr;
  CLI::App* diff_app_ = nullptr;
  CLI::App* sweep_app_ = nullptr;
  CLI::App* ccl_app_ = nullptr;
};

}  // namespace

Command parse_command_line(const std::vector<std::string>& arguments) {
  Parser parser;
  try {
    return parser.parse(arguments);
  } catch (const ConfigurationError& error) {
    throw UsageError(error.what(), parser.command_name());
  }
}

}  // namespace kernbench::cli
