// Finds repeated reads of a host worker, which count as polling.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tensor/device_backend.h"

namespace kernbench::runtime {

/// The reads of one worker since it last gave a device something to do. One that it makes over and over is a poll; a
/// program that goes through the elements of a tensor reads others each time.
class RepeatedReads {
 public:
  /// Notes a read. True when it has been made so often that it is a poll.
  bool note(const std::string& tensor, std::span<const tensor::DeviceBox> boxes);
  /// The worker has given a device something to do.
  void forget() { counts_.clear(); }

 private:
  using Read = std::pair<std::string, std::vector<std::int64_t>>;  // tensor; offsets and extents of the boxes
  std::map<Read, std::uint32_t> counts_;
};

}  // namespace kernbench::runtime
