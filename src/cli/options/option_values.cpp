#include "cli/options/option_values.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <span>
#include <string_view>
#include <thread>
#include <utility>

#include "base/quantity.h"
#include "base/text.h"
#include "kernbench/error.h"

namespace kernbench::cli {
namespace {

[[noreturn]] void reject(std::string_view option, std::string_view value, std::string_view expected) {
  throw ConfigurationError(fmt::format("{} {}: expected {}", option, in_quotes(value), expected));
}

template <class T>
T whole_number(std::string_view option, const std::string& text, T most, std::string_view expected) {
  T value{};
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || rest != end || value < T{} || value > most) reject(option, text, expected);
  return value;
}

// The index of `text` in `choices`.
std::size_t choice(std::string_view option, const std::string& text, std::span<const std::string_view> choices) {
  for (std::size_t i = 0; i < choices.size(); ++i) {
    if (choices[i] == text) return i;
  }
  std::string expected = fmt::format("{}", fmt::join(choices, ", "));
  const std::string_view near = nearest(text, choices);
  if (!near.empty()) expected += fmt::format("; did you mean \"{}\"?", near);
  reject(option, text, "one of " + expected);
}

// The parts before and after the first '='; rejects text without one, or with nothing before it.
std::pair<std::string, std::string> assignment(std::string_view option, const std::string& text,
                                               std::string_view expected) {
  const std::size_t at = text.find('=');
  if (at == std::string::npos || at == 0) reject(option, text, expected);
  return {text.substr(0, at), text.substr(at + 1)};
}

}  // namespace

std::uint64_t seed_of(const std::string& text) {
  return whole_number<std::uint64_t>("--seed", text, UINT64_MAX, "a whole number from 0 to 18446744073709551615");
}

OutOfBoundsReads out_of_bounds_reads_of(const std::string& text) {
  constexpr std::array<std::string_view, 2> kChoices = {"raise", "uninitialized"};
  return static_cast<OutOfBoundsReads>(choice("--out-of-bounds-reads", text, kChoices));
}

UninitializedMemory uninitialized_memory_of(const std::string& text) {
  constexpr std::array<std::string_view, 2> kChoices = {"poison", "zero"};
  return static_cast<UninitializedMemory>(choice("--uninitialized-memory", text, kChoices));
}

int threads_of(const std::string& text) {
  return whole_number<int>("--threads", text, 1024, "a whole number from 0 (all processors) to 1024");
}

std::size_t jobs_of(const std::string& text) {
  const auto jobs =
      whole_number<std::size_t>("--jobs", text, 1024, "a whole number from 0 (one for each processor) to 1024");
  return jobs > 0 ? jobs : std::max<std::size_t>(1, std::thread::hardware_concurrency());
}

Time max_time_of(const std::string& text) {
  try {
    const Time time = parse_time(text);
    if (time > Time::zero()) return time;
  } catch (const ConfigurationError& error) {
    throw ConfigurationError(fmt::format("--max-time: {}", error.what()));
  }
  reject("--max-time", text, "a time of more than zero, such as 10ms");
}

std::uint64_t max_polls_of(const std::string& text) {
  constexpr std::uint64_t kMost = 1'000'000'000'000;
  const auto polls = whole_number<std::uint64_t>("--max-polls", text, kMost, "a whole number from 1 to 10^12");
  if (polls == 0) reject("--max-polls", text, "a whole number from 1 to 10^12");
  return polls;
}

std::size_t detailed_launches_of(const std::string& text) {
  constexpr std::uint64_t kMost = 1'000'000'000;
  return whole_number<std::uint64_t>("--detailed-launches", text, kMost, "a whole number from 0 to 10^9");
}

Bytes stack_size_of(const std::string& text) {
  try {
    const Bytes bytes = parse_bytes(text);
    if (bytes >= Bytes(64 << 10) && bytes <= Bytes(1 << 30)) return bytes;
  } catch (const ConfigurationError& error) {
    throw ConfigurationError(fmt::format("--stack-size: {}", error.what()));
  }
  reject("--stack-size", text, "a size from 64KiB to 1GiB, such as 8MiB");
}

