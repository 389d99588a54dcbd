#include "sample_results.h"

#include <cmath>
#include <limits>

#include "base/part.h"
#include "report/json/kernel_name.h"
#include "report/outcome.h"

namespace kernbench::report::samples {
namespace {

LaunchResult launch(const std::string& name, std::int32_t device, std::int64_t start_ns,
                    const std::vector<std::pair<std::string, std::int64_t>>& breakdown_ns) {
  LaunchResult out;
  out.name = name;
  out.kernel = kernel_name(name);
  out.device = device;
  out.start = out.end = Time::nanoseconds(start_ns);
  out.programs = 128;
  for (const auto& [category, nanoseconds] : breakdown_ns) {
    out.breakdown.emplace_back(category, Time::nanoseconds(nanoseconds));
    out.end += Time::nanoseconds(nanoseconds);
  }
  return out;
}

/// A GEMM engine and HBM of the peaks of machine(); the launch moves and multiplies so much.
void add_engines(LaunchResult& launch, double flops, std::int64_t bytes) {
  const double seconds = (launch.end - launch.start).in_seconds();
  launch.flops = flops;
  launch.hbm_bytes = Bytes(bytes);
  launch.distance = {Bytes(bytes / 2), Bytes(bytes / 4), Bytes(bytes - bytes / 2 - bytes / 4), Bytes()};
  launch.fused_bytes = Bytes(bytes / 16);
  launch.tensor_bytes = Bytes(bytes / 8);
  launch.pes = launch.available_pes = 128;
  const auto part = [&](std::int64_t of) { return Time::picoseconds((launch.end - launch.start).count() / of); };
  if (flops > 0) {
    launch.engines.push_back({"gemm", "f16", flops, part(2), flops / seconds, 1.048576e15, 5.24288e14});
  }
  launch.engines.push_back(
      {"hbm", "", static_cast<double>(bytes), part(4), static_cast<double>(bytes) / seconds, 19.2e12, 9.6e12});
}

RunResult machine(const std::string& bench, const std::string& topology) {
  RunResult out;
  out.version = "0.1.0";
  out.bench = bench;
  out.topology = topology;
  out.peak_flops = 1.048576e15;
  out.peak_gemm = {{"f8", 2.097152e15}, {"f16", 1.048576e15}};
  out.peak_vector = 1.6384e13;
  out.peak_hbm_bandwidth = Bandwidth::gigabytes_per_second(19'200);
  out.times_fingerprint = 0x0123456789abcdef;
  out.values_fingerprint = 0xfedcba9876543210;
  return out;
}

void add_resources(RunResult& result, std::int32_t cubes) {
  const auto add = [&](const std::string& name, std::int64_t busy_ns, std::int64_t bytes) {
    ResourceResult resource{name, Time::nanoseconds(busy_ns), Bytes(bytes), 0, to_text(part_kind(name).value())};
    resource.utilisation = resource.busy.in_seconds() / result.simulated_time.in_seconds();
    result.resources.push_back(resource);
  };
  add("host.to_sip0", 130, 8'320);
  result.warnings = {
      "host.link.buffer: 8KiB do not cover a burst of 1KiB and the way there and back at 64GB/s and 600ns; the link "
      "reaches its bandwidth with 76KiB or more, and without this key"};
  result.tlbs = {{"sip0.cube0.pe0.mmu", 1'804, 96, Time::nanoseconds(1'440)}, {"sip0.cube0.pe1.mmu", 12, 0, Time()}};
  for (std::int32_t cube = 0; cube < cubes; ++cube) {
    const std::string name = "sip0.cube" + std::to_string(cube);
    for (std::int32_t pe = 0; pe < 8; ++pe) {
      const std::string of_pe = name + ".pe" + std::to_string(pe);
      add(of_pe + ".gemm", 16'384 + 16 * pe, 0);
      add(of_pe + ".dma.queue0", 9'000 + 10 * cube, 1'572'864);
      add(of_pe + ".vector", 0, 0);
      for (std::int32_t channel = 0; channel < 4; ++channel) {
        add(of_pe + ".hbm.channel" + std::to_string(channel), 5'000, 393'216);
      }
    }
    add(name + ".pe0.router.east", 2'048, 262'144);
  }
}

std::string odd_name(std::mt19937_64& generator) {
  static const std::string kPieces[] = {"gemm",
                                        ".",
                                        "0",
                                        "12",
                                        "\"",
                                        "\\",
                                        "\n",
                                        "\t",
                                        "\x1b[31m",
                                        "\x01",
                                        "\x7f",
                                        "\xff",
                                        "\xc3",
                                        "\xc3\xa9",
                                        "\xed\x95\x9c",
                                        "\xf0\x9f\x98\x80",
                                        "\xed\xa0\x80",
                                        "\xc0\xaf",
                                        "\xc2\x9b",
                                        " ",
                                        "a_rather_long_piece_of_a_name"};
  std::string out;
  for (auto count = generator() % 12; count > 0; --count) out += kPieces[generator() % std::size(kPieces)];
  return out;
}

// Many orders of magnitude, with both ends.
std::int64_t magnitude(std::mt19937_64& generator) {
  return static_cast<std::int64_t>((generator() >> 2) >> (generator() % 62));
}

double odd_number(std::mt19937_64& generator) {
  static const double kOdd[] = {0.0,
                                -0.0,
                                0.1,
                                1e-300,
                                std::numeric_limits<double>::max(),
                                std::numeric_limits<double>::denorm_min(),
                                std::numeric_limits<double>::infinity(),
                                -std::numeric_limits<double>::infinity(),
                                std::nan("")};
  if (generator() % 2 == 0) return kOdd[generator() % std::size(kOdd)];
  return std::ldexp(static_cast<double>(generator()), static_cast<int>(generator() % 200) - 130);
}

// What explains the launch of gemm().
void explain(LaunchResult& launch) {
  launch.bound = Time::nanoseconds(19'796);
  launch.bound_by = "gemm";
  launch.roofline = {"gemm",
                     85.3333333333,
                     6.1e14,
                     {5.24288e14, 9.6e12, 5.24288e14, 1.1635, true},
                     {1.048576e15, 19.2e12, 1.048576e15, 0.5817, true}};
  launch.critical_path = {
      {"gemm", "dot", "gemm.cpp:29", "", Time::nanoseconds(16'496), 16},
      {"dma data", "load", "gemm.cpp:27", "", Time::nanoseconds(5'210), 2},
      {"contention", "load", "gemm.cpp:27", "sip*.cube*.pe*.router.east", Time::nanoseconds(3'104), 2},
      {"dispatch", "", "", "", Time::nanoseconds(1'820), 1},
      {"completion", "", "", "", Time::nanoseconds(1'480), 1}};
  launch.longest_segments = {{"dispatch", "", "", "", launch.start, launch.start + Time::nanoseconds(1'820)},
                             {"gemm", "dot", "gemm.cpp:29", "", Time::nanoseconds(9'130), Time::nanoseconds(10'161)}};
  launch.waits = {{"operand", "dot", "gemm.cpp:29", "load", "gemm.cpp:28", Time::nanoseconds(812'345), 2048},
                  {"engine busy", "load", "gemm.cpp:27", "load", "gemm.cpp:27", Time::nanoseconds(500'000), 4096},
                  {"drain", "", "gemm.cpp:31", "store", "gemm.cpp:31", Time::nanoseconds(9'000), 128},
                  {"other", "", "", "", "", Time::nanoseconds(1'000), 77}};
  launch.operations = {
      {"load", "dma", 4096, Time::nanoseconds(900'000), Time::nanoseconds(2'000'000), Time::nanoseconds(1'500'000),
       Bytes(4096 * 49'152)},
      {"dot", "gemm", 2048, Time::nanoseconds(812'345), Time::nanoseconds(2'111'488), Time::nanoseconds(2'097'152)}};
}

// Lists of any length; the times add up to nothing in particular.
void explain_at_random(LaunchResult& launch, std::mt19937_64& generator) {
  const auto time = [&] { return Time::picoseconds(magnitude(generator) / 4096); };
  launch.bound = time();
  launch.bound_by = odd_name(generator);
  launch.where = odd_name(generator);
  for (auto count = generator() % 12; count > 0; --count) {
    launch.critical_path.push_back({odd_name(generator), odd_name(generator), odd_name(generator), odd_name(generator),
                                    time(), magnitude(generator), odd_name(generator)});
    launch.longest_segments.push_back(
        {odd_name(generator), odd_name(generator), odd_name(generator), odd_name(generator), time(), time()});
    launch.waits.push_back({odd_name(generator), odd_name(generator), odd_name(generator), odd_name(generator),
                            odd_name(generator), time(), magnitude(generator)});
    launch.operations.push_back({odd_name(generator), odd_name(generator), magnitude(generator), time(), time(), time(),
                                 Bytes(magnitude(generator))});
  }
  if (generator() % 2 == 0) return;
  const auto finite = [&] {
    const double value = std::fabs(odd_number(generator));
    return std::isfinite(value) ? value : 1.0;
  };
  launch.roofline = {"vector",
                     finite(),
                     finite(),
                     {finite(), finite(), finite(), finite(), true},
                     {finite(), finite(), finite(), finite(), false}};
}

WaitResult random_wait(std::mt19937_64& generator) {
  static constexpr const char* kReasons[] = {"host wait", "host call", "event", "end", "stream"};
  return {kReasons[generator() % std::size(kReasons)],
          odd_name(generator),
          odd_name(generator),
          odd_name(generator),
          odd_name(generator),
          Time::picoseconds(magnitude(generator) / 4096),
          static_cast<std::int64_t>(1 + generator() % 1000)};
}

PlanResult random_plan(std::mt19937_64& generator) {
  PlanResult out{generator() % 2 == 0 ? "gemm" : odd_name(generator), {}, Time::picoseconds(magnitude(generator))};
  for (const char* name : {"over_pes", "tile_k", "a_from", "other", "over_cubes", "b_from", "depth", "tile_m"}) {
    if (generator() % 8 != 0) out.choices.emplace_back(name, odd_name(generator));
  }
  return out;
}

LaunchResult random_launch(std::mt19937_64& generator) {
  LaunchResult out;
  out.name = odd_name(generator);
  out.kernel = kernel_name(out.name);
  out.device = static_cast<std::int32_t>(generator() % 5000);
  out.start = out.end = Time::picoseconds(magnitude(generator) / 4);
  out.programs = magnitude(generator);
  const auto categories = generator() % 9;
  for (std::uint64_t i = 0; i < categories; ++i) {
    const Time part = Time::picoseconds(generator() % 4 == 0 ? 0 : magnitude(generator) / 4096);
    out.breakdown.emplace_back("category" + std::to_string(i), part);
    out.end += part;
  }
  out.flops = std::fabs(odd_number(generator));
  if (!std::isfinite(out.flops)) out.flops = 0;
  out.hbm_bytes = Bytes(magnitude(generator) / 4096);
  out.pes = magnitude(generator);
  out.available_pes = magnitude(generator);
  out.range = odd_name(generator);
  out.in_region = generator() % 3 != 0;
  out.distance = {Bytes(magnitude(generator) / 4096), Bytes(magnitude(generator) / 4096),
                  Bytes(magnitude(generator) / 4096), Bytes(magnitude(generator) / 4096)};
  out.tensor_bytes = Bytes(magnitude(generator));
  if (generator() % 3 == 0) out.plan = random_plan(generator);
  for (auto count = generator() % 5; count > 0; --count) {
    out.engines.push_back({odd_name(generator), odd_name(generator), std::fabs(odd_number(generator)),
                           Time::picoseconds(magnitude(generator) / 4096), std::fabs(odd_number(generator)),
                           generator() % 2 == 0 ? 0 : 1e12, 1e11});
    if (!std::isfinite(out.engines.back().work)) out.engines.back().work = 0;
    if (!std::isfinite(out.engines.back().attained)) out.engines.back().attained = 0;
  }
  if (generator() % 3 == 0) explain_at_random(out, generator);
  if (generator() % 4 == 0) out.waited_for = random_wait(generator);
  return out;
}

}  // namespace

RunResult gemm() {
  RunResult out = machine("gemm", "ahbm-1sip");
  out.parameters = {{"M", "2048"},     {"N", "2048"},     {"K", "2048"},     {"dtype", "f16"},
                    {"tile_m", "128"}, {"tile_n", "128"}, {"tile_k", "128"}, {"layout", "row_major"}};
  out.seed = 42;
  out.origin = {"file", "kernels/gemm.cpp", {{"gemm.cpp", "0123456789abcdef0123456789abcdef"}}, "GCC: 12.2.0", "-O3",
                ""};
  out.switches = {{"data", "true"}, {"exact_events", "false"}};
  out.simulated_time = Time::picoseconds(31'456'789);
  out.wall_time_s = 0.412;
  out.events = 1'234'567;
  out.launches = {launch(
      "gemm", 0, 2'000,
      {{"dispatch", 1'820}, {"gemm", 16'496}, {"vector", 4}, {"dma", 5'210}, {"wait", 3'100}, {"completion", 1'480}})};
  add_engines(out.launches[0], 2.0 * 2048 * 2048 * 2048, 201'326'592);
  out.launches[0].plan = PlanResult{"gemm",
                                    {{"tile_m", "128"},
                                     {"tile_n", "128"},
                                     {"tile_k", "128"},
                                     {"first_k", "32"},
                                     {"depth", "3"},
                                     {"split_k", "1"},
                                     {"over_cubes", "m 4 x n 4"},
                                     {"over_pes", "n 8"},
                                     {"a_from", "own slice 1 %, cube 5 %, SIP 94 %"},
                                     {"b_from", "cube 100 %"},
                                     {"tcm", "448 KiB"}},
                                    Time::nanoseconds(26'250)};
  explain(out.launches[0]);
  out.machine = {{"name", "ahbm-1sip"}, {"cube.hbm.bandwidth", "1.2TB/s"}, {"pe.clock", "1GHz"}};
  out.checks = {{"C equals A x B in double precision", CheckStatus::passed, 0, 0}};
  out.metrics = {{"arithmetic_intensity", {85.3333333333, "FLOP/B"}}, {"tiles", {4096, ""}}};
  add_resources(out, 16);
  return out;
}

RunResult training_step() {
  RunResult out = machine("training_step", "machines/two_sips.yaml");
  out.correlation_id = "sweep-17/point-3";
  out.simulated_time = Time::microseconds(1'900);
  out.wall_time_s = 2.5;
  out.events = 98'765'432;
  const char* names[] = {"embedding", "attention", "attention", "mlp_up", "mlp_down", "loss", "optimizer_step_adamw"};
  std::int64_t start = 2'000;
  for (int i = 0; i < 7; ++i) {
    LaunchResult one = launch(names[i], i % 2, start,
                              {{"dispatch", 1'500},
                               {"gemm", 40'000 * i},
                               {"vector", 9'000},
                               {"dma", 30'000 + i},
                               {"ipcq", 7},
                               {"wait", i == 3 ? 0 : 12'345},
                               {"semaphore", i == 4 ? 600 : 0},
                               {"completion", 1'480}});
    add_engines(one, 2e10 * i, 64'000'000 * (7 - i));
    one.range = i < 5 ? "forward" : "";
    one.in_region = i < 5;
    start += 150'000;
    out.launches.push_back(one);
  }
  out.region = {2, Time::microseconds(700), Time::microseconds(2), Time::microseconds(750)};
  out.ranges = {
      {"forward", 2, Time::microseconds(12), Time::microseconds(700), 5, Time::microseconds(640), Time::microseconds(2),
       Time::microseconds(450), Time::microseconds(130), Time::microseconds(60), 7e10, Bytes(900'000'000)},
      {"forward/attention",
       2,
       Time::microseconds(4),
       Time::microseconds(250),
       2,
       Time::microseconds(240),
       Time::microseconds(10),
       Time::microseconds(180),
       Time::microseconds(60),
       {},
       3e10,
       Bytes(250'000'000)}};
  out.warnings = {
      "mlp_up runs on 32 of 128 PEs: spread its tensors over more PEs, or name more of them in LaunchOptions"};
  out.checks = {{"loss", CheckStatus::passed, 1.25e-7, 3.0e-8},
                {"gradient of attention.query", CheckStatus::failed, 0.5, INFINITY},
                {"gradient of embedding", CheckStatus::skipped, 0, 0}};
  out.status = RunStatus::check_failed;
  return out;
}

RunResult thousand_launches() {
  RunResult out = machine("decode", "ahbm-2sip");
  out.simulated_time = Time::milliseconds(8);
  out.wall_time_s = 12;
  out.events = 4'000'000'000;
  for (int i = 0; i < 1000; ++i) {
    const int kind = i % 30;
    LaunchResult one = launch("kernel_" + std::to_string(kind), i % 2, 8'000 * i,
                              {{"dispatch", 500}, {"gemm", 100 * kind + i}, {"dma", 3'000}, {"completion", 300}});
    add_engines(one, 1e8 * kind, 1'000'000);
    out.launches.push_back(one);
  }
  for (int i = 0; i < 25; ++i) {
    out.checks.push_back({"token " + std::to_string(i), i == 24 ? CheckStatus::failed : CheckStatus::passed, 0.001, 1});
  }
  out.status = RunStatus::check_failed;
  return out;
}

RunResult deadlock() {
  RunResult out = machine("ring", "tiny");
  out.simulated_time = Time::nanoseconds(4'217);
  out.wall_time_s = 0.001;
  out.events = 321;
  out.launches = {launch("copy", 0, 2'000, {{"dispatch", 800}, {"dma", 417}, {"completion", 1'000}})};
  add_engines(out.launches[0], 0, 65'536);
  out.error =
      ErrorResult{"DeadlockError", "rank 0 waits for a message from rank 1\nrank 1 waits for rank 0", "ring.cpp:17"};
  out.status = RunStatus::error;
  return out;
}

RunResult empty() {
  RunResult out;
  out.bench = "nothing";
  out.topology = "tiny";
  return out;
}

ErrorResult random_error(std::mt19937_64& generator) {
  ErrorResult out{odd_name(generator), odd_name(generator), odd_name(generator)};
  for (auto count = generator() % 6; count > 0; --count) {
    const std::string target = generator() % 3 == 0 ? "" : odd_name(generator);
    out.waits.push_back({odd_name(generator), odd_name(generator), target, generator() % 2 == 0});
  }
  for (auto count = out.waits.empty() ? 0 : generator() % 3; count > 0; --count) {
    auto& cycle = out.cycles.emplace_back();
    for (auto names = generator() % 5; names > 0; --names) cycle.push_back(odd_name(generator));
  }
  if (!out.waits.empty() && generator() % 2 == 0) {
    out.slots = {static_cast<std::int32_t>(generator() % 3), static_cast<std::int32_t>(generator() % 9),
                 odd_name(generator)};
  }
  for (auto count = generator() % 3; count > 0; --count) {
    out.rank_errors.push_back({{static_cast<int>(generator() % 9)},
                               Time::picoseconds(static_cast<std::int64_t>(generator() % 1000)),
                               odd_name(generator),
                               odd_name(generator),
                               odd_name(generator)});
    out.victims.push_back(static_cast<int>(generator() % 9));
  }
  return out;
}

RunResult random(std::mt19937_64& generator) {
  RunResult out;
  out.version = odd_name(generator);
  out.bench = odd_name(generator);
  out.topology = odd_name(generator);
  for (auto count = generator() % 8; count > 0; --count) out.parameters[odd_name(generator)] = odd_name(generator);
  out.seed = generator();
  for (auto count = generator() % 4; count > 0; --count) out.switches[odd_name(generator)] = odd_name(generator);
  out.correlation_id = odd_name(generator);
  out.origin = {odd_name(generator), odd_name(generator), {{odd_name(generator), odd_name(generator)}},
                odd_name(generator), odd_name(generator), odd_name(generator)};
  out.simulated_time = Time::picoseconds(magnitude(generator));
  out.wall_time_s = std::fabs(odd_number(generator));
  out.events = generator() >> (generator() % 64);
  const std::uint64_t launches = generator() % 3 == 0 ? generator() % 200 : generator() % 8;
  for (std::uint64_t i = 0; i < launches; ++i) out.launches.push_back(random_launch(generator));
  for (auto count = generator() % 30; count > 0; --count) {
    out.checks.push_back(
        {odd_name(generator), static_cast<CheckStatus>(generator() % 3), odd_number(generator), odd_number(generator)});
  }
  if (generator() % 3 == 0) {
    const auto access = [&] {
      return RaceAccess{odd_name(generator), odd_name(generator), odd_name(generator), odd_name(generator)};
    };
    for (auto count = generator() % 30; count > 0; --count) {
      const RaceAccess earlier = access(), later = access();
      out.races.push_back({earlier, later, odd_name(generator), Time::picoseconds(magnitude(generator)),
                           static_cast<std::int64_t>(generator() % 1000)});
    }
  }
  for (auto count = generator() % 50; count > 0; --count) {
    out.metrics[odd_name(generator)] = {odd_number(generator), odd_name(generator)};
  }
  for (auto count = generator() % 100; count > 0; --count) {
    out.resources.push_back({odd_name(generator), Time::picoseconds(magnitude(generator)),
                             Bytes(magnitude(generator) / 4096), odd_number(generator)});
  }
  for (auto count = generator() % 8; count > 0; --count) {
    out.warnings.push_back(odd_name(generator));
    out.tlbs.push_back({odd_name(generator), generator(), generator() % 100, Time::picoseconds(magnitude(generator))});
  }
  if (generator() % 4 == 0) out.error = random_error(generator);
  out.status = status_of(out);
  out.times_fingerprint = generator();
  out.values_fingerprint = generator() % 256;
  for (auto count = generator() % 20; count > 0; --count) {
    out.machine.emplace_back("key" + std::to_string(count), odd_name(generator));
  }
  if (generator() % 3 == 0) {
    out.region = RegionResult{magnitude(generator), Time::picoseconds(magnitude(generator)),
                              Time::picoseconds(magnitude(generator)), Time::picoseconds(magnitude(generator))};
  }
  for (auto count = generator() % 6; count > 0; --count) {
    out.ranges.push_back({odd_name(generator), magnitude(generator), Time::picoseconds(magnitude(generator)),
                          Time::picoseconds(magnitude(generator)), magnitude(generator),
                          Time::picoseconds(magnitude(generator)), Time::picoseconds(magnitude(generator)),
                          Time::picoseconds(magnitude(generator)), Time::picoseconds(magnitude(generator)),
                          Time::picoseconds(magnitude(generator)), static_cast<double>(magnitude(generator)),
                          Bytes(magnitude(generator))});
  }
  for (auto count = generator() % 4; count > 0; --count) {
    DeviceResult& device = out.devices.emplace_back();
    device.device = static_cast<std::int32_t>(generator() % 5000);
    device.launches = Time::picoseconds(magnitude(generator) / 4096);
    device.copies = Time::picoseconds(magnitude(generator) / 4096);
    for (auto causes = generator() % 4; causes > 0; --causes) device.idle.push_back(random_wait(generator));
    for (auto kernels = generator() % 4; kernels > 0; --kernels) {
      device.kernels.push_back(
          {odd_name(generator), odd_name(generator), Time::picoseconds(magnitude(generator) / 4096)});
    }
  }
  out.peak_gemm = {{"f16", 1e12}};
  if (generator() % 4 != 0) out.peak_flops = 1e12;
  if (generator() % 4 != 0) out.peak_hbm_bandwidth = Bandwidth::gigabytes_per_second(100);
  return out;
}

}  // namespace kernbench::report::samples
