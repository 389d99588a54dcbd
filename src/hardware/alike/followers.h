// Commands of devices that are not simulated, because all devices do the same: they happen when SIP 0's do.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "hardware/copy/copy_engine.h"
#include "hardware/ipcq/installation.h"
#include "hardware/launch/launch.h"
#include "hardware/launch/launch_graph.h"
#include "kernbench/units.h"
#include "sim/scheduler.h"
#include "sim/wait_graph.h"

namespace kernbench::hardware {

/// The n-th launch or copy of each SIP is like the n-th of SIP 0, of the same kind and given in the same instant: what
/// becomes of SIP 0's becomes of it, in the same events, by SIP. Likewise the n-th installation of channels, which one
/// rank gives to all SIPs. ProgramError ("AlikeDevicesError") where it is another one.
class Followers {
 public:
  explicit Followers(sim::Scheduler& scheduler, std::size_t sips)
      : scheduler_(scheduler), launches_and_copies_(sips), installations_(sips) {}

  // A command of SIP 0 as it is to be started: it tells those that follow it.
  LaunchRequest lead(LaunchRequest request);
  GraphRequest lead(GraphRequest request);
  CopyRequest lead(CopyRequest request);
  PeerCopyRequest lead(PeerCopyRequest request);
  InstallRequest lead(InstallRequest request);

  // A command of another SIP. Returns it as a node of the wait graph: what waits for it waits for SIP 0's.
  std::shared_ptr<const sim::WaitNode> follow(LaunchRequest request);
  std::vector<std::shared_ptr<const sim::WaitNode>> follow(GraphRequest request);
  void follow(CopyRequest request);
  void follow(PeerCopyRequest request);
  std::shared_ptr<const sim::WaitNode> follow(InstallRequest request);
  /// The node of SIP 0's latest command, for those that follow it.
  void leads(const std::shared_ptr<const sim::WaitNode>& node);
  /// Ends the commands of an owner that follow one which SIP 0 has not given; see Machine::cancel. Deliver phase.
  void cancel(std::uint64_t owner);

 private:
  /// Something that happens to a command: its beginning, its effect, its end.
  struct Moment {
    std::function<void(const LaunchTimes*)> action = {};
    bool is_end = false;  // which comes also when the command is taken back
  };
  struct Follower {
    std::uint64_t owner;
    std::vector<Moment> moments;
  };
  class Led;
  static Moment moment(std::function<void()> action, bool is_end = false);
  static void append_moments(LaunchRequest& request, std::vector<Moment>& moments);
  /// Commands that are numbered together.
  class Sequence {
   public:
    explicit Sequence(std::size_t sips) : given_(sips) {}
    std::shared_ptr<Led> lead(const std::string& what, Time now);
    std::shared_ptr<Led> follow(SipId sip, Follower follower, const std::string& what, Time now);
    void cancel(std::uint64_t owner, const LaunchTimes& times) const;
    /// The SIPs that have not been given the command of this number, from 0.
    std::vector<Name> without(std::uint64_t number) const;

   private:
    std::shared_ptr<Led> next(SipId sip, const std::string& what, Time now);

    std::vector<std::uint64_t> given_;       // by SIP: how many
    std::deque<std::shared_ptr<Led>> open_;  // that not all SIPs have given yet, by number
    std::uint64_t first_ = 0;                // number of the first of these
  };
  std::shared_ptr<Led> lead_next(Sequence& sequence, const std::string& what);

  sim::Scheduler& scheduler_;
  Sequence launches_and_copies_, installations_;
  std::weak_ptr<Led> latest_;  // that SIP 0 has given
};

}  // namespace kernbench::hardware
