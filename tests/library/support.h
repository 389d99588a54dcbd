// Random device tensors of any view and placement beside the same tensor on the host, and comparisons in double.
#pragma once

#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "kernbench/kernbench.h"
#include "runtime/functions/device_kernels.h"

namespace kernbench::testing {

using Sizes = std::vector<std::int64_t>;

/// Draws for one random case.
class Draw {
 public:
  explicit Draw(std::uint64_t seed) : engine_(seed) {}
  /// A whole number in [low, high].
  std::int64_t integer(std::int64_t low, std::int64_t high);
  bool chance(int one_in) { return integer(1, one_in) == 1; }
  template <class T>
  const T& of(const std::vector<T>& choices) {
    return choices[static_cast<std::size_t>(integer(0, static_cast<std::int64_t>(choices.size()) - 1))];
  }
  DPPolicy placement();
  /// Extents that are often 1, sometimes prime, with a product of at most `most`.
  Sizes sizes(std::size_t rank, std::int64_t most);

 private:
  std::mt19937_64 engine_;
};

/// The same elements twice. Both are views of one kind: whole, transposed, sliced with a step, or expanded.
struct Pair {
  torch::Tensor host, device;
};

/// Makes host elements of a shape.
using Values = std::function<torch::Tensor(const Sizes& sizes)>;
/// Whole numbers from low to high as `dtype`.
Values whole_numbers(DType dtype, std::int64_t low, std::int64_t high);
/// Normal numbers times `scale`, as `dtype`.
Values normal(DType dtype, double scale = 1);

enum class ViewKind : std::uint8_t { whole, any, writable };  // any: also expanded
Pair random_pair(Draw& draw, const Sizes& sizes, const Values& values, ViewKind kind = ViewKind::any);
/// A device tensor to write to, of random placement, perhaps a view of a larger one.
torch::Tensor random_output(Draw& draw, const Sizes& sizes, DType dtype);

/// Elements in row-major order, in double.
std::vector<double> elements(const torch::Tensor& tensor);
/// Rounded to `dtype` as a tensor of it would hold them.
std::vector<double> rounded(const std::vector<double>& values, DType dtype);

/// Fails unless |actual - expected| <= absolute + relative * |expected| for each element (NaN equals NaN).
void expect_near(const torch::Tensor& actual, const std::vector<double>& expected, double relative, double absolute,
                 const std::string& what);
/// Bit for bit, but for the payload of NaN.
void expect_equal(const torch::Tensor& actual, const std::vector<double>& expected, const std::string& what);

/// Half an ulp of `dtype`, relative.
double unit(DType dtype);

/// Runs `body` for seeds [0, count), on `tiny` and on 2 x 2 cubes of two PEs in turn. Stops at the first failure.
/// Of sixty or more three fifths, a twelfth under sanitizers; all in the slow tests.
void for_random_cases(int count, const std::function<void(Draw&)>& body);

/// The kernels of the simulation that runs.
tensor::DeviceOperations& operations();

}  // namespace kernbench::testing
