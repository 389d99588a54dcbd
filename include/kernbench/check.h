// Checks and metrics that a program reports; they are part of the run's result.
#pragma once

#include <string>

#include "kernbench/torch.h"

namespace kernbench {

/// Tolerances of a check: |actual - expected| <= absolute + relative * |expected|. Zero and zero: equal values. As in
/// torch.testing.assert_close, NaN is near nothing, another NaN included, unless the program says so.
struct Tolerance {
  double absolute = 0;
  double relative = 0;
  bool equal_nan = false;
};

/// Compares a device or host tensor with a host reference (computed in double precision, say), records the result under
/// `name` and returns whether it passed. Reads `actual` as any host read does. Skipped (and true) under --no-data, and
/// with skip_floating_point_ops when `actual` holds floating-point numbers or derives from what was left out.
/// Its values enter the run's fingerprint.
bool check_close(const std::string& name, const torch::Tensor& actual, const torch::Tensor& expected,
                 Tolerance tolerance = {}, Where where = Where::current());

/// check_close against the product of two host matrices a [m, k] and b [k, n], in the type of `actual` [m, n]. The
/// reference shares nothing with the simulator's own products. Of whole numbers whose sums a double holds, sums of
/// random signs over the columns of `actual` are compared with those of the product (Freivalds, 1977); only rows in
/// which they differ are multiplied out. A wrong row passes with probability 2^-32. Other operands are multiplied in
/// double precision.
bool check_product(const std::string& name, const torch::Tensor& actual, const torch::Tensor& a, const torch::Tensor& b,
                   Tolerance tolerance = {}, Where where = Where::current());

/// Records a figure of the program's own.
void report_metric(const std::string& name, double value, const std::string& unit);
/// Adds a line to the warnings of the result. The same text, of several ranks, is one.
void report_warning(const std::string& text);

/// False under --no-data: lets a program skip references that nobody will compare.
bool data_enabled();
/// False under --no-data and with skip_floating_point_ops: likewise for references of floating-point numbers.
bool floating_point_enabled();

}  // namespace kernbench
