// All weights of GPT-3 on one device: allocated, and both ends of every shard written by its owner and read by a PE far
// away. Sizes: Brown et al., "Language Models are Few-Shot Learners", 2020, table 2.1 (96 layers, a hidden size of
// 12288, 2048 positions); layers, biases and norms as in GPT-2's published model, whose 50257 tokens GPT-3 shares.
#include <kernbench/kernbench.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "measure.h"

using namespace kernbench;
using namespace benches;

namespace {

struct Weight {
  std::string name;
  std::vector<std::int64_t> shape;
};

/// Weights that are addressed by one launch.
using Group = std::array<Weight, 4>;

struct Model {
  std::int64_t layers, hidden, vocabulary, positions;
};

/// Two modules, each with a weight and a bias.
Group group_of(const std::string& first, std::vector<std::int64_t> first_shape, const std::string& second,
               std::vector<std::int64_t> second_shape) {
  const std::vector<std::int64_t> first_bias{first_shape.back()}, second_bias{second_shape.back()};
  return {{{first + ".weight", std::move(first_shape)},
           {first + ".bias", first_bias},
           {second + ".weight", std::move(second_shape)},
           {second + ".bias", second_bias}}};
}

std::vector<Group> weights_of(const Model& model) {
  const std::int64_t hidden = model.hidden;
  std::vector<Group> groups;
  for (std::int64_t i = 0; i < model.layers; ++i) {
    const std::string layer = "layer " + std::to_string(i) + ".";
    groups.push_back(group_of(layer + "norm 1", {hidden}, layer + "qkv", {hidden, 3 * hidden}));
    groups.push_back(group_of(layer + "proj", {hidden, hidden}, layer + "norm 2", {hidden}));
    groups.push_back(group_of(layer + "fc", {hidden, 4 * hidden}, layer + "fc2", {4 * hidden, hidden}));
  }
  groups.push_back({{{"token embedding", {model.vocabulary, hidden}},
                     {"position embedding", {model.positions, hidden}},
                     {"last norm.weight", {hidden}},
                     {"last norm.bias", {hidden}}}});
  return groups;
}

constexpr std::pair<const char*, Placement> kPlacements[] = {{"row_wise", Placement::row_wise},
                                                             {"column_wise", Placement::column_wise},
                                                             {"tiled_row_major", Placement::tiled_row_major},
                                                             {"tiled_column_major", Placement::tiled_column_major}};

Placement placement_of() {
  const auto text = parameter_choice("placement", {"row_wise", "column_wise", "tiled_row_major", "tiled_column_major"});
  for (const auto& [name, placement] : kPlacements)
    if (text == name) return placement;
  return Placement::row_wise;
}

using Box = tl::Tensor::Box;

/// The first and the last element of a box, as a strided block of one or two elements.
struct Ends {
  tl::Pointer first;
  tl::Extents shape, strides;
};

Ends ends_of(const tl::Tensor& tensor, const Box& box) {
  std::int64_t first = 0, distance = 0, stride = 1;
  for (std::int64_t i = tensor.dim(); i-- > 0;) {
    const auto dimension = static_cast<std::size_t>(i);
    first += box.offset[dimension] * stride;
    distance += (box.shape[dimension] - 1) * stride;
    stride *= tensor.size(i);
  }
  return {.first = tensor.data_ptr() + first,
          .shape = {distance > 0 ? 2 : 1},
          .strides = {std::max<std::int64_t>(distance, 1)}};
}

/// The boxes of a tensor by PE of the device, as the policy says; none where a PE holds nothing.
using Boxes = std::vector<std::optional<Box>>;

Boxes boxes_of(const Weight& weight, const DPPolicy& policy, const Machine& machine) {
  Boxes boxes(static_cast<std::size_t>(machine.cubes * machine.pes));
  const auto shards = resolve_dp_policy(policy, weight.shape, item_size(torch::kHalf), static_cast<int>(machine.pes),
                                        static_cast<int>(machine.cubes), SipId{0});
  for (const ShardSpec& shard : shards)
    boxes[static_cast<std::size_t>(shard.cube.value * machine.pes + shard.pe.value)] =
        Box{tl::Extents(std::span(shard.offset)), tl::Extents(std::span(shard.shape))};
  return boxes;
}

/// What an owner leaves at the ends of its shards: f16 holds these numbers exactly.
std::int64_t mark_of(std::int64_t pe) {
  return pe % 2048;
}

std::int64_t this_pe() {
  return tl::cube_id() * tl::num_pes() + tl::pe_id();
}

/// Every owner marks the ends of its shard, which it knows from its own view of the tensor.
void mark_ends(const tl::Tensor& weight) {
  if (weight.local_shard_count() == 0) return;
  const Ends ends = ends_of(weight, weight.local_shard());
  tl::store(ends.first, ends.strides, tl::full(ends.shape, mark_of(this_pe()), torch::kHalf));
}

/// Every PE finds the marks of the PE across the device (in the opposite cube, at the opposite place) where the policy
/// says that they are.
void find_ends(const tl::Tensor& weight, const Boxes& boxes) {
  const std::int64_t owner = tl::num_cubes() * tl::num_pes() - 1 - this_pe();
  const auto& box = boxes[static_cast<std::size_t>(owner)];
  if (!box) return;
  const Ends ends = ends_of(weight, *box);
  tl::device_assert(tl::load(ends.first, ends.shape, ends.strides) == mark_of(owner), "not the mark of its owner");
}

using BoxesOfGroup = std::array<std::shared_ptr<const Boxes>, 4>;

void mark_group(tl::Tensor a, tl::Tensor b, tl::Tensor c, tl::Tensor d) {
  for (const auto& weight : {a, b, c, d}) mark_ends(weight);
}

void find_group(tl::In a, tl::In b, tl::In c, tl::In d, const BoxesOfGroup& boxes) {
  std::size_t number = 0;
  for (const auto& weight : {a, b, c, d}) find_ends(weight, *boxes[number++]);
}

using TensorsOfGroup = std::array<torch::Tensor, 4>;

std::vector<TensorsOfGroup> allocate(const std::vector<Group>& groups, const torch::TensorOptions& options) {
  std::vector<TensorsOfGroup> tensors(groups.size());
  for (std::size_t i = 0; i < groups.size(); ++i)
    for (std::size_t j = 0; j < groups[i].size(); ++j)
      tensors[i][j] = torch::empty(groups[i][j].shape, options.name(groups[i][j].name));
  return tensors;
}

void report(const std::vector<TensorsOfGroup>& groups) {
  std::int64_t parameters = 0;
  for (const auto& group : groups)
    for (const auto& tensor : group) parameters += tensor.numel();
  const auto metric = [](const char* name, std::int64_t value, const char* unit) {
    report_metric(name, static_cast<double>(value), unit);
  };
  const auto stats = torch::ahbm::memory_stats();
  metric("parameters", parameters, "");
  metric("tensors", stats.at("allocation.all.current"), "");
  metric("shards", stats.at("segment.all.current"), "");
  metric("bytes requested", stats.at("requested_bytes.all.current"), "B");
  metric("bytes allocated", stats.at("allocated_bytes.all.current"), "B");
  const auto [free, total] = torch::ahbm::get_fullest_slice_info();
  metric("largest slice use", total - free, "B");
  metric("slice capacity", total, "B");
}

void address(const std::vector<Group>& groups, const std::vector<TensorsOfGroup>& tensors, const DPPolicy& policy,
             const Machine& machine) {
  std::map<std::vector<std::int64_t>, std::shared_ptr<const Boxes>> boxes_of_shape;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    BoxesOfGroup boxes;
    for (std::size_t j = 0; j < boxes.size(); ++j) {
      auto& known = boxes_of_shape[groups[i][j].shape];
      if (!known) known = std::make_shared<const Boxes>(boxes_of(groups[i][j], policy, machine));
      boxes[j] = known;
    }
    const auto& [a, b, c, d] = tensors[i];
    torch::launch("mark the ends", mark_group, a, b, c, d);
    torch::launch("find the ends", find_group, a, b, c, d, boxes);
  }
}

}  // namespace

