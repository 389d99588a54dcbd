#include "cli/messages.h"

#include <fmt/format.h>

#include "report/least_slots.h"
#include "report/outcome.h"
#include "report/text/format.h"
#include "report/text/text_table.h"
#include "report/text/utf8.h"

namespace kernbench::cli {
namespace {

using report::Palette;
using report::Style;

constexpr std::size_t kMostProblems = 20;  // of a kind, as in the full report; --json has all

/// Tabs, which indent the lines of some messages, as two blanks.
std::string without_tabs(const std::string& text) {
  std::string out;
  for (const char letter : text) out += letter == '\t' ? std::string("  ") : std::string(1, letter);
  return out;
}

// Lines stay lines; what else a terminal could take as a command does not reach it.
std::string printable_lines(const std::string& given) {
  const std::string text = without_tabs(given);
  std::string out;
  std::size_t start = 0;
  for (std::size_t end = 0; end != std::string::npos; start = end + 1) {
    end = text.find('\n', start);
    if (start > 0) out += '\n';
    out += report::one_line(std::string_view(text).substr(start, end == std::string::npos ? end : end - start));
  }
  return out;
}

}  // namespace

std::string error_message(const report::ErrorResult& error, bool colour) {
  const Palette palette(colour);
  const std::string message = printable_lines(error.message);
  const std::string where = report::one_line(error.where);
  if (error.type == report::kInterrupted) {
    return palette.paint(Style::warning, "kernbench: interrupted") + (message.empty() ? "" : ": " + message) + "\n";
  }
  if (error.type == "ConfigurationError") {
    return palette.paint(Style::bad, "kernbench: error: ") + (where.empty() ? "" : where + ": ") + message + "\n";
  }
  if (report::is_internal(error.type)) {
    return palette.paint(Style::bad, "kernbench: internal error: ") + message +
           "\nThis is a fault of KernBench, not of your program. Please report it with the command line and this "
           "message.\n";
  }
  const std::string kind = report::kind_of(error) + (error.rank_errors.empty() ? ": " : "\n\n");
  return palette.paint(Style::bad, "kernbench: " + kind) + message + (where.empty() ? "" : "\n  at " + where) +
         (error.slots ? "\n  slots: " + report::one_line(error.slots->text) : "") + "\n";
}

std::string slots_hint(const report::ErrorResult& error) {
  if (error.type != "DeadlockError" || error.slots || !report::waits_for_slot(error)) return {};
  return "  a send waits for a free slot: --explain finds how many in every queue would break the deadlock, if any\n";
}

std::string failed_check_message(const report::CheckResult& check, bool colour) {
  return Palette(colour).paint(Style::bad, "kernbench: check failed: ") + report::one_line(check.name) + ": " +
         report::mismatch_text(check) + (check.where.empty() ? "" : "\n  at " + report::one_line(check.where)) + "\n";
}

std::string race_message(const report::RaceResult& race, bool colour) {
  return Palette(colour).paint(Style::bad, "kernbench: race: ") + report::one_line(report::race_text(race)) + "\n";
}

std::string problem_messages(const report::RunResult& result, bool colour) {
  std::string out;
  std::size_t checks = 0, races = 0;
  for (const report::CheckResult& check : result.checks) {
    if (check.status == report::CheckStatus::failed && ++checks <= kMostProblems) {
      out += failed_check_message(check, colour);
    }
  }
  if (checks > kMostProblems) out += fmt::format("kernbench: and {} more failed checks\n", checks - kMostProblems);
  for (const report::RaceResult& race : result.races) {
    if (++races <= kMostProblems) out += race_message(race, colour);
  }
  if (races > kMostProblems) out += fmt::format("kernbench: and {} more races\n", races - kMostProblems);
  return out;
}

}  // namespace kernbench::cli
