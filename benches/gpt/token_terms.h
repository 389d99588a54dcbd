// What a decoded token takes at least by closed forms, term by term, beside the time that was measured.
#pragma once

#include <kernbench/collective_cost.h>
#include <kernbench/kernbench.h>
#include <kernbench/laws.h>

#include <cstdint>

namespace benches::gpt {

/// Bytes over the HBM's bandwidth, plus the all-reduces by the cost of the best algorithm (docs/collectives.md), plus
/// launches, those of the all-reduces among them, by the law of the device's queue (src/hardware/launch/README.md): all
/// of them one after the other, as a token needs them. Nothing is fitted.
class TokenTerms {
 public:
  /// `bytes`: that each device reads, of weights, keys and values. `launches` need not be whole: a mean over tokens. Of
  /// the calling rank's device and its default group.
  TokenTerms(double bytes, std::int64_t all_reduces, std::int64_t bytes_of_all_reduce, double launches)
      : bytes_(bytes),
        all_reduces_(static_cast<double>(all_reduces)),
        launches_(launches),
        bytes_us_(bytes / static_cast<double>(torch::ahbm::hbm_bandwidth().count()) * 1e6),
        all_reduces_us_(
            all_reduces == 0 ? 0 : all_reduces_ * torch::ahbm::all_reduce_cost(bytes_of_all_reduce).nanoseconds * 1e-3),
        launches_us_(launches * torch::ahbm::launch_turn().in_seconds() * 1e6) {}

  double sum_us() const { return bytes_us_ + all_reduces_us_ + launches_us_; }

  /// As metrics, beside the measured time of a token.
  void report(double measured_us) const {
    using kernbench::report_metric;
    report_metric("token: all-reduces", all_reduces_, "");
    report_metric("token: all-reduces by their cost", all_reduces_us_, "us");
    report_metric("token: bytes that a device reads", bytes_ * 1e-6, "MB");
    report_metric("token: bytes over HBM bandwidth", bytes_us_, "us");
    report_metric("token: kernels", launches_, "");
    report_metric("token: kernels by the queue's law", launches_us_, "us");
    report_metric("token: sum of these", sum_us(), "us");
    report_metric("token: time over that of the bytes", measured_us / bytes_us_, "");
    report_metric("token: time over the sum", measured_us / sum_us(), "");
  }

 private:
  double bytes_, all_reduces_, launches_;
  double bytes_us_, all_reduces_us_, launches_us_;
};

}  // namespace benches::gpt
