// The means of a group to move data: the parts of the machine that its ranks have, and the channels between them.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "distributed/algorithms/algorithm.h"
#include "distributed/channels/channel_set.h"
#include "distributed/channels/channel_use.h"
#include "distributed/ranks/rank_barrier.h"
#include "runtime/context.h"
#include "sim/waitable.h"

namespace kernbench::distributed {

class Group;

/// Parts and channels of one group. Made when its ranks first communicate: all of them must come then.
class Communicator {
 public:
  explicit Communicator(Group& group);

  /// Binds a member to its SIP or PE. ValueError when another member has it, or the member has another one already.
  void bind(int member, const tensor::DevicePart& part);
  /// Likewise, for a collective; the result is set when all members have come, which may be now, and null for a group
  /// of one. `what` names the call for reports.
  runtime::CompletionRef ready(runtime::HostContext& context, int member, const tensor::DevicePart& part,
                               const std::string& what);
  using Naming = std::function<Name()>;
  using Providers = std::function<void(std::vector<sim::WaitEdge>&)>;
  /// Waits until a member has communicated in the group, which tells its part. `name` and `providers` are those of the
  /// call that waits, for reports.
  void wait_for(runtime::HostContext& context, int member, Naming name, Providers providers);
  /// Nothing before the member's first communication.
  const std::optional<tensor::DevicePart>& part_if_known(int member) const {
    return parts_[static_cast<std::size_t>(member)];
  }
  const tensor::DevicePart& part(int member) const { return parts_[static_cast<std::size_t>(member)].value(); }
  /// The group as a member's kernels see it, for when all members have come. It must not outlive the communicator.
  RankView view(int member, DType dtype) const;
  /// Of channels that are opened late: the topology of the ranks, and the number of the round or of the replicas.
  using LateChannels = std::pair<std::string_view, std::size_t>;
  /// Opens the late channels between these members, if they are not open: now, or when all members have come. `what`
  /// names the call for reports.
  void open_late(runtime::HostContext& context, const LateChannels& which, const std::vector<RankPair>& pairs,
                 const std::string& what);
  /// The number of the channels between such replicas, and the ranks; new ones for replicas that stand in another way.
  std::size_t number_of(const Replicas& replicas);
  /// Opens them likewise.
  void open_late(runtime::HostContext& context, const LateChannels& which, const Replicas& replicas,
                 const std::string& what);
  /// A member's turn on the channels in its collective `sequence`, for when all members have come; null for a group of
  /// one. `late`: those that it needs that have been opened late. `what` names the call for reports. Each member takes
  /// it once, in each round.
  std::shared_ptr<ChannelTurn> turn(int member, std::uint64_t sequence, const std::string& what,
                                    const std::optional<LateChannels>& late = {}, std::size_t round = 0);
  /// Whether a turn on the channels, or these late ones, would not be waited for.
  bool turn_is_free(const std::optional<LateChannels>& late) const;
  /// No member comes to the collectives from `first` on that has not come to them: they use the channels as long as the
  /// launches of those that have. Nobody waits for members any more.
  void give_up(std::uint64_t first) {
    open_.erase(open_.lower_bound({first, 0}), open_.end());
    if (barrier_) barrier_->give_up();
  }
  /// The end of a member's kernels in that collective, of so many rounds, for reports.
  void set_end(int member, std::uint64_t sequence, std::size_t rounds, const runtime::CompletionRef& end);
  /// Appends the calls of that collective to which the streams of other members have not come, for reports.
  void append_not_begun(int member, std::uint64_t sequence, std::vector<sim::WaitEdge>& edges) const;

 private:
  using Pairs = std::function<std::vector<PartPair>()>;
  std::vector<PartPair> pairs(const std::vector<RankPair>& members) const;
  std::vector<PartPair> pairs(const Replicas& replicas) const;
  void open_late(runtime::HostContext& context, const LateChannels& which, Pairs pairs, const std::string& what);
  void open_wanted(runtime::HostContext& context);
  void let_go_if_complete(std::uint64_t sequence, std::size_t round);

  Group& group_;
  std::vector<std::optional<tensor::DevicePart>> parts_;      // by member; nothing: not known yet
  std::vector<std::vector<runtime::CompletionRef>> waiting_;  // for a member, by member
  std::shared_ptr<RankBarrier> barrier_;
  std::shared_ptr<SharedChannels> channels_;
  /// A collective that has launches which are not over, or that not all members have come to or told their ends of.
  struct Open {
    std::shared_ptr<ChannelUse> use = {};     // until all have; then the launches keep it
    std::weak_ptr<ChannelUse> launches = {};  // the same
    std::size_t turns = 0, told = 0;
    std::map<int, std::weak_ptr<sim::Completion>> ends = {};  // by member, of those that came before the use was made
  };
  std::map<std::pair<std::uint64_t, std::size_t>, Open> open_;  // by sequence number and round
  /// Late channels; null: to be opened when all members have come.
  struct Late {
    Pairs pairs;  // for when all parts are known
    std::string what;
    std::shared_ptr<SharedChannels> channels = {};
  };
  std::map<LateChannels, Late> late_;
  std::vector<Replicas> replicas_;  // by their numbers
  GroupShape shape_ = 1;            // known when all members have come
};

}  // namespace kernbench::distributed
