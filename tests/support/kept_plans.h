// Plans of matrix products that the tests of one build share: a product is planned for much longer than it runs, and
// few tests are about that.
#pragma once

#include "cli/build_id.h"
#include "cli/plan_files.h"
#include "kernbench/plan_store.h"
#include "support/source_tree.h"

namespace kernbench {

/// Plans in the build's own folder, of this very program. Null where the linker gives no build id.
inline PlanStore* kept_plans() {
  static const std::string build = cli::build_id();
  static cli::PlanFiles plans(source_tree::build_path("tests"), build);
  return build.empty() ? nullptr : &plans;
}

}  // namespace kernbench
