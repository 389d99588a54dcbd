// Matrix products of a device.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <span>
#include <utility>

#include "kernbench/error.h"
#include "kernbench/torch/gemm.h"
#include "runtime/context.h"
#include "runtime/devices/simulated_devices.h"
#include "runtime/functions/device_kernels.h"
#include "runtime/functions/device_matmul.h"
#include "runtime/functions/gemm_trial.h"
#include "tensor/host_call.h"
#include "tensor/tensor_impl.h"
#include "tile/library/gemm.h"

namespace kernbench::runtime {

namespace library = tile::library;
using library::View;
using torch::Tensor;

namespace {

/// With a batch of 1 in front when there is none.
Tensor batched(const Tensor& matrix) {
  return matrix.dim() == 2 ? matrix.unsqueeze(0) : matrix;
}

/// Rows of the matrix do not follow each other in memory as rows.
bool is_transposed(const View& view) {
  return view.sizes[1] > 1 && view.sizes[2] > 1 && view.strides[1] != 0 && view.strides[1] < view.strides[2];
}

/// More parts than this say nothing that is worth the planner's time.
constexpr std::size_t kMostGemmParts = 4096;

std::vector<library::GemmPart> parts_of(const View& view) {
  std::vector<library::GemmPart> parts;
  for (const auto& shard : view.tensor.descriptor().shards) {
    for (const auto& box : library::parts_in(view, shard.offset, shard.shape)) {
      if (parts.size() == kMostGemmParts) return {};
      library::GemmPart part{.owner = shard.owner};
      for (std::size_t d = 0; d < 3; ++d) {
        part.begin[d] = box.offset[d];
        part.end[d] = box.offset[d] + box.shape[d];
      }
      parts.push_back(part);
    }
  }
  return parts;
}

library::Activation activation_of(tensor::Activation activation) {
  switch (activation) {
    case tensor::Activation::none:
      return library::Activation::none;
    case tensor::Activation::relu:
      return library::Activation::relu;
    case tensor::Activation::silu:
      return library::Activation::silu;
    case tensor::Activation::gelu:
      return library::Activation::gelu;
    case tensor::Activation::gelu_tanh:
      return library::Activation::gelu_tanh;
  }
  return library::Activation::none;
}

void check_operands(const View& a, const View& b) {
  const DType dtype = a.dtype();
  if (dtype == DType::boolean || item_size(dtype) > 4) {
    throw ValueError(
        fmt::format("matmul: the GEMM engine has no products of {}; convert the operands (for example "
                    ".to(torch::kFloat))",
                    kernbench::name(dtype)));
  }
  if (dtype != b.dtype()) {
    throw ValueError(fmt::format("expected m1 and m2 to have the same dtype, but got: {} != {}", kernbench::name(dtype),
                                 kernbench::name(b.dtype())));
  }
}

/// The product as views, ready for a launch.
struct Product {
  View a, b;
  library::GemmEpilogue epilogue;
};

library::GemmProblem problem_of(const Product& product, const MatmulPlanOptions& options) {
  library::GemmProblem problem;
  problem.shape = {
      .batch = product.a.sizes[0], .m = product.a.sizes[1], .n = product.b.sizes[2], .k = product.a.sizes[2]};
  problem.dtype = product.a.dtype();
  problem.order = options.exact_order ? library::KOrder::exact : library::KOrder::any;
  problem.epilogue = product.epilogue.any();
  problem.transposed_a = is_transposed(product.a);
  problem.transposed_b = is_transposed(product.b);
  problem.split_k = options.split_k;
  problem.tile_m = options.tile_m;
  problem.tile_n = options.tile_n;
  problem.tile_k = options.tile_k;
  return problem;
}

PlanResult result_of(const library::GemmPlan& plan, bool turned) {
  PlanResult result{"gemm", library::choices(plan), Time::picoseconds(std::llround(plan.estimated_ns * 1e3))};
  if (turned) result.choices.emplace_back("computes", "C^T = B^T A^T");
  return result;
}

/// Whether C^T = B^T A^T is computed instead, whose values are the same: B, whose rows are not rows of its memory
/// (weights [n, k] of `linear`), is then read as it lies, and the vector engine permutes A and C. Where A has more rows
/// than the array, its tiles are about as large as those of B, and which of them are permuted hardly matters.
bool turns(const Tensor& a, const Tensor& b, const MatmulPlanOptions& options, const topology::Topology& topology) {
  const std::int64_t rows = a.size(-2);
  if (options.tile_m != 0 || options.tile_n != 0) return false;
  if (rows > topology.pe.gemm.array.height || 2 * rows > b.size(-1)) return false;
  return is_transposed(kernel_view(batched(b), false)) && !is_transposed(kernel_view(batched(a), false));
}

Tensor turned(const Tensor& matrix) {
  return matrix.transpose(-2, -1);
}

tensor::MatmulOptions turned(tensor::MatmulOptions options) {
  if (options.addend.defined()) options.addend = turned(options.addend);
  return options;
}

std::shared_ptr<const library::GemmPlan> planned(GemmPlans& plans, const Product& product,
                                                 const MatmulPlanOptions& options, const TrialProduct& trial,
                                                 std::span<const PeCoordinate> pes, const Simulation& simulation) {
  const auto parts_a = parts_of(product.a), parts_b = parts_of(product.b);
  const auto parts_out = parts_of(kernel_view(batched(trial.out), false));
  const auto& topology = simulation.topology();
  const auto* const stop = simulation.options().stop_requested;
  const bool measured = options.measured && !simulation.options().quick_plans;
  return plans.plan(problem_of(product, options), pes, {parts_a, parts_b, parts_out}, topology,
                    measured ? trial_timer(trial, topology, stop) : library::PlanTimer(),
                    [&trial] { return identity_of(trial); });
}

}  // namespace

void SimulatedOperations::matmul(const Tensor& a, const Tensor& b, const tensor::MatmulOptions& options,
                                 const Tensor& out) {
  matmul(a, b, options, {.exact_order = exact_order_}, out);
}

void SimulatedOperations::matmul(const Tensor& a, const Tensor& b, const tensor::MatmulOptions& options,
                                 const MatmulPlanOptions& plan_options, const Tensor& out) {
  if (is_replicated(out)) {
    // Every holder of a replica would compute all of it: computed once instead, and then copied to all.
    const Tensor once = temporary(out, out.sizes().vec(), out.scalar_type());
    matmul(a, b, options, plan_options, once);
    copy(once, out);
    return;
  }
  if (turns(a, b, plan_options, simulation_.topology())) {
    return multiply(turned(b), turned(a), turned(options), plan_options, turned(out), true);
  }
  multiply(a, b, options, plan_options, out, false);
}

void SimulatedOperations::multiply(const Tensor& a, const Tensor& b, const tensor::MatmulOptions& options,
                                   const MatmulPlanOptions& plan_options, const Tensor& out, bool turned) {
  Product product{kernel_view(batched(a), false), kernel_view(batched(b), false), {}};
  check_operands(product.a, product.b);
  std::vector<Tensor> read{a, b};
  product.epilogue.alpha = options.alpha;
  product.epilogue.activation = activation_of(options.activation);
  if (options.beta != 0 && options.addend.defined()) {
    product.epilogue.beta = options.beta;
    product.epilogue.addend = kernel_view(batched(options.addend), false);
    read.push_back(options.addend);
  }
  const std::vector<Tensor> all{a, b, out};
  const auto pes = holders(all);
  const auto plan = plan_options.plan ? plan_options.plan
                                      : planned(plans_, product, plan_options, {a, b, out, options}, pes, simulation_);
  const View target = kernel_view(batched(out), true);
  if (plan->split_k == 1) {
    launch({.name = plan_options.name,
            .written = {out},
            .read = read,
            .pes = pes,
            .body = [product, target, plan] { library::gemm(product.a, product.b, target, product.epilogue, plan); },
            .plan = result_of(*plan, turned)});
    return;
  }
  const DType chain = is_floating_point(product.a.dtype()) ? DType::f32 : DType::i32;
  const std::vector<std::int64_t> sizes{plan->split_k, plan->shape.m, plan->shape.n};
  // A part of k is written by the programs that computed it: rows of the parts go with the rows of C.
  const Tensor sums = temporary(out, sizes, chain);
  launch({.name = plan_options.name,
          .written = {sums},
          .read = {a, b},
          .pes = pes,
          .body = [product, partial = kernel_view(sums, true),
                   plan] { library::gemm(product.a, product.b, partial, product.epilogue, plan); },
          .plan = result_of(*plan, turned)});
  read.push_back(sums);
  // A result on few PEs would keep the others idle, however many parts there are to add.
  const bool spread = 2 * holders({&out, 1}).size() <= pes.size();
  launch({.name = plan_options.name + ".sum",
          .written = {out},
          .read = read,
          .pes = spread ? pes : std::vector<PeCoordinate>{},
          .body = [partial = kernel_view(sums, false), target, epilogue = product.epilogue,
                   share = spread ? library::Share::spread : library::Share::held] {
            library::gemm_finish(partial, target, epilogue, share);
          }});
}

std::shared_ptr<const library::GemmPlan> SimulatedOperations::plan_matmul(const Tensor& a, const Tensor& b,
                                                                          const MatmulPlanOptions& plan_options,
                                                                          const Tensor& out) {
  if (turns(a, b, plan_options, simulation_.topology()))
    return plan_matmul(turned(b), turned(a), plan_options, turned(out));
  const Product product{kernel_view(batched(a), false), kernel_view(batched(b), false), {}};
  check_operands(product.a, product.b);
  const std::vector<Tensor> all{a, b, out};
  return planned(plans_, product, plan_options, {a, b, out}, holders(all), simulation_);
}

}  // namespace kernbench::runtime

