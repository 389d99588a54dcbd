// Collectives files (ccl.yaml): finding one, reading it, and every problem of it in a single error.
#pragma once

#include <string>
#include <string_view>

#include "distributed/algorithm_spec.h"

namespace kernbench::distributed {

/// The file `path`; without one `./ccl.yaml` if there is such a file, else the shipped one. ConfigurationError with all
/// problems, one a line: `ccl.yaml:4:3: defaults.n_slot: unknown key, did you mean "n_slots"?`.
Collectives load_collectives(const std::string& path = {}, const AlgorithmTableRef& table = shipped_algorithms());

/// The same for the text of a file; `file_name` stands in the errors.
Collectives parse_collectives(std::string_view yaml, const std::string& file_name,
                              const AlgorithmTableRef& table = shipped_algorithms());

/// ConfigurationError for a name of an algorithm and of an entry that takes another algorithm for the same operation.
void check_unambiguous(const Collectives& collectives, const std::string& name);

/// The entry of that name, or the file's own choice when `name` is empty; for the name of an algorithm of the table,
/// the file's own choice with this algorithm for its operation. ConfigurationError when there is none.
AlgorithmSpec find_algorithm(const Collectives& collectives, const std::string& name = {});

/// How many ranks an algorithm has, and what a rank is.
struct WorldSize {
  std::int32_t ranks = 1;
  bool rank_per_pe = false;  // else a rank is a SIP
  bool operator==(const WorldSize&) const = default;
};

/// The algorithm's own number of ranks, else the defaults', else one for each SIP. More ranks than SIPs means that each
/// is a PE. ConfigurationError when there are not that many PEs either.
WorldSize world_size(const AlgorithmSpec& algorithm, std::int32_t sips, std::int64_t pes_per_sip);

/// The reference of all keys as a Markdown table.
std::string collectives_reference();

}  // namespace kernbench::distributed
