#include "distributed/algorithm_choice.h"

#include <algorithm>
#include <cstdlib>

#include "distributed/algorithm_filter.h"
#include "distributed/collectives_file.h"
#include "distributed/group.h"
#include "kernbench/distributed.h"
#include "runtime/simulation.h"

namespace kernbench::distributed {

AlgorithmSpec algorithm_of(runtime::HostContext& context, const std::string& name) {
  Rendezvous& shared = rendezvous(context);
  if (!shared.collectives) {
    const auto& options = context.simulation.options();
    const auto table = options.algorithms.algorithms().empty()
                           ? shipped_algorithms()
                           : std::make_shared<const AlgorithmTable>(options.algorithms);
    shared.collectives = load_collectives(options.collectives, table);
  }
  AlgorithmSpec algorithm = find_algorithm(*shared.collectives, name);
  algorithm.n_slots = std::max(algorithm.n_slots, context.simulation.options().least_slots);
  return algorithm;
}

AlgorithmSpec algorithm_of_group(runtime::HostContext& context, const std::string& name, int ranks, bool rank_per_pe) {
  AlgorithmSpec algorithm = algorithm_of(context, name);
  const char* text = std::getenv("KB_ALGO");  // NOLINT(concurrency-mt-unsafe): nobody here sets it
  if (text == nullptr || !name.empty()) return algorithm;
  return AlgorithmFilter(text, algorithm.table)
      .applied_to({ranks, rank_per_pe, algorithm, context.simulation.topology()});
}

}  // namespace kernbench::distributed

namespace kernbench::torch::distributed {

using namespace kernbench::distributed;

Algorithm get_algorithm(const std::string& name) {
  auto& context = runtime::current_context("get_algorithm");
  const AlgorithmSpec spec = algorithm_of(context, name);
  const auto& topology = context.simulation.topology();
  const WorldSize size = kernbench::distributed::world_size(spec, topology.system.sips, topology.pes_per_sip());
  const std::string module = algorithm_of_group(context, name, size.ranks, size.rank_per_pe).module;
  return {module, size.ranks, size.rank_per_pe, spec.n_elem};
}

}  // namespace kernbench::torch::distributed
