// A transformer's feed-forward network over several devices: Column, GELU, Row, as Megatron cuts it. One all-reduce.
#include <kernbench/kernbench.h>
#include <kernbench/tp.h>

#include <tuple>
#include <vector>

#include "check_divides.h"
#include "dtype_parameter.h"

using namespace kernbench;
using namespace benches;

namespace {

namespace dist = torch::distributed;

constexpr std::int64_t kTokens = 512, kFfn = 4096;  // the defaults

struct Mlp {
  std::int64_t tokens, hidden, ffn;
  DType dtype;
  bool sequence_parallel, overlap;
};

// Small whole numbers over powers of two: products and sums are exact, and only GELU rounds.
void whole_numbers(torch::Tensor& weight) {
  const std::int64_t elements = weight.numel();
  weight.copy_(((torch::arange(elements, torch::kInt) * 7).remainder(11) - 5).to(torch::kFloat).view(weight.sizes()) /
               64);
}
torch::Tensor tokens_of(const Mlp& mlp) {
  return ((torch::arange(mlp.tokens * mlp.hidden, torch::kInt) * 5).remainder(9) - 4)
      .to(torch::kFloat)
      .view({mlp.tokens, mlp.hidden});
}
torch::Tensor weight_of(std::int64_t out, std::int64_t in) {
  auto weight = torch::empty({out, in});
  whole_numbers(weight);
  return weight;
}

/// In f32 on the host, rounded to the type where the device rounds.
torch::Tensor reference(const Mlp& mlp) {
  if (!floating_point_enabled()) return torch::empty({mlp.tokens, mlp.hidden}, mlp.dtype);
  const auto x = tokens_of(mlp).to(mlp.dtype).to(torch::kFloat);
  const auto inner = torch::linear(x, weight_of(mlp.ffn, mlp.hidden)).to(mlp.dtype);
  return torch::linear(torch::gelu(inner).to(torch::kFloat), weight_of(mlp.hidden, mlp.ffn)).to(mlp.dtype);
}

void worker(int rank, int world_size, const Mlp& mlp) {
  torch::ahbm::set_device(rank);
  dist::init_process_group("ahbm", rank, world_size);
  tp::initialize_model_parallel(world_size);
  const tp::ColumnParallelLinear up({.input_size = mlp.hidden,
                                     .output_size = mlp.ffn,
                                     .bias = false,
                                     .sequence_parallel = mlp.sequence_parallel,
                                     .tp_comm_overlap = mlp.overlap,
                                     .dtype = mlp.dtype,
                                     .init_method = whole_numbers});
  const tp::RowParallelLinear down({.input_size = mlp.ffn,
                                    .output_size = mlp.hidden,
                                    .bias = false,
                                    .input_is_parallel = true,
                                    .sequence_parallel = mlp.sequence_parallel,
                                    .tp_comm_overlap = mlp.overlap,
                                    .dtype = mlp.dtype,
                                    .init_method = whole_numbers});
  auto x = tokens_of(mlp).to(torch::dtype(mlp.dtype).device("ahbm").name("x"));
  if (mlp.sequence_parallel) x = tp::scatter_to_sequence_parallel_region(x);
  torch::Tensor y;
  {
    const torch::profiler::record_function region("mlp");
    y = down(torch::gelu(up(x)));
    torch::ahbm::synchronize();
  }
  if (mlp.sequence_parallel) y = tp::gather_from_sequence_parallel_region(y);
  if (rank != 0) return;
  // Sums of the ranks' parts are rounded to the type on their way.
  const double unit = mlp.dtype == DType::f32 ? 0x1p-22 : mlp.dtype == DType::f16 ? 0x1p-10 : 0x1p-7;
  check_close("mlp over all ranks", y, reference(mlp),
              {.absolute = 4 * unit * static_cast<double>(mlp.ffn) / 64, .relative = 4 * unit});
}

}  // namespace

KERNBENCH_BENCH(tp_mlp, "a transformer's feed-forward network, tensor parallel over all devices",  //
                {"tokens", kTokens, "rows of the input"}, {"hidden", 1024, "columns of the input and the output"},
                {"ffn", kFfn, "columns between the layers"}, dtype_parameter("f16"),
                {"sequence_parallel", "no", "share the tokens between the layers: yes or no"},
                {"overlap", "no", "communicate beside the products: yes or no"}) {
  constexpr std::int64_t kLargest = 1 << 20;
  const Mlp mlp{parameter<std::int64_t>("tokens", 1, kLargest),
                parameter<std::int64_t>("hidden", 1, kLargest),
                parameter<std::int64_t>("ffn", 1, kLargest),
                dtype_of(),
                parameter_choice("sequence_parallel", {"yes", "no"}) == "yes",
                parameter_choice("overlap", {"yes", "no"}) == "yes"};
  std::vector<SharedSize> shared{{"ffn", mlp.ffn, kFfn}};
  if (mlp.sequence_parallel) shared.push_back({"tokens", mlp.tokens, kTokens, "sequence_parallel=no"});
  const int n = devices_that_share(shared);
  torch::multiprocessing::spawn(worker, std::tuple{n, mlp}, {.nprocs = n});
}
