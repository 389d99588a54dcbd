// A transfer or a collective over channels, from the first of its ranks that comes to it to the last that has finished.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "distributed/channels/channel_pool.h"
#include "distributed/ranks/rank_barrier.h"
#include "kernbench/error.h"
#include "runtime/streams/stream.h"
#include "sim/waitable.h"

namespace kernbench::distributed {

class ChannelUse {
 public:
  /// `ranks`: global, of its sides. `text` names it in reports: "ALLREDUCE (sequence number 2) of group 1". It begins
  /// on a rank alone if that leaves enough for `others`, else when all ranks have come.
  ChannelUse(std::shared_ptr<SharedChannels> channels, std::shared_ptr<const Roster> roster,
             const std::vector<int>& ranks, Name text, EntriesForOthers others = {});
  ~ChannelUse();
  ChannelUse(const ChannelUse&) = delete;
  ChannelUse& operator=(const ChannelUse&) = delete;

  /// The end of a side's kernels, for reports.
  void set_end(std::size_t side, const runtime::CompletionRef& end) { sides_[side].end = end; }
  const Name& text() const { return text_; }
  /// What to do when it is over and messages are left in its channels, that nobody has received.
  using LeftOver = std::function<void(const ProgramError&)>;
  void on_left_over(LeftOver act) { left_over_ = std::move(act); }
  /// A turn would not be waited for.
  bool is_free() const { return channels_->are_free(); }
  /// Appends the kernels of sides other than `side` that have been called and not begun, for reports.
  void append_not_begun(std::size_t side, std::vector<sim::WaitEdge>& edges) const;

 private:
  friend class ChannelPool;
  friend class ChannelTurn;
  struct Side {
    int rank = 0;
    bool arrived = false;
    std::weak_ptr<sim::Completion> end = {};
  };
  runtime::CompletionRef arrive(std::size_t side);
  void go_ahead();
  void begin_early();
  void come(std::size_t side);
  void leave();
  void append_missing(std::vector<sim::WaitEdge>& edges) const;
  /// What somebody waits for that waits for it to be over.
  void append_ends(const Name& reason, std::vector<sim::WaitEdge>& edges) const;

  std::shared_ptr<SharedChannels> channels_;
  std::shared_ptr<ChannelPool> pool_;
  std::shared_ptr<const Roster> roster_;
  std::vector<Side> sides_;
  Name text_;
  EntriesForOthers others_;
  std::size_t arrived_ = 0, left_ = 0;
  bool begun_ = false, over_ = false;
  std::uint64_t number_ = 0;                  // of its request, if it has made one
  std::optional<TableShare> waits_for_ = {};  // the entries that it lacked when it last tried to begin
  bool waits_ = false;
  std::exception_ptr error_;
  LeftOver left_over_;
  runtime::CompletionRef turn_;
};

/// One side of it: in use from its coming until this dies, with the launch that has it.
class ChannelTurn {
 public:
  ChannelTurn(std::shared_ptr<ChannelUse> use, std::size_t side) : use_(std::move(use)), side_(side) {}
  ~ChannelTurn() { use_->leave(); }
  ChannelTurn(const ChannelTurn&) = delete;
  ChannelTurn& operator=(const ChannelTurn&) = delete;
  /// The side's turn has come in its stream. Null: it goes on at once; else what it has to wait for.
  runtime::CompletionRef arrive() { return use_->arrive(side_); }
  /// It goes ahead of its turn in its stream. REQUIRES: the channels are free.
  void go_ahead() { use_->go_ahead(); }
  /// See ChannelUse.
  void on_left_over(ChannelUse::LeftOver act) { use_->on_left_over(std::move(act)); }
  /// The turn of a side that has gone ahead has come.
  void come() { use_->come(side_); }
  /// The channels, when it goes on. ProgramError when they can never be put into the tables.
  std::shared_ptr<runtime::QueueSet> take();

 private:
  std::shared_ptr<ChannelUse> use_;
  std::size_t side_;
  std::shared_ptr<runtime::QueueSet> set_;
};

}  // namespace kernbench::distributed
