#include "distributed/agreement/fingerprint.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/program_call.h"

namespace kernbench::distributed {

using torch::distributed::ReduceOp;

const char* name(OpType type) {
  switch (type) {
    case OpType::BROADCAST:
      return "BROADCAST";
    case OpType::ALLREDUCE:
      return "ALLREDUCE";
    case OpType::REDUCE:
      return "REDUCE";
    case OpType::ALLGATHER:
      return "ALLGATHER";
    case OpType::ALLGATHER_BASE:
      return "_ALLGATHER_BASE";
    case OpType::GATHER:
      return "GATHER";
    case OpType::SCATTER:
      return "SCATTER";
    case OpType::REDUCE_SCATTER:
      return "REDUCE_SCATTER";
    case OpType::REDUCE_SCATTER_BASE:
      return "_REDUCE_SCATTER_BASE";
    case OpType::ALLTOALL_BASE:
      return "ALLTOALL_BASE";
    case OpType::ALLTOALL:
      return "ALLTOALL";
    case OpType::SEND:
      return "SEND";
    case OpType::RECV:
      return "RECV";
    case OpType::ALLREDUCE_PARTIALS:
      return "ALLREDUCE_PARTIALS";
    case OpType::BARRIER:
      break;
  }
  return "BARRIER";
}

const char* name(ReduceOp op) {
  switch (op) {
    case ReduceOp::SUM:
      return "SUM";
    case ReduceOp::AVG:
      return "AVG";
    case ReduceOp::PRODUCT:
      return "PRODUCT";
    case ReduceOp::MIN:
      return "MIN";
    case ReduceOp::MAX:
      return "MAX";
    case ReduceOp::BAND:
      return "BAND";
    case ReduceOp::BOR:
      return "BOR";
    case ReduceOp::BXOR:
      return "BXOR";
    case ReduceOp::PREMUL_SUM:
      break;
  }
  return "PREMUL_SUM";
}

const char* torch_name(DType type) {
  switch (type) {
    case DType::boolean:
      return "Bool";
    case DType::u8:
      return "Byte";
    case DType::i8:
      return "Char";
    case DType::i32:
      return "Int";
    case DType::i64:
      return "Long";
    case DType::f8e4m3:
      return "Float8_e4m3fn";
    case DType::f8e5m2:
      return "Float8_e5m2";
    case DType::f16:
      return "Half";
    case DType::bf16:
      return "BFloat16";
    case DType::f32:
      return "Float";
    case DType::f64:
      break;
  }
  return "Double";
}

const char* name(MatchState state) {
  switch (state) {
    case MatchState::FULLY_MATCHED:
      return "FULLY_MATCHED";
    case MatchState::COLLECTIVE_TYPE_MISMATCH:
      return "COLLECTIVE_TYPE_MISMATCH";
    case MatchState::SIZE_OR_SYNTAX_MISMATCH:
      return "SIZE_OR_SYNTAX_MISMATCH";
    case MatchState::COLLECTIVE_DTYPE_MISMATCH:
      break;
  }
  return "COLLECTIVE_DTYPE_MISMATCH";
}

namespace {

std::string shape_text(const CollectiveFingerprint& call) {
  return fmt::format("[{}]", fmt::join(call.shape, ", "));
}
/// Of many the first ones: a line of them all would hide what differs.
std::string splits_text(const std::vector<std::int64_t>& splits) {
  constexpr std::size_t kMost = 16, kFirst = 8;
  if (splits.size() <= kMost) return fmt::format("[{}]", fmt::join(splits, ", "));
  return fmt::format("[{}, … {} more]", fmt::join(splits.begin(), splits.begin() + kFirst, ", "),
                     splits.size() - kFirst);
}
std::string reduce_text(const CollectiveFingerprint& call) {
  return call.reduce ? name(*call.reduce) : "none";
}
std::string root_text(const CollectiveFingerprint& call) {
  return call.root ? fmt::format("{}", *call.root) : "none";
}

}  // namespace

std::string at_text(const std::source_location& where) {
  const std::string place = sim::place_text(where);
  return place.empty() ? "" : " at " + place;
}

std::string called_text(const std::source_location& where) {
  const std::string place = sim::place_text(where);
  return place.empty() ? "" : fmt::format(" (called at {})", place);
}

std::string called_at_text(const std::source_location& where) {
  const std::string place = sim::place_text(where);
  return place.empty() ? "" : ", called at " + place;
}

std::string CollectiveFingerprint::text() const {
  std::string text = fmt::format("CollectiveFingerPrint(SequenceNumber={}, OpType={}", sequence, name(type));
  if (!sends.empty()) {
    text += fmt::format(", InputSplits={}, OutputSplits={}, TensorDtypes={}", splits_text(sends), splits_text(receives),
                        torch_name(dtype));
  } else if (has_tensor) {
    text += fmt::format(", TensorShape={}, TensorDtypes={}", shape_text(*this), torch_name(dtype));
  }
  if (reduce) text += fmt::format(", ReduceOp={}", reduce_text(*this));
  if (root) text += fmt::format(", Root={}", root_text(*this));
  return text + ")" + at_text(where);
}

MatchState compare(const CollectiveFingerprint& a, const CollectiveFingerprint& b) {
  if (a.type != b.type) return MatchState::COLLECTIVE_TYPE_MISMATCH;
  const bool fit = a.unexpected.empty() && b.unexpected.empty();
  if (!fit || a.algorithm != b.algorithm || a.shape != b.shape || a.reduce != b.reduce || a.root != b.root ||
      a.agreement != b.agreement)
    return MatchState::SIZE_OR_SYNTAX_MISMATCH;
  if (a.dtype != b.dtype) return MatchState::COLLECTIVE_DTYPE_MISMATCH;
  if (a.placement_hash != b.placement_hash) return MatchState::SIZE_OR_SYNTAX_MISMATCH;
  return MatchState::FULLY_MATCHED;
}

std::string unexpected_block(const CollectiveFingerprint& a, const CollectiveFingerprint& b,
                             const std::vector<int>& ranks) {
  const auto at = [](const std::vector<std::int64_t>& counts, int member) {
    return counts[static_cast<std::size_t>(member)];
  };
  const auto text = [&](const CollectiveFingerprint& from, const CollectiveFingerprint& to) -> std::string {
    const std::int64_t sent = at(from.sends, to.member), expected = at(to.receives, from.member);
    if (sent == expected) return {};
    return fmt::format("rank {} sends {} elements to rank {}, which expects {}",
                       ranks[static_cast<std::size_t>(from.member)], sent, ranks[static_cast<std::size_t>(to.member)],
                       expected);
  };
  if (a.sends.empty() || b.sends.empty()) return {};
  const std::string one = text(a, b);
  return one.empty() ? text(b, a) : one;
}

std::string differences(const CollectiveFingerprint& a, const CollectiveFingerprint& b) {
  std::vector<std::string> aspects;
  const auto add = [&](std::string_view what, const std::string& of_a, const std::string& of_b) {
    aspects.push_back(fmt::format("{}: {} vs {}", what, of_a, of_b));
  };
  if (a.type != b.type) add("Op type", name(a.type), name(b.type));
  if (a.has_tensor && b.has_tensor) {
    if (a.shape != b.shape) add("Tensor shapes", shape_text(a), shape_text(b));
    if (a.dtype != b.dtype) add("Tensor dtypes", torch_name(a.dtype), torch_name(b.dtype));
    if (a.shape == b.shape && a.dtype == b.dtype && a.placement_hash != b.placement_hash) {
      add("Tensor placement", a.placement, b.placement);
    }
  }
  for (const std::string& each : {a.unexpected, b.unexpected}) {
    if (!each.empty()) aspects.push_back("Split sizes: " + each);
  }
  const auto argument = [](const CollectiveFingerprint& call) {
    return call.agreement.empty() ? "none" : call.agreement;
  };
  if (a.agreement != b.agreement) add("Arguments", argument(a), argument(b));
  const bool fit = a.unexpected.empty() && b.unexpected.empty();
  if (a.algorithm != b.algorithm && fit) {
    aspects.push_back(
        fmt::format("Split sizes: given by some ranks and not by others, which choose {} and {} by that; "
                    "give them on all ranks, or on none",
                    a.algorithm, b.algorithm));
  }
  if (a.reduce != b.reduce) add("Reduce op", reduce_text(a), reduce_text(b));
  if (a.root != b.root) add("Root", root_text(a), root_text(b));
  return fmt::format("{}", fmt::join(aspects, ", "));
}

}  // namespace kernbench::distributed
