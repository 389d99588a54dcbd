#include "distributed/failure_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace kernbench::distributed {

using torch::multiprocessing::RankError;

namespace {

constexpr std::size_t kMostVictims = 16;  // in a text; SpawnException::victims has all

void append_cause(std::string& text, const RankError& cause) {
  text += fmt::format("\n\n-- Process {} terminated with the following error:\n", cause.rank);
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

std::string failure_text(const std::vector<RankError>& causes, const std::vector<Victim>& victims) {
  std::string text;
  for (const RankError& cause : causes) append_cause(text, cause);
  if (!victims.empty()) append_victims(text, victims, causes.size() == 1);
  return text;
}

}  // namespace kernbench::distributed
