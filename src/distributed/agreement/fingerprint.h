// The description of a call by one rank, so that ranks that do something else are found.
#pragma once

#include <cstdint>
#include <optional>
#include <source_location>
#include <string>
#include <vector>

#include "kernbench/distributed.h"
#include "kernbench/dtype.h"

namespace kernbench::distributed {

/// Operations of a process group, with c10d's names.
enum class OpType : std::uint8_t {
  BROADCAST,
  ALLREDUCE,
  REDUCE,
  ALLGATHER,
  ALLGATHER_BASE,
  GATHER,
  SCATTER,
  REDUCE_SCATTER,
  REDUCE_SCATTER_BASE,
  ALLTOALL_BASE,
  ALLTOALL,
  SEND,
  RECV,
  BARRIER,
  ALLREDUCE_PARTIALS,  // of KernBench's own
};
const char* name(OpType type);
const char* name(torch::distributed::ReduceOp op);
/// PyTorch's name of a type: "Float".
const char* torch_name(DType type);

/// One call of a collective on one rank.
struct CollectiveFingerprint {
  std::uint64_t sequence = 0;  // of the rank's collectives on the group, from 1
  OpType type = OpType::BARRIER;
  bool has_tensor = false;
  std::vector<std::int64_t> shape = {};
  DType dtype = DType::f32;
  std::optional<torch::distributed::ReduceOp> reduce = {};
  std::optional<int> root = {};      // global rank
  std::string placement = {};        // in words
  std::uint64_t placement_hash = 0;  // see element_places; of blocks the shares of all PEs
  /// Elements for each rank and from each rank, of an all-to-all, where ranks may differ in their shapes.
  std::vector<std::int64_t> sends = {}, receives = {};
  std::string agreement = {};   // of the function that the call is part of, where it needs more: "logits of 4 words"
  std::string algorithm = {};   // where ranks choose it by the form of the call
  int member = 0;               // place of the rank in the group; not compared
  std::string unexpected = {};  // "rank 0 sends 3 elements to rank 1, which expects 4": in what it does not fit others
  std::source_location where = {};  // of the call in the program; not compared

  /// "CollectiveFingerPrint(SequenceNumber=1, OpType=ALLREDUCE, TensorShape=[2], TensorDtypes=Float, ReduceOp=SUM) at
  /// train.cpp:12"
  std::string text() const;
};

/// " at train.cpp:12"; empty when the line is not known.
std::string at_text(const std::source_location& where);
/// " (called at train.cpp:12)", likewise.
std::string called_text(const std::source_location& where);
/// The same as an apposition: ", called at train.cpp:12".
std::string called_at_text(const std::source_location& where);

/// How two ranks' calls compare, in the words of PyTorch's flight recorder.
enum class MatchState : std::uint8_t {
  FULLY_MATCHED,
  COLLECTIVE_TYPE_MISMATCH,
  SIZE_OR_SYNTAX_MISMATCH,  // shape, reduction, root or placement
  COLLECTIVE_DTYPE_MISMATCH,
};
const char* name(MatchState state);

/// What one of two ranks sends to the other and the other does not expect, in words; empty: nothing. `ranks`: global,
/// by member.
std::string unexpected_block(const CollectiveFingerprint& a, const CollectiveFingerprint& b,
                             const std::vector<int>& ranks);

/// The first thing in which they differ, in the order of MatchState.
MatchState compare(const CollectiveFingerprint& a, const CollectiveFingerprint& b);
/// All of them: "Op type: ALLREDUCE vs BROADCAST, Tensor shapes: [2] vs [3]".
std::string differences(const CollectiveFingerprint& a, const CollectiveFingerprint& b);

}  // namespace kernbench::distributed
