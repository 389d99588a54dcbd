// Bandwidth of copies against their size: from the host to a device, back, and within the device.
#include <string>

#include "benches/benches.h"
#include "benches/measure.h"
#include "kernbench/kernbench.h"

namespace kernbench::benches {

namespace {

/// `n` different elements, or one that is repeated where nobody looks at them: host tensors are real under --no-data.
torch::Tensor source(std::int64_t n) {
  return data_enabled() ? torch::arange(n, torch::kInt) : torch::zeros({1}, torch::kInt).expand({n});
}

void run(const cli::Parameters& parameters) {
  constexpr std::int64_t kItem = item_size(DType::i32), kLargest = std::int64_t{1} << 30;
  const std::int64_t smallest = parameters.integer("smallest", kItem, kLargest);
  const std::int64_t largest = parameters.integer("largest", smallest, kLargest);
  const std::int64_t factor = parameters.integer("factor", 2, kLargest);
  const bool one_pe = parameters.choice("place", {"one_pe", "device"}) == "one_pe";
  const auto policy = one_pe ? DPPolicy{.num_cubes = 1, .num_pes = 1} : DPPolicy{};
  const auto options = torch::dtype(torch::kInt).device("ahbm").placement(policy);
  const auto host = source(largest / kItem);
  for (std::int64_t size = smallest; size <= largest; size *= factor) {
    const std::int64_t n = size / kItem;
    const auto values = host.narrow(0, 0, n);
    auto x = torch::empty({n}, options.name("x")), y = torch::empty({n}, options.name("y"));
    const std::string at = std::to_string(size) + " B";
    const auto bytes = static_cast<double>(n * kItem);
    const double to_device = device_ns([&] { x.copy_(values); });
    const double within = device_ns([&] { y.copy_(x); });
    // A check is a host read like any other, and one that goes without values, too.
    const double to_host = device_ns([&] { check_close(at, y, values); });
    report_metric("host to device, " + at, bytes / to_device, "GB/s");
    report_metric("device to host, " + at, bytes / to_host, "GB/s");
    report_metric("within the device, " + at, bytes / within, "GB/s");
  }
}

}  // namespace

cli::Bench copy_bandwidth() {
  return {"copy_bandwidth",
          "bandwidth of copies against their size: host to device, device to host, within the device",
          {{"smallest", "64", "bytes of the smallest copy"},
           {"largest", "67108864", "bytes of the largest copy, up to 1 GiB"},
           {"factor", "2", "of one size to the next"},
           {"place", "one_pe", "where the tensors lie: one_pe (one HBM slice) or device (cut over all PEs)"}},
          run};
}

}  // namespace kernbench::benches
