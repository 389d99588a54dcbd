// The work that a launch gave to the compute engines, by operand type.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>

#include "hardware/command.h"
#include "kernbench/dtype.h"
#include "topology/engine_operations.h"
#include "topology/spec.h"

namespace kernbench::tile {

/// Work of one type. At their full rate the engines do one unit of `demand` in each unit of the array, or 32-bit lane,
/// and cycle: what that takes is known for each operation, so that demands of all types and operations can be added.
struct TypeWork {
  double operations = 0;  // GEMM: multiplications and additions; vector: elements
  double demand = 0;
};

struct ComputeWork {
  std::array<TypeWork, topology::kGemmOperandCount> gemm{};                    // by GemmOperand
  std::array<TypeWork, static_cast<std::size_t>(DType::f64) + 1> vector = {};  // by the widest type of the command

  void add(const hardware::GemmWork& work, const topology::GemmSpec& spec) {
    const double products = static_cast<double>(work.batch) * static_cast<double>(work.m) *
                            static_cast<double>(work.n) * static_cast<double>(work.k);
    const topology::Rate rate = spec.rate[work.operand];
    TypeWork& type = gemm[static_cast<std::size_t>(work.operand)];
    type.operations += 2 * products;
    type.demand += products * rate.cycles / rate.steps;
  }
  void add(const hardware::VectorWork& work, DType widest, const topology::VectorSpec& spec) {
    constexpr double kLaneBytes = 4;
    work.each(widest, [&](const hardware::VectorStep& step) {
      const auto elements = static_cast<double>(step.elements);
      const auto bytes = static_cast<double>(std::max(step.item_bytes, spec.narrowest.count()));
      TypeWork& type = vector[static_cast<std::size_t>(step.widest)];
      type.operations += elements;
      type.demand += elements * bytes / kLaneBytes * spec.cycles[step.operation];
    });
  }
};

}  // namespace kernbench::tile
