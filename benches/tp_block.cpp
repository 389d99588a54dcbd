// A transformer's layer over several devices, as Megatron cuts it: attention and feed-forward network, each a column, a
// row, and one all-reduce.
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

constexpr std::int64_t kTokens = 512, kHeads = 16, kFfn = 4096;  // the defaults

struct Block {
  std::int64_t tokens, hidden, heads, ffn;
  DType dtype;
  bool sequence_parallel, overlap;
  std::int64_t size() const { return hidden / heads; }  // of a head
};

// Small whole numbers over powers of two, so that most of the difference to the reference is rounding between layers.
void whole_numbers(torch::Tensor& weight) {
  const std::int64_t elements = weight.numel();
  weight.copy_(((torch::arange(elements, torch::kInt) * 7).remainder(11) - 5).to(torch::kFloat).view(weight.sizes()) /
               64);
}
torch::Tensor weight_of(std::int64_t out, std::int64_t in) {
  auto weight = torch::empty({out, in});
  whole_numbers(weight);
  return weight;
}
torch::Tensor tokens_of(const Block& block) {
  return ((torch::arange(block.tokens * block.hidden, torch::kInt) * 5).remainder(9) - 4)
      .to(torch::kFloat)
      .view({block.tokens, block.hidden});
}

/// Of a product whose columns are q, k and v of one head after the other: [tokens, heads * 3 * size].
torch::Tensor attention(const torch::Tensor& product, std::int64_t size) {
  const std::int64_t tokens = product.size(0), heads = product.size(1) / (3 * size);
  const auto all = product.view({tokens, heads, 3, size}).transpose(0, 1);  // [heads, tokens, 3, size]
  const auto part = [&](std::int64_t i) { return all.select(2, i); };
  return torch::scaled_dot_product_attention(part(0), part(1), part(2), {}, 0.0, true)
      .transpose(0, 1)
      .reshape({tokens, heads * size});
}

/// On the host, rounded to the type where the device rounds.
torch::Tensor reference(const Block& block) {
  if (!floating_point_enabled()) return torch::empty({block.tokens, block.hidden}, block.dtype);
  const auto rounded = [&](const torch::Tensor& x) { return x.to(block.dtype).to(torch::kFloat); };
  const auto linear = [&](const torch::Tensor& x, std::int64_t out) {
    return rounded(torch::linear(x, weight_of(out, x.size(1))));
  };
  const auto norm = [&](const torch::Tensor& x) { return rounded(torch::rms_norm(x, {block.hidden})); };
  const auto x = rounded(tokens_of(block));
  const auto heads = rounded(attention(linear(norm(x), 3 * block.hidden), block.size()));
  const auto y = rounded(x + linear(heads, block.hidden));
  return rounded(y + linear(rounded(torch::gelu(linear(norm(y), block.ffn))), block.hidden));
}

void worker(int rank, int world_size, const Block& block) {
  torch::ahbm::set_device(rank);
  dist::init_process_group("ahbm", rank, world_size);
  tp::initialize_model_parallel(world_size);
  const auto options = [&](std::int64_t in, std::int64_t out, bool parallel) {
    return tp::LinearOptions{.input_size = in,
                             .output_size = out,
                             .bias = false,
                             .input_is_parallel = parallel,
                             .sequence_parallel = block.sequence_parallel,
                             .tp_comm_overlap = block.overlap,
                             .dtype = block.dtype,
                             .init_method = whole_numbers};
  };
  const tp::ColumnParallelLinear qkv(options(block.hidden, 3 * block.hidden, false));
  const tp::RowParallelLinear projection(options(block.hidden, block.hidden, true));
  const tp::ColumnParallelLinear up(options(block.hidden, block.ffn, false));
  const tp::RowParallelLinear down(options(block.ffn, block.hidden, true));
  auto x = tokens_of(block).to(torch::dtype(block.dtype).device("ahbm").name("x"));
  if (block.sequence_parallel) x = tp::scatter_to_sequence_parallel_region(x);
  torch::Tensor y;
  {
    const torch::profiler::record_function region("block");
    y = x + projection(attention(qkv(torch::rms_norm(x, {block.hidden})), block.size()));
    y = y + down(torch::gelu(up(torch::rms_norm(y, {block.hidden}))));
    torch::ahbm::synchronize();
  }
  if (block.sequence_parallel) y = tp::gather_from_sequence_parallel_region(y);
  if (rank != 0) return;
  // Sums of the ranks' parts are rounded to the type on their way, and differences grow through the layers.
  const double unit = block.dtype == DType::f32 ? 0x1p-20 : block.dtype == DType::f16 ? 0x1p-10 : 0x1p-7;
  check_close("layer over all ranks", y, reference(block),
              {.absolute = 8 * unit * static_cast<double>(block.hidden + block.ffn) / 64, .relative = 8 * unit});
}

}  // namespace

KERNBENCH_BENCH(tp_block, "a transformer's layer, tensor parallel over all devices",  //
                {"tokens", kTokens, "rows of the input, of one sequence"}, {"hidden", 1024, "columns of the input"},
                {"heads", kHeads, "of the attention; a multiple of the devices"},
                {"ffn", kFfn, "columns inside the feed-forward network"}, dtype_parameter("f16"),
                {"sequence_parallel", "no", "share the tokens between the layers: yes or no"},
                {"overlap", "no", "communicate beside the products: yes or no"}) {
  constexpr std::int64_t kLargest = 1 << 20;
  const Block block{parameter<std::int64_t>("tokens", 1, kLargest),
                    parameter<std::int64_t>("hidden", 1, kLargest),
                    parameter<std::int64_t>("heads", 1, kLargest),
                    parameter<std::int64_t>("ffn", 1, kLargest),
                    dtype_of(),
                    parameter_choice("sequence_parallel", {"yes", "no"}) == "yes",
                    parameter_choice("overlap", {"yes", "no"}) == "yes"};
  const auto hidden_of = [&](std::int64_t heads) {
    return "hidden=" + std::to_string(next_multiple(block.hidden, heads));
  };
  const auto other_hidden = [&](std::int64_t heads) { return block.hidden % heads == 0 ? "" : hidden_of(heads); };
  std::vector<SharedSize> shared{{"heads", block.heads, kHeads, {}, other_hidden}, {"ffn", block.ffn, kFfn}};
  if (block.sequence_parallel) shared.push_back({"tokens", block.tokens, kTokens, "sequence_parallel=no"});
  const int n = devices_that_share(shared);
  check_divides("hidden", block.hidden, "heads", block.heads, "give -p " + hidden_of(block.heads));
  torch::multiprocessing::spawn(worker, std::tuple{n, block}, {.nprocs = n});
}
