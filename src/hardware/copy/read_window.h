// How much the copies of an engine to one place ask for ahead of what has arrived there.
#pragma once

#include <cstddef>
#include <deque>

#include "kernbench/units.h"
#include "sim/scheduler.h"

namespace kernbench::hardware {

/// A copy that asks for its bytes part by part.
class PartReader {
 public:
  virtual bool has_more() const = 0;
  /// False while too many of its parts are under way.
  virtual bool may_ask() const = 0;
  /// Asks for its next part; returns the bytes. REQUIRES: has_more(), may_ask().
  virtual Bytes ask() = 0;

 protected:
  ~PartReader() = default;
};

/// A part is asked for when fewer than `size` bytes are asked for and have not arrived. Copies take turns, a part each.
class ReadWindow {
 public:
  ReadWindow(sim::Scheduler& scheduler, Bytes size) : scheduler_(scheduler), size_(size) {}
  /// Asked for, and not arrived.
  Bytes asked() const { return asked_; }

  /// The copy has its turn after those that have more to ask for. It stays until it has asked for all.
  void join(PartReader& reader);
  void arrived(Bytes bytes);
  /// How many copies have more to ask for.
  std::size_t readers() const { return turns_.size(); }
  /// Asks for what there is room for. Called when a copy may ask again.
  void ask();

 private:
  struct Turn {
    PartReader* reader = nullptr;
    sim::Origin origin;  // of its parts, whoever made room for them
  };

  sim::Scheduler& scheduler_;
  Bytes size_, asked_;
  std::deque<Turn> turns_;
};

}  // namespace kernbench::hardware