namespace kernbench::torch::ahbm {

namespace {

runtime::SimulatedOperations& operations_of(const char* call) {
  auto& devices = runtime::current_context(call).simulation.devices();
  return static_cast<runtime::SimulatedOperations&>(devices.operations());
}

}  // namespace

void set_exact_matmul_order(bool exact) {
  operations_of("ahbm::set_exact_matmul_order").set_exact_order(exact);
}

bool exact_matmul_order() {
  return operations_of("ahbm::exact_matmul_order").exact_order();
}

Tensor matmul(const TensorOperand& a, const Tensor& b, const MatmulOptions& options) {
  const tensor::HostCall here("torch::ahbm::matmul", a.where);
  auto& context = runtime::current_context("ahbm::matmul");
  for (const Tensor* operand : {&a.tensor, &b}) {
    if (!operand->defined() || !operand->device().is_ahbm()) {
      throw ValueError("ahbm::matmul: both operands must be device tensors; move them with .to(\"ahbm\")");
    }
    if (operand->dim() != 2) {
      throw ValueError(
          fmt::format("ahbm::matmul: operands must be matrices, got a.tensor tensor of {} dimensions", operand->dim()));
    }
  }
  if (a.tensor.device() != b.device()) throw ValueError("ahbm::matmul: the operands are on different devices");
  if (a.tensor.size(1) != b.size(0)) {
    throw ValueError(fmt::format("mat1 and mat2 shapes cannot be multiplied ({}x{} and {}x{})", a.tensor.size(0),
                                 a.tensor.size(1), b.size(0), b.size(1)));
  }
  if (a.tensor.numel() == 0 || b.numel() == 0) throw ValueError("ahbm::matmul: an operand has no elements");
  auto& devices = context.simulation.devices();
  const auto policy = options.placement.value_or(tensor::impl_of(a.tensor).policy);
  const std::vector<std::int64_t> sizes{a.tensor.size(0), b.size(1)};
  const bool floating = kernbench::is_floating_point(a.tensor.scalar_type());
  const ScalarType narrow =
      item_size(a.tensor.scalar_type()) == 1 ? (floating ? kFloat : kInt) : a.tensor.scalar_type();
  const auto out = tensor::new_device_tensor(devices, sizes, options.out_dtype.value_or(narrow),
                                             tensor::impl_of(a.tensor).device, policy, options.result_name);
  runtime::MatmulPlanOptions plan;
  plan.name = options.name;
  plan.exact_order = options.exact_order;
  plan.split_k = options.split_k;
  plan.tile_m = options.tile_m, plan.tile_n = options.tile_n, plan.tile_k = options.tile_k;
  operations_of("ahbm::matmul").matmul(a.tensor, b, {}, plan, out);
  return out;
}

}  // namespace kernbench::torch::ahbm
