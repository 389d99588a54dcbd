#include "distributed/collective.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/text.h"
#include "distributed/call_choice.h"
#include "distributed/communicator.h"
#include "distributed/device_work.h"
#include "distributed/kept_outputs.h"
#include "distributed/shares.h"
#include "runtime/functions/device_kernels.h"
#include "runtime/host_wait.h"
#include "tile/library/elementwise.h"

namespace kernbench::distributed {
namespace {

/// A collective under way on one rank: it waits for its programs, and these for those of ranks that have not called it.
class CollectiveNode final : public sim::WaitNode {
 public:
  CollectiveNode(std::string what, int rank, std::shared_ptr<Group> group, std::uint64_t sequence, Where where)
      : what_(std::move(what)), rank_(rank), group_(std::move(group)), sequence_(sequence), where_(where) {}
  /// A sequence number alone does not tell which of a program's calls it is.
  static Name name_of(const std::string& what, int rank, Where where) {
    return named("{} on {}{}", what, Name::rank(rank), called_at_text(where));
  }
  void set_launch(std::weak_ptr<const sim::WaitNode> launch) { launch_ = std::move(launch); }

  sim::WaitRole wait_role() const override { return sim::WaitRole::call; }
  Name wait_name() const override { return name_of(what_, rank_, where_); }
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
  Where where_;
  std::weak_ptr<const sim::WaitNode> launch_;
};

/// The root does something else than the others.
void refuse_root_of_alike_ranks(const CollectiveCall& call, const runtime::HostContext& context) {
  if (!context.simulation.options().alike_devices || !has_root(call.operation)) return;
  throw ProgramError("AlikeDevicesError",
                     fmt::format("{}: devices are not alike: one rank is the root; simulate all devices, or use an "
                                 "operation without a root",
                                 call.name));
}

[[noreturn]] void refuse_alike(const CollectiveCall& call, const std::string& how) {
  throw ProgramError("AlikeDevicesError",
                     fmt::format("{}: devices are not alike: {}, or simulate all devices", call.name, how));
}

/// Whether a PE has as many elements of each rank's block.
bool has_equal_parts(std::span<const Pieces> blocks) {
  const auto elements = [](const Pieces& block) {
    std::int64_t sum = 0;
    for (const Piece& piece : block) sum += piece.elements();
    return sum;
  };
  return std::ranges::all_of(blocks, [&](const Pieces& block) { return elements(block) == elements(blocks.front()); });
}

/// Ranks would send chunks of different lengths in a step, or from other PEs.
void refuse_uneven_parts_of_alike_ranks(const CollectiveCall& call, const Payload& payload, int ranks,
                                        const runtime::HostContext& context) {
  if (!context.simulation.options().alike_devices || ranks == 1 || context.pe) return;
  if (call.blocks) {
    for (const BlockShares* shares : {&call.blocks->sent, &call.blocks->received}) {
      for (const PeCoordinate pe : shares->pes()) {
        if (has_equal_parts(shares->of(pe))) continue;
        refuse_alike(call, fmt::format("on {} lies more of one rank's block than of another's; put the tensors on one "
                                       "PE of each rank",
                                       to_text(pe)));
      }
    }
    return;
  }
  if (!payload.flat) return;
  for (const addressing::Shard& shard : payload.flat->shards) {
    const std::int64_t elements = shard.shape.front();
    if (elements % ranks == 0) continue;
    refuse_alike(call, fmt::format("{} elements on {} are no equal part for each of {} ranks; take a tensor of which "
                                   "each PE has a multiple of {}",
                                   elements, to_text(shard.owner), ranks, ranks));
  }
}

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

/// The launches of a collective, each with the steps that it makes and the channels that it needs; without any late
/// channels those of the group.
struct Round {
  std::int64_t first_step = 1, last_step = 0;
  std::optional<Communicator::LateChannels> late = {};
  std::vector<RankPair> channels = {};
};

bool has_all(const std::vector<RankPair>& channels, const std::vector<RankPair>& needed) {
  const std::set<RankPair> known(channels.begin(), channels.end());
  return std::ranges::all_of(needed, [&](const RankPair& pair) { return known.contains(pair); });
}

std::vector<Round> rounds_of(Group& group, const CollectiveAlgorithm& algorithm, const runtime::HostContext& context) {
  const int size = group.size();
  if (size == 1) return {{1, 0}};
  const GroupShape& shape = group.shape(context.pe.has_value());
  auto channels = algorithm.channels(shape);
  if (has_all(channels_of(group.algorithm(), shape), channels)) return {{1, size - 1}};
  if (!algorithm.in_rounds) return {{1, size - 1, {{algorithm.topology, 0}}, std::move(channels)}};
  std::vector<Round> rounds;
  const GroupDescription description{size, context.pe.has_value(), group.algorithm(), context.simulation.topology()};
  for (auto& each : channel_rounds(description, algorithm)) {
    rounds.push_back(
        {each.first_step, each.last_step, {{algorithm.topology, rounds.size()}}, std::move(each.channels)});
  }
  return rounds;
}

std::int64_t bytes_of(const torch::Tensor& tensor) {
  return tensor.defined() ? tensor.numel() * item_size(tensor.scalar_type()) : 0;
}

/// Of an all-reduce of a tensor on one PE, if the collectives file has all PEs work on it.
std::optional<Shares> shares_of(const CollectiveCall& call, const Payload& payload, const Group& group,
                                const runtime::HostContext& context) {
  if (call.operation != CollectiveOperation::all_reduce || group.algorithm().mapper != Mapper::all_pes) return {};
  if (context.pe || group.size() == 1) return {};
  return distributed::shares_of(*payload.flat, context.simulation.topology());
}

/// What runs on each PE of the rank.
std::function<void(const std::shared_ptr<tl::Tensor>&)> body_of(const CollectiveAlgorithm& algorithm,
                                                                const CollectiveCall& call, const GroupHandle& handle,
                                                                const Round& round,
                                                                const std::optional<Shares>& shares = {}) {
  // The group may be destroyed while this is under way.
  return [kernel = algorithm.kernel, arguments = call.arguments, blocks = call.blocks, first = round.first_step,
          last = round.last_step, replicas = call.replicas, shares, communicator = handle.group->shared_communicator(),
          group = handle.group, member = handle.member,
          dtype = call.fingerprint.dtype](const std::shared_ptr<tl::Tensor>& flat) {
    CollectiveArguments mine = arguments;
    mine.tensor = flat.get();
    mine.replicas = replicas.get();
    const PeCoordinate here{SipId{static_cast<std::int32_t>(tl::device_id())},
                            CubeId{static_cast<std::int32_t>(tl::cube_id())},
                            PeId{static_cast<std::int32_t>(tl::pe_id())}};
    if (shares) mine.share = shares->of(here);
    if (blocks) {
      mine.blocks = {blocks->inputs, blocks->outputs, blocks->sent.of(here), blocks->received.of(here), first, last};
    }
    kernel(communicator->view(member, dtype), mine);
  };
}

/// The PEs of a rank that have something to do; one has when other ranks wait for this one to come.
std::vector<PeCoordinate> pes_of(const BlockPlan& blocks, const runtime::HostContext& context) {
  std::set<PeCoordinate> pes;
  if (blocks.empty) return {};
  for (const BlockShares* shares : {&blocks.sent, &blocks.received}) {
    for (const PeCoordinate pe : shares->pes()) pes.insert(pe);
  }
  if (pes.empty()) pes.insert(context.part(SipId{blocks.device}).pes(context.simulation.topology()).front());
  return {pes.begin(), pes.end()};
}

/// Copies inside the SIP, behind the kernels, in a launch with a name of its own.
void redistribute(runtime::HostContext& context, const std::string& name, const BlockPlan& blocks, DeviceWork like) {
  like.kernel = name + ": redistribute";
  like.payload.device = blocks.device;
  std::vector<std::pair<tile::library::View, tile::library::View>> pairs;
  std::vector<torch::Tensor> written;
  for (const auto& [from, to] : blocks.redistribute) {
    pairs.emplace_back(runtime::kernel_view(from, false), runtime::kernel_view(to, true));
    like.read.push_back(from);
    like.written.push_back(to);
  }
  like.pes = runtime::holders(like.written);
  like.body = [pairs = std::move(pairs)](const std::shared_ptr<tl::Tensor>&) {
    const auto same = [](const std::vector<tl::Tile>& tiles, const tile::library::Box&) { return tiles.front(); };
    constexpr int kLiveTiles = 4;
    for (const auto& [from, to] : pairs) tile::library::elementwise(to, {from}, same, {.live_tiles = kLiveTiles});
  };
  launch_too(context, std::move(like));
}

std::vector<torch::Tensor> outputs_of(const CollectiveCall& call) {
  if (call.blocks) return call.blocks->results;
  return call.writes && call.tensor.defined() ? std::vector{call.tensor} : std::vector<torch::Tensor>();
}

/// What decides the bits of a reduction, for the launch's result; none of what folds nothing.
std::optional<PlanResult> plan_of(const CollectiveAlgorithm& algorithm, const Group& group, std::int64_t bytes) {
  if (algorithm.fold_order.empty() || group.size() == 1) return {};
  return PlanResult{
      .of = "collective",
      .choices = {{"fold order", std::string(algorithm.fold_order)}, {"chosen", group.reason_of(bytes, algorithm)}},
      .estimated = {}};
}

/// The device of a rank that brings no tensor, whichever is current: the one with which it has communicated in the
/// group, else the one with which it made its world. Nothing when ranks shared a device then: they choose theirs later.
std::optional<int> device_in_group(const GroupHandle& handle, const runtime::HostContext& context) {
  if (const auto& mine = handle.group->communicator().part_if_known(handle.member)) return mine->sip().value;
  return context.pe ? std::nullopt : handle.group->roster()->device_of(handle.global_rank);
}

/// What the tensors of a call say of its launch.
DeviceWork device_work_of(const CollectiveCall& call, const GroupHandle& handle, const runtime::HostContext& context) {
  DeviceWork work;
  work.call = call.name;
  work.writes = call.writes;
  work.payload = payload_of(call.tensor, call.name, context);
  if (call.blocks) {
    work.payload.device = call.blocks->device;
    work.pes = pes_of(*call.blocks, context);
    work.written = call.blocks->written;
    work.read = call.blocks->read;
  } else if (!call.tensor.defined()) {
    work.payload.device = device_in_group(handle, context).value_or(work.payload.device);
  }
  return work;
}

/// Names the ranks that have not called it, if there are some.
std::shared_ptr<CallTimer> timer_of(const GroupHandle& handle, const std::string& what, Where where,
                                    std::uint64_t sequence) {
  return handle.timer([what, where, group = std::weak_ptr<Group>(handle.group), sequence] {
    const auto alive = group.lock();
    const auto missing = alive ? alive->order_check().missing(sequence) : std::vector<int>();
    const std::string text = what + called_at_text(where);
    return missing.empty() ? text + "," : fmt::format("{}, which ranks {} have not called,", text, set_text(missing));
  });
}

/// The turns of a call on the channels of its group, which may be destroyed while the call is under way.
struct CallTurns {
  std::shared_ptr<Communicator> communicator;  // that of the group when it was called
  std::shared_ptr<Group> group;
  int member;
  std::uint64_t sequence;
  std::string what;
  std::string_view algorithm;
  bool is_own;  // an algorithm of the user's own, which fails its group when it leaves messages in the channels

