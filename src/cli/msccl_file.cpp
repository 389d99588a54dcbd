#include "cli/msccl_file.h"

#include <utility>

#include "kernbench/error.h"

namespace kernbench::cli {

AddedSchedule add_schedule(const std::string& file, CollectiveRegistry& algorithms) {
  collectives::Algorithm schedule = collectives::load_msccl(file);
  AddedSchedule added{schedule.name, schedule.operation};
  try {
    algorithms.add(std::move(schedule));
  } catch (const ValueError& error) {
    throw ConfigurationError(error.what(), file);
  }
  return added;
}

}  // namespace kernbench::cli
