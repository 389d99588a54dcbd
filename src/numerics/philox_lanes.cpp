// Random bits of lanes.
#include <cassert>
#include <vector>

#include "numerics/operands.h"
#include "numerics/philox.h"

namespace kernbench::numerics {

namespace {

struct PhiloxTask {
  PhiloxKey key;
  int rounds, outputs;
  Operand operand;

  void operator()(TileContents& out) const {
    const std::vector<std::int64_t> offsets = whole_numbers(operand);
    const bool wide = item_size(operand.dtype) > 4;
    auto* bits = out.as<std::uint32_t>();
    for (std::size_t lane = 0; lane < offsets.size(); ++lane) {
      const auto offset = static_cast<std::uint64_t>(offsets[lane]);
      const PhiloxCounter random = philox4x32(
          {static_cast<std::uint32_t>(offset), wide ? static_cast<std::uint32_t>(offset >> 32) : 0, 0, 0}, key, rounds);
      for (std::size_t i = 0; i < static_cast<std::size_t>(outputs); ++i)
        bits[lane * static_cast<std::size_t>(outputs) + i] = random[i];
    }
    if (!operand.has_mask()) return;
    for (const SourceId source : operand.sources())
      out.sources.insert(out.sources.end(), static_cast<std::size_t>(outputs), source);
  }
};

}  // namespace

Value philox(Executor& executor, std::uint64_t seed, const Value& offset, int outputs, int rounds) {
  assert(is_integer(offset.dtype()) && outputs >= 1 && outputs <= 4);
  return calculate(executor, DType::i32, {offset.numel(), outputs}, {&offset},
                   PhiloxTask{{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)},
                              rounds,
                              outputs,
                              Operand(offset)});
}

}  // namespace kernbench::numerics
