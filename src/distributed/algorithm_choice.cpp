#include "distributed/algorithm_choice.h"

#include <algorithm>

#include "distributed/collectives_file.h"
#include "distributed/group.h"
#include "kernbench/distributed.h"
#include "runtime/simulation.h"

namespace kernbench::distributed {

AlgorithmSpec algorithm_of(runtime::HostContext& context, const std::string& name) {
  Rendezvous& shared = rendezvous(context);
  if (!shared.collectives) shared.collectives = load_collectives(context.simulation.options().collectives);
  AlgorithmSpec algorithm = find_algorithm(*shared.collectives, name);
  algorithm.n_slots = std::max(algorithm.n_slots, context.simulation.options().least_slots);
  return algorithm;
}

}  // namespace kernbench::distributed

namespace kernbench::torch::distributed {

using namespace kernbench::distributed;

Algorithm get_algorithm(const std::string& name) {
  auto& context = runtime::current_context("get_algorithm");
  const AlgorithmSpec spec = algorithm_of(context, name);
  const auto& topology = context.simulation.topology();
  const WorldSize size = kernbench::distributed::world_size(spec, topology.system.sips, topology.pes_per_sip());
  return {spec.module, size.ranks, size.rank_per_pe, spec.n_elem};
}

}  // namespace kernbench::torch::distributed
