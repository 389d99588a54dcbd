// send, recv and their asynchronous forms.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <utility>

#include "distributed/algorithms/point_to_point.h"
#include "distributed/channels/channel_set.h"
#include "distributed/collective.h"
#include "distributed/communicator.h"
#include "distributed/device_work.h"
#include "distributed/element_places.h"
#include "distributed/group.h"
#include "distributed/object_sends.h"
#include "distributed/shares.h"
#include "distributed/transfer.h"
#include "kernbench/error.h"
#include "kernbench/torch/factories.h"
#include "runtime/host_wait.h"
#include "runtime/simulation.h"
#include "tensor/host_call.h"
#include "tensor/tensor_impl.h"

namespace kernbench::torch::distributed {

using namespace kernbench::distributed;

namespace {

int checked_peer(const GroupHandle& handle, int peer, bool sends) {
  const char* side = sends ? "destination" : "source";
  if (peer == handle.global_rank) {
    throw ValueError(
        fmt::format("Invalid {} rank: {} rank should not be the same as the rank of the current process.", side, side));
  }
  const int member = handle.group->member(peer);
  if (member < 0) {
    throw ValueError(fmt::format("Invalid {} rank: rank {} is not part of {}, whose ranks are {}", side, peer,
                                 handle.group->name(), set_text(handle.group->ranks())));
  }
  return member;
}

/// Sender and receiver of a call; without a peer any other rank may send.
LaneKey lane_of(const GroupHandle& handle, std::optional<int> peer, int tag, bool sends) {
  if (peer) {
    const int other = checked_peer(handle, *peer, sends);
    return sends ? LaneKey{handle.member, other, tag} : LaneKey{other, handle.member, tag};
  }
  const int size = handle.group->size();
  if (size == 1) {
    throw ValueError(fmt::format("Invalid source rank: there is no rank but this one in {}", handle.group->name()));
  }
  return {size == 2 ? 1 - handle.member : -1, handle.member, tag};
}

/// Between the PEs that hold the tensor: of a tensor on one PE no other one has an entry, or is sent the command for
/// it.
const std::shared_ptr<SharedChannels>& channels_of(runtime::HostContext& context, Group& group, const LaneKey& key,
                                                   const addressing::TensorDescriptor& shards) {
  tensor::DevicePart from = group.communicator().part(key.from), to = group.communicator().part(key.to);
  if (const auto only = only_holder(shards)) {
    from = from.counterpart(*only);
    to = to.counterpart(*only);
  }
  auto& channels = group.transfers().lane(key).channels[from.pe()];
  if (!channels) {
    const auto rank = [&](int member) { return group.ranks()[static_cast<std::size_t>(member)]; };
    channels =
        channels_between(context, group, named("{}, {} to {}", group.name(), to_name(from), to_name(to)), {{from, to}},
                         fmt::format("send and recv from rank {} to rank {} (tag {}) in {}", rank(key.from),
                                     rank(key.to), key.tag, group.name()));
  }
  return channels;
}

/// Both sides of a transfer fail: the caller, which is the second one, at once.
[[noreturn]] void fail(Group& group, Transfer& transfer, bool sends, const ProgramError& error) {
  const auto failure = std::make_shared<runtime::Failure>(runtime::Failure{std::make_exception_ptr(error), true});
  group.roster()->tell(sends ? transfer.receiver() : transfer.sender(), failure);
  transfer.fail(failure);
  group.take_back({transfer.scope()});
  throw error;
}

/// The transfer that this call is a side of. The second side lets it begin.
TransferRef join(runtime::HostContext& context, Group& group, LaneKey key, bool sends,
                 const CollectiveFingerprint& tensor, const addressing::TensorDescriptor& shards) {
  const Transfers::Members members{group.name(), group.roster(), group.ranks()};
  auto transfer = sends ? group.transfers().send(members, key) : group.transfers().receive(members, key);
  const auto mismatch = transfer->call(sends, tensor);
  if (mismatch) fail(group, *transfer, sends, *mismatch);
  if (!transfer->called(!sends)) {
    transfer->set_scope(group.new_scope(context));
    return transfer;
  }
  key.from = group.member(transfer->sender());
  const auto use = std::make_shared<ChannelUse>(channels_of(context, group, key, shards), group.roster(),
                                                transfer->ranks(), transfer->text() + " in " + group.name());
  transfer->go_on(group.communicator().part(key.from), group.communicator().part(key.to), use);
  transfer->scope()->settle();
  return transfer;
}

/// The kernel of one side. It holds the transfer until both sides are done, for the reports of those that wait.
std::function<void(const std::shared_ptr<tl::Tensor>&)> body_of(const TransferRef& transfer, bool sends,
                                                                std::int64_t tile_elements, std::int64_t window) {
  if (sends) {
    return [transfer, tile_elements, window](const std::shared_ptr<tl::Tensor>& flat) {
      send_tensor(*flat, transfer->to(), tile_elements, window);
    };
  }
  return [transfer, tile_elements](const std::shared_ptr<tl::Tensor>& flat) {
    receive_tensor(*flat, transfer->from(), tile_elements);
  };
}

/// One side of a transfer whose kernel is under way: it waits for its programs, and these for the other side's.
class SideNode final : public sim::WaitNode {
 public:
  SideNode(TransferRef transfer, bool sends) : transfer_(std::move(transfer)), sends_(sends) {}
  void set_launch(std::weak_ptr<const sim::WaitNode> launch) { launch_ = std::move(launch); }
  sim::WaitRole wait_role() const override { return sim::WaitRole::call; }
  Name wait_name() const override { return transfer_->call_text(sends_); }
  void waits_for(std::vector<sim::WaitEdge>& edges) const override {
    transfer_->append_not_begun(sends_, edges);
    if (const auto launch = launch_.lock()) edges.push_back({launch.get(), "its programs"});
  }

