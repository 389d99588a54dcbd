#include "report/least_slots.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "report/outcome.h"

namespace kernbench::report {
namespace {

constexpr std::string_view kDeadlock = "DeadlockError";

/// How a run with more slots ended.
enum class Trial : std::uint8_t {
  stuck,       // in a deadlock, and a send waits for a slot
  crossed,     // in a deadlock, and none does
  free,        // in no deadlock
  too_many,    // the slots do not fit into their memory
  interrupted  // by the user
};

Trial trial_of(const RunResult& result) {
  if (!result.error) return Trial::free;
  const ErrorResult& error = *result.error;
  if (error.type == kDeadlock) return waits_for_slot(error) ? Trial::stuck : Trial::crossed;
  if (error.type == kInterrupted) return Trial::interrupted;
  return error.too_many_slots ? Trial::too_many : Trial::free;
}

std::string slots_text(std::int32_t slots) {
  return fmt::format("{} slot{}", slots, slots == 1 ? "" : "s");
}

std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

/// How a run that does not get stuck ends, if not well.
std::string end_of(const RunResult& result) {
  if (result.error) return ", and the run then ends with " + headline(*result.error);
  return status_of(result) == RunStatus::check_failed ? ", and a check then fails" : "";
}

bool waits_for_room(const ErrorResult& error) {
  return std::ranges::any_of(
      error.waits, [](const WaitEdgeResult& wait) { return wait.target.find(".tcm (") != std::string::npos; });
}

const char* what_remains(const ErrorResult& error) {
  if (waits_for_room(error)) {
    return "programs wait for room in a TCM that others hold; let those of one PE need less than its capacity "
           "together, or launch them on one stream";
  }
  return error.cycles.empty() ? "what is missing is something else" : "the programs wait for each other's messages";
}

/// The largest number known to be too small, and the smallest known not to be.
class SlotSearch {
 public:
  explicit SlotSearch(const RunWithSlots& run_with) : run_with_(run_with) {}

  SlotAdvice run() {
    while (stuck_ < kMostSlots && !end_) attempt(std::min(2 * stuck_, kMostSlots));
    while (end_ && !over_ && *end_ - stuck_ > 1) attempt(stuck_ + (*end_ - stuck_) / 2);
    return advice();
  }

 private:
  void attempt(std::int32_t slots) {
    RunResult result = run_with_(slots);
    const Trial trial = trial_of(result);
    if (trial == Trial::stuck) {
      stuck_ = slots;
      tried_ = std::max(tried_, slots);
      return;
    }
    end_ = slots;
    last_ = trial;
    result_ = std::move(result);
    over_ = trial == Trial::crossed || trial == Trial::interrupted;
    if (trial == Trial::crossed || trial == Trial::free) tried_ = std::max(tried_, slots);
  }

  SlotAdvice advice() const {
    const std::string none = fmt::format("no number of slots up to {} breaks it", tried_);
    if (!end_) return {0, tried_, none};
    switch (last_) {
      case Trial::crossed:
        return {0, tried_,
                fmt::format("no number of slots breaks it: with {} no send waits for one any more, and {}",
                            slots_text(*end_), what_remains(*result_.error))};
      case Trial::too_many:
        return {0, tried_, fmt::format("{}, and more do not fit: {}", none, first_line(result_.error->message))};
      case Trial::interrupted:
        return {0, tried_, fmt::format("{}; the search was interrupted", none)};
      default:
        return {*end_, tried_,
                fmt::format("{} in every queue would break it{}; with {} the program gets stuck", slots_text(*end_),
                            end_of(result_), slots_text(stuck_))};
    }
  }

  const RunWithSlots& run_with_;
  std::int32_t stuck_ = 1, tried_ = 1;
  std::optional<std::int32_t> end_;
  bool over_ = false;
  Trial last_ = Trial::stuck;
  RunResult result_;  // with *end_ slots
};

}  // namespace

bool waits_for_slot(const ErrorResult& error) {
  return std::ranges::any_of(error.waits, [](const WaitEdgeResult& wait) { return wait.slot.has_value(); });
}

std::optional<SlotAdvice> find_least_slots(const ErrorResult& error, const RunWithSlots& run_with) {
  if (error.type != kDeadlock) return std::nullopt;
  if (!waits_for_slot(error)) {
    return SlotAdvice{
        0, 0, fmt::format("no send waits for a slot, so that no number of slots breaks it: {}", what_remains(error))};
  }
  const RunResult again = run_with(1);
  if (!again.error || again.error->message != error.message) {
    return SlotAdvice{
        0, 1, "not known: the program did something else when it was run again, so that runs cannot be compared"};
  }
  return SlotSearch(run_with).run();
}

}  // namespace kernbench::report
