// The operations that `kernbench ccl` measures, as nccl-tests define them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "cli/ccl/bound.h"
#include "kernbench/distributed.h"
#include "kernbench/torch/tensor.h"

namespace kernbench::cli::ccl {

/// Elements of one call.
struct Counts {
  std::int64_t count = 0;    // as the table shows it
  std::int64_t input = 0;    // of a rank
  std::int64_t output = 0;   // of a rank
  std::int64_t counted = 0;  // whose bytes over the time are the algorithm bandwidth
  std::int64_t largest() const { return input > output ? input : output; }
};

/// What a rank calls.
struct Call {
  int rank = 0, ranks = 1, root = 0;
  std::int64_t count = 0;
  torch::distributed::ReduceOp op = torch::distributed::ReduceOp::SUM;
  torch::Tensor input, output;  // in place they are the same
};

/// What each rank gives, by rank and element: small whole numbers that repeat, of which every partial sum, and product,
/// is the same in whatever order.
class Values {
 public:
  Values(torch::distributed::ReduceOp op, int ranks);
  double of(int rank, std::int64_t element) const { return values_[index(rank)][place(element)]; }
  /// What the reduction makes of those of all ranks.
  double reduced(std::int64_t element) const { return reduced_[place(element)]; }

 private:
  static constexpr std::int64_t kPeriod = 5;
  using Period = std::array<double, kPeriod>;
  static std::size_t index(int rank) { return static_cast<std::size_t>(rank); }
  static std::size_t place(std::int64_t element) { return static_cast<std::size_t>(element % kPeriod); }

  std::vector<Period> values_;  // by rank
  Period reduced_{};
};

/// Which of the two forms of a call torch::distributed has.
enum class Forms : std::uint8_t { in_place, out_of_place };

struct Test {
  std::string_view name;
  std::vector<std::string_view> spellings;  // beside its name; any may end in "_perf"
  Forms form = Forms::in_place;
  bool reduces = false, has_root = false;
  /// Of elements of `item` bytes, for a size of `bytes`.
  Counts (*counts)(std::int64_t bytes, std::int64_t item, int ranks);
  /// Bus bandwidth over algorithm bandwidth.
  double (*bus_factor)(int ranks);
  void (*run)(const Call& call);
  /// What must cross a cut of the machine, whatever the algorithm, of `count` elements (Counts::count).
  Crossing (*crossing)(const Cut& cut, std::int64_t count);
  /// How many times `count` elements all ranks together must send.
  std::int64_t (*sent)(int ranks);
  bool is_local = false;      // ranks need something of their neighbours only
  bool is_hypercube = false;  // ranks must be a power of two
  bool has_elements = true;   // else there is one row, whatever the sizes and types
  /// Element `element` of the output of call.rank; none where the operation leaves it undefined.
  std::optional<double> (*expected)(const Call& call, std::int64_t element, const Values& values);
};

const std::vector<Test>& tests();
/// Whether it is the name of the test, or a spelling.
bool is_named(const Test& test, std::string_view name);
/// By name or spelling. ConfigurationError, with a suggestion, for none of them.
const Test& find_test(std::string_view name);

}  // namespace kernbench::cli::ccl
