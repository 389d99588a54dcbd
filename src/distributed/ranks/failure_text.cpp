#include "distributed/ranks/failure_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <span>
#include <utility>

#include "base/text.h"
#include "distributed/agreement/judgement.h"
#include "distributed/ranks/alike_texts.h"
#include "distributed/ranks/rank_errors.h"

namespace kernbench::distributed {

using torch::multiprocessing::RankError;

namespace {

// In a text; the exception has all.
constexpr std::size_t kMostErrors = 16;   // that differ in words
constexpr std::size_t kMostVictims = 16;  // groups that wait for other things
constexpr std::size_t kMostExits = 64;
constexpr std::size_t kMostPlaces = 8;  // of one error

/// A rank may have several errors, of several programs of a kernel.
void sort_once(std::vector<int>& ranks) {
  std::ranges::sort(ranks);
  const auto repeated = std::ranges::unique(ranks);
  ranks.erase(repeated.begin(), repeated.end());
}

/// Causes of one type whose messages differ in numbers only, wherever and whenever they happened.
struct AlikeCauses {
  std::vector<RankErrorResult> causes = {};
  std::vector<int> ranks = {};  // of all of them
};

std::vector<AlikeCauses> alike(const std::vector<RankError>& errors) {
  std::vector<AlikeCauses> result;
  std::map<std::pair<std::string, std::string>, std::size_t> places;
  for (auto& cause : folded(errors)) {
    const auto [place, is_new] = places.try_emplace({cause.type, pattern_of_text(cause.message)}, result.size());
    if (is_new) result.emplace_back();
    AlikeCauses& group = result[place->second];
    group.ranks.insert(group.ranks.end(), cause.ranks.begin(), cause.ranks.end());
    group.causes.push_back(std::move(cause));
  }
  for (auto& group : result) sort_once(group.ranks);
  return result;
}

std::string message_of(const AlikeCauses& group) {
  std::vector<std::string> messages;
  for (const auto& cause : group.causes) messages.push_back(cause.message);
  return alike_text(messages);
}

std::string times_of(const AlikeCauses& group) {
  const auto [first, last] = std::ranges::minmax(group.causes, {}, &RankErrorResult::time);
  if (first.time == last.time) return to_text(first.time);
  return fmt::format("{} to {}", to_text(first.time), to_text(last.time));
}

/// Where they happened; which ranks did there, if others did elsewhere.
void append_places(std::string& text, const AlikeCauses& group) {
  std::map<std::string, std::vector<int>> ranks;
  std::vector<std::string> places;
  for (const auto& cause : group.causes) {
    auto& there = ranks[cause.where];
    if (there.empty()) places.push_back(cause.where);
    there.insert(there.end(), cause.ranks.begin(), cause.ranks.end());
  }
  const std::size_t shown = std::min(places.size(), kMostPlaces);
  for (std::size_t i = 0; i < shown; ++i) {
    auto& there = ranks[places[i]];
    sort_once(there);
    if (places[i].empty()) continue;
    text += "\n  at " + places[i];
    if (places.size() > 1) text += fmt::format(", on {}", ranks_text(there));
  }
  const std::size_t rest = places.size() - shown;
  if (rest > 0) text += fmt::format("\n  and in {} more place{}", rest, rest == 1 ? "" : "s");
}

void append_causes(std::string& text, const AlikeCauses& group) {
  const std::string all = group.ranks.size() == 1 ? "" : fmt::format(" (on {})", ranks_text(group.ranks));
  if (!text.empty()) text += "\n\n";
  text += fmt::format("-- Process {} terminated with the following error{}:\n", group.ranks.front(), all);
  text += fmt::format("{} at {}: {}", group.causes.front().type, times_of(group), message_of(group));
  append_places(text, group);
}

/// Those that are one too many, by their number and their ranks.
void append_rest(std::string& text, std::span<const AlikeCauses> groups) {
  std::vector<int> ranks;
  for (const auto& group : groups) ranks.insert(ranks.end(), group.ranks.begin(), group.ranks.end());
  sort_once(ranks);
  text +=
      fmt::format("\n\nand {} more error{}, of {}", groups.size(), groups.size() == 1 ? "" : "s", ranks_text(ranks));
}

/// Victims whose waits differ in numbers only.
struct AlikeVictims {
  std::vector<int> ranks = {};
  std::vector<std::string> doing = {};
};

std::vector<AlikeVictims> alike(const std::vector<Victim>& victims) {
  std::vector<AlikeVictims> result;
  std::map<std::string, std::size_t> places;
  for (const Victim& victim : victims) {
    const auto [place, is_new] = places.try_emplace(pattern_of_text(victim.doing), result.size());
    if (is_new) result.emplace_back();
    AlikeVictims& group = result[place->second];
    group.ranks.push_back(victim.rank);
    group.doing.push_back(victim.doing);
  }
  for (auto& group : result) std::ranges::sort(group.ranks);
  return result;
}

void append_victims(std::string& text, const std::vector<Victim>& victims, bool one_cause) {
  text += fmt::format("\n\nUnwound because of {}:", one_cause ? "it" : "them");
  const std::vector<AlikeVictims> groups = alike(victims);
  const std::size_t shown = std::min(groups.size(), kMostVictims);
  std::size_t told = 0;
  for (std::size_t i = 0; i < shown; ++i) {
    text += fmt::format("{} {} ({}{})", i == 0 ? "" : ",", ranks_text(groups[i].ranks),
                        groups[i].ranks.size() == 1 ? "" : "each ", alike_text(groups[i].doing));
    told += groups[i].ranks.size();
  }
  if (shown < groups.size()) text += fmt::format(" and {} more", victims.size() - told);
}

}  // namespace

std::string exit_text(int rank, int code) {
  return fmt::format("process {} terminated with exit code {}", rank, code);
}

std::string exit_texts(std::vector<RankError> causes) {
  std::ranges::sort(causes, {}, &RankError::rank);
  std::string text;
  const std::size_t shown = std::min(causes.size(), kMostExits);
  for (std::size_t i = 0; i < shown; ++i) text += (i == 0 ? "" : "\n") + causes[i].message;
  if (shown < causes.size()) text += fmt::format("\nand {} more", causes.size() - shown);
  return text;
}

std::string failure_text(const std::vector<RankError>& causes, const std::vector<Victim>& victims) {
  std::string text;
  const std::vector<AlikeCauses> groups = alike(causes);
  const std::size_t shown = std::min(groups.size(), kMostErrors);
  for (std::size_t i = 0; i < shown; ++i) append_causes(text, groups[i]);
  if (shown < groups.size()) append_rest(text, std::span(groups).subspan(shown));
  if (!victims.empty()) append_victims(text, victims, causes.size() == 1);
  return text;
}

}  // namespace kernbench::distributed
