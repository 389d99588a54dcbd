#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "distributed/msccl/plan.h"
#include "distributed/msccl/run.h"
#include "kernbench/collectives.h"
#include "kernbench/error.h"
#include "topology/files.h"

namespace kernbench::collectives {
namespace {

using distributed::CollectiveOperation;
using distributed::msccl::Plan;

Operation operation_of(CollectiveOperation operation) {
  switch (operation) {
    case CollectiveOperation::all_gather:
      return Operation::all_gather;
    case CollectiveOperation::reduce_scatter:
      return Operation::reduce_scatter;
    case CollectiveOperation::all_to_all:
      return Operation::all_to_all;
    default:
      return Operation::all_reduce;
  }
}

// assumption: 50,000 moves (parse.cpp) with all attributes take a tenth of it
constexpr std::size_t kMostFileBytes = 64 << 20;

/// A name of a file, with underscores for what names cannot have.
std::string plain(std::string name) {
  constexpr std::size_t kLongest = 64;
  for (char& c : name) {
    const bool fits = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (!fits) c = '_';
  }
  return name.substr(0, kLongest);
}

std::string refusal_of(const Plan& plan, const std::string& file, const Group& group) {
  if (group.shape.ranks != plan.ranks)
    return fmt::format("{} is a schedule for {} ranks; take as many, or a file for {}", file, plan.ranks,
                       group.shape.ranks);
  if (group.slots < plan.slots)
    return fmt::format("the schedule of {} needs {} slots in a channel, and there are {}; raise n_slots", file,
                       plan.slots, group.slots);
  return {};
}

}  // namespace

Algorithm load_msccl(const std::string& path, const std::string& name) {
  const auto schedule = distributed::msccl::parse(topology::read_file(path, "an MSCCL", kMostFileBytes), path);
  const auto plan = std::make_shared<const Plan>(distributed::msccl::plan(schedule));
  Algorithm algorithm{.name = name.empty() ? plain(schedule.name) : name,
                      .operation = operation_of(plan->operation),
                      .method = fmt::format("the schedule of {} for {} ranks", path, plan->ranks)};
  if (distributed::reduces(plan->operation)) algorithm.fold_order = "that of its file: what comes in ∘ what is there";
  if (plan->operation == CollectiveOperation::all_to_all) {
    algorithm.validator = [path](const Group&, const Call& call) {
      return call.equal_blocks ? "" : fmt::format("the schedule of {} is for blocks of one size", path);
    };
  }
  algorithm.refusal = [plan, path](const Group& group) { return refusal_of(*plan, path, group); };
  algorithm.channels = [plan](const Shape& shape) {
    return shape.ranks == plan->ranks ? plan->channels : std::vector<Channel>{};
  };
  algorithm.kernel = [plan, own = algorithm.name](Program& program) { distributed::msccl::run(*plan, own, program); };
  return algorithm;
}

}  // namespace kernbench::collectives
