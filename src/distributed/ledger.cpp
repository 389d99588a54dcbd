#include "distributed/ledger.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "distributed/meeting.h"
#include "distributed/work_state.h"

namespace kernbench::distributed {

std::uint64_t Ledger::call(int member, CollectiveFingerprint fingerprint) {
  const auto index = static_cast<std::size_t>(member);
  fingerprint.sequence = ++called_[index];
  const std::uint64_t sequence = fingerprint.sequence;
  const auto [found, is_first] = open_.try_emplace(sequence);
  Call& call = found->second;
  if (is_first) {
    call.fingerprint = std::move(fingerprint);
    call.member = index;
    call.callers = 1;
  } else {
    if (compare(call.fingerprint, fingerprint) != MatchState::FULLY_MATCHED) {
      const ProgramError error = mismatch(call.fingerprint, ranks_[call.member], fingerprint, ranks_[index]);
      call.error = std::make_exception_ptr(error);
      for (const auto& each : call.works) {
        if (const auto work = each.lock()) work->error = call.error;
      }
      throw error;
    }
    call.member = std::min(call.member, index);
    ++call.callers;
  }
  if (call.callers == ranks_.size()) open_.erase(found);
  return sequence;
}

void Ledger::attach(std::uint64_t sequence, const std::shared_ptr<WorkState>& work) {
  const auto found = open_.find(sequence);
  if (found == open_.end()) return;  // all have called it
  found->second.works.push_back(work);
  work->error = found->second.error;
}

ProgramError Ledger::mismatch(const CollectiveFingerprint& first, int first_rank, const CollectiveFingerprint& second,
                              int second_rank) const {
  std::string text = fmt::format(
      "Detected mismatch between collectives on ranks. Rank {} is running collective: {}, but Rank {} is running "
      "collective: {}. Collectives differ in the following aspects: {}. Culprit rank {}; Error type: {}",
      first_rank, first.text(), second_rank, second.text(), differences(first, second), second_rank,
      name(compare(first, second)));
  if (const auto absent = missing(second.sequence); !absent.empty()) {
    text += fmt::format("; missing ranks: {}", set_text(absent));
  }
  return {"DistributedError", text};
}

void Ledger::append_unmatched(const std::string& group, std::vector<std::string>& texts) const {
  for (const auto& [sequence, call] : open_) {
    if (call.error) continue;  // that has been said
    std::vector<int> callers;
    for (std::size_t member = 0; member < ranks_.size(); ++member) {
      if (called_[member] >= sequence) callers.push_back(ranks_[member]);
    }
    texts.push_back(fmt::format("{} (sequence number {}) of {}: called by ranks {}, never by ranks {}{}",
                                name(call.fingerprint.type), sequence, group, set_text(callers),
                                set_text(missing(sequence)), called_text(call.fingerprint.where)));
  }
}

std::vector<int> Ledger::missing(std::uint64_t sequence) const {
  std::vector<int> absent;
  for (std::size_t member = 0; member < ranks_.size(); ++member) {
    if (called_[member] < sequence) absent.push_back(ranks_[member]);
  }
  return absent;
}

}  // namespace kernbench::distributed
