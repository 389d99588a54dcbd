// The library kernels as the operations of simulated devices: each call plans and enqueues one launch or a few.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kernbench/result.h"
#include "runtime/functions/device_matmul.h"
#include "runtime/functions/gemm_plans.h"
#include "runtime/simulation.h"
#include "tensor/device_operations.h"
#include "tile/library/reduce.h"
#include "tile/library/sort.h"
#include "tile/library/view.h"

namespace kernbench::runtime {

/// Every operation launches library kernels on the PEs that hold its result, in stream order. Results that are
/// replicated are written on every holder. Temporary tensors (partial results, statistics of lines) live on the device
/// until the launches that use them have completed.
class SimulatedOperations final : public tensor::DeviceOperations {
 public:
  explicit SimulatedOperations(Simulation& simulation);

  void elementwise(const tensor::ElementwiseInfo& operation, std::span<const tensor::DeviceOperand> operands,
                   DType compute, const torch::Tensor& out) override;
  bool copy(const torch::Tensor& from, const torch::Tensor& to) override;
  bool ramp(const tensor::Ramp& ramp, const torch::Tensor& out) override;
  bool random(const tensor::RandomNumbers& numbers, const torch::Tensor& out) override;
  void dropout(const torch::Tensor& x, const tensor::RandomNumbers& chance, double p,
               const torch::Tensor& out) override;
  void triangle(const torch::Tensor& x, std::int64_t diagonal, bool upper, const torch::Tensor& out) override;

  void reduce(tensor::ReduceOperation operation, const torch::Tensor& x, std::span<const std::int64_t> dimensions,
              DType compute, const torch::Tensor& out) override;
  void variance(const torch::Tensor& x, std::span<const std::int64_t> dimensions, std::int64_t correction,
                const torch::Tensor& out) override;
  void norm(const torch::Tensor& x, std::span<const std::int64_t> dimensions, double p,
            const torch::Tensor& out) override;
  void logsumexp(const torch::Tensor& x, std::span<const std::int64_t> dimensions, const torch::Tensor& out) override;
  void arg_reduce(const tensor::ArgReduction& reduction, const torch::Tensor& x, const torch::Tensor& out,
                  const torch::Tensor& values) override;
  void top_k(const torch::Tensor& x, std::int64_t dimension, bool largest, const torch::Tensor& values,
             const torch::Tensor& indices) override;
  void sort(const torch::Tensor& x, std::int64_t dimension, bool descending, const torch::Tensor& values,
            const torch::Tensor& indices) override;
  void cumulative_sum(const torch::Tensor& x, std::int64_t dimension, const torch::Tensor& out) override;
  void softmax(const torch::Tensor& x, std::int64_t dimension, bool logarithm, const torch::Tensor& out) override;
  void normalize(const tensor::Norm& norm, const torch::Tensor& out) override;
  void normalize_backward(const tensor::NormBackward& norm) override;

  void sgd(std::span<const tensor::SgdUpdate> updates) override;
  void adam(std::span<const tensor::AdamUpdate> updates) override;
  void root_step(std::span<const tensor::RootUpdate> updates) override;
  void scale(std::span<const torch::Tensor> tensors, const torch::Tensor& total_norm, double max_norm) override;
  void zero(std::span<const torch::Tensor> tensors) override;
  void clamp(std::span<const torch::Tensor> tensors, double low, double high) override;
  bool total_norm(std::span<const torch::Tensor> tensors, double p, const torch::Tensor& out) override;

  void matmul(const torch::Tensor& a, const torch::Tensor& b, const tensor::MatmulOptions& options,
              const torch::Tensor& out) override;
  /// With what the plan is told; b's and a's ranks are 2 or 3.
  void matmul(const torch::Tensor& a, const torch::Tensor& b, const tensor::MatmulOptions& options,
              const MatmulPlanOptions& plan_options, const torch::Tensor& out);
  void attention(const torch::Tensor& q, const torch::Tensor& k, const torch::Tensor& v, double scale, bool causal,
                 const torch::Tensor& out) override;
  void rotary_into_cache(const torch::Tensor& x, const torch::Tensor& frequencies, const torch::Tensor& positions,
                         const tensor::RotaryPairs& pairs, const torch::Tensor& cache) override;
  void rotary(const torch::Tensor& x, const torch::Tensor& frequencies, const torch::Tensor& positions,
              const tensor::RotaryPairs& pairs, const torch::Tensor& out) override;
  /// Of the products that are asked for without options (torch::ahbm::set_exact_matmul_order).
  bool exact_order() const { return exact_order_; }
  void set_exact_order(bool exact) { exact_order_ = exact; }
  /// The plan of out = a times b, without an epilogue.
  std::shared_ptr<const tile::library::GemmPlan> plan_matmul(const torch::Tensor& a, const torch::Tensor& b,
                                                             const MatmulPlanOptions& plan_options,
                                                             const torch::Tensor& out);
  void cat(std::span<const torch::Tensor> tensors, std::int64_t dimension, const torch::Tensor& out) override;
  void index_select(const torch::Tensor& x, std::int64_t dimension, const torch::Tensor& index, bool from_end,
                    const torch::Tensor& out) override;
  void gather(const torch::Tensor& x, std::int64_t dimension, const torch::Tensor& index,
              const torch::Tensor& out) override;
  void embedding(const torch::Tensor& table, const torch::Tensor& index, const tensor::EmbeddingPart& part,
                 const torch::Tensor& out) override;
  void embedding_backward(const torch::Tensor& grad, const torch::Tensor& index, const tensor::EmbeddingPart& part,
                          const torch::Tensor& out) override;

