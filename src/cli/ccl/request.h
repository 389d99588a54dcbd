// What `kernbench ccl` is asked for: the options of nccl-tests, as values.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kernbench/distributed.h"
#include "kernbench/dtype.h"
#include "kernbench/units.h"

namespace kernbench::cli::ccl {

/// Sizes from `least` to `most`: each the one before times `factor`, if that is given, else plus `step`.
struct Sizes {
  Bytes least{std::int64_t{32} << 20};
  Bytes most{std::int64_t{32} << 20};
  Bytes step{std::int64_t{1} << 20};
  std::int64_t factor = 1;  // 1: add steps

  std::vector<Bytes> all() const;
};

/// A type of elements by the name that NCCL has for it.
struct TypeName {
  std::string_view name;
  DType dtype;
};
/// "int8", …, "bfloat16", in NCCL's order; those that the simulator knows.
const std::vector<TypeName>& type_names();
std::string_view nccl_name(DType dtype);

/// A reduction by NCCL's name: "sum", "prod", "min", "max", "avg".
struct ReductionName {
  std::string_view name;
  torch::distributed::ReduceOp op;
};
const std::vector<ReductionName>& reduction_names();

/// Which time of a row's ranks is the row's: nccl-tests' -a.
enum class Average : std::uint8_t { first_rank, mean, least, most };

struct Request {
  std::string operation;  // name of a Test
  Sizes sizes;
  int ranks = 0;  // 0: one on each SIP
  std::int64_t iterations = 20, warm_ups = 1, calls = 1;
  Average average = Average::mean;
  bool check = true;
  bool bound = false;  // say the least time, too
  std::vector<ReductionName> reductions;
  std::vector<TypeName> types;
  int root = 0;
  bool all_roots = false;
  std::vector<std::string> algorithms;  // of the collectives file; empty: its default
};

}  // namespace kernbench::cli::ccl
