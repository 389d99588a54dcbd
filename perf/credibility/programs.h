// What is run on a machine and on a better one.
#pragma once

#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "tile/library/gemm_plan.h"

namespace kernbench::credibility {

/// The plan of a library kernel: taken on the first machine, used on the second.
struct KeptPlan {
  std::shared_ptr<const tile::library::GemmPlan> plan;
};

struct Program {
  std::string name;           // "gemm 512x256x1024 f16"
  std::string kind;           // "gemm", "gemm fixed", "matmul", "softmax", "all_reduce"
  int sips = 1;               // that it needs
  bool planned_anew = false;  // each machine has a plan, or an algorithm, of its own
  std::function<void(KeptPlan&)> run;
};

Program random_program(std::mt19937_64& random);

/// Those of the full product.
const std::vector<Program>& fixed_programs();

}  // namespace kernbench::credibility