int watchdog_of(const std::string& text) {
  return whole_number<int>("--watchdog", text, 86'400, "a whole number of seconds from 0 (never) to 86400");
}

ColourMode colour_of(const std::string& text) {
  constexpr std::array<std::string_view, 3> kChoices = {"auto", "always", "never"};
  return static_cast<ColourMode>(choice("--color", text, kChoices));
}

DescribeFormat format_of(const std::string& text) {
  constexpr std::array<std::string_view, 5> kChoices = {"table", "keys", "yaml", "json-schema", "json"};
  return static_cast<DescribeFormat>(choice("--format", text, kChoices));
}

DiffFormat diff_format_of(const std::string& text) {
  constexpr std::array<std::string_view, 2> kChoices = {"table", "json"};
  return static_cast<DiffFormat>(choice("--format", text, kChoices));
}

report::TableKind report_of(const std::string& text) {
  constexpr std::array<std::string_view, 2> kChoices = {"short", "full"};
  return static_cast<report::TableKind>(choice("--report", text, kChoices));
}

Bytes ccl_size_of(const std::string& option, const std::string& text) {
  constexpr std::string_view kUnits = "BKMGT";
  const bool letter =
      !text.empty() && kUnits.find(text.back()) != std::string_view::npos && text.find('B') == text.npos;
  const bool bare = !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
  if (!letter && !bare) {
    try {
      return parse_bytes(text);
    } catch (const ConfigurationError& error) {
      throw ConfigurationError(fmt::format("{}: {}; or 8, 32K, 128M, 1G, as nccl-tests", option, error.what()));
    }
  }
  const std::string number = letter ? text.substr(0, text.size() - 1) : text;
  const auto value =
      whole_number<std::int64_t>(option, number, std::int64_t{1} << 40, "a size such as 8, 32K, 128M or 1G, up to 1T");
  const int shift = letter ? 10 * static_cast<int>(kUnits.find(text.back())) : 0;
  constexpr std::int64_t kMost = std::int64_t{1} << 40;
  if (value > kMost >> shift) reject(option, text, "a size up to 1T");
  return Bytes(value << shift);
}

std::int64_t ccl_number_of(const std::string& option, const std::string& text, std::int64_t least) {
  const std::string expected = fmt::format("a whole number from {} to 1048576", least);
  const auto value = whole_number<std::int64_t>(option, text, 1 << 20, expected);
  if (value < least) reject(option, text, expected);
  return value;
}

std::int64_t nccl_threads_of(const std::string& text) {
  if (!text.empty() && text.find_first_not_of("+-0123456789") != std::string::npos) {
    throw ConfigurationError(fmt::format(
        "-t: {} is no whole number: -t gives nccl-tests' threads here; a topology is given with --topology {}",
        in_quotes(text), text));
  }
  return ccl_number_of("-t", text, 1);
}

ccl::Average ccl_average_of(const std::string& text) {
  constexpr std::array<std::string_view, 4> kNumbers{"0", "1", "2", "3"};
  return static_cast<ccl::Average>(choice("-a", text, kNumbers));
}

namespace {

/// All of them for "all", else the one of that name.
template <class Entry>
std::vector<Entry> named(const std::string& option, const std::string& text, const std::vector<Entry>& known) {
  if (text == "all") return known;
  std::vector<std::string_view> names;
  for (const Entry& entry : known) names.push_back(entry.name);
  names.emplace_back("all");
  return {known[choice(option, text, names)]};
}

}  // namespace

std::vector<ccl::ReductionName> ccl_reductions_of(const std::string& text) {
  return named("-o", text, ccl::reduction_names());
}

std::vector<ccl::TypeName> ccl_types_of(const std::string& text) {
  return named("-d", text, ccl::type_names());
}

std::map<std::string, std::string> parameters_of(const std::vector<std::string>& texts) {
  std::map<std::string, std::string> out;
  for (const std::string& text : texts) {
    auto [name, value] = assignment("-p", text, "NAME=VALUE, such as -p M=1024");
    const auto [entry, added] = out.try_emplace(std::move(name), std::move(value));
    if (!added) throw ConfigurationError(fmt::format("-p: parameter {} is given twice", in_quotes(entry->first)));
  }
  return out;
}

std::vector<std::string> overrides_of(std::vector<std::string> texts) {
  for (const std::string& text : texts) {
    assignment("--set", text, "PATH=VALUE, such as --set cube.hbm.bandwidth=2TB/s");
  }
  return texts;
}

}  // namespace kernbench::cli
