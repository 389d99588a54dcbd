// Checks and metrics that a program reports.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "addressing/locate.h"
#include "kernbench/check.h"
#include "kernbench/error.h"
#include "runtime/context.h"
#include "runtime/devices/simulated_devices.h"
#include "runtime/product_reference.h"
#include "sim/program_call.h"
#include "tensor/host_call.h"
#include "tensor/tensor_impl.h"

namespace kernbench {

namespace {

using tensor::HostRead;

/// The same waits as a read, without values.
void wait_as_a_read(runtime::HostContext& context, const torch::Tensor& tensor) {
  const auto& storage = tensor::device_storage(tensor);
  if (!storage) return;
  const auto& impl = *tensor.impl();
  std::vector<tensor::DeviceBox> boxes;
  for (auto& box : addressing::boxes_of_view(storage->descriptor()->shape, impl.sizes, impl.strides, impl.offset)) {
    boxes.push_back({std::move(box.offset), std::move(box.shape)});
  }
  context.simulation.devices().try_read(storage, boxes, HostRead::check);
}

/// Equal without a look at single elements, as results that are exact are.
bool same_bytes(const torch::Tensor& a, const torch::Tensor& b) {
  return a.scalar_type() == b.scalar_type() && b.is_contiguous() && a.nbytes() == b.nbytes() &&
         std::memcmp(a.data_ptr(), b.data_ptr(), a.nbytes()) == 0;
}

constexpr double kInfinity = std::numeric_limits<double>::infinity();

double infinite_if_nan(double error) {
  return std::isnan(error) ? kInfinity : error;
}

bool has_nan(const torch::Tensor& values) {
  return is_floating_point(values.scalar_type()) && torch::isnan(values).any().item<bool>();
}

/// "[3, 7]" of an element of a dense tensor.
std::string index_text(std::int64_t element, const torch::Tensor& tensor) {
  std::vector<std::int64_t> index(static_cast<std::size_t>(tensor.dim()));
  for (std::size_t d = index.size(); d-- > 0;) {
    const std::int64_t extent = tensor.size(static_cast<std::int64_t>(d));
    index[d] = element % extent, element /= extent;
  }
  return fmt::format("[{}]", fmt::join(index, ", "));
}

void compare(const torch::Tensor& actual, const torch::Tensor& expected, Tolerance tolerance, CheckResult& result) {
  const auto* a = actual.data_ptr<double>();
  const auto* e = expected.data_ptr<double>();
  std::int64_t worst = 0;
  double largest = -1;
  for (std::int64_t i = 0; i < actual.numel(); ++i) {
    if (a[i] == e[i] || (tolerance.equal_nan && std::isnan(a[i]) && std::isnan(e[i]))) continue;
    const double difference = infinite_if_nan(std::abs(a[i] - e[i]));
    const double relative = e[i] == 0 ? kInfinity : infinite_if_nan(difference / std::abs(e[i]));
    result.max_abs_error = std::max(result.max_abs_error, difference);
    result.max_rel_error = std::max(result.max_rel_error, relative);
    if (difference <= tolerance.absolute + tolerance.relative * std::abs(e[i])) continue;
    ++result.mismatched;
    if (difference > largest) largest = difference, worst = i;
  }
  result.status = result.mismatched == 0 ? CheckStatus::passed : CheckStatus::failed;
  if (result.mismatched == 0) return;
  result.worst_index = index_text(worst, actual);
  result.worst_actual = a[worst], result.worst_expected = e[worst];
}

/// Reads `actual`, compares it with what `expected_of` yields of the values read, and records the result.
template <class ExpectedOf>
bool check(const char* call, const std::string& name, const torch::Tensor& actual, Tolerance tolerance, Where where,
           const ExpectedOf& expected_of) {
  auto& context = runtime::current_context(call);
  auto& simulation = context.simulation;
  CheckResult result;
  result.name = name;
  result.where = sim::place_text(where);
  const auto record = [&](CheckStatus status) {
    result.status = status;
    simulation.checks.push_back(result);
    return status != CheckStatus::failed;
  };
  const auto& options = simulation.options();
  if (!options.data || (options.skip_floating_point_ops && is_floating_point(actual.scalar_type()))) {
    wait_as_a_read(context, actual);
    return record(CheckStatus::skipped);
  }
  const torch::Tensor host = tensor::host_copy(actual, HostRead::check).contiguous();
  if (tensor::impl_of(host).storage->left_out) return record(CheckStatus::skipped);
  simulation.values.add(std::string_view(name));
  simulation.values.add(std::span(static_cast<const std::byte*>(host.data_ptr()), host.nbytes()));
  result.elements = host.numel();
  const torch::Tensor expected = expected_of(host);
  if (same_bytes(host, expected) && (tolerance.equal_nan || !has_nan(host))) return record(CheckStatus::passed);
  compare(host.to(torch::kDouble), expected.to(torch::kDouble).contiguous(), tolerance, result);
  return record(result.status);
}

}  // namespace

bool data_enabled() {
  return runtime::current_context("data_enabled").simulation.options().data;
}

bool floating_point_enabled() {
  const auto& options = runtime::current_context("floating_point_enabled").simulation.options();
  return options.data && !options.skip_floating_point_ops;
}

bool check_close(const std::string& name, const torch::Tensor& actual, const torch::Tensor& expected,
                 Tolerance tolerance, Where where) {
  const tensor::HostCall here("check_close", where);
  if (!expected.device().is_cpu()) {
    throw ValueError(fmt::format("check_close({}): the expected values must be on the host, but they are on {}", name,
                                 expected.device().str()));
  }
  if (!(actual.sizes() == expected.sizes())) {
    throw ValueError(fmt::format("check_close({}): the shapes [{}] and [{}] differ", name,
                                 fmt::join(actual.sizes(), ", "), fmt::join(expected.sizes(), ", ")));
  }
  return check("check_close", name, actual, tolerance, where, [&](const torch::Tensor&) { return expected; });
}

bool check_product(const std::string& name, const torch::Tensor& actual, const torch::Tensor& a, const torch::Tensor& b,
                   Tolerance tolerance, Where where) {
  const tensor::HostCall here("check_product", where);
  for (const auto* const operand : {&a, &b}) {
    if (operand->device().is_cpu()) continue;
    throw ValueError(
        fmt::format("check_product({}): operand {} must be on the host, but it is on {}; keep the host tensor "
                    "that was copied to the device",
                    name, operand == &a ? "a" : "b", operand->device().str()));
  }
  if (a.dim() != 2 || b.dim() != 2 || actual.dim() != 2 || a.size(1) != b.size(0) || actual.size(0) != a.size(0) ||
      actual.size(1) != b.size(1)) {
    throw ValueError(fmt::format("check_product({}): [{}] is not the shape of the product of [{}] and [{}]", name,
                                 fmt::join(actual.sizes(), ", "), fmt::join(a.sizes(), ", "),
                                 fmt::join(b.sizes(), ", ")));
  }
  return check("check_product", name, actual, tolerance, where,
               [&](const torch::Tensor& host) { return runtime::expected_product(host, a, b); });
}

void report_metric(const std::string& name, double value, const std::string& unit) {
  runtime::current_context("report_metric").simulation.metrics[name] = {value, unit};
}

void report_warning(const std::string& text) {
  runtime::current_context("report_warning").simulation.own_warnings.insert(text);
}

}  // namespace kernbench
