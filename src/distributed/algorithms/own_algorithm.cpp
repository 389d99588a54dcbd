#include "distributed/algorithms/own_algorithm.h"

#include <fmt/format.h>

#include <set>
#include <utility>

#include "distributed/algorithm_spec.h"
#include "distributed/algorithms/degree.h"
#include "distributed/algorithms/neighbours.h"
#include "kernbench/error.h"

namespace kernbench::distributed {
namespace {

using collectives::Algorithm;

std::vector<RankPair> checked_channels(const Algorithm& own, const GroupShape& shape) {
  const auto channels = own.channels(shape_of(shape));
  std::set<RankPair> known;
  for (const auto& [from, to] : channels) {
    const auto refuse = [&](const std::string& reason) {
      throw ConfigurationError(fmt::format("algorithm {}: its channel from rank {} to rank {} of {} ranks {}", own.name,
                                           from, to, shape.ranks, reason));
    };
    const auto is_rank = [&](int rank) { return rank >= 0 && rank < shape.ranks; };
    if (!is_rank(from) || !is_rank(to))
      refuse(fmt::format("has an end that is no rank: they are 0 to {}", shape.ranks - 1));
    if (from == to) refuse("leads to the rank itself: a channel has two ranks");
    if (!known.insert({from, to}).second) refuse("is there twice: name each channel once");
  }
  return channels;
}

std::string refusal_of(const Algorithm& own, const GroupDescription& group) {
  const GroupShape shape = group.shape();
  if (own.refusal) {
    std::string reason = own.refusal(group.seen());
    if (!reason.empty()) return reason;
  }
  return more_channels_than_fit(group, checked_channels(own, shape));
}

void run(const Algorithm& own, const RankView& ranks, const CollectiveArguments& arguments) {
  collectives::Program program(own, ranks, arguments);
  own.kernel(program);
  finish_sending();
}

}  // namespace

CollectiveOperation operation_of(collectives::Operation operation) {
  using Own = collectives::Operation;
  switch (operation) {
    case Own::broadcast:
      return CollectiveOperation::broadcast;
    case Own::reduce_scatter:
      return CollectiveOperation::reduce_scatter;
    case Own::all_gather:
      return CollectiveOperation::all_gather;
    case Own::reduce:
      return CollectiveOperation::reduce;
    case Own::gather:
      return CollectiveOperation::gather;
    case Own::scatter:
      return CollectiveOperation::scatter;
    case Own::all_to_all:
      return CollectiveOperation::all_to_all;
    case Own::all_reduce:
      break;
  }
  return CollectiveOperation::all_reduce;
}

collectives::Shape shape_of(const GroupShape& shape) {
  return {shape.ranks, shape.levels};
}

CollectiveAlgorithm own_algorithm(const std::shared_ptr<const Algorithm>& own) {
  CollectiveAlgorithm algorithm{
      .name = own->name,
      .operation = operation_of(own->operation),
      .topology = own->name,  // channels of its own
      .method = own->method,
      .fold_order = own->fold_order,
      .runs_on = "groups that it accepts",
      .refusal = [own](const GroupDescription& group) { return refusal_of(*own, group); },
      .channels = [own](const GroupShape& shape) { return checked_channels(*own, shape); },
      .kernel = [own](const RankView& ranks, const CollectiveArguments& arguments) { run(*own, ranks, arguments); }};
  if (own->steps) algorithm.steps = [own](const GroupShape& shape) { return own->steps(shape_of(shape)); };
  algorithm.validator = own->validator;
  return algorithm;
}

}  // namespace kernbench::distributed
