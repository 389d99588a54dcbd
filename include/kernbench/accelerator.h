// torch.accelerator beyond streams.h and memory.h: the same device as torch::ahbm, by PyTorch's neutral names.
#pragma once

#include <optional>

#include "kernbench/streams.h"
#include "kernbench/torch/types.h"

namespace kernbench::torch::accelerator {

/// The kind of device, without an index: ahbm. `check_available`: nothing where is_available() says no, outside of a
/// simulation or inside a kernel.
inline std::optional<Device> current_accelerator(bool check_available = false) {
  if (check_available && !is_available()) return std::nullopt;
  return Device(kAHBM);
}

/// Makes a device current while it lives, then what was current before; none, or a negative index, does nothing.
/// ValueError: "The device index is out of range".
class device_index {  // NOLINT(readability-identifier-naming): PyTorch's name
 public:
  explicit device_index(std::optional<int> device, Where where = Where::current())
      : guard_(device.value_or(-1), where) {}

 private:
  ahbm::DeviceGuard guard_;
};

}  // namespace kernbench::torch::accelerator
