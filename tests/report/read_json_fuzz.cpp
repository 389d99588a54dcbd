// Feeds arbitrary bytes to the reader of results. What is accepted must survive writing and reading back, and be
// comparable; what is refused must be refused by a ConfigurationError that says so.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "kernbench/error.h"
#include "report/difference/difference.h"
#include "report/difference/difference_text.h"
#include "report/json/json.h"
#include "report/json/read_json.h"
#include "report/sections/table.h"

namespace {

using namespace kernbench;
using namespace kernbench::report;

void require(bool condition) {
  if (!condition) std::abort();
}

void check(std::string_view text) {
  RunResult result;
  try {
    result = from_json(text, "fuzz.json");
  } catch (const ConfigurationError& error) {
    require(*error.what() != '\0');
    return;
  }
  const std::string written = to_json(result);
  const RunResult again = from_json(written, "written.json");
  require(to_json(again) == written);
  const Difference same = difference(result, again);
  require(same.inputs.empty());
  require(!to_table(same, "a", "b", false).empty());
  const Difference other = difference(result, RunResult{});
  require(!to_json(other, "a", "b").empty() && !to_table(other, "a", "b", true).empty());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  check({reinterpret_cast<const char*>(data), size});
  return 0;
}
