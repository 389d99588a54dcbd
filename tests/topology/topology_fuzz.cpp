// Feeds arbitrary bytes to the reader of topology files. What is accepted must survive printing and reading back; what
// is refused must be refused by a ConfigurationError that says so. The first line, if it starts with "--set ", is an
// override of the rest.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "kernbench/error.h"
#include "topology/checks.h"
#include "topology/load.h"
#include "topology/print.h"

namespace {

using namespace kernbench;
using namespace kernbench::topology;

void require(bool condition) {
  if (!condition) std::abort();
}

void check(std::string_view yaml, const std::vector<std::string>& overrides) {
  Topology topology;
  try {
    topology = parse_topology(yaml, "fuzz.yaml", overrides);
  } catch (const ConfigurationError& error) {
    require(*error.what() != '\0');
    return;
  }
  warnings(topology);
  require(parse_topology(to_yaml(topology), "printed.yaml") == topology);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::string_view mark = "--set ";
  std::string_view text(reinterpret_cast<const char*>(data), size);
  std::vector<std::string> overrides;
  while (text.starts_with(mark)) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    overrides.emplace_back(text.substr(mark.size(), end - mark.size()));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  check(text, overrides);
  return 0;
}