KERNBENCH_BENCH(gpt3_weights,
                "all weights of GPT-3 (175 billion, f16) on one device: allocated, and every shard addressed",  //
                {"layers", 96, "layers of the model"}, {"hidden", 12288, "hidden size"},
                {"vocabulary", 50257, "rows of the token embedding"},
                {"positions", 2048, "rows of the position embedding"},
                {"placement", "row_wise",
                 "of each tensor, over cubes and PEs: row_wise, column_wise, tiled_row_major or tiled_column_major"}) {
  constexpr std::int64_t kLargest = 1 << 20;
  const Model model{.layers = parameter<std::int64_t>("layers", 1, 1000),
                    .hidden = parameter<std::int64_t>("hidden", 1, 1 << 16),
                    .vocabulary = parameter<std::int64_t>("vocabulary", 1, kLargest),
                    .positions = parameter<std::int64_t>("positions", 1, kLargest)};
  const Placement placement = placement_of();
  const DPPolicy policy{.cube = placement, .pe = placement};
  const Machine machine = machine_of_current_device();
  const auto held_before = torch::ahbm::memory_allocated();
  {
    const auto groups = weights_of(model);
    const auto tensors = allocate(groups, torch::dtype(torch::kHalf).device("ahbm").placement(policy));
    report(tensors);
    const torch::profiler::record_function region("address");
    address(groups, tensors, policy, machine);
  }
  torch::ahbm::synchronize();
  report_metric("bytes left", static_cast<double>(torch::ahbm::memory_allocated() - held_before), "B");
}
