// The signal words of a PE, and the programs that wait for them.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "hardware/command.h"
#include "hardware/window/window.h"
#include "sim/waitable.h"
#include "topology/spec.h"

namespace kernbench::hardware {

class SignalWait;

/// Words of 64 bits that wrap around. An update is atomic.
class SignalUnit {
 public:
  /// The references must outlive it.
  SignalUnit(sim::Scheduler& scheduler, const topology::PeSpec& spec) : scheduler_(scheduler), spec_(spec) {}

  /// The register writes of a window have arrived: its words are 0. What was at their addresses before is gone.
  void install(const Window& window);
  /// An update has arrived; deliver phase. One for a window that is gone changes nothing.
  void update(PhysAddr word, std::uint32_t epoch, SignalUpdate update, std::int64_t value);
  /// REQUIRES: a word of an installed window.
  std::int64_t value(PhysAddr word) { return *find(word); }

 private:
  friend class SignalWait;
  struct Words {
    std::uint32_t epoch = 0;
    std::vector<std::int64_t> values;
  };
  /// Null when there is no such word, or not in a window of this epoch.
  std::int64_t* find(PhysAddr word, std::optional<std::uint32_t> epoch = std::nullopt);

  sim::Scheduler& scheduler_;
  const topology::PeSpec& spec_;
  std::map<PhysAddr, Words> windows_;  // by the address of the first word
  std::vector<SignalWait*> waits_;
};

/// One wait of a program for a word. Lies on the program's stack; the unit must outlive it.
class SignalWait final : public sim::Waitable {
 public:
  using Condition = std::function<bool(std::int64_t)>;
  /// REQUIRES: a word of an installed window.
  SignalWait(SignalUnit& unit, PhysAddr word, Condition condition);
  ~SignalWait() override;

  /// Called on a program's fiber: the law is in README.md. Returns the value that met the condition.
  std::int64_t wait(Backpressure backpressure);

 protected:
  const char* missing() const override { return "a signal"; }

 private:
  friend class SignalUnit;
  void look(std::int64_t value);
  Time next_look(Time since) const;

  SignalUnit& unit_;
  PhysAddr word_;
  Condition condition_;
  std::optional<std::int64_t> met_;  // the first value that met the condition since the wait began, or went on
};

}  // namespace kernbench::hardware
