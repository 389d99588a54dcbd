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

  LoneCopy(sim::Scheduler& scheduler, Transport& transport, ReadWindow& window, Reader& reader)
      : scheduler_(scheduler), transport_(transport), window_(window), reader_(reader) {}
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
    fabric::Skipper::Use first, last;
    bool operator==(const Seen&) const = default;
  };

  fabric::Skipper& skipper() { return transport_.skipper(); }
  TransferRequest burst(const Part& part, std::span<const StridedRange> from, std::span<const StridedRange> to);
  Seen seen(const Part& part, std::span<const StridedRange> from, std::span<const StridedRange> to);
  struct Snapshot : fabric::Skipper::Snapshot {
    std::vector<std::uint64_t> names;  // of all slots: those in use in the order of their parts, then the others
  };
  /// Observes from the first snapshot on, which is that of now.
  void watch();
  bool take(Snapshot& snapshot);
  void look();
  void begin();
  void give_up();
  /// Skips what there is of periods; their number.
  std::int64_t skip(const Snapshot& now);
  /// What parts come to be in some periods.
  struct Later {
    std::int64_t periods = 0;
    Parts::Ahead there;
    std::vector<Part> last;  // period
  };
  Later look_ahead(std::int64_t most);
  bool repeats(Parts::Ahead& ahead, std::vector<Part>& period);
  void count(const std::vector<Part>& period);
  void put_in_their_place(const Later& later, const Snapshot& now);

  sim::Scheduler& scheduler_;
  Transport& transport_;
  ReadWindow& window_;
  Reader& reader_;

  bool observing_ = false;
  std::uint64_t next_look_ = 0;   // parts taken until then
  std::uint64_t wait_ = 1;        // parts until the next try, if this one is in vain
  std::uint64_t stride_ = 0;      // parts between looks; none that is under way is older
  std::uint64_t looks_ = 0;       // since the first snapshot
  std::uint64_t most_looks_ = 1;  // before another one is the first
  Time began_;
  Snapshot first_;
  std::vector<Seen> seen_;  // of the parts since then
};

}  // namespace kernbench::hardware
