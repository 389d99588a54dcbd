// Feeds arbitrary bytes to the reader and the checker of MSCCL files: a schedule is planned, or refused by a
// ConfigurationError that says something.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "distributed/msccl/plan.h"
#include "distributed/msccl/schedule.h"
#include "kernbench/error.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace kernbench;
  try {
    distributed::msccl::plan(
        distributed::msccl::parse(std::string(reinterpret_cast<const char*>(data), size), "fuzz.xml"));
  } catch (const ConfigurationError& error) {
    if (*error.what() == '\0') std::abort();
  }
  return 0;
}