 private:
  TransferRef transfer_;
  bool sends_;
  std::weak_ptr<const sim::WaitNode> launch_;
};

/// A range of a larger tensor may lie on other PEs than what it is to meet, and a PE sends to its counterpart only: the
/// transfer is then one of a tensor of its own. Returns that, or the tensor itself.
Tensor laid_out(const Tensor& tensor, bool sends, const char* call) {
  if (lies_as_if_new(tensor, *tensor::launch_descriptor(tensor, fmt::format("{}: the tensor", call)))) return tensor;
  return sends ? tensor.clone() : torch::empty_like(tensor);
}

/// As a global rank; nothing: any. ValueError for both, for neither where one is needed, and for a rank that is not in
/// the group.
std::optional<int> checked_rank(const char* call, const GroupHandle& handle, const Peer& peer, bool sends) {
  const auto& ranks = handle.group->ranks();
  if (peer.rank && peer.group_rank)
    throw ValueError(fmt::format("{}: Can't specify both group_rank and global_rank", call));
  if (sends && !peer.rank && !peer.group_rank)
    throw ValueError(fmt::format("{}: Must specify global_rank or group_rank", call));
  if (!peer.group_rank) return peer.rank;
  if (*peer.group_rank >= 0 && *peer.group_rank < std::ssize(ranks))
    return ranks[static_cast<std::size_t>(*peer.group_rank)];
  throw ValueError(fmt::format("{}: Group rank {} is not part of {}, which has {} ranks", call, *peer.group_rank,
                               handle.group->name(), ranks.size()));
}

struct Call {
  const char* name;
  bool sends;
  bool synchronous = false;
  std::vector<std::string> objects = {};  // that the send takes along
};

std::shared_ptr<WorkState> issue_side(const Tensor& tensor, const Peer& peer, const ProcessGroup& group, int tag,
                                      Call call) {
  GroupHandle* handle = member_handle(group, call.name);
  if (handle == nullptr) return nullptr;
  auto& context = runtime::current_context(call.name);
  handle->group->check_usable(context, call.name);
  if (context.simulation.options().alike_devices && !context.pe) {
    throw ProgramError("AlikeDevicesError",
                       fmt::format("{}: devices are not alike: one rank sends to another one; simulate all devices, or "
                                   "use a collective",
                                   call.name));
  }
  check_tensor(tensor, call.name);
  if (tag < 0) throw ValueError(fmt::format("{}: Tag must be nonnegative, got {}", call.name, tag));
  const LaneKey key = lane_of(*handle, checked_rank(call.name, *handle, peer, call.sends), tag, call.sends);
  Communicator& communicator = handle->group->communicator();
  const AlgorithmSpec& algorithm = handle->group->algorithm();
  const Tensor moved = laid_out(tensor, call.sends, call.name);
  DeviceWork work;
  work.call = call.name;
  work.kernel = call.sends ? "send" : "recv";
  work.writes = !call.sends;
  work.payload = payload_of(moved, call.name, context);
  CollectiveFingerprint fingerprint;
  describe(work.payload, context, fingerprint);
  communicator.bind(handle->member, part_of(work.payload, context, call.name));
  const auto transfer = join(context, *handle->group, key, call.sends, fingerprint, *work.payload.shards);
  if (call.sends) transfer->give(std::move(call.objects));
  const auto timer = handle->timer([transfer, sends = call.sends] { return transfer->call_text(sends).text() + ","; });
  const int other = call.sends ? key.to : key.from;
  // What is asynchronous goes on when both sides have called, wherever the host is then.
  if (other >= 0 && (call.synchronous || communicator.part_if_known(other))) {
    communicator.wait_for(
        context, other, [transfer, sends = call.sends] { return transfer->call_text(sends); },
        [transfer, sends = call.sends](auto& edges) { transfer->append_missing_call(sends, edges); });
    channels_of(context, *handle->group, key, *work.payload.shards);
  }
  work.scope = transfer->scope();
  work.synchronous = work.in_current_stream = call.synchronous;
  work.turn = [transfer, sends = call.sends] { return transfer->take_turn(sends); };
  work.turn_is_free = [transfer] { return transfer->turn_is_free(); };
  work.after = transfer->ready();
  if (!call.sends && handle->group->transfers().mixes_senders(key)) {
    work.and_after = [transfer] { return transfer->previous_end(); };
  }
  work.body = body_of(transfer, call.sends, algorithm.tile_elements(fingerprint.dtype), algorithm.n_slots);
  if (!call.sends && !moved.is_same(tensor)) work.then = [tensor, moved] { Tensor(tensor).copy_(moved); };
  work.explain = [node = std::make_shared<SideNode>(transfer, call.sends)](const auto& launch) {
    node->set_launch(launch);
    return std::shared_ptr<const sim::WaitNode>(node);
  };
  auto state = enqueue(std::move(work), handle->lanes[key]);
  state->finished->describe_as([transfer, sends = call.sends] { return transfer->call_text(sends); });
  state->transfer = transfer;
  state->receives = !call.sends;
  transfer->attach(call.sends, state);
  handle->group->begun(state);
  GroupHandle::stop_at_end(timer, *state);
  return state;
}

WorkRef work_of(std::shared_ptr<WorkState> state, const Tensor& tensor, Where where) {
  if (!state) return no_work(where);
  return finish(std::move(state), true, {tensor});
}

}  // namespace

WorkRef isend(const Tensor& tensor, std::optional<int> dst, const ProcessGroup& group, int tag,
              std::optional<int> group_dst, Where where) {
  const tensor::HostCall here("isend", where);
  return work_of(issue_side(tensor, {dst, group_dst}, group, tag, {"isend", true}), tensor, where);
}

WorkRef irecv(const Tensor& tensor, std::optional<int> src, const ProcessGroup& group, int tag,
              std::optional<int> group_src, Where where) {
  const tensor::HostCall here("irecv", where);
  return work_of(issue_side(tensor, {src, group_src}, group, tag, {"irecv", false}), tensor, where);
}

void send(const Tensor& tensor, std::optional<int> dst, const ProcessGroup& group, int tag,
          std::optional<int> group_dst, Where where) {
  const tensor::HostCall here("send", where);
  const auto state = issue_side(tensor, {dst, group_dst}, group, tag, {"send", true, true});
  if (state) throw_failure_of(*state);
}

int recv(const Tensor& tensor, std::optional<int> src, const ProcessGroup& group, int tag, std::optional<int> group_src,
         Where where) {
  const tensor::HostCall here("recv", where);
  const auto state = issue_side(tensor, {src, group_src}, group, tag, {"recv", false, true});
  if (!state) return -1;
  throw_failure_of(*state);
  const bool from_any = !src && !group_src;
  if (from_any)
    runtime::host_wait(runtime::current_context("recv"), runtime::WaitFor::ranks,
                       [&] { state->transfer->ready()->wait(); });
  return state->transfer->sender();
}

std::vector<WorkRef> batch_isend_irecv(const std::vector<P2POp>& operations, Where where) {
  const tensor::HostCall here("batch_isend_irecv", where);
  if (operations.empty()) throw ValueError("batch_isend_irecv: the list of operations is empty");
  std::vector<WorkRef> works;
  works.reserve(operations.size());
  for (const P2POp& op : operations) {
    works.push_back(op.op == P2POp::isend ? isend(op.tensor, op.peer, op.group, op.tag, op.group_peer, where)
                                          : irecv(op.tensor, op.peer, op.group, op.tag, op.group_peer, where));
  }
  return works;
}

}  // namespace kernbench::torch::distributed

namespace kernbench::distributed {

torch::distributed::WorkRef send_with_objects(const char* call, const torch::Tensor& tensor,
                                              std::vector<std::string> objects, const Peer& peer,
                                              const torch::distributed::ProcessGroup& group) {
  using namespace torch::distributed;
  return work_of(issue_side(tensor, peer, group, 0, {call, true, false, std::move(objects)}), tensor, Where());
}

std::optional<ReceivedObjects> receive_with_objects(const char* call, const torch::Tensor& tensor, const Peer& peer,
                                                    const torch::distributed::ProcessGroup& group) {
  using namespace torch::distributed;
  const auto state = issue_side(tensor, peer, group, 0, {call, false});
  if (!state) return std::nullopt;
  Work(state, {tensor}).synchronize();
  return ReceivedObjects{state->transfer->sender(), state->transfer->objects()};
}

}  // namespace kernbench::distributed
