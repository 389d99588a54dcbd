#include "cli/bench_file/way_out.h"

#include <algorithm>
#include <array>
#include <vector>

namespace kernbench::cli {
namespace {

struct WayOut {
  std::string_view name, text;
};

constexpr std::string_view kNoTape =
    "there is no tape: give each parameter its gradient, p.mutable_grad() = g, made by a pair of forward and backward "
    "(docs/training.md)";
constexpr std::string_view kNoArchives =
    "there are no archives: kernbench::safetensors::save_file(model->state_dict(), \"model.safetensors\") and "
    "load_file, of kernbench/nn/safetensors.h";
constexpr std::string_view kNoCuda = "the device is \"ahbm\": x.to(\"ahbm\"), torch::ahbm::synchronize()";
constexpr std::array kWaysOut{
    WayOut{"backward", kNoTape},
    WayOut{"autograd", kNoTape},
    WayOut{"save", kNoArchives},
    WayOut{"load", kNoArchives},
    WayOut{"serialize", kNoArchives},
    WayOut{"cuda", kNoCuda},
    WayOut{"kCUDA", kNoCuda},
    WayOut{"data", "there are no data loaders: cut batches from a tensor with narrow or index_select"},
    WayOut{"optim", "#include <kernbench/optim.h>"},
};

/// The last parts of the names that the message quotes, as GCC does and as Clang does: x of ‘torch::x’. Not those of
/// what has no such member.
std::vector<std::string_view> quoted_names(std::string_view message) {
  std::vector<std::string_view> names;
  const auto add_all = [&](std::string_view open, std::string_view close) {
    for (std::size_t at = 0; (at = message.find(open, at)) != std::string_view::npos;) {
      const std::string_view before = message.substr(0, at);
      at += open.size();
      const std::size_t end = message.find(close, at);
      if (end == std::string_view::npos) return;
      const std::string_view quoted = message.substr(at, end - at);
      const std::size_t scope = quoted.rfind("::");
      if (!before.ends_with("member of ") && !before.ends_with(" in ") && !before.ends_with(" namespace "))
        names.push_back(scope == std::string_view::npos ? quoted : quoted.substr(scope + 2));
      at = end + close.size();
    }
  };
  add_all("‘", "’");
  add_all("'", "'");
  return names;
}

}  // namespace

std::string_view way_out_of(const std::string& message) {
  if (message.find("torch") == std::string::npos) return "";
  const bool is_missing = message.find("member") != std::string::npos || message.find("declared") != std::string::npos;
  if (!is_missing) return "";
  const std::vector<std::string_view> names = quoted_names(message);
  for (const WayOut& way : kWaysOut)
    if (std::ranges::find(names, way.name) != names.end()) return way.text;
  const auto is_gradient = [](std::string_view name) {
    return name.ends_with("_backward") || name.ends_with("_backward_data") || name.ends_with("_loss_forward");
  };
  if (std::ranges::any_of(names, is_gradient))
    return "#include <kernbench/torch/backward.h>, if it is one of those that docs/training.md lists";
  if (message.find("torch::nn") != std::string::npos)
    return "#include <kernbench/nn.h>, if it is one of the modules that docs/modules.md lists";
  if (message.find("torch::optim") != std::string::npos)
    return "#include <kernbench/optim.h>, if it is one of the optimisers and schedules that docs/training.md lists";
  return "";
}

}  // namespace kernbench::cli
