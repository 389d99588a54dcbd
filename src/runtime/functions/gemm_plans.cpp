#include "runtime/functions/gemm_plans.h"

#include <utility>

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

std::shared_ptr<const library::GemmPlan> GemmPlans::plan(const library::GemmProblem& problem,
                                                         std::span<const PeCoordinate> pes,
                                                         const library::GemmOperands& operands,
                                                         const topology::Topology& topology,
                                                         const library::PlanTimer& timer) {
  Key key = key_of(problem, pes, operands, static_cast<bool>(timer));
  if (const auto known = plans_.find(key); known != plans_.end()) return known->second;
  auto made = std::make_shared<const library::GemmPlan>(library::plan_gemm(problem, pes, operands, topology, timer));
  if (plans_.size() == kMost) plans_.clear();
  plans_.emplace(std::move(key), made);
  return made;
}

}  // namespace kernbench::runtime
