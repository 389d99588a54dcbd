#include "report/outcome.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error_text.h"
#include "base/number_set.h"
#include "report/text/format.h"
#include "report/text/utf8.h"

namespace kernbench::report {

ErrorResult error_result(const std::exception_ptr& error) {
  auto text = error_text(error, kInternalError);
  return {std::move(text.type), std::move(text.message), std::move(text.where)};
}

namespace {

/// Whether it is the first one in another place of the program.
bool is_first_elsewhere(const ErrorResult& error, const RankErrorResult& other) {
  const RankErrorResult& first = error.rank_errors.front();
  return other.type == first.type && other.message == first.message;
}

}  // namespace

std::string kind_of(const ErrorResult& error) {
  if (error.rank_errors.empty()) return one_line(error.type);
  std::set<int> all;
  for (const RankErrorResult& each : error.rank_errors) {
    if (is_first_elsewhere(error, each)) all.insert(each.ranks.begin(), each.ranks.end());
  }
  const std::vector<int> ranks(all.begin(), all.end());
  const std::string text =
      ranks.size() == 1 ? fmt::format("rank {}", ranks.front()) : fmt::format("ranks {}", set_text(ranks));
  return fmt::format("{}: {}: {}", one_line(error.type), text, one_line(error.rank_errors.front().type));
}

std::string headline(const ErrorResult& error) {
  const std::string& message = error.rank_errors.empty() ? error.message : error.rank_errors.front().message;
  std::string_view first = std::string_view(message).substr(0, message.find('\n'));
  // What leads to the lines below.
  for (const std::string_view end : {"; fibers then:", ". Live tiles:", ":"}) {
    if (first.ends_with(end) && first.size() < message.size()) first.remove_suffix(end.size());
  }
  const std::string line = one_line(first);
  const auto others = std::ranges::count_if(
      error.rank_errors, [&](const RankErrorResult& each) { return !is_first_elsewhere(error, each); });
  return kind_of(error) + (line.empty() ? "" : ": " + line) +
         (others == 0 ? "" : fmt::format(" (and {} more cause{})", others, others == 1 ? "" : "s"));
}

std::string mismatch_text(const CheckResult& check) {
  std::string errors = fmt::format("max abs error {}, max rel error {}", deviation_text(check.max_abs_error),
                                   deviation_text(check.max_rel_error));
  if (check.mismatched == 0) return errors;  // written by an earlier version
  const auto of_all =
      static_cast<double>(check.mismatched) / static_cast<double>(std::max<std::int64_t>(check.elements, 1));
  return fmt::format("{} of {} element{} ({}) outside of the tolerance; the worst, {}, is {}, expected {} ({})",
                     count_text(static_cast<std::uint64_t>(check.mismatched)),
                     count_text(static_cast<std::uint64_t>(check.elements)), check.elements == 1 ? "" : "s",
                     percent_text(of_all), one_line(check.worst_index), value_text(check.worst_actual),
                     value_text(check.worst_expected), errors);
}

std::string race_text(const RaceResult& race) {
  const auto access = [](const RaceAccess& each) { return fmt::format("{} at {}", each.operation, each.where); };
  const auto program = [](const RaceAccess& each) { return fmt::format("{} on {}", each.launch, each.pe); };
  const std::string often =
      race.count == 1 ? "" : fmt::format("; {} times", count_text(static_cast<std::uint64_t>(race.count)));
  return fmt::format("{} and {} touch the same bytes, and nothing orders them: {}, {} and {}{}", access(race.earlier),
                     access(race.later), race.place, program(race.earlier), program(race.later), often);
}

bool is_internal(std::string_view type) {
  return type == kInternalError;
}

RunStatus status_of(const RunResult& result) {
  if (result.error) return RunStatus::error;
  const auto failed = [](const CheckResult& check) { return check.status == CheckStatus::failed; };
  if (!result.races.empty()) return RunStatus::check_failed;
  return std::any_of(result.checks.begin(), result.checks.end(), failed) ? RunStatus::check_failed : RunStatus::ok;
}

}  // namespace kernbench::report
