// Where to keep a table that all PEs of a cube read: in HBM, or staged once in the cube's SRAM.
#include <kernbench/kernbench.h>

#include <string>

namespace torch = kernbench::torch;
namespace tl = kernbench::tl;

enum class From { hbm, multicast, sram, sram_multicast };

/// The table in the SRAM of this cube: each PE brings a part of it, and goes on when all have.
tl::CubeBuffer staged(const tl::In& table) {
  const auto region = tl::alloc(table.shape(), table.dtype(), tl::CubeScope{"table"});
  const std::int64_t columns = table.size(1), part = table.size(0) / tl::num_pes();
  for (std::int64_t row = tl::pe_id() * part; row < (tl::pe_id() + 1) * part; row += 16) {
    tl::store(region, {row, 0}, tl::load(table, {row, 0}, {16, columns}));
  }
  tl::barrier(tl::Scope::cube);
  return region;
}

/// Every PE reads all blocks of the table, `passes` times; one by one each begins at another block.
void scan(tl::In table, std::int64_t passes, From from) {
  const std::int64_t rows = table.size(0), blocks = rows / 64;
  const bool together = from == From::multicast || from == From::sram_multicast;
  tl::MulticastGroup cube{"cube " + std::to_string(tl::cube_id()), {}};
  for (std::int64_t i = 0; i < tl::num_pes(); ++i) cube.programs.push_back(tl::program_id() - tl::pe_id() + i);
  const bool in_sram = from == From::sram || from == From::sram_multicast;
  const auto region = in_sram ? staged(table) : tl::CubeBuffer(nullptr);
  const tl::Extents block{64, table.size(1)};
  for (std::int64_t i = 0; i < passes * blocks; ++i) {
    const tl::Extents at{(together ? i : i + tl::pe_id() * blocks / tl::num_pes()) % blocks * 64, 0};
    if (from == From::hbm) tl::load(table, at, block);
    if (from == From::multicast) tl::multicast_load(cube, table, at, block);
    if (from == From::sram) tl::load(region, at, block);
    if (from == From::sram_multicast) tl::multicast_load(cube, region, at, block);
  }
}

/// Every PE reads rows that no other one reads at that time.
void look_up(tl::In table, std::int64_t count, From from) {
  const std::int64_t columns = table.size(1);
  const auto region = from == From::sram ? staged(table) : tl::CubeBuffer(nullptr);
  for (std::int64_t i = 0; i < count; ++i) {
    const tl::Extents at{(i * 389 + tl::program_id() * 131) % table.size(0), 0};
    if (from == From::hbm) tl::load(table, at, {1, columns});
    if (from == From::sram) tl::load(region, at, {1, columns});
  }
}

KERNBENCH_BENCH(staging, "a table that a cube's PEs share: from HBM, by multicast, or staged in the cube's SRAM",
                {"cubes", 16, "cubes of the device"}, {"pes", 8, "PEs of each"},
                {"passes", 2, "how often each PE reads the table"},
                {"everywhere", false, "also in all cubes at once, with a table that is spread over the device"}) {
  const auto cubes = kernbench::parameter<std::int32_t>("cubes", 1, 1024);
  const auto pes = kernbench::parameter<std::int32_t>("pes", 1, 64);
  const auto passes = kernbench::parameter<std::int64_t>("passes", 1, 1000);
  const auto half = torch::dtype(torch::kHalf).device("ahbm");
  const auto measure = [&](const std::string& what, bool all_cubes, auto kernel, const torch::Tensor& table,
                           std::int64_t count, From from) {
    torch::LaunchOptions launch;
    launch.queues.window = kernbench::WindowOptions{};  // for barriers
    for (std::int32_t cube = all_cubes ? 0 : cubes - 1; cube < cubes; ++cube) {
      for (std::int32_t pe = 0; pe < pes; ++pe) launch.pes.push_back({kernbench::CubeId{cube}, kernbench::PeId{pe}});
    }
    torch::ahbm::Event begin, end;
    torch::launch(launch, "warm_up", [] {});  // its channels are there, and nothing of it is measured
    begin.record();
    torch::launch(launch, "read", kernel, table, count, from);
    end.record();
    end.synchronize();
    kernbench::report_metric(what, begin.elapsed_time(end) * 1e3, "us");
  };
  for (const bool all_cubes : {false, true}) {
    if (all_cubes && !kernbench::parameter<bool>("everywhere")) break;
    const std::string who = all_cubes ? "spread, all cubes, " : "one far slice, ";
    const auto placed = all_cubes ? half : half.placement({.num_cubes = 1, .num_pes = 1});
    const auto table = torch::ones({512, 512}, placed.name("table"));  // 512 KiB
    torch::ahbm::synchronize();
    measure(who + "scan, HBM", all_cubes, scan, table, passes, From::hbm);
    measure(who + "scan, multicast", all_cubes, scan, table, passes, From::multicast);
    measure(who + "scan, SRAM", all_cubes, scan, table, passes, From::sram);
    measure(who + "scan, SRAM multicast", all_cubes, scan, table, passes, From::sram_multicast);
    measure(who + "lookups, HBM", all_cubes, look_up, table, 128 * passes, From::hbm);
    measure(who + "lookups, SRAM", all_cubes, look_up, table, 128 * passes, From::sram);
  }
}
