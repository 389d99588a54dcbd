// Triton's tutorial kernels with a launch grid, as the tutorials have them, beside the same computation over what each
// PE holds: a grid costs little, wherever its programs find their blocks.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "support.h"
#include "support/all_cases.h"
#include "support/sanitizers.h"
#include "support/source_tree.h"

namespace kernbench {
namespace {

using torch::Tensor;

/// Runs body(first row, rows) for blocks of at most `block` rows (or elements) of the boxes that this PE holds.
template <class Body>
void for_local_blocks(const tl::Tensor& tensor, std::int64_t block, const Body& body) {
  for (std::size_t i = 0; i < tensor.local_shard_count(); ++i) {
    const auto box = tensor.local_shard(i);
    for (std::int64_t at = 0; at < box.shape[0]; at += block)
      body(box.offset[0] + at, std::min(block, box.shape[0] - at));
  }
}

// ---- vector add ---------------------------------------------------------------------------------------------------

constexpr std::int64_t kElements = 98432, kAddBlock = 1024;

void add_grid(tl::In x, tl::In y, tl::Tensor out) {
  const auto offsets = tl::program_id(0) * kAddBlock + tl::arange(0, kAddBlock);
  const auto mask = offsets < kElements;
  const auto a = tl::load(x.data_ptr() + offsets, {.mask = mask});
  const auto b = tl::load(y.data_ptr() + offsets, {.mask = mask});
  tl::store(out.data_ptr() + offsets, a + b, {.mask = mask});
}

void add_local(tl::In x, tl::In y, tl::Tensor out) {
  for_local_blocks(out, kAddBlock, [&](std::int64_t at, std::int64_t count) {
    tl::store(out, {at}, tl::load(x, {at}, {count}) + tl::load(y, {at}, {count}));
  });
}

// ---- fused softmax ------------------------------------------------------------------------------------------------

constexpr std::int64_t kRows = 1823, kColumns = 781, kSoftmaxBlock = 1024;

tl::Tile softmax_of(const tl::Tile& row) {
  return tl::fuse([&] {
    const auto x = tl::cast(row, DType::f32);
    const auto weights = tl::exp(x - tl::max(x, 1, true));
    return tl::cast(weights / tl::sum(weights, 1, true), DType::f16);
  });
}

/// As many programs as PEs; each takes every so many rows.
void softmax_grid(tl::In x, tl::Tensor out) {
  for (std::int64_t row = tl::program_id(0); row < kRows; row += tl::num_programs(0)) {
    const auto loaded = tl::load(x, {row, 0}, {1, kSoftmaxBlock}, {.other = -INFINITY});
    tl::store(out, {row, 0}, softmax_of(loaded));
  }
}

void softmax_local(tl::In x, tl::Tensor out) {
  for_local_blocks(out, 1, [&](std::int64_t row, std::int64_t) {
    const auto loaded = tl::load(x, {row, 0}, {1, kSoftmaxBlock}, {.other = -INFINITY});
    tl::store(out, {row, 0}, softmax_of(loaded));
  });
}

// ---- grouped matmul -----------------------------------------------------------------------------------------------

constexpr std::int64_t kExtent = 2048, kBlockM = 128, kBlockN = 256, kBlockK = 128, kGroup = 8;

void matmul_block(const tl::In& a, const tl::In& b, const tl::Tensor& c, std::int64_t m, std::int64_t n,
                  std::int64_t rows, std::int64_t columns) {
  auto sums = tl::zeros({rows, columns}, DType::f32);
  for (std::int64_t k = 0; k < kExtent; k += kBlockK)
    sums = tl::dot(tl::load(a, {m, k}, {rows, kBlockK}), tl::load(b, {k, n}, {kBlockK, columns}), sums);
  tl::store(c, {m, n}, tl::cast(sums, DType::f16));
}

void matmul_grid(tl::In a, tl::In b, tl::Tensor c) {
  const std::int64_t down = kExtent / kBlockM, across = kExtent / kBlockN;
  const std::int64_t in_group = kGroup * across, first = tl::program_id(0) / in_group * kGroup;
  const std::int64_t size = std::min(down - first, kGroup), at = tl::program_id(0) % in_group;
  matmul_block(a, b, c, (first + at % size) * kBlockM, at / size * kBlockN, kBlockM, kBlockN);
}

void matmul_local(tl::In a, tl::In b, tl::Tensor c) {
  for_local_blocks(c, kBlockM, [&](std::int64_t row, std::int64_t rows) {
    for (std::int64_t n = 0; n < kExtent; n += kBlockN) matmul_block(a, b, c, row, n, rows, kBlockN);
  });
}

// ---- layer norm ---------------------------------------------------------------------------------------------------

constexpr std::int64_t kNormRows = 1151, kNormColumns = 8192;

void norm_row(const tl::In& x, const tl::In& weight, const tl::In& bias, const tl::Tensor& out, std::int64_t row) {
  const auto loaded = tl::load(x, {row, 0}, {1, kNormColumns});
  const auto scale = tl::load(weight, {0}, {kNormColumns}), shift = tl::load(bias, {0}, {kNormColumns});
  const auto normal = tl::fuse([&] {
    const auto wide = tl::cast(loaded, DType::f32);
    const auto centred = wide - tl::sum(wide, 1, true) * (1.0F / kNormColumns);
    const auto variance = tl::sum(centred * centred, 1, true) * (1.0F / kNormColumns);
    const auto y = centred * tl::rsqrt(variance + 1e-5F);
    return tl::cast(y * tl::cast(scale, DType::f32) + tl::cast(shift, DType::f32), DType::f16);
  });
  tl::store(out, {row, 0}, normal);
}

void norm_grid(tl::In x, tl::In weight, tl::In bias, tl::Tensor out) {
  norm_row(x, weight, bias, out, tl::program_id(0));
}

void norm_local(tl::In x, tl::In weight, tl::In bias, tl::Tensor out) {
  for_local_blocks(out, 1, [&](std::int64_t row, std::int64_t) { norm_row(x, weight, bias, out, row); });
}

// ---- flash attention ----------------------------------------------------------------------------------------------

constexpr std::int64_t kHeads = 32, kLength = 1024, kSize = 128, kBlockQ = 128, kBlockKeys = 128;

/// Rows of the queries of all heads follow each other: [heads * length, size].
void attend(const tl::In& q, const tl::In& k, const tl::In& v, const tl::Tensor& out, std::int64_t row,
            std::int64_t rows) {
  const std::int64_t head = row / kLength * kLength;
  const auto queries = tl::load(q, {row, 0}, {rows, kSize});
  auto largest = tl::full({rows, 1}, -INFINITY, DType::f32), sum = tl::zeros({rows, 1}, DType::f32);
  auto result = tl::zeros({rows, kSize}, DType::f32);
  for (std::int64_t key = head; key < head + kLength; key += kBlockKeys) {
    const auto scores = tl::dot(queries, tl::trans(tl::load(k, {key, 0}, {kBlockKeys, kSize})));
    const auto values = tl::load(v, {key, 0}, {kBlockKeys, kSize});
    auto [weights, most, all, kept] = tl::fuse([&] {
      const auto scaled = scores * 0.0883883476F;
      const auto found = tl::maximum(largest, tl::max(scaled, 1, true));
      const auto weighed = tl::exp(scaled - found), keep = tl::exp(largest - found);
      return std::array{tl::cast(weighed, DType::f16), found, sum * keep + tl::sum(weighed, 1, true), keep};
    });
    largest = most, sum = all;
    result = tl::dot(weights, values, result * kept);
  }
  tl::store(out, {row, 0}, tl::cast(result / sum, DType::f16));
}

void attention_grid(tl::In q, tl::In k, tl::In v, tl::Tensor out) {
  attend(q, k, v, out, tl::program_id(1) * kLength + tl::program_id(0) * kBlockQ, kBlockQ);
}

void attention_local(tl::In q, tl::In k, tl::In v, tl::Tensor out) {
  for_local_blocks(out, kBlockQ, [&](std::int64_t row, std::int64_t rows) { attend(q, k, v, out, row, rows); });
}

// ---- both ways ----------------------------------------------------------------------------------------------------

/// A tutorial: its tensors, and the launch of its kernel, with a grid or without.
struct Tutorial {
  std::string name, sizes;
  std::vector<std::int64_t> grid;
  std::function<void(const torch::LaunchOptions&, const std::vector<Tensor>&, bool grid)> launch;
  std::vector<std::vector<std::int64_t>> tensors;               // the last is the result
  std::function<Tensor(const std::vector<Tensor>&)> reference;  // in f32 on the host
  DType dtype = DType::f16;
  double most = 1.3;  // times what it takes over local shards
};

std::vector<Tutorial> tutorials() {
  using Options = torch::LaunchOptions;
  using Tensors = std::vector<Tensor>;
  constexpr std::int64_t kAllPes = 128;
  return {{"vector add",
           fmt::format("{}", kElements),
           {tl::cdiv(kElements, kAddBlock)},
           [](const Options& options, const Tensors& t, bool grid) {
             torch::launch(options, "add", grid ? add_grid : add_local, t[0], t[1], t[2]);
           },
           {{kElements}, {kElements}, {kElements}},
           [](const Tensors& t) { return t[0] + t[1]; },
           DType::f32},
          {"fused softmax",
           fmt::format("{} x {}", kRows, kColumns),
           {kAllPes},
           [](const Options& options, const Tensors& t, bool grid) {
             torch::launch(options, "softmax", grid ? softmax_grid : softmax_local, t[0], t[1]);
           },
           {{kRows, kColumns}, {kRows, kColumns}},
           [](const Tensors& t) { return torch::softmax(t[0], -1); }},
          {"grouped matmul",
           fmt::format("{0} x {0} x {0}", kExtent),
           {kExtent / kBlockM * (kExtent / kBlockN)},
           [](const Options& options, const Tensors& t, bool grid) {
             torch::launch(options, "matmul", grid ? matmul_grid : matmul_local, t[0], t[1], t[2]);
           },
           {{kExtent, kExtent}, {kExtent, kExtent}, {kExtent, kExtent}},
           [](const Tensors& t) { return torch::matmul(t[0], t[1]); }},
          {"layer norm",
           fmt::format("{} x {}", kNormRows, kNormColumns),
           {kNormRows},
           [](const Options& options, const Tensors& t, bool grid) {
             torch::launch(options, "norm", grid ? norm_grid : norm_local, t[0], t[1], t[2], t[3]);
           },
           {{kNormRows, kNormColumns}, {kNormColumns}, {kNormColumns}, {kNormRows, kNormColumns}},
           [](const Tensors& t) { return torch::layer_norm(t[0], {kNormColumns}, t[1], t[2]); },
           DType::f16,
           1.05},  // nine programs on each PE, one in the time of a turn of the local loop
          {"flash attention",
           fmt::format("{} heads of {} x {}", kHeads, kLength, kSize),
           {kLength / kBlockQ, kHeads},
           [](const Options& options, const Tensors& t, bool grid) {
             torch::launch(options, "attention", grid ? attention_grid : attention_local, t[0], t[1], t[2], t[3]);
           },
           {{kHeads * kLength, kSize}, {kHeads * kLength, kSize}, {kHeads * kLength, kSize}, {kHeads * kLength, kSize}},
           [](const Tensors& t) {
             const auto heads = [&](std::size_t i) { return t[i].view({kHeads, kLength, kSize}); };
             const Tensor weights = torch::softmax(torch::bmm(heads(0), heads(1).transpose(1, 2)) * 0.0883883476, -1);
             return torch::bmm(weights, heads(2)).reshape({kHeads * kLength, kSize});
           }}};
}

struct Ran {
  double us = 0;
  Tensor result, reference;  // on the host
};

Ran ran(const Tutorial& tutorial, bool grid) {
  SimulateOptions machine;
  machine.topology = "ahbm-1sip";
  Ran run;
  const RunResult result = simulate(machine, [&] {
    std::vector<Tensor> tensors, wide;
    for (const auto& sizes : tutorial.tensors) {
      wide.push_back(torch::randn(sizes).to(tutorial.dtype).to(DType::f32));
      tensors.push_back(wide.back().to(tutorial.dtype).to("ahbm"));
    }
    torch::LaunchOptions options;
    if (grid) options.grid = tutorial.grid;
    tutorial.launch(options, tensors, grid);
    torch::ahbm::synchronize();
    run.result = tensors.back().cpu();
    if (grid) run.reference = tutorial.reference(wide);
  });
  EXPECT_FALSE(result.error) << tutorial.name << ": " << result.error->message;
  const LaunchResult& launch = result.launches.at(0);
  run.us = (launch.end - launch.start).in_seconds() * 1e6;
  return run;
}

/// Whether all rows of the document are measured; else the first two.
bool measures_all_tutorials() {
  return takes_all_cases() || source_tree::updates_golden();
}

// Both ways do the same sums in the same order, so their bits are equal.
TEST(TutorialKernels, TakeLittleLongerWithAGridThanOverLocalShardsAndComputeTheSame) {
  NOT_UNDER_SANITIZERS("long");
  std::string table = "| kernel | sizes | grid | time | over local shards | ratio |\n|---|---|---|---|---|---|\n";
  const std::vector<Tutorial> all = tutorials();
  for (const Tutorial& tutorial : std::span(all).first(measures_all_tutorials() ? all.size() : 2)) {
    const Ran with_grid = ran(tutorial, true), local = ran(tutorial, false);
    EXPECT_TRUE(torch::equal(with_grid.result, local.result)) << tutorial.name;
    // Results of f16 are rounded once, weights of the attention too; sums of a product are some 45 in size.
    EXPECT_TRUE(torch::allclose(with_grid.result.to(DType::f32), with_grid.reference, 4e-3, 2e-3)) << tutorial.name;
    EXPECT_LE(with_grid.us, tutorial.most * local.us) << tutorial.name;
    const std::string row =
        fmt::format("| {} | {} | ({}) | {:.1f} us | {:.1f} us | {:.2f} |\n", tutorial.name, tutorial.sizes,
                    fmt::join(tutorial.grid, ", "), with_grid.us, local.us, with_grid.us / local.us);
    if (!measures_all_tutorials()) {
      EXPECT_NE(source_tree::read("docs/attained.md").find(row), std::string::npos) << "docs/attained.md: " << row;
    }
    table += row;
  }
  if (measures_all_tutorials()) {
    source_tree::expect_golden_part("docs/attained.md", "<!-- tutorials: generated, begin -->\n",
                                    "<!-- tutorials: generated, end -->", table);
  }
}

}  // namespace
}  // namespace kernbench
