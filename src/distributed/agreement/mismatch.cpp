// The error of a collective in which ranks did not do the same (collective_order_check.h).
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/number_set.h"
#include "distributed/agreement/collective_order_check.h"
#include "distributed/agreement/judgement.h"

namespace kernbench::distributed {

namespace {

std::string side_text(const CallSide& side) {
  return fmt::format("{} {} running collective: {}", ranks_text(side.ranks, "Rank", "Ranks"),
                     side.ranks.size() == 1 ? "is" : "are", side.fingerprint.text());
}

/// In what the others differ from the first side. More than one other: each with its ranks.
std::string aspects_text(const std::vector<CallSide>& sides) {
  const CollectiveFingerprint& first = sides.front().fingerprint;
  if (sides.size() == 2) return differences(first, sides.back().fingerprint);
  std::vector<std::string> aspects;
  const std::size_t shown = std::min(sides.size(), kMostSides);
  for (std::size_t i = 1; i < shown; ++i) {
    aspects.push_back(fmt::format("on {} {}", ranks_text(sides[i].ranks), differences(first, sides[i].fingerprint)));
  }
  if (shown < sides.size()) aspects.push_back(fmt::format("and {} more", sides.size() - shown));
  return fmt::format("{}", fmt::join(aspects, "; "));
}

}  // namespace

ProgramError mismatch(std::vector<CallSide> sides, const std::vector<int>& missing) {
  const std::string culprits = judge_sides(sides);
  std::vector<std::string> calls;
  const std::size_t shown = std::min(sides.size(), kMostSides);
  for (std::size_t i = 0; i < shown; ++i) calls.push_back(side_text(sides[i]));
  if (shown < sides.size())
    calls.push_back(fmt::format("{} run {} more", ranks_behind(sides, shown), sides.size() - shown));
  std::string text = fmt::format(
      "Detected mismatch between collectives on ranks. {}. Collectives differ in the following aspects: {}. {}; Error "
      "type: {}",
      fmt::join(calls, ", but "), aspects_text(sides), culprits,
      name(compare(sides[0].fingerprint, sides[1].fingerprint)));
  if (!missing.empty()) text += fmt::format("; missing ranks: {}", set_text(missing));
  return {"DistributedError", text};
}

}  // namespace kernbench::distributed
