// A collective algorithm of one's own: every rank sends its tensor to rank 0, which adds them up in the order of the
// ranks and sends the sum to all. kernbench ccl all_reduce --load own_collective.cpp --algo hub_allreduce
#include <kernbench/collectives.h>
#include <kernbench/kernbench.h>

#include <algorithm>
#include <string>
#include <tuple>
#include <vector>

namespace torch = kernbench::torch;
namespace tl = kernbench::tl;
namespace collectives = kernbench::collectives;

namespace {

constexpr int kHub = 0;

// Runs on each PE that holds a part of the tensor, and talks to the same PE of other SIPs.
void reduce_at_hub(collectives::Program& program) {
  const auto mine = program.input();  // of an all-reduce the output, too
  for (std::int64_t first = 0; first < mine.tiles(); first += program.slots()) {
    const std::int64_t end = std::min(first + program.slots(), mine.tiles());  // so many fit into a channel
    if (program.rank() != kHub) {
      for (std::int64_t tile = first; tile < end; ++tile) program.send(kHub, mine.load(tile));
      for (std::int64_t tile = first; tile < end; ++tile) mine.store(tile, program.receive(kHub, mine, tile));
      continue;
    }
    for (std::int64_t tile = first; tile < end; ++tile) {
      tl::Tile sum = mine.load(tile);
      for (int rank = 1; rank < program.ranks(); ++rank) sum = program.reduce(sum, program.receive(rank, mine, tile));
      const tl::Tile result = program.finish(sum);
      mine.store(tile, result);
      for (int rank = 1; rank < program.ranks(); ++rank) program.send(rank, result);
    }
  }
}

std::vector<collectives::Channel> to_hub_and_back(const collectives::Shape& shape) {
  std::vector<collectives::Channel> channels;
  for (int rank = 1; rank < shape.ranks; ++rank) {
    channels.emplace_back(rank, kHub);
    channels.emplace_back(kHub, rank);
  }
  return channels;
}

std::string too_many_ranks(const collectives::Group& group) {
  constexpr int kMost = 8;
  if (group.shape.ranks <= kMost) return {};
  return "the hub takes in " + std::to_string(group.shape.ranks) + " tensors over its links; take up to 8 ranks";
}

// All tensors on their way to the hub, then all sums on their way back.
std::vector<collectives::Step> there_and_back(const collectives::Shape& shape) {
  collectives::Step there{.share = 1}, back{.share = 1};
  for (int rank = 1; rank < shape.ranks; ++rank) {
    there.messages.push_back({rank, kHub});
    back.messages.push_back({kHub, rank});
  }
  return {there, back};
}

}  // namespace

KERNBENCH_COLLECTIVES(registry) {
  registry.add({.name = "hub_allreduce",
                .operation = collectives::Operation::all_reduce,
                .method = "all ranks send to rank 0, which adds and sends the sum to all",
                .fold_order = "((x[0] ∘ x[1]) ∘ …) ∘ x[n-1]",
                .refusal = too_many_ranks,
                .channels = to_hub_and_back,
                .kernel = reduce_at_hub,
                .steps = there_and_back});
}

KERNBENCH_BENCH(own_collective, "a sum over the devices by an algorithm of this file") {
  const int ranks = torch::ahbm::device_count();
  torch::multiprocessing::spawn(
      [](int rank, int size) {
        torch::ahbm::set_device(rank);
        torch::distributed::init_process_group("ahbm", rank, size, {.algorithm = "hub_allreduce"});
        const auto x = torch::full({1 << 16}, rank + 1, torch::device("ahbm"));
        torch::distributed::all_reduce(x);
        kernbench::check_close("sum", x.cpu(), torch::full({1 << 16}, size * (size + 1) / 2));
      },
      std::tuple{ranks}, {.nprocs = ranks});
}
