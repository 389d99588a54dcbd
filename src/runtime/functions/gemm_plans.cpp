#include "runtime/functions/gemm_plans.h"

#include <optional>
#include <string_view>
#include <utility>

#include "tile/library/gemm_plan_text.h"
#include "topology/print.h"

namespace kernbench::runtime {

namespace library = tile::library;

namespace {

using Key = std::vector<std::int64_t>;

void add(Key& key, PeCoordinate pe) {
  key.push_back(pe.cube.value);
  key.push_back(pe.pe.value);
}

void add(Key& key, std::span<const library::GemmPart> parts) {
  key.push_back(static_cast<std::int64_t>(parts.size()));
  for (const library::GemmPart& part : parts) {
    add(key, part.owner);
    key.insert(key.end(), std::begin(part.begin), std::end(part.begin));
    key.insert(key.end(), std::begin(part.end), std::end(part.end));
  }
}

/// Everything that a plan depends on but the machine, of which a simulation has one.
Key key_of(const library::GemmProblem& problem, std::span<const PeCoordinate> pes,
           const library::GemmOperands& operands, bool measured) {
  const library::GemmShape& shape = problem.shape;
  Key key{shape.batch,
          shape.m,
          shape.n,
          shape.k,
          static_cast<std::int64_t>(problem.dtype),
          static_cast<std::int64_t>(problem.order),
          problem.epilogue ? 1 : 0,
          problem.transposed_a ? 1 : 0,
          problem.transposed_b ? 1 : 0,
          problem.split_k,
          problem.tile_m,
          problem.tile_n,
          problem.tile_k,
          problem.depth,
          measured ? 1 : 0,
          static_cast<std::int64_t>(pes.size())};
  for (const PeCoordinate pe : pes) add(key, pe);
  add(key, operands.a);
  add(key, operands.b);
  add(key, operands.out);
  return key;
}

}  // namespace

std::string GemmPlans::stored_key(const Key& key, const Key& timed, const topology::Topology& topology) {
  if (machine_.empty()) machine_ = topology::to_yaml(topology);
  std::string text = machine_;
  for (const Key* const words : {&key, &timed}) {
    for (const std::int64_t word : *words) text += std::to_string(word) + ' ';
    text += '\n';
  }
  return text;
}

std::shared_ptr<const library::GemmPlan> GemmPlans::plan(const library::GemmProblem& problem,
                                                         std::span<const PeCoordinate> pes,
                                                         const library::GemmOperands& operands,
                                                         const topology::Topology& topology,
                                                         const library::PlanTimer& timer,
                                                         const std::function<std::vector<std::int64_t>()>& timed) {
  Key key = key_of(problem, pes, operands, static_cast<bool>(timer));
  if (const auto known = plans_.find(key); known != plans_.end()) return known->second;
  const std::string stored = store_ == nullptr ? "" : stored_key(key, timed(), topology);
  const std::optional<std::string> text = store_ == nullptr ? std::nullopt : store_->find(stored);
  std::optional<library::GemmPlan> plan = text ? library::plan_from_text(*text) : std::nullopt;
  if (!plan) {
    plan = library::plan_gemm(problem, pes, operands, topology, timer);
    const bool stopping = stop_requested_ != nullptr && *stop_requested_;
    if (store_ != nullptr && !stopping) store_->keep(stored, library::to_text(*plan));
  }
  if (plans_.size() == kMost) plans_.clear();
  return plans_.emplace(std::move(key), std::make_shared<const library::GemmPlan>(*std::move(plan))).first->second;
}

}  // namespace kernbench::runtime
