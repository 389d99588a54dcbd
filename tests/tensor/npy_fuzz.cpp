// Feeds arbitrary bytes to the reader of .npy files. What is accepted must survive writing and reading back; what is
// refused must be refused by a ConfigurationError that says so.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <sstream>
#include <string>

#include "fake_context.h"
#include "kernbench/error.h"
#include "kernbench/torch.h"

namespace {

void require(bool condition) {
  if (!condition) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace kernbench;
  static const tensor::FakeContext context;
  std::istringstream in(std::string(reinterpret_cast<const char*>(data), size));
  torch::Tensor tensor;
  try {
    tensor = torch::load_npy(in, "fuzz.npy");
  } catch (const ConfigurationError& error) {
    require(*error.what() != '\0');
    return 0;
  }
  std::ostringstream out;
  torch::save_npy(out, tensor);
  std::istringstream again(out.str());
  const torch::Tensor copy = torch::load_npy(again);
  require(copy.sizes() == tensor.sizes() && copy.scalar_type() == tensor.scalar_type());
  std::ostringstream second;
  torch::save_npy(second, copy);
  require(second.str() == out.str());
  return 0;
}
