// torch::distributed: process groups of ranks, each a worker with a SIP of its own, or a PE, and what they do together.
#pragma once

#include <concepts>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kernbench/torch/tensor.h"
#include "kernbench/units.h"

namespace kernbench::distributed {
struct GroupHandle;
struct WorkState;
}  // namespace kernbench::distributed

namespace kernbench::torch::futures {
class Future;
}

namespace kernbench::torch::distributed {

/// With c10d's numbers. PREMUL_SUM without its factor (premul_sum.h) is refused, as is what is none of these.
enum class ReduceOp : std::uint8_t { SUM, AVG, PRODUCT, MIN, MAX, BAND, BOR, BXOR, PREMUL_SUM };

/// The reduction of that name, in capitals or not: "sum", "AVG", "product", "min", "max", "band", "bor", "bxor".
/// ValueError for another one.
ReduceOp reduce_op(std::string_view name);

/// A reduction as collectives take it: itself, or its name as reduce_op takes it.
struct ReduceOpOrName {
  ReduceOpOrName(ReduceOp reduction) : op(reduction) {}                                            // NOLINT
  ReduceOpOrName(const std::convertible_to<std::string_view> auto& name) : op(reduce_op(name)) {}  // NOLINT
  operator ReduceOp() const { return op; }                                                         // NOLINT
  ReduceOp op;
};

/// Some ranks that communicate with each other, as the calling rank sees them. An empty one stands for the default
/// group, that of all ranks.
struct ProcessGroup {
  ProcessGroup() = default;
  explicit ProcessGroup(std::shared_ptr<kernbench::distributed::GroupHandle> state) : state_(std::move(state)) {}
  const std::shared_ptr<kernbench::distributed::GroupHandle>& state() const { return state_; }

