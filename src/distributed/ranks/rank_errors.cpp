#include "distributed/ranks/rank_errors.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace kernbench::distributed {

std::vector<RankErrorResult> folded(const std::vector<torch::multiprocessing::RankError>& errors) {
  std::vector<RankErrorResult> result;
  std::map<std::tuple<Time, std::string, std::string, std::string>, std::size_t> entries;
  for (const auto& error : errors) {
    const auto [entry, is_new] =
        entries.try_emplace({error.time, error.type, error.message, error.where}, result.size());
    if (is_new) result.push_back({{}, error.time, error.type, error.message, error.where});
    result[entry->second].ranks.push_back(error.rank);
  }
  for (auto& entry : result) std::ranges::sort(entry.ranks);
  return result;
}

void add_rank_errors(const std::exception_ptr& error, ErrorResult& result) {
  try {
    std::rethrow_exception(error);
  } catch (const torch::multiprocessing::ProcessException& spawn) {
    result.rank_errors = folded(spawn.errors);
    result.victims = spawn.victims;
  } catch (...) {  // NOLINT(bugprone-empty-catch): others have no more to say
  }
}

}  // namespace kernbench::distributed
