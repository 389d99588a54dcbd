// Feeds arbitrary bytes to the reader of collectives files: a file is read, or refused by a ConfigurationError that
// says something.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "distributed/collectives_file.h"
#include "kernbench/error.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace kernbench;
  try {
    const auto collectives =
        distributed::parse_collectives(std::string_view(reinterpret_cast<const char*>(data), size), "fuzz.yaml");
    for (const auto& [name, spec] : collectives.algorithms) distributed::find_algorithm(collectives, name);
  } catch (const ConfigurationError& error) {
    if (*error.what() == '\0') std::abort();
  }
  return 0;
}