 private:
  std::shared_ptr<kernbench::distributed::GroupHandle> state_;
};

struct InitOptions {
  /// Ranks that are given the same text meet; any text will do.
  std::string init_method = "env://";
  /// Of the collectives file (docs/collectives.md); empty: its default.
  std::string algorithm = {};
  /// Simulated time that each collective, send and receive of this rank may take from its call to its end; beyond, the
  /// group fails, on all ranks, with a ProgramError ("DistributedError"). None: for ever; of new_group: the default
  /// group's.
  std::optional<Time> timeout = {};
};

/// What the collectives file says of an algorithm (docs/collectives.md).
struct Algorithm {
  std::string module;        // its algorithm of all-reduces, or auto: chosen for each
  int world_size = 1;        // ranks: as the file says, else as many as there are SIPs
  bool rank_per_pe = false;  // so many that each is a PE
  std::int64_t n_elem = 0;   // elements of a rank that a bench takes when it is told nothing else
};
/// An algorithm of the collectives file, without a name its default. ConfigurationError for one that it does not have,
/// for a file that cannot be read, and for more ranks than the machine has PEs.
Algorithm get_algorithm(const std::string& name = {});

/// Makes the default group of the calling worker: waits, in simulated time, until `world_size` workers with ranks 0 …
/// world_size - 1 have called it. `backend` is "ahbm" or empty. -1 stands for the rank that spawn() has given the
/// worker, and for the number of ranks of that spawn; they take the part of the environment variables RANK and
/// WORLD_SIZE of PyTorch's env://. ValueError for a rank or size that cannot be or is not known, for a rank that is
/// there twice, and ranks that disagree about the size; ConfigurationError for more than PEs or algorithm allow.
///
/// A rank is a SIP: the one that the worker has made current when it communicates. In a world of more ranks than there
/// are SIPs a rank is a PE: rank r the r-th one of the machine, SIP by SIP, cube by cube, PE by PE. The PE's SIP is
/// then the worker's current device, what it makes there lies on its PE, and its streams and synchronize() are its own,
/// as those of processes that share a device. It keeps the PE in later worlds of that kind.
void init_process_group(std::string_view backend = {}, int rank = -1, int world_size = -1,
                        const InitOptions& options = {}, Where where = Where::current());
/// Forgets a group; the default one with all others. A rank may make a new default group then.
void destroy_process_group(const ProcessGroup& group = {}, Where where = Where::current());
bool is_initialized();

/// Of the calling rank in the group, and -1 when it is not a member.
int get_rank(const ProcessGroup& group = {}, Where where = Where::current());
int get_world_size(const ProcessGroup& group = {}, Where where = Where::current());
/// Of members; ValueError for others.
std::string get_backend(const ProcessGroup& group = {}, Where where = Where::current());
/// Global rank of a member, and the members in their order, for members. ValueError for a rank that is not in the
/// group.
int get_global_rank(const ProcessGroup& group, int group_rank, Where where = Where::current());
std::vector<int> get_process_group_ranks(const ProcessGroup& group = {}, Where where = Where::current());
/// Rank in the group of a member's global rank. ValueError for one that is not in it.
int get_group_rank(const ProcessGroup& group, int global_rank, Where where = Where::current());

/// A group of some ranks of the default one (none given: all). Every rank, member or not, must call it, all in the same
/// order with the same ranks; it waits for all of them. When they differ, each gets one ProgramError
/// ("DistributedError"), and no group is made. ConfigurationError for an algorithm that cannot run on the group. For a
/// rank that is not a member, get_rank and get_world_size are -1; what it calls on the group prints a warning, no more.
ProcessGroup new_group(std::vector<int> ranks = {}, const InitOptions& options = {}, Where where = Where::current());

/// Waits until all ranks of the group have called it, at most `timeout`: ProgramError ("DistributedError") on rank 0 of
/// the group with the ranks that did not come in time (with `wait_all_ranks` all of them, else the first), and on those
/// that came.
void monitored_barrier(const ProcessGroup& group = {}, Time timeout = Time::seconds(1800), bool wait_all_ranks = true,
                       Where where = Where::current());

/// An operation under way. Collectives with `async_op` run on a stream of their group's own, others on the current one.
class Work {
 public:
  /// What is given to the current stream from now on begins when the operation has finished; the host goes on (but for
  /// a barrier, which holds up the host). Returns true. Throws exception(), if there is one.
  bool wait(Where where = Where::current());
  /// Likewise, but holds up the host until the operation has finished, at most for `timeout` of simulated time:
  /// ProgramError ("DistributedError"), and the operation goes on. ValueError for a timeout that is not above 0.
  bool wait(Time timeout, Where where = Where::current());
  /// Ends the operation, and with it its group, as NCCL does: what some ranks have not called is taken back, and the
  /// next call or wait of all ranks throws a ProgramError ("DistributedError"). ProgramError ("NotImplementedError")
  /// for a send or a receive.
  void abort(Where where = Where::current());
  /// Holds up the host until the operation has finished. Throws exception(), if there is one.
  void synchronize(Where where = Where::current());
  /// Ranks have called operations that do not fit: the error that all of them get. Null: nothing of the kind so far.
  std::exception_ptr exception() const;
  bool is_success() const { return exception() == nullptr; }
  /// Asking in vain costs the host the launch overhead.
  bool is_completed(Where where = Where::current()) const;
  /// Simulated milliseconds from its turn in the stream to its end. ProgramError while it is under way.
  double get_duration(Where where = Where::current()) const;
  /// Of the rank's operations on the group, from 1; 0 for send and recv.
  std::uint64_t get_sequence_number() const;
  /// Of a receive: the rank whose send it gets, once that is known; else -1.
  int source_rank() const;
  /// The tensors that it writes: of a reduce, gather, scatter or send those of this rank's call; of a barrier none.
  const std::vector<Tensor>& result() const { return result_; }
  /// A future of these (futures.h).
  futures::Future get_future() const;

  /// For the library's own use.
  Work(std::shared_ptr<kernbench::distributed::WorkState> state, std::vector<Tensor> result);
  void set_result(std::vector<Tensor> result) { result_ = std::move(result); }

