// A copy that is alone does the same again and again: what it does for its parts is simulated until a period is known,
// and further periods are skipped.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "hardware/copy/parts.h"
#include "hardware/copy/read_window.h"
#include "hardware/fabric/skipper.h"
#include "hardware/transport.h"
#include "kernbench/units.h"
#include "sim/scheduler.h"

namespace kernbench::hardware {

/// Each leg has a part in a round. Some rounds after a state that is looked at, the same state has come again
/// (fabric::Skipper), with the parts a period further on; so it does again, as long as the parts ask the same of their
/// memories, no leg ends, and nothing else happens.
class LoneCopy {
 public:
  /// What it has to know of a copy.
  class Reader {
   public:
    virtual Parts& parts() = 0;
    /// The way of the bytes of a leg.
    virtual std::span<const Stage> route(std::uint64_t leg) = 0;
    /// Who moves a part: the operation is that of name 0, and two more for each further one.
    virtual Sender first_sender() const = 0;
    /// All that decides how the copy goes on, beside parts and window.
    virtual void append_state(std::vector<std::int64_t>& state) const = 0;

   protected:
    ~Reader() = default;
  };

  /// `object`: that of the copy's callbacks.
  LoneCopy(sim::Scheduler& scheduler, Transport& transport, ReadWindow& window, Reader& reader, void* object)
      : scheduler_(scheduler), transport_(transport), window_(window), reader_(reader), object_(object) {}
  ~LoneCopy() { transport_.skipper().stop(this); }
  LoneCopy(const LoneCopy&) = delete;
  LoneCopy& operator=(const LoneCopy&) = delete;

  /// A part was asked for.
  void asked(const Part& part);
  /// A part has arrived, and the window has asked for what there was room for. May go on to a later time.
  void arrived();

 private:
  struct Seen {
    std::uint64_t leg = 0;
    Bytes bytes;
    std::size_t from = 0, to = 0;  // ranges
    fabric::Skipper::Use use;
    bool operator==(const Seen&) const = default;
  };

  fabric::Skipper& skipper() { return transport_.skipper(); }
  TransferRequest burst(const Part& part, std::span<const StridedRange> from, std::span<const StridedRange> to);
  Seen seen(const Part& part, std::span<const StridedRange> from, std::span<const StridedRange> to);
  struct Snapshot : fabric::Skipper::Snapshot {
    std::vector<std::uint64_t> names;  // of all slots: those in use in the order of their parts, then the others
  };
  void watch();
  bool take(Snapshot& snapshot);
  void look();
  void begin();
  void give_up();
  /// Skips what there is of periods; their number.
  std::int64_t skip(const Snapshot& now);
  /// Adds or takes away the work of channels for the parts of a period.
  void count(const std::vector<Part>& period, std::int64_t times);

  sim::Scheduler& scheduler_;
  Transport& transport_;
  ReadWindow& window_;
  Reader& reader_;
  void* object_;

  bool observing_ = false;
  std::uint64_t next_look_ = 0;   // parts taken until then
  std::uint64_t wait_ = 1;        // parts until the next try, if this one is in vain
  std::uint64_t stride_ = 0;      // parts between looks
  std::uint64_t looks_ = 0;       // since the first snapshot
  std::uint64_t most_looks_ = 1;  // before another one is the first
  Time began_;
  Snapshot first_;
  std::vector<Seen> seen_;  // of the parts since then
};

}  // namespace kernbench::hardware
