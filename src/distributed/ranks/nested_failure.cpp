#include "distributed/ranks/nested_failure.h"

#include <fmt/format.h>

#include <algorithm>

namespace kernbench::distributed {

using torch::multiprocessing::RankError;
using torch::multiprocessing::SpawnException;

std::optional<Nest> nest_of(const std::exception_ptr& error) {
  if (!error) return std::nullopt;
  try {
    std::rethrow_exception(error);
  } catch (const NestedSpawnException& nested) {
    return nested.nest();
  } catch (const SpawnException& spawn) {
    return Nest{1, spawn.what()};
  } catch (...) {
    return std::nullopt;
  }
}

std::optional<Nest> nest_around(const std::vector<RankError>& causes, const std::string& text) {
  auto nest = nest_of(causes.front().error);
  if (!nest) return std::nullopt;
  const auto same = [&](const RankError& cause) { return cause.message == causes.front().message; };
  if (!std::ranges::all_of(causes, same)) return std::nullopt;
  if (++nest->levels <= kMostNestedTexts) nest->innermost = text;
  return nest;
}

std::string nest_text(const Nest& nest) {
  return fmt::format("after {} more nested spawns:\n\n{}", nest.levels - kMostNestedTexts, nest.innermost);
}

}  // namespace kernbench::distributed
