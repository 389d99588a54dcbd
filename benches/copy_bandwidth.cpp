// Bandwidth of copies against their size: from the host to a device, back, within the device, and to another device.
#include <kernbench/kernbench.h>

#include <algorithm>
#include <cstdint>
#include <string>

#include "measure.h"

using namespace kernbench;
using namespace benches;

namespace {

/// `n` different elements; where nobody looks at them, pages that are never touched.
torch::Tensor source(std::int64_t n) {
  return data_enabled() ? torch::arange(n, torch::kInt) : torch::empty({n}, torch::kInt);
}

/// Where the copied tensors lie.
enum class Place : std::uint8_t { near_pe, far_pe, device };

/// A tensor of n elements on a device. On the far PE it is the last shard of a larger one, of which nobody uses the
/// rest.
torch::Tensor place(std::int64_t n, Place where, int device, std::int64_t pes, const std::string& name) {
  const auto options = torch::dtype(torch::kInt).device(torch::Device(torch::kAHBM, device)).name(name);
  switch (where) {
    case Place::near_pe:
      return torch::empty({n}, options.placement({.num_cubes = 1, .num_pes = 1}));
    case Place::far_pe:
      return torch::empty({pes * n}, options).narrow(0, (pes - 1) * n, n);
    case Place::device:
      return torch::empty({n}, options);
  }
  return {};
}

Place place_parameter() {
  const std::string name = parameter_choice("place", {"near_pe", "far_pe", "device"});
  return name == "near_pe" ? Place::near_pe : name == "far_pe" ? Place::far_pe : Place::device;
}

}  // namespace

KERNBENCH_BENCH(
    copy_bandwidth,
    "bandwidth of copies against their size: host to device, device to host, within the device, device to device",  //
    {"smallest", 64, "bytes of the smallest copy"}, {"largest", 64 << 20, "bytes of the largest copy, up to 1 GiB"},
    {"factor", 2, "of one size to the next"},
    {"place", "near_pe", "where the tensors lie: near_pe or far_pe (one HBM slice), device (cut over all PEs)"},
    {"peer", 1, "the other device, where there is one"}) {
  constexpr std::int64_t kItem = item_size(DType::i32), kLargest = std::int64_t{1} << 30;
  const std::int64_t smallest = parameter<std::int64_t>("smallest", kItem, kLargest);
  const std::int64_t largest = parameter<std::int64_t>("largest", smallest, kLargest);
  const std::int64_t factor = parameter<std::int64_t>("factor", 2, kLargest);
  const Place where = place_parameter();
  const int devices = torch::accelerator::device_count();
  const int peer = static_cast<int>(parameter<std::int64_t>("peer", 1, std::max(devices - 1, 1)));
  const Machine machine = machine_of_current_device();
  const std::int64_t pes = machine.cubes * machine.pes;
  const auto host = source(largest / kItem);
  for (std::int64_t size = smallest; size <= largest; size *= factor) {
    const std::int64_t n = size / kItem;
    const auto values = host.narrow(0, 0, n);
    auto x = place(n, where, 0, pes, "x"), y = place(n, where, 0, pes, "y");
    const std::string at = std::to_string(size) + " B";
    const auto report = [&](const std::string& what, double ns) {
      report_metric(what + ", " + at, static_cast<double>(n * kItem) / ns, "GB/s");
    };
    report("host to device", device_ns([&] { x.copy_(values); }));
    report("within the device", device_ns([&] { y.copy_(x); }));
    // A check is a host read like any other, and one that goes without values, too.
    report("device to host", device_ns([&] { check_close(at, y, values); }));
    if (devices == 1) continue;
    const auto there = place(n, where, peer, pes, "there");
    report("device to device", device_ns([&] { there.copy_(x); }));
    check_close("device to device, " + at, there, values);
  }
}
