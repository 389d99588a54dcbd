#include "hardware/window/signal_unit.h"

#include <iterator>
#include <utility>

#include "sim/fiber.h"

namespace kernbench::hardware {

void SignalUnit::install(const Window& window) {
  if (window.words == 0) return;
  const PhysAddr end = window.word(window.words);
  windows_.erase(windows_.lower_bound(window.signals), windows_.lower_bound(end));
  const auto after = windows_.lower_bound(window.signals);
  if (after != windows_.begin()) {
    const auto before = std::prev(after);
    const auto bytes = before->second.values.size() * static_cast<std::size_t>(kSignalWord.count());
    if (before->first.value() + bytes > window.signals.value()) windows_.erase(before);
  }
  windows_[window.signals] = {window.epoch, std::vector<std::int64_t>(static_cast<std::size_t>(window.words))};
}

std::int64_t* SignalUnit::find(PhysAddr word, std::optional<std::uint32_t> epoch) {
  const auto after = windows_.upper_bound(word);
  if (after == windows_.begin()) return nullptr;
  auto& [first, words] = *std::prev(after);
  if (epoch && words.epoch != *epoch) return nullptr;
  const std::uint64_t index = (word.value() - first.value()) / static_cast<std::uint64_t>(kSignalWord.count());
  return index < words.values.size() ? &words.values[index] : nullptr;
}

void SignalUnit::update(PhysAddr word, std::uint32_t epoch, SignalUpdate update, std::int64_t value) {
  std::int64_t* at = find(word, epoch);
  if (at == nullptr) return;
  const std::int64_t before = *at;
  const auto wrapped = static_cast<std::uint64_t>(before) + static_cast<std::uint64_t>(value);
  *at = update == SignalUpdate::set ? value : static_cast<std::int64_t>(wrapped);
  if (*at != before) sim::this_fiber::note_progress();
  for (SignalWait* wait : waits_) {
    if (wait->word_ == word) wait->look(*at);
  }
}

SignalWait::SignalWait(SignalUnit& unit, PhysAddr word, Condition condition)
    : unit_(unit), word_(word), condition_(std::move(condition)) {
  unit_.waits_.push_back(this);
}

SignalWait::~SignalWait() {
  std::erase(unit_.waits_, this);
}

void SignalWait::look(std::int64_t value) {
  if (met_ || !condition_(value)) return;
  met_ = value;
  wake_all();
}

Time SignalWait::next_look(Time since) const {
  const std::int64_t interval = unit_.spec_.ipcq.poll_interval.count();
  const std::int64_t waited = (unit_.scheduler_.now() - since).count();
  return since + Time::picoseconds((waited + interval - 1) / interval * interval);
}

std::int64_t SignalWait::wait(Backpressure backpressure) {
  sim::this_fiber::sleep(unit_.spec_.control.scalar_read);
  const Time since = unit_.scheduler_.now();
  while (true) {
    const std::int64_t now = unit_.value(word_);
    if (condition_(now)) return now;
    met_.reset();
    if (!block_until([this] { return met_.has_value(); })) return now;
    if (backpressure == Backpressure::sleep) {
      sim::this_fiber::sleep(unit_.spec_.ipcq.wake);
      return *met_;
    }
    sim::this_fiber::sleep_until(next_look(since));
  }
}

}  // namespace kernbench::hardware
