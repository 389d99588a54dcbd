#include "distributed/ranks/failure_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/number_set.h"
#include "base/text.h"
#include "distributed/ranks/rank_errors.h"

namespace kernbench::distributed {

using torch::multiprocessing::RankError;

namespace {

// In a text; the exception has all.
constexpr std::size_t kMostVictims = 16;
constexpr std::size_t kMostExits = 64;

void append_cause(std::string& text, const RankErrorResult& cause) {
  const std::string alike = cause.ranks.size() == 1 ? "" : fmt::format(" (on ranks {})", set_text(cause.ranks));
  text += fmt::format("\n\n-- Process {} terminated with the following error{}:\n", cause.ranks.front(), alike);
  text += fmt::format("{} at {}: {}", cause.type, to_text(cause.time), cause.message);
  if (!cause.where.empty()) text += "\n  at " + cause.where;
}

void append_victims(std::string& text, const std::vector<Victim>& victims, bool one_cause) {
  text += fmt::format("\n\nUnwound because of {}:", one_cause ? "it" : "them");
  const std::size_t shown = std::min(victims.size(), kMostVictims);
  for (std::size_t i = 0; i < shown; ++i) {
    text += fmt::format("{} rank {} ({})", i == 0 ? "" : ",", victims[i].rank, victims[i].doing);
  }
  if (shown < victims.size()) text += fmt::format(" and {} more", victims.size() - shown);
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
  for (const auto& cause : folded(causes)) append_cause(text, cause);
  if (!victims.empty()) append_victims(text, victims, causes.size() == 1);
  return text;
}

}  // namespace kernbench::distributed
