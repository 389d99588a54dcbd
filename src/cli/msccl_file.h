// MSCCL files that the command line names.
#pragma once

#include <string>

#include "kernbench/collectives.h"

namespace kernbench::cli {

struct AddedSchedule {
  std::string name;
  collectives::Operation operation = {};
};

/// Makes the schedule of an MSCCL file one of the algorithms, and tells its name and operation. ConfigurationError
/// where the file is not right, or its name is taken.
AddedSchedule add_schedule(const std::string& file, CollectiveRegistry& algorithms);

}  // namespace kernbench::cli
