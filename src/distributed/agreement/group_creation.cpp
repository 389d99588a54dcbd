#include "distributed/agreement/group_creation.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <span>
#include <utility>

#include "distributed/agreement/judgement.h"
#include "distributed/group.h"
#include "kernbench/error.h"
#include "runtime/host_wait.h"

namespace kernbench::distributed {

GroupCreation::GroupCreation(std::size_t number, const std::shared_ptr<Roster>& roster, std::vector<int> ranks)
    : number_(number), roster_(roster), barrier_(text(), roster, std::move(ranks)) {}

std::string GroupCreation::text() const {
  return fmt::format("new_group (number {})", number_);
}

std::shared_ptr<Group> GroupCreation::call(runtime::HostContext& context, int rank, Wanted wanted) {
  if (!barrier_.complete()) {
    note(rank, std::move(wanted));
    barrier_.arrive(rank);  // who waits goes on later in this instant
    if (barrier_.complete()) {
      conclude(context);
    } else {
      judge_if_all_others_left();
    }
    runtime::host_wait(context, runtime::WaitFor::ranks, [&] { barrier_.wait(); });
  }
  if (error_) std::rethrow_exception(error_);
  return group_;
}

void GroupCreation::conclude(runtime::HostContext& context) {
  if (sides_.size() > 1) {
    error_ = mismatch();
    return;
  }
  const Wanted& all = sides_.front().wanted;
  group_ =
      std::make_shared<Group>(context.simulation, fmt::format("group {}", number_), roster_, all.ranks, all.algorithm);
  rendezvous(context).add(group_, context.worker);
}

void GroupCreation::note(int rank, Wanted wanted) {
  const auto side = std::ranges::find_if(sides_, [&](const Side& each) { return each.wanted.is_like(wanted); });
  if (side == sides_.end()) {
    sides_.push_back({std::move(wanted), {rank}});
    return;
  }
  // The line of the lowest rank stands for the side.
  if (add_rank(side->ranks, rank)) side->wanted = std::move(wanted);
}

void GroupCreation::judge_if_all_others_left() {
  if (std::ranges::all_of(barrier_.missing(), [&](int rank) { return roster_->has_left(rank); })) {
    judge_without_missing();
  }
}

bool GroupCreation::judge_without_missing() {
  if (barrier_.complete() || sides_.size() < 2) return false;
  error_ = mismatch();
  barrier_.give_up();
  return true;
}

std::exception_ptr GroupCreation::mismatch() const {
  std::vector<Side> sides = sides_;
  const std::string culprits = judge_sides(sides);
  const Wanted& first = sides.front().wanted;
  const bool ranks_differ =
      std::ranges::any_of(sides, [&](const Side& side) { return side.wanted.ranks != first.ranks; });
  const bool algorithms_differ =
      std::ranges::any_of(sides, [&](const Side& side) { return side.wanted.algorithm != first.algorithm; });
  std::vector<std::string> calls;
  const std::size_t shown = std::min(sides.size(), kMostSides);
  for (const Side& side : std::span(sides).first(shown)) {
    const Wanted& wanted = side.wanted;
    std::vector<std::string> gave;
    if (ranks_differ) gave.push_back("the ranks " + set_text(wanted.ranks));
    if (algorithms_differ) {
      gave.push_back(wanted.algorithm_name.empty() ? "no algorithm"
                                                   : fmt::format("the algorithm \"{}\"", wanted.algorithm_name));
    }
    calls.push_back(
        fmt::format("{} gave {}{}", ranks_text(side.ranks), fmt::join(gave, " and "), at_text(wanted.where)));
  }
  if (shown < sides.size()) calls.push_back(ranks_behind(sides, shown) + " gave yet others");
  std::string text = fmt::format(
      "Detected mismatch between calls of {}: {}; all ranks must make the same groups in the same order. {}",
      this->text(), fmt::join(calls, ", but "), culprits);
  if (const auto missing = barrier_.missing(); !missing.empty()) text += "; missing ranks: " + set_text(missing);
  return std::make_exception_ptr(ProgramError("DistributedError", text));
}

}  // namespace kernbench::distributed
