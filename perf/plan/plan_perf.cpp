// How good are the plans of the library's matrix product? For machines and shapes, one line each: the time of the plan
// that is chosen, its estimate, the best time of an exhaustive search of tile_m, tile_n and tile_k, and the tiles of
// both.
//
//   plan_perf [--no-search] [FIRST [STRIDE [TEXT]]]   only every STRIDE-th case from FIRST, to share the work, and of
//                                                     these the ones with TEXT in their names
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "kernbench/kernbench.h"

namespace kernbench {
namespace {

struct Shape {
  std::int64_t m, n, k;
  const char* b;  // placement of B: "columns" (a copy in each cube, cut over its PEs), "rows" (one, cut over all)
};

struct Case {
  std::string topology;
  std::vector<std::string> overrides;
  Shape shape;
};

struct Tiles {
  std::int64_t m = 0, n = 0, k = 0;
};

struct Measured {
  double us = 0, estimated_us = 0;
  std::string tiles, choices;
};

double microseconds(Time time) {
  return static_cast<double>(time.count()) * 1e-6;
}

std::string choice(const PlanResult& plan, const std::string& name) {
  for (const auto& [key, value] : plan.choices)
    if (key == name) return value;
  return {};
}

Measured measure(const Case& one, const Tiles& tiles) {
  SimulateOptions options;
  options.topology = one.topology;
  options.overrides = one.overrides;
  options.data = false;
  const RunResult result = try_simulate(options, [&] {
    const Shape& shape = one.shape;
    const auto half = torch::dtype(torch::kHalf).device("ahbm");
    const DPPolicy b_placement = shape.b == std::string("rows")
                                     ? DPPolicy{}
                                     : DPPolicy{.cube = Placement::replicate, .pe = Placement::column_wise};
    const auto a = torch::empty({shape.m, shape.k}, half);
    const auto b = torch::empty({shape.k, shape.n}, half.placement(b_placement));
    torch::ahbm::matmul(
        a, b, {.exact_order = true, .tile_m = tiles.m, .tile_n = tiles.n, .tile_k = tiles.k, .placement = DPPolicy{}});
    torch::ahbm::synchronize();
  });
  Measured measured;
  if (result.error || result.launches.empty()) {
    measured.choices = result.error ? result.error->message : "no launch";
    return measured;
  }
  const LaunchResult& launch = result.launches.front();
  measured.us = microseconds(launch.end - launch.start);
  const PlanResult& plan = *launch.plan;
  measured.tiles = fmt::format("{}x{}x{}/{}", choice(plan, "tile_m"), choice(plan, "tile_n"), choice(plan, "tile_k"),
                               choice(plan, "depth"));
  measured.estimated_us = microseconds(plan.estimated);
  for (const auto& [key, value] : plan.choices) measured.choices += key + "=" + value + "; ";
  return measured;
}

std::vector<Case> cases() {
  const std::vector<std::pair<std::string, std::vector<std::string>>> machines{
      {"tiny", {}},
      {"tiny", {"cube.hbm.bandwidth=100GB/s"}},
      {"tiny", {"pe.clock=4GHz"}},
      {"tiny", {"cube.hbm.latency=1us"}},
      {"tiny", {"pe.tcm.capacity=256KiB", "pe.ipcq.capacity=64KiB"}},
      {"tiny", {"sip.cubes.mesh=[2, 2]", "pe.dma.setup=300ns", "pe.gemm.array=[16, 16]"}},
      {"tiny", {"sip.cubes.mesh=[4, 2]", "pe.gemm.array=[128, 128]"}},
      {"ahbm-1sip", {}},
      {"ahbm-1sip", {"cube.hbm.bandwidth=100GB/s"}},
      {"ahbm-1sip", {"pe.clock=4GHz"}},
      {"ahbm-1sip", {"sip.cubes.link.bandwidth=64GB/s", "cube.noc.link.latency=20ns"}},
  };
  const std::vector<Shape> small{{512, 512, 512, "columns"}, {512, 512, 512, "rows"},  {64, 1024, 256, "columns"},
                                 {1024, 64, 64, "columns"},  {1024, 128, 128, "rows"}, {256, 256, 2048, "columns"},
                                 {16, 2048, 512, "columns"}};
  const std::vector<Shape> large{{1024, 1024, 1024, "columns"}, {1024, 1024, 1024, "rows"},
                                 {64, 12288, 256, "columns"},   {8192, 64, 64, "columns"},
                                 {8192, 128, 128, "rows"},      {512, 512, 4096, "columns"}};
  std::vector<Case> all;
  for (const auto& [topology, overrides] : machines) {
    for (const Shape& shape : topology == "tiny" ? small : large) all.push_back({topology, overrides, shape});
  }
  return all;
}

std::vector<std::int64_t> sizes(std::int64_t extent, std::int64_t least, std::int64_t most) {
  std::vector<std::int64_t> all;
  for (std::int64_t size = least; size < extent && size <= most; size *= 2) all.push_back(size);
  if (extent <= most) all.push_back(extent);
  return all;
}

int run(int first, int stride, const std::string& part, bool search) {
  const auto all = cases();
  double worst = 1;
  fmt::print("{:>9} {:>9} {:>9} {:>6}  {:<20} {:<20} case\n", "us", "estimate", "best", "", "tiles", "best tiles");
  for (std::size_t i = static_cast<std::size_t>(first); i < all.size(); i += static_cast<std::size_t>(stride)) {
    const Case& one = all[i];
    std::string name = fmt::format("{} {}x{}x{} {}", one.topology, one.shape.m, one.shape.n, one.shape.k, one.shape.b);
    for (const auto& text : one.overrides) name += " " + text;
    if (name.find(part) == std::string::npos) continue;
    const Measured chosen = measure(one, {});
    Measured best = chosen;
    if (search) {
      for (const auto m : sizes(one.shape.m, 64, 256))
        for (const auto n : sizes(one.shape.n, 64, 256))
          for (const auto k : sizes(one.shape.k, 64, 512)) {
            const Measured other = measure(one, {m, n, k});
            if (other.us > 0 && other.us < best.us) best = other;
          }
    }
    fmt::print("{:9.3f} {:9.3f} {:9.3f} {:6.3f}  {:<20} {:<20} {}\n", chosen.us, chosen.estimated_us, best.us,
               chosen.us / best.us, chosen.tiles, best.tiles, name);
    worst = std::max(worst, chosen.us / best.us);
    fmt::print("    {}\n", chosen.choices);
    if (best.us < chosen.us) fmt::print("    {}\n", best.choices);
    std::fflush(stdout);
    if (!(chosen.us > 0)) return 1;
  }
  if (search)
    fmt::print("RESULT\tplan: chosen tiles to those of a search, the worst\t{:.3f}\tx\tat most\t1.15\n", worst);
  return 0;
}

}  // namespace
}  // namespace kernbench

int main(int argc, char** argv) {
  const bool search = argc < 2 || std::strcmp(argv[1], "--no-search") != 0;
  const int skip = search ? 0 : 1;
  const int first = argc > 1 + skip ? std::atoi(argv[1 + skip]) : 0;
  const int stride = argc > 2 + skip ? std::atoi(argv[2 + skip]) : 1;
  return kernbench::run(first, stride, argc > 3 + skip ? argv[3 + skip] : "", search);
}
