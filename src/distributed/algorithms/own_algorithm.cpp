#include "distributed/algorithms/own_algorithm.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <list>
#include <set>
#include <utility>

#include "distributed/algorithm_spec.h"
#include "distributed/algorithms/degree.h"
#include "distributed/algorithms/neighbours.h"
#include "kernbench/error.h"
#include "sim/fiber.h"

namespace kernbench::distributed {
namespace {

using collectives::Algorithm;

/// What a function of the algorithm yields. An exception of the user's that is none of the library's gets a name.
template <class Call>
auto yield_of(const Algorithm& own, const char* function, const Call& call) {
  try {
    return call();
  } catch (const Error&) {
    throw;
  } catch (const std::exception& error) {
    throw ConfigurationError(
        fmt::format("algorithm {}: its function `{}` threw: {}", own.name, function, error.what()));
  }
}

std::vector<RankPair> checked_channels(const Algorithm& own, const GroupShape& shape) {
  const auto channels = yield_of(own, "channels", [&] { return own.channels(shape_of(shape)); });
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

/// More of a step than any algorithm could mean.
constexpr std::int64_t kMostTimes = 1 << 16;
constexpr double kMostShare = 1e6;

/// What is wrong with a step; empty: nothing.
std::string fault_of(const collectives::Step& step, int ranks) {
  const auto outside = [](double value, double most) { return !(value >= 0 && value <= most); };
  if (outside(step.share, kMostShare))
    return fmt::format("a share of {}: it is from 0 to {:g}", step.share, kMostShare);
  if (outside(step.memory, kMostShare))
    return fmt::format("a memory of {}: it is from 0 to {:g}", step.memory, kMostShare);
  if (outside(step.fresh, 1)) return fmt::format("{} fresh messages: it is a part, from 0 to 1", step.fresh);
  if (step.times < 0 || step.times > kMostTimes)
    return fmt::format("to be done {} times: it is from 0 to {}", step.times, kMostTimes);
  if (step.latencies < 0 || step.latencies > kMostTimes)
    return fmt::format("{} latencies: they are from 0 to {}", step.latencies, kMostTimes);
  for (const auto& [from, to, weight, way] : step.messages) {
    if (from < 0 || from >= ranks || to < 0 || to >= ranks)
      return fmt::format("a message from rank {} to rank {}: they are 0 to {}", from, to, ranks - 1);
    if (from == to) return fmt::format("a message from rank {} to itself", from);
    if (outside(weight, kMostShare))
      return fmt::format("a message of weight {} from rank {} to rank {}: it is from 0 to {:g}", weight, from, to,
                         kMostShare);
  }
  return {};
}

std::vector<CostStep> checked_steps(const Algorithm& own, const GroupShape& shape) {
  auto steps = yield_of(own, "steps", [&] { return own.steps(shape_of(shape)); });
  if (steps.empty() && shape.ranks > 1)
    throw ConfigurationError(
        fmt::format("algorithm {}: its function `steps` yields none for {} ranks, as if it cost nothing; leave the "
                    "function out for "
                    "an algorithm that `auto` is not to choose",
                    own.name, shape.ranks));
  for (std::size_t number = 0; number < steps.size(); ++number) {
    const std::string fault = fault_of(steps[number], shape.ranks);
    if (!fault.empty())
      throw ConfigurationError(
          fmt::format("algorithm {}: step {} of {} ranks has {}", own.name, number, shape.ranks, fault));
  }
  return steps;
}

std::string refusal_of(const Algorithm& own, const GroupDescription& group) {
  const GroupShape shape = group.shape();
  if (own.refusal) {
    std::string reason = yield_of(own, "refusal", [&] { return own.refusal(group.seen()); });
    if (!reason.empty()) return reason;
  }
  return more_channels_than_fit(group, checked_channels(own, shape));
}

/// What an algorithm has declared, by the shape of the group: each program of each call looks at it.
class DeclaredChannels {
 public:
  /// In their order.
  const std::vector<RankPair>& of(const Algorithm& own, const RankView& ranks) {
    for (const Entry& entry : entries_) {
      if (entry.shape.ranks == ranks.size && std::ranges::equal(entry.shape.levels, ranks.levels))
        return entry.channels;
    }
    const GroupShape shape(static_cast<int>(ranks.size), {ranks.levels.begin(), ranks.levels.end()});
    std::vector<RankPair> channels;
    if (ranks.size > 1) channels = checked_channels(own, shape);
    std::ranges::sort(channels);
    return entries_.emplace_back(Entry{shape, std::move(channels)}).channels;
  }

 private:
  struct Entry {
    GroupShape shape;
    std::vector<RankPair> channels;
  };
  std::list<Entry> entries_;  // which keep their places
};

void run(const Algorithm& own, const RankView& ranks, const CollectiveArguments& arguments,
         DeclaredChannels& declared) {
  collectives::Program program(own, ranks, arguments, declared.of(own, ranks));
  sim::this_fiber::current()->note_place({});  // a line of the library's says nothing of an error in the kernel
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
      .kernel = [own, declared = std::make_shared<DeclaredChannels>()](
                    const RankView& ranks,
                    const CollectiveArguments& arguments) { run(*own, ranks, arguments, *declared); }};
  algorithm.is_own = true;
  if (own->steps) algorithm.steps = [own](const GroupShape& shape) { return checked_steps(*own, shape); };
  if (own->validator)
    algorithm.validator = [own](const collectives::Group& group, const collectives::Call& call) {
      return yield_of(*own, "validator", [&] { return own->validator(group, call); });
    };
  return algorithm;
}

}  // namespace kernbench::distributed
