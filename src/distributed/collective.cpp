#include "distributed/collective.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "distributed/communicator.h"
#include "distributed/device_work.h"
#include "runtime/host_wait.h"

namespace kernbench::distributed {
namespace {

/// A collective under way on one rank: it waits for its programs, and these for those of ranks that have not called it.
class CollectiveNode final : public sim::WaitNode {
 public:
  CollectiveNode(std::string what, int rank, std::shared_ptr<Group> group, std::uint64_t sequence)
      : what_(std::move(what)),
        rank_(rank),
        group_(std::move(group)),
        sequence_(sequence),
        where_(sim::this_fiber::current()->call().where) {}
  void set_launch(std::weak_ptr<const sim::WaitNode> launch) { launch_ = std::move(launch); }

  sim::WaitRole wait_role() const override { return sim::WaitRole::call; }
  Name wait_name() const override { return named("{} on {}", what_, Name::rank(rank_)); }
  void waits_for(std::vector<sim::WaitEdge>& edges) const override {
    const Roster& roster = *group_->roster();
    const Name mine = Name::owned(roster.name(rank_), what_ + called_at_text(where_));
    for (const int rank : group_->order_check().missing(sequence_)) {
      roster.append_edge(rank, what_, edges, named("{}, which {} has not called", mine, roster.name(rank)));
    }
    group_->communicator().append_not_begun(group_->member(rank_), sequence_, edges);
    if (const auto launch = launch_.lock()) edges.push_back({launch.get(), "its programs"});
  }

 private:
  std::string what_;
  int rank_;
  std::shared_ptr<Group> group_;
  std::uint64_t sequence_;
  std::source_location where_;
  std::weak_ptr<const sim::WaitNode> launch_;
};

/// A call of which it is clear that it fails: without `async_op`, and if the group has failed, it throws the failure.
std::shared_ptr<WorkState> refuse(runtime::HostContext& context, GroupHandle& handle, std::uint64_t sequence,
                                  const std::string& what, bool async_op) {
  if (!async_op || handle.group->failure()) handle.group->wait_for_failure(context, what, sequence);
  auto state = std::make_shared<WorkState>();
  state->sequence = sequence;
  state->group = handle.group;
  state->refused = true;
  state->finished = std::make_shared<sim::Completion>();
  state->finished->describe_as([what] { return what; });
  handle.group->order_check().attach(sequence, state);
  return state;
}

}  // namespace

std::shared_ptr<WorkState> issue(GroupHandle& handle, CollectiveCall call, bool async_op) {
  auto& context = runtime::current_context(call.name);
  Group& group = *handle.group;
  group.check_usable(context, call.name);
  DeviceWork work;
  work.call = call.name;
  const CollectiveAlgorithm& algorithm = algorithm_for(group.algorithm(), call.operation);
  work.kernel = algorithm.name;
  work.payload = payload_of(call.tensor, call.name, context);
  // Without a tensor it is the rank's device in the group that takes part, whichever is current.
  if (const auto& mine = group.communicator().part_if_known(handle.member); mine && !call.tensor.defined()) {
    work.payload.device = mine->sip().value;
  }
  const tensor::DevicePart part = part_of(work.payload, context, call.name);
  describe(work.payload, context, call.fingerprint);
  const std::uint64_t sequence = group.call(handle.member, call.fingerprint);
  const std::string what =
      fmt::format("{} (sequence number {}) of {}", name(call.fingerprint.type), sequence, group.name());
  if (group.is_doomed(sequence)) return refuse(context, handle, sequence, what, async_op);
  const auto scope = group.order_check().scope(sequence, [&] { return group.new_scope(context); });
  work.scope = scope;
  work.synchronous = !async_op;
  const auto communicator = group.shared_communicator();
  auto others_here = communicator->ready(context, handle.member, part, what);
  if (others_here && !async_op) runtime::host_wait(context, [&] { others_here->wait(); });
  if (others_here && others_here->is_set()) others_here.reset();
  work.after = others_here;
  // The group may be destroyed while this is under way.
  work.turn = [communicator, group = handle.group, member = handle.member, sequence, what] {
    return communicator->turn(member, sequence, what);
  };
  work.body = [kernel = algorithm.kernel, arguments = call.arguments, communicator, group = handle.group,
               member = handle.member, dtype = call.fingerprint.dtype](const std::shared_ptr<tl::Tensor>& flat) {
    CollectiveArguments mine = arguments;
    mine.tensor = flat.get();
    kernel(communicator->view(member, dtype), mine);
  };
  work.explain = [node = std::make_shared<CollectiveNode>(what, handle.global_rank, handle.group, sequence)](
                     const std::shared_ptr<const sim::WaitNode>& launch) {
    node->set_launch(launch);
    return std::shared_ptr<const sim::WaitNode>(node);
  };
  auto state = enqueue(std::move(work), handle.stream);
  state->finished->describe_as([what, rank = handle.global_rank] { return named("{} on {}", what, Name::rank(rank)); });
  state->sequence = sequence;
  state->others_here = std::move(others_here);
  state->group = handle.group;
  group.order_check().attach(sequence, state);
  communicator->set_end(handle.member, sequence, state->finished);
  // Others may have differed while this one was given to the device.
  if (scope && scope->taken_back()) state->fail(group.failure());
  if (!async_op && scope && (state->failure || group.has_conflict(sequence))) {
    group.wait_for_failure(context, what, sequence);
  }
  return state;
}

}  // namespace kernbench::distributed
