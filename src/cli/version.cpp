#include "cli/version.h"

namespace kernbench::cli {

const char* version() {
  return KERNBENCH_VERSION;
}

}  // namespace kernbench::cli
