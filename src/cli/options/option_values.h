// Values of options, read from text. All throw ConfigurationError that names the option, the value and what is
// expected.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "cli/command_line.h"
#include "kernbench/units.h"

namespace kernbench::cli {

/// --seed: 0 to 2^64 - 1.
std::uint64_t seed_of(const std::string& text);
/// --out-of-bounds-reads: "raise" or "uninitialized".
OutOfBoundsReads out_of_bounds_reads_of(const std::string& text);
/// --uninitialized-memory: "poison" or "zero".
UninitializedMemory uninitialized_memory_of(const std::string& text);
/// --threads: 0 to 1024.
int threads_of(const std::string& text);
/// --watchdog: "60".
int watchdog_of(const std::string& text);
/// --max-polls: "1000000"; more than zero.
std::uint64_t max_polls_of(const std::string& text);
/// --detailed-launches: 0 to 10^9.
std::size_t detailed_launches_of(const std::string& text);
/// --stack-size: "8MiB".
Bytes stack_size_of(const std::string& text);
/// --max-time: "10ms"; more than zero.
Time max_time_of(const std::string& text);
/// --jobs of sweep: 1 to 1024; 0 is one for each processor.
std::size_t jobs_of(const std::string& text);
/// --color: "auto", "always" or "never".
ColourMode colour_of(const std::string& text);
/// --format: "table", "keys", "yaml", "json-schema" or "json".
DescribeFormat format_of(const std::string& text);
/// --format of diff: "table" or "json".
DiffFormat diff_format_of(const std::string& text);
/// --report of run: "short" or "full".
report::TableKind report_of(const std::string& text);
/// -b, -e, -i of ccl: "8", "32K", "128M", "1G" as nccl-tests take them (powers of 1024), or with a unit.
Bytes ccl_size_of(const std::string& option, const std::string& text);
/// -t of ccl, which elsewhere names the topology.
std::int64_t nccl_threads_of(const std::string& text);
/// Options of ccl that are whole numbers from `least` to 2^20.
std::int64_t ccl_number_of(const std::string& option, const std::string& text, std::int64_t least);
/// -a of ccl: 0 to 3, as nccl-tests number them.
ccl::Average ccl_average_of(const std::string& text);
/// -o and -d of ccl: a name, or "all".
std::vector<ccl::ReductionName> ccl_reductions_of(const std::string& text);
std::vector<ccl::TypeName> ccl_types_of(const std::string& text);
/// -p: "NAME=VALUE" each, no name twice.
std::map<std::string, std::string> parameters_of(const std::vector<std::string>& texts);
/// --set: "path=value" each; returns them unchanged.
std::vector<std::string> overrides_of(std::vector<std::string> texts);

}  // namespace kernbench::cli
