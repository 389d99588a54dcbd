#include "parallel/saved.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "kernbench/error.h"

namespace kernbench::tp {

void check_saved(const char* call, const Saved& saved, std::size_t needed, std::size_t most) {
  const bool all_defined = std::ranges::all_of(saved, &torch::Tensor::defined);
  if (all_defined && saved.size() >= needed && saved.size() <= most) return;
  const std::string count = needed == most ? std::to_string(needed) : fmt::format("{} or {}", needed, most);
  throw ValueError(
      fmt::format("{}: it needs the {} tensor{} that its forward has kept, but `saved` has {}{}; give it "
                  "the `saved` that the forward has returned",
                  call, count, most == 1 ? "" : "s", saved.size(), all_defined ? "" : ", not all of them defined"));
}

}  // namespace kernbench::tp
