// The sections of the table for people. Each is "" when the result has nothing for it, else text that ends in a
// newline.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "report/result.h"
#include "report/text/text_table.h"

namespace kernbench::report {

/// Name, device, start, time, share of the run and programs of each launch; of many, a summary by name.
std::string launches_section(const RunResult& result, const Palette& palette);

/// How library kernels were planned, a few lines for each plan; alike plans of one kernel count once.
std::string plans_section(const RunResult& result, const Palette& palette);

/// In which order collectives fold, and why by that algorithm, likewise.
std::string collectives_section(const RunResult& result, const Palette& palette);

/// Labels and texts.
using Facts = std::vector<std::pair<std::string, std::string>>;

/// The plan of the longest of the planned launches and where its operands are, on at most four lines; empty: nothing
/// was planned. The launch's name stands first unless that is `shown`, the kernel that the lines stand under.
Facts plan_facts(const RunResult& result, const std::string& shown);

/// Where the time of each launch went.
std::string breakdown_section(const RunResult& result, const Palette& palette);

/// What each launch attained of the peaks of its engines and memories.
std::string peaks_section(const RunResult& result, const Palette& palette);

/// What determined the end of the launches, what their operations waited for, and their kinds of operation. Of many
/// launches, of the longest one of each of the kernels that took most.
std::string explanation_sections(const RunResult& result, const Palette& palette);
/// False for a run with --no-explain, whose launches have no breakdown, critical path, waits and operations.
bool is_explained(const RunResult& result);
/// True for a run with --alike-devices, and what the report says of it.
bool devices_are_alike(const RunResult& result);
inline constexpr const char* kAlikeDevices =
    "the first was simulated, the others are taken to be like it (--alike-devices)";

/// True for a run with --detect-races.
bool races_were_looked_for(const RunResult& result);
/// Accesses that nothing orders.
std::string races_section(const RunResult& result, const Palette& palette);
/// The first `most` of them, a line each.
std::string race_lines(const RunResult& result, std::size_t most, const Palette& palette);

/// Where the bytes that launches moved were: in the PEs' own slices, or how far from them.
std::string distance_section(const RunResult& result, const Palette& palette);

/// For how long the devices had launches, copies and nothing to do, and what came next then.
std::string devices_section(const RunResult& result, const Palette& palette);
/// The same in a line or two; nothing where they had something to do nearly always.
std::string devices_line(const RunResult& result, const Palette& palette);

/// Named ranges of host code.
std::string ranges_section(const RunResult& result, const Palette& palette);

/// Of ranges with others in them: what these, and what is outside of them, have of the time, and what passed in it.
std::string range_tree_section(const RunResult& result, const Palette& palette);

/// Copies between the host and devices, the first `most` of those in the region of interest; nothing where they take
/// less than `least` of the time.
std::string copies_section(const RunResult& result, std::size_t most, double least, const Palette& palette);
/// What host programs waited for before their launches were taken.
std::string host_waits_section(const RunResult& result, const Palette& palette);

/// Some of what the run warns of, and how many more there are.
struct SomeWarnings {
  std::string text;
  std::size_t left_out = 0;
};
/// The first warnings, each of them whole: those that `most_lines` lines hold, with the heading.
SomeWarnings first_warnings(const RunResult& result, std::size_t most_lines, const Palette& palette);
/// All that the run warns of.
std::string warnings_section(const RunResult& result, const Palette& palette);

/// "checks: 1 passed", or the error.
std::string verdict(const RunResult& result);
/// The style of the verdict, and of a check.
Style style_of(RunStatus status);
Style style_of(CheckStatus status);

/// `words` on lines of at most `width` columns.
std::vector<std::string> wrapped(const std::vector<std::string>& words, std::size_t width);

/// The region of interest, or the whole run: its time and what to call it in a column ("of region").
struct Span {
  Time time;
  std::string title;
};
Span span_of(const RunResult& result);
/// What of a launch's time is part of that. One that begins before the region does, behind work that is not in it, has
/// a part of its time there.
Time time_in_span(const RunResult& result, const LaunchResult& launch);
/// Which launches have part of their time before or behind the region, a line: their share is of the rest. May be
/// empty.
std::string outside_of_span(const RunResult& result, const Palette& palette);

/// A metric's value with its unit: times and bytes in units that suit them.
std::string metric_text(const Metric& metric);
/// The words of a line.
std::vector<std::string> split_at_blanks(const std::string& line);
/// What was overridden of the topology, as words: "--set system.sips.count=16".
std::vector<std::string> override_words(const RunResult& result, const Palette& palette);
/// The parameters: "M=4096".
std::vector<std::string> parameter_words(const RunResult& result, const Palette& palette);
/// What passes in a part of a critical path: "dma data of load", "sender busy with work#1".
std::string activity_text(const PathPart& part);
/// The kind of a part, "sip*.cube*.pe*.router.east", without what all parts of PEs have in common.
std::string kind_within_pe(const std::string& kind);
/// What a part of a launch's critical path is due to: one server ("sip0.cube0.pe0.hbm.channel*"), or of several their
/// kind; of what has no server the PE, where another one than that of the program that ended last. Empty: not known.
std::string due_to(const PathPart& part, const LaunchResult& launch);

/// At most 40 lines. `result` has launches of the region only.
std::string brief_report(const RunResult& result, const Palette& palette);

/// Kinds of resource ("sip*.cube*.pe*.gemm"), the busiest first.
std::string resources_section(const RunResult& result, const Palette& palette);

}  // namespace kernbench::report