  void set(DeviceWork& work, const Round& round, std::size_t number) const {
    work.turn = [turns = *this, late = round.late, number] {
      auto turn = turns.communicator->turn(turns.member, turns.sequence, turns.what, late, number);
      if (turn && turns.is_own)
        turn->on_left_over([group = turns.group, what = turns.what, name = turns.algorithm](const ProgramError& error) {
          group->fail_for(ProgramError(error.type(), fmt::format("{} by {}: {}", what, name, error.what())));
        });
      return turn;
    };
    work.turn_is_free = [among = communicator, late = round.late] { return among->turn_is_free(late); };
  }
};

/// The rounds of a call, whose late channels are opened.
std::vector<Round> open_rounds(const CollectiveCall& call, const CallTurns& turns, const CollectiveAlgorithm& algorithm,
                               runtime::HostContext& context) {
  Communicator& communicator = *turns.communicator;
  if (call.replicas) {
    const Communicator::LateChannels own{algorithm.topology, communicator.number_of(*call.replicas)};
    communicator.open_late(context, own, *call.replicas, turns.what);
    return {{1, turns.group->size() - 1, own}};
  }
  std::vector<Round> rounds = rounds_of(*turns.group, algorithm, context);
  for (const Round& round : rounds) {
    if (round.late) communicator.open_late(context, *round.late, round.channels, turns.what);
  }
  return rounds;
}

}  // namespace

std::shared_ptr<WorkState> issue(GroupHandle& handle, CollectiveCall call, bool async_op) {
  auto& context = runtime::current_context(call.name);
  Group& group = *handle.group;
  group.check_usable(context, call.name);
  refuse_root_of_alike_ranks(call, context);
  const std::int64_t bytes = call.blocks ? call.block_bytes : bytes_of(call.tensor);
  DeviceWork work = device_work_of(call, handle, context);
  const tensor::DevicePart part = part_of(work.payload, context, call.name);
  describe(work.payload, context, call.fingerprint);
  refuse_uneven_parts_of_alike_ranks(call, work.payload, group.size(), context);
  const CollectiveAlgorithm& algorithm = algorithm_of_call(group, call, bytes, work.pes, context);
  if (call.names_algorithm) call.fingerprint.algorithm = algorithm.name;
  work.kernel = algorithm.name;
  work.plan = plan_of(algorithm, group, bytes);
  const std::uint64_t sequence = group.call(handle.member, call.fingerprint);
  const std::string what =
      fmt::format("{} (sequence number {}) of {}", name(call.fingerprint.type), sequence, group.name());
  if (group.is_doomed(sequence)) return refuse(context, handle, sequence, what, async_op);
  const auto timer = timer_of(handle, what, call.fingerprint.where, sequence);
  const auto scope = group.order_check().scope(sequence, [&] { return group.new_scope(context); });
  work.scope = scope;
  const auto keep = keep_outputs(context, scope, outputs_of(call));
  work.begins = keep;
  work.synchronous = work.in_current_stream = !async_op;
  const auto communicator = group.shared_communicator();
  auto others_here = communicator->ready(context, handle.member, part, what);
  if (others_here && !async_op) runtime::host_wait(context, runtime::WaitFor::ranks, [&] { others_here->wait(); });
  if (others_here && others_here->is_set()) others_here.reset();
  work.after = others_here;
  const CallTurns turns{communicator, handle.group, handle.member, sequence, what, algorithm.name, algorithm.is_own};
  const std::vector<Round> rounds = open_rounds(call, turns, algorithm, context);
  turns.set(work, rounds.front(), 0);
  const auto shares = shares_of(call, work.payload, group, context);
  if (shares) work.pes = shares->pes;
  work.body = body_of(algorithm, call, handle, rounds.front(), shares);
  const Where where = sim::this_fiber::current()->call().where;
  const auto explain = [node =
                            std::make_shared<CollectiveNode>(what, handle.global_rank, handle.group, sequence, where)](
                           const std::shared_ptr<const sim::WaitNode>& launch) {
    node->set_launch(launch);
    return std::shared_ptr<const sim::WaitNode>(node);
  };
  const bool redistributes = call.blocks && !call.blocks->redistribute.empty();
  if (rounds.size() > 1 || redistributes) {
    DeviceWork next;
    next.call = work.call;
    next.kernel = work.kernel;
    next.plan = work.plan;
    next.payload.device = work.payload.device;
    next.synchronous = work.synchronous;
    next.begins = keep;
    work.then = [&, next] {
      for (std::size_t i = 1; i < rounds.size(); ++i) {
        DeviceWork more = next;
        more.pes = pes_of(*call.blocks, context);
        more.written = call.blocks->written;
        more.read = call.blocks->read;
        more.explain = explain;
        turns.set(more, rounds[i], i);
        more.body = body_of(algorithm, call, handle, rounds[i]);
        launch_too(context, std::move(more));
      }
      if (redistributes) redistribute(context, call.name, *call.blocks, next);
    };
  }
  work.explain = explain;
  auto state = enqueue(std::move(work), handle.collectives);
  state->finished->describe_as(
      [what, rank = handle.global_rank, where] { return CollectiveNode::name_of(what, rank, where); });
  state->sequence = sequence;
  state->others_here = std::move(others_here);
  state->group = handle.group;
  group.order_check().attach(sequence, state);
  group.begun(state);
  communicator->set_end(handle.member, sequence, rounds.size(), state->finished);
  GroupHandle::stop_at_end(timer, *state);
  // Others may have differed while this one was given to the device.
  if (scope && scope->taken_back()) state->fail(group.failure());
  if (!async_op && scope && (state->failure || group.has_conflict(sequence))) {
    group.wait_for_failure(context, what, sequence);
  }
  return state;
}

torch::distributed::WorkRef no_work(Where call) {
  torch::distributed::WorkRef none;
  none.no_member = call;
  none.rank = handle_of({}, "Work").global_rank;
  return none;
}

torch::distributed::WorkRef finish(std::shared_ptr<WorkState> state, bool async_op, std::vector<torch::Tensor> result) {
  using torch::distributed::Work;
  if (!async_op) return nullptr;
  return torch::distributed::WorkRef(std::make_unique<Work>(std::move(state), std::move(result)));
}

}  // namespace kernbench::distributed