 private:
  /// `matmul` into a result of one copy, as it stands; `turned`: what was asked for is the transpose.
  void multiply(const torch::Tensor& a, const torch::Tensor& b, const tensor::MatmulOptions& options,
                const MatmulPlanOptions& plan_options, const torch::Tensor& out, bool turned);
  /// x, of two dimensions, or a copy of it whose columns lie one behind the other, where programs of `part` columns
  /// each would read so many short pieces that it takes less.
  torch::Tensor by_columns(const torch::Tensor& x, std::int64_t part);
  /// Notes, in a run without data, by what rule rows are chosen.
  void assume_rows(const char* what);
  /// A launch over library kernels.
  struct Call {
    std::string name;
    std::vector<torch::Tensor> written, read;
    std::vector<PeCoordinate> pes;  // empty: the PEs that hold the first written tensor
    std::function<void()> body;
    std::optional<PlanResult> plan = {};
  };
  void launch(Call call);
  /// out = function(operands) in one launch.
  void map(std::string name, const std::vector<torch::Tensor>& operands, const torch::Tensor& out,
           tile::library::TileFunction function, int live_tiles = 10);
  /// Likewise, where the view of `out` and what each PE holds of it are known.
  void map(std::string name, const std::vector<torch::Tensor>& operands, const torch::Tensor& out,
           tile::library::TileFunction function, int live_tiles, const tile::library::View& target,
           const tile::library::HeldBoxes& made);
  /// Likewise of one operand, by those that hold it.
  void map_by_source(std::string name, const torch::Tensor& operand, const torch::Tensor& out,
                     tile::library::TileFunction function, int live_tiles);
  /// The operands of a function of several, those that the holders of `out` would read in short pieces as copies: by
  /// the holders of what is copied that takes less, even with a launch more.
  std::vector<torch::Tensor> copied_where_short(const std::vector<torch::Tensor>& operands, const torch::Tensor& out,
                                                int live_tiles, const tile::library::HeldBoxes& made);
  /// out = reduction of x, in one launch or two (tile/library/reduce.h); the options' chunked, chunk and share are
  /// set here. With `finish` when everything is reduced.
  void reduce(std::string name, const torch::Tensor& x, const std::vector<torch::Tensor>& more,
              tile::library::ReduceOptions options, const torch::Tensor& out);
  /// A reduction of dimensions that follow each other as that of one; false when it does not help.
  bool reduce_merged(const std::string& name, const torch::Tensor& x, const std::vector<torch::Tensor>& more,
                     const tile::library::ReduceOptions& options, const torch::Tensor& out);
  /// What a first launch makes of x: the reduced dimension `dimension` in `count` chunks, a partial result for each.
  struct Chunks {
    std::size_t dimension = 0;
    std::int64_t count = 1, length = 1;
    bool one_each = false;  // a PE holds a part of one chunk, and of all results
  };
  static Chunks chunks_as_held(const torch::Tensor& x, const std::vector<bool>& reduced, std::int64_t readers);
  static std::optional<Chunks> chunks_of(const torch::Tensor& x, const std::vector<bool>& reduced,
                                         const torch::Tensor& out);
  torch::Tensor partial_results(const torch::Tensor& out, const Chunks& chunks, DType dtype);
  /// Lines in order; results that are shorter get the first of each. Lines of several blocks where the plan says so.
  struct SortCall {
    const char* name;
    std::int64_t dimension;
    tile::library::SortOrder order;
    tile::library::SortPlan plan;
    std::int64_t group = 0;  // of FirstPlan; 0: whole lines are sorted
  };
  void sort(const SortCall& call, const torch::Tensor& x, const torch::Tensor& values, const torch::Tensor& indices);
  void sort_in_blocks(const SortCall& call, const torch::Tensor& x, const torch::Tensor& values,
                      const torch::Tensor& indices);
  void normalize_lines(const tensor::Norm& norm, const std::vector<bool>& along, tile::library::Share share,
                       const torch::Tensor& out);
  void normalize_by_statistics(const tensor::Norm& norm, const std::vector<bool>& along, const torch::Tensor& out);
  void normalize_backward_lines(const tensor::NormBackward& norm, tile::library::Share share);
  void normalize_backward_by_statistics(const tensor::NormBackward& norm, const std::vector<bool>& along);
  /// out, of a line of x, becomes the sum over all lines of function(x, more…).
  void sum_lines(std::string name, const torch::Tensor& x, const std::vector<torch::Tensor>& more,
                 tile::library::TileFunction function, const torch::Tensor& out);
  /// A new tensor in f32 for one value of each line, with extent 1 along it.
  torch::Tensor line_statistic(const torch::Tensor& x, const std::vector<bool>& along);
  /// How programs share lines along the dimensions that each of them takes whole: those that lie in one shard of `out`,
  /// or as many as the PEs. Nothing when so many f32 tiles of a line do not fit into the TCM, or there are too few for
  /// the PEs.
  std::optional<tile::library::Share> whole_lines(const torch::Tensor& out, const std::vector<bool>& along,
                                                  std::int64_t tiles) const;
  /// A new tensor on the device of `like`.
  torch::Tensor temporary(const torch::Tensor& like, std::span<const std::int64_t> sizes, DType dtype,
                          const DPPolicy& policy = {});

  Simulation& simulation_;
  GemmPlans plans_;
  bool exact_order_ = false;
};

/// The view that a kernel gets for a device tensor; In unless `written`.
tile::library::View kernel_view(const torch::Tensor& tensor, bool written);
/// Whether some element of the tensor lies in more than one slice.
bool is_replicated(const torch::Tensor& tensor);
/// The PEs that hold a part of a tensor.
std::vector<PeCoordinate> holders(std::span<const torch::Tensor> tensors);

}  // namespace kernbench::runtime
