// Feeds arbitrary bytes to the reader of safetensors' headers. What is accepted must cover the elements and come back
// from its own text; what is refused must be refused by a ConfigurationError that says so.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "kernbench/error.h"
#include "nn/safetensors/header.h"

namespace {

void require(bool condition) {
  if (!condition) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace kernbench;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  // The number of bytes behind the header stands in front of it.
  const std::int64_t bytes = size == 0 ? 0 : data[0];
  const std::string_view header_part = text.substr(size == 0 ? 0 : 1);
  try {
    safetensors::parse_index(header_part, "fuzz.json");
  } catch (const ConfigurationError& error) {
    require(*error.what() != '\0');
  }
  safetensors::Header header;
  try {
    header = safetensors::parse_header(header_part, bytes, "fuzz.safetensors");
  } catch (const ConfigurationError& error) {
    require(*error.what() != '\0');
    return 0;
  }
  const auto again = safetensors::parse_header(safetensors::header_text(header), bytes, "again");
  require(again.tensors.size() == header.tensors.size() && again.metadata == header.metadata);
  for (std::size_t i = 0; i < header.tensors.size(); ++i) {
    const auto &a = header.tensors[i], &b = again.tensors[i];
    require(a.name == b.name && a.type == b.type && a.shape == b.shape && a.begin == b.begin && a.end == b.end);
  }
  return 0;
}
