#include "distributed/agreement/collective_order_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/number_set.h"
#include "distributed/agreement/judgement.h"

namespace kernbench::distributed {

std::uint64_t CollectiveOrderCheck::call(int member, CollectiveFingerprint fingerprint) {
  const auto index = static_cast<std::size_t>(member);
  fingerprint.member = member;
  fingerprint.sequence = ++called_[index];
  const std::uint64_t sequence = fingerprint.sequence;
  const auto found = open_.try_emplace(sequence).first;
  Call& call = found->second;
  std::string unexpected;  // in what it does not fit those that agree with it otherwise
  const auto side = std::ranges::find_if(call.sides, [&](const CallSide& each) {
    for (const CollectiveFingerprint& other : each.exchanges) {
      const std::string here = unexpected_block(other, fingerprint, ranks_);
      if (unexpected.empty()) unexpected = here;
      if (!here.empty()) return false;
    }
    return compare(each.fingerprint, fingerprint) == MatchState::FULLY_MATCHED;
  });
  if (side != call.sides.end()) {
    if (!fingerprint.sends.empty()) side->exchanges.push_back(fingerprint);
    // The line of the lowest rank stands for the side.
    if (add_rank(side->ranks, ranks_[index])) side->fingerprint.where = fingerprint.where;
  } else {
    fingerprint.unexpected = unexpected;
    std::vector<CollectiveFingerprint> exchanges;
    if (!fingerprint.sends.empty()) exchanges.push_back(fingerprint);
    call.sides.push_back({std::move(fingerprint), {ranks_[index]}, std::move(exchanges)});
  }
  ++call.callers;
  if (call.sides.size() > 1) {
    conflicts_.insert(sequence);
  } else if (call.callers == ranks_.size()) {
    if (call.scope) call.scope->settle();
    open_.erase(found);
  }
  return sequence;
}

void CollectiveOrderCheck::attach(std::uint64_t sequence, const std::shared_ptr<WorkState>& work) {
  const auto found = open_.find(sequence);
  if (found != open_.end()) found->second.works.push_back(work);
}

std::optional<std::uint64_t> CollectiveOrderCheck::conflict() const {
  return conflicts_.empty() ? std::nullopt : std::optional(*conflicts_.begin());
}

bool CollectiveOrderCheck::can_judge(const std::vector<bool>& left) const {
  if (conflicts_.empty()) return false;
  for (std::size_t member = 0; member < ranks_.size(); ++member) {
    if (called_[member] < *conflicts_.begin() && !left[member]) return false;
  }
  return true;
}

ProgramError CollectiveOrderCheck::verdict() const {
  const std::uint64_t sequence = *conflicts_.begin();
  return mismatch(open_.at(sequence).sides, missing(sequence));
}

CollectiveOrderCheck::Abandoned CollectiveOrderCheck::abandon() {
  Abandoned abandoned;
  if (!open_.empty()) abandoned.first = open_.begin()->first;
  for (auto& [sequence, call] : std::exchange(open_, {})) {
    if (call.scope) abandoned.scopes.push_back(std::move(call.scope));
    for (const auto& each : call.works) {
      if (auto work = each.lock()) abandoned.works.push_back(std::move(work));
    }
  }
  conflicts_.clear();
  return abandoned;
}

void CollectiveOrderCheck::append_unmatched(const std::string& group, std::vector<std::string>& texts) const {
  for (const auto& [sequence, call] : open_) {
    std::vector<int> callers;
    for (std::size_t member = 0; member < ranks_.size(); ++member) {
      if (called_[member] >= sequence) callers.push_back(ranks_[member]);
    }
    const CollectiveFingerprint& first = call.sides.front().fingerprint;
    texts.push_back(fmt::format("{} (sequence number {}) of {}: called by ranks {}, never by ranks {}{}",
                                name(first.type), sequence, group, set_text(callers), set_text(missing(sequence)),
                                called_text(first.where)));
  }
}

std::vector<int> CollectiveOrderCheck::missing(std::uint64_t sequence) const {
  std::vector<int> absent;
  for (std::size_t member = 0; member < ranks_.size(); ++member) {
    if (called_[member] < sequence) absent.push_back(ranks_[member]);
  }
  return absent;
}

}  // namespace kernbench::distributed
