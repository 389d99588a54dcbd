#include "tensor/device_backend.h"

#include <fmt/core.h>

#include <functional>
#include <numeric>

#include "kernbench/error.h"
#include "tensor/device_operations.h"

namespace kernbench::tensor {

std::int64_t DeviceBox::numel() const {
  return std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
}

const char* name(HostRead read) {
  switch (read) {
    case HostRead::item:
      return "item";
    case HostRead::cpu:
      return "cpu";
    case HostRead::to:
      return "to";
    case HostRead::copy_:
      return "copy_";
    case HostRead::print:
      return "operator<<";
    case HostRead::equal:
      return "equal";
    case HostRead::allclose:
      return "allclose";
    case HostRead::check:
      return "check_close";
    case HostRead::save:
      return "save_npy";
  }
  return "?";
}

bool decides(HostRead read) {
  return read == HostRead::item || read == HostRead::equal || read == HostRead::allclose;
}

void throw_no_values(HostRead read, const std::string& tensor, bool left_out) {
  if (left_out) {
    throw ProgramError(
        "SkippedValueError",
        fmt::format("{} reads values of {}, which derive from floating-point operations that "
                    "--skip-floating-point-ops leaves out. Use item_or(x, assumed), or guard the read with "
                    "kernbench::floating_point_enabled()",
                    name(read), tensor));
  }
  throw ProgramError("NoDataError",
                     fmt::format("{} reads values of {}, but element values are not computed (--no-data). Use "
                                 "item_or(x, assumed), or guard the read with kernbench::data_enabled()",
                                 name(read), tensor));
}

void DeviceBackend::copy_on_device(const std::shared_ptr<DeviceStorage>& destination,
                                   std::span<const DeviceBox> destination_boxes,
                                   const std::shared_ptr<DeviceStorage>& source,
                                   std::span<const DeviceBox> source_boxes) {
  auto contents = try_read(source, source_boxes, HostRead::copy_);
  write(destination, destination_boxes,
        contents ? std::move(*contents) : std::vector<HostBytes>(destination_boxes.size()));
}

void DeviceBackend::synchronize_current_stream(int /*device*/) {}

DeviceOperations& DeviceBackend::operations() {
  static DeviceOperations none;  // has no state
  return none;
}

}  // namespace kernbench::tensor