 private:
  std::shared_ptr<kernbench::distributed::WorkState> state_;
  std::vector<Tensor> result_;
};

/// The Work of a call. Null without `async_op`, and of a rank that is not a member of the group: who uses it then gets
/// a ProgramError ("AttributeError") that says so.
struct WorkRef : std::shared_ptr<Work> {
  using std::shared_ptr<Work>::shared_ptr;
  WorkRef(std::shared_ptr<Work> work) : shared_ptr(std::move(work)) {}  // NOLINT(google-explicit-constructor)
  Work* operator->() const;
  Work& operator*() const { return *operator->(); }
  Where no_member = {};  // of the latter: the call
  int rank = -1;         // likewise
};

// Every rank of the group calls these, in the same order, on its own device: tensors of one shape, type and placement.
// When ranks have called different things, each of them gets one ProgramError ("DistributedError"), as soon as all have
// called or can no longer call: from the call or the host wait in which it is then, else from its next one. The call of
// more than half of the ranks is right, and the others are named as culprits. The group cannot be used afterwards.
//
// A call is ordered behind what the current stream has been given. With `async_op` it returns its Work; without, the
// current stream waits for it and null is returned. The first call on a group waits, on the host, for all ranks; with
// `async_op` the first wait for its Work does.

/// tensor := the reduction of all ranks' tensors, with the same bits on all ranks, in the tensor's own type and in the
/// order of the group's algorithm: see docs/collectives.md. ValueError for a type that `op` cannot reduce.
WorkRef all_reduce(const Tensor& tensor, ReduceOpOrName op = ReduceOp::SUM, const ProcessGroup& group = {},
                   bool async_op = false, Where where = Where::current());
// A root is a global rank, or with `group_src` and `group_dst` one of the group: one of the two at most. Without either
// broadcast and reduce are a ValueError; of gather and scatter it is rank 0 then, as in PyTorch.

/// tensor := that of the root.
WorkRef broadcast(const Tensor& tensor, std::optional<int> src, const ProcessGroup& group = {}, bool async_op = false,
                  std::optional<int> group_src = {}, Where where = Where::current());
/// The root's tensor := the reduction of all ranks' tensors; the others' do not change.
WorkRef reduce(const Tensor& tensor, std::optional<int> dst, ReduceOpOrName op = ReduceOp::SUM,
               const ProcessGroup& group = {}, bool async_op = false, std::optional<int> group_dst = {},
               Where where = Where::current());

// Collectives of blocks, one for each rank. Input and output may be placed differently, and of what has no elements to
// fold every type will do. Where the input is the caller's own block of the output, or the output that of the input,
// all_gather and reduce_scatter work in place; other tensors must not share elements: ValueError. A list has a tensor
// for each rank of the group, in its order.

/// output := block r of the reduction of all ranks' inputs on rank r, in the order of the group's algorithm. The input
/// has as many elements as n outputs.
WorkRef reduce_scatter_tensor(const Tensor& output, const Tensor& input, ReduceOpOrName op = ReduceOp::SUM,
                              const ProcessGroup& group = {}, bool async_op = false, Where where = Where::current());
/// The same with a tensor for each block.
WorkRef reduce_scatter(const Tensor& output, const std::vector<Tensor>& input_list, ReduceOpOrName op = ReduceOp::SUM,
                       const ProcessGroup& group = {}, bool async_op = false, Where where = Where::current());
/// Block r of the output := the input of rank r. The output has as many elements as n inputs.
WorkRef all_gather_into_tensor(const Tensor& output_tensor, const Tensor& input_tensor, const ProcessGroup& group = {},
                               bool async_op = false, Where where = Where::current());
/// The same with a tensor for each block.
WorkRef all_gather(const std::vector<Tensor>& tensor_list, const Tensor& tensor, const ProcessGroup& group = {},
                   bool async_op = false, Where where = Where::current());
/// The root's gather_list[r] := the tensor of rank r. Others give no list.
WorkRef gather(const Tensor& tensor, const std::vector<Tensor>& gather_list = {}, std::optional<int> dst = {},
               const ProcessGroup& group = {}, bool async_op = false, std::optional<int> group_dst = {},
               Where where = Where::current());
/// tensor := scatter_list[r] of the root on rank r. Others give no list.
WorkRef scatter(const Tensor& tensor, const std::vector<Tensor>& scatter_list = {}, std::optional<int> src = {},
                const ProcessGroup& group = {}, bool async_op = false, std::optional<int> group_src = {},
                Where where = Where::current());
/// Block s of the output of rank r := block r of the input of rank s. Blocks are equal parts of the first dimension, or
/// of these sizes; what a rank sends to another one is what that one expects, else the collective fails as one in which
/// calls differ.
WorkRef all_to_all_single(const Tensor& output, const Tensor& input,
                          const std::vector<std::int64_t>& output_split_sizes = {},
                          const std::vector<std::int64_t>& input_split_sizes = {}, const ProcessGroup& group = {},
                          bool async_op = false, Where where = Where::current());
/// The same with a tensor for each block.
WorkRef all_to_all(const std::vector<Tensor>& output_tensor_list, const std::vector<Tensor>& input_tensor_list,
                   const ProcessGroup& group = {}, bool async_op = false, Where where = Where::current());
/// PyTorch's earlier names of all_gather_into_tensor and reduce_scatter_tensor.
WorkRef _all_gather_base(const Tensor& output_tensor, const Tensor& input_tensor, const ProcessGroup& group = {},
                         bool async_op = false, Where where = Where::current());
WorkRef _reduce_scatter_base(const Tensor& output, const Tensor& input, ReduceOpOrName op = ReduceOp::SUM,
                             const ProcessGroup& group = {}, bool async_op = false, Where where = Where::current());

/// Holds up the host until all ranks have called it, and their devices have come to it: the devices on which they
/// communicate in the group, whichever is current; before the first communication the current one.
WorkRef barrier(const ProcessGroup& group = {}, bool async_op = false, Where where = Where::current());

// From one rank to another, a global one, or with `group_dst` and `group_src` one of the group: the tensors have one
// shape, type and placement. What has the same sender, receiver and tag arrives in its order. The kernels of both sides
// begin when both have been called. ValueError for a transfer to oneself and for a tag below 0; ProgramError
// ("DistributedError") when the two tensors do not fit.

/// As with collectives, the current stream waits, and the host goes on.
void send(const Tensor& tensor, std::optional<int> dst, const ProcessGroup& group = {}, int tag = 0,
          std::optional<int> group_dst = {}, Where where = Where::current());
/// Returns the rank whose tensor it is. Without `src` that is the one whose send with this tag was called first; the
/// host waits until there is one.
int recv(const Tensor& tensor, std::optional<int> src = std::nullopt, const ProcessGroup& group = {}, int tag = 0,
         std::optional<int> group_src = {}, Where where = Where::current());
WorkRef isend(const Tensor& tensor, std::optional<int> dst, const ProcessGroup& group = {}, int tag = 0,
              std::optional<int> group_dst = {}, Where where = Where::current());
WorkRef irecv(const Tensor& tensor, std::optional<int> src = std::nullopt, const ProcessGroup& group = {}, int tag = 0,
              std::optional<int> group_src = {}, Where where = Where::current());

struct P2POp {
  enum class Kind : std::uint8_t { isend, irecv };
  static constexpr Kind isend = Kind::isend, irecv = Kind::irecv;
  Kind op = isend;
  Tensor tensor = {};
  std::optional<int> peer = {};  // global rank
  ProcessGroup group = {};
  int tag = 0;
  std::optional<int> group_peer = {};  // in place of `peer`: a rank of the group
};
/// All of them at once, each with its Work.
std::vector<WorkRef> batch_isend_irecv(const std::vector<P2POp>& operations, Where where = Where::current());

}  // namespace kernbench::torch::distributed
