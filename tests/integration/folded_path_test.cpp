// The critical path that is folded forward is the one that a walk back over all records finds.
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "kernbench/kernbench.h"
#include "programs.h"
#include "runtime/context.h"
#include "runtime/simulation.h"
#include "support/sanitizers.h"
#include "walked_path.h"

namespace kernbench {
namespace {

namespace torch = kernbench::torch;
namespace tl = kernbench::tl;

using testing::tiny;
using testing::Walker;

/// Loads, products, sums, stores, reads of values, delays and tokens, in any order.
void compute(tl::Tensor x, tl::Tensor y, std::mt19937& random, std::vector<tl::Tile>& tiles) {
  const std::int64_t size = 16, rows = x.size(0) / size,
                     row = static_cast<std::int64_t>(random() % static_cast<unsigned>(rows)) * size;
  switch (random() % 9) {
    case 0:
    case 1:
      tiles.push_back(tl::load(x, {row, 0}, {size, size}));
      break;
    case 2:
      tiles.push_back(tl::dot(tiles[random() % tiles.size()], tiles.back()));
      break;
    case 3:
      tiles.push_back(tl::exp(tiles[random() % tiles.size()] * 0.01f));
      break;
    case 4:
    case 5:
      tl::store(y, {row, 0}, tiles.back());
      break;
    case 6:
      tl::item_or(tl::max(tiles.back()), 1.0f);
      break;
    case 7:
      for (std::int64_t i = static_cast<std::int64_t>(random() % 3); i >= 0; --i) tl::delay(20);
      break;
    case 8: {
      auto [tile, token] = tl::load_async(x, {row, 0}, {size, size});
      tiles.push_back(tl::cast(tiles.back(), DType::f32));
      tl::wait(token);
      break;
    }
  }
  if (tiles.size() > 3) tiles.erase(tiles.begin());
}

void alone(tl::Tensor x, tl::Tensor y, std::int64_t seed) {
  std::mt19937 random(static_cast<std::uint32_t>(seed * 8 + tl::program_id(0)));
  std::vector<tl::Tile> tiles{tl::full({16, 16}, 0.5f, DType::f32)};
  for (int step = 0; step < 30; ++step) compute(x, y, random, tiles);
}

/// The same with messages around a ring in between.
void ring(tl::Tensor x, tl::Tensor y, std::int64_t seed) {
  std::mt19937 random(static_cast<std::uint32_t>(seed * 8 + tl::program_id(0))),
      shared(static_cast<std::uint32_t>(seed));
  std::vector<tl::Tile> tiles{tl::full({16, 16}, 0.5f, DType::f32)};
  for (int step = 0; step < 30; ++step) {
    compute(x, y, random, tiles);
    switch (shared() % 5) {
      case 0:
        tl::send(tiles.back(), tl::ring_next());
        tiles.push_back(tl::recv(DType::f32, {16, 16}, tl::ring_previous()));
        break;
      case 1: {
        const tl::Token sent = tl::isend(tiles.back(), tl::ring_previous(), 7);
        compute(x, y, random, tiles);
        tiles.push_back(tl::recv_async(DType::f32, {16, 16}, tl::ring_next(), 7));
        tl::wait(sent);
        break;
      }
      default:
        break;
    }
    while (tiles.size() > 3) tiles.erase(tiles.begin());
  }
}

using Parts =
    std::map<std::tuple<std::string, std::string, std::string, std::string>, std::pair<std::int64_t, std::int64_t>>;

Parts parts_of(const std::vector<PathPart>& path) {
  Parts parts;
  for (const PathPart& part : path) {
    if (part.activity == "dispatch" || part.activity == "completion") continue;
    // The walk does not know why a sender came late.
    if (part.activity.starts_with("sender ")) {
      auto& [time, count] = parts[{"sender", "", "", ""}];
      time += part.time.count();
      count = 1;
      continue;
    }
    parts[{part.activity, part.operation, part.where, part.on}] = {part.time.count(), part.count};
  }
  return parts;
}

std::string text_of(const Parts& parts) {
  std::string text;
  for (const auto& [texts, sum] : parts) {
    const auto& [activity, operation, where, on] = texts;
    text += activity + " " + operation + " " + where + " " + on + " " + std::to_string(sum.first) + " x" +
            std::to_string(sum.second) + "\n";
  }
  return text;
}

void expect_walked(const RunResult& result, const Walker& walker, std::int64_t seed) {
  for (const LaunchResult& launch : result.launches) {
    if (launch.critical_path.size() == 32) continue;  // cut
    EXPECT_EQ(text_of(parts_of(launch.critical_path)), text_of(parts_of(walker.path(launch.name).parts)))
        << launch.name << ", seed " << seed;
  }
}

std::vector<std::string> narrow(std::int64_t seed) {
  std::vector<std::string> overrides;
  if (seed % 2 == 0) overrides.emplace_back("pe.tcm.capacity=8KiB");
  if (seed % 3 == 0) overrides.insert(overrides.end(), {"pe.dma.depth=1", "pe.vector.queue=2", "pe.gemm.queue=1"});
  if (seed % 5 == 0) overrides.emplace_back("sip.cubes.mesh=[2, 2]");
  if (seed % 7 == 0) overrides.insert(overrides.end(), {"pe.mmu.miss=120ns", "pe.mmu.page=1KiB"});
  return overrides;
}

constexpr std::int64_t kSeeds = kSanitized ? 30 : 150;

TEST(FoldedPath, IsTheWalkedOneOfRandomPrograms) {
  for (std::int64_t seed = 0; seed < kSeeds; ++seed) {
    Walker walker;
    const RunResult result = simulate(tiny(narrow(seed)), [&] {
      walker.subscribe_to(runtime::current_context("test").simulation.operations());
      auto x = torch::ones({64, 16}, torch::device("ahbm")), y = torch::ones({64, 16}, torch::device("ahbm"));
      torch::launch("alone", alone, x, y, seed);
      torch::launch("alone", alone, y, x, seed + 1);
      torch::ahbm::synchronize();
    });
    expect_walked(result, walker, seed);
    if (HasFailure()) return;
  }
}

TEST(FoldedPath, IsTheWalkedOneOfProgramsThatSendMessages) {
  for (std::int64_t seed = 0; seed < kSeeds; ++seed) {
    Walker walker;
    auto overrides = narrow(seed);
    overrides.emplace_back("cube.pes.mesh=[4, 1]");
    const RunResult result = simulate(tiny(overrides), [&] {
      walker.subscribe_to(runtime::current_context("test").simulation.operations());
      auto x = torch::ones({64, 16}, torch::device("ahbm")), y = torch::ones({64, 16}, torch::device("ahbm"));
      torch::LaunchOptions options;
      options.queues.topology = QueueTopology::ring_1d;
      options.queues.parameters.n_slots = seed % 2 == 0 ? 2 : 4;
      torch::launch(options, "ring", ring, x, y, seed);
      torch::ahbm::synchronize();
    });
    expect_walked(result, walker, seed);
    if (HasFailure()) return;
  }
}

/// A kernel that goes on for long: what the explanation holds is what is under way.
TEST(FoldedPath, ItsMemoryDoesNotGrowWithTheOperationsThatHavePassed) {
  std::size_t few = 0, many = 0;
  const auto nodes_after = [](std::int64_t steps, std::size_t& nodes) {
    simulate(tiny(), [&] {
      auto& explainer = *runtime::current_context("test").simulation.environment().explainer;
      auto x = torch::ones({64, 16}, torch::device("ahbm"));
      torch::launch(
          "long",
          [&](tl::Tensor a) {
            for (std::int64_t i = 0; i < steps; ++i) {
              const tl::Tile tile = tl::load(a, {0, 0}, {16, 16});
              if (i % 3 == 0) tl::item_or(tl::max(tile), 1.0f);
              nodes = std::max(nodes, explainer.paths().nodes());
            }
          },
          x);
      torch::ahbm::synchronize();
    });
  };
  nodes_after(100, few);
  nodes_after(10'000, many);
  EXPECT_LE(many, few + few / 2);
}

}  // namespace
}  // namespace kernbench
