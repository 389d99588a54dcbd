#include "fabric_scenario.h"

#include <algorithm>
#include <memory>
#include <ostream>

namespace kernbench {
void PrintTo(Time time, std::ostream* out) {
  *out << time.count() << " ps";
}
}  // namespace kernbench

namespace kernbench::hardware {

bool operator==(const TransferTimes& a, const TransferTimes& b) {
  return a.departed == b.departed && a.delivered == b.delivered;
}
void PrintTo(const TransferTimes& times, std::ostream* out) {
  *out << "departed " << times.departed.count() << " delivered " << times.delivered.count();
}
bool operator==(const ServerCounters& a, const ServerCounters& b) {
  return a.busy == b.busy && a.bytes == b.bytes && a.bursts == b.bursts;
}
void PrintTo(const ServerCounters& counters, std::ostream* out) {
  *out << "busy " << counters.busy.count() << " bytes " << counters.bytes.count() << " bursts " << counters.bursts;
}

}  // namespace kernbench::hardware

namespace kernbench::hardware::testing {

Tree tree_of_paths(const std::vector<std::vector<Stage>>& paths) {
  const std::vector<std::span<const Stage>> views(paths.begin(), paths.end());
  return tree_of(views);
}

TransferRequest PlannedRequest::view() const {
  TransferRequest request;
  request.agent = agent;
  request.operation = operation;
  request.route = route;
  request.ranges = ranges;
  request.landing = landing;
  request.burst = burst;
  request.granule = granule;
  return request;
}

std::uint32_t Scenario::add(ServerSpec spec) {
  spec.agent.value = static_cast<std::uint32_t>(servers.size());
  servers.push_back(std::move(spec));
  return static_cast<std::uint32_t>(servers.size() - 1);
}

std::size_t Scenario::send(std::vector<Stage> route, std::int64_t bytes, std::int64_t burst, Time start) {
  PlannedTransfer& planned = transfers.emplace_back();
  planned.request.agent.value = static_cast<std::uint32_t>(1000 + transfers.size());
  planned.request.route = std::move(route);
  planned.request.ranges = {{0, 1, Bytes(bytes), 0}};
  planned.request.burst = planned.request.granule = Bytes(burst);
  planned.start = start;
  return transfers.size() - 1;
}

std::size_t Scenario::multicast(std::vector<std::vector<Stage>> paths, std::int64_t bytes, std::int64_t burst,
                                Time start) {
  const std::size_t index = send({}, bytes, burst, start);
  transfers[index].request.paths = std::move(paths);
  return index;
}

namespace {

struct Run {
  Run(const Scenario& what, const RunOptions& how) : scenario(what), options(how), fabric(scheduler, {how.exact}) {}

  void begin(std::uint64_t index) {
    const PlannedRequest& planned = scenario.transfers[index].request;
    TransferRequest request = planned.view();
    request.departed = sim::call<&Run::departed>(this, index);
    request.delivered = sim::call<&Run::delivered>(this, index);
    request.log = &outcome.logs[index];
    if (!planned.paths.empty()) {
      Kept& kept = multicasts[index];
      kept.tree = tree_of_paths(planned.paths);
      kept.open = planned.paths.size();
      outcome.received[index].resize(kept.open);
      for (std::size_t i = 0; i < kept.open; ++i) {
        kept.receivers.push_back({{planned.agent.value + 100'000 + static_cast<std::uint32_t>(i)},
                                  planned.operation,
                                  sim::call<&Run::received>(this, index * 1000 + i)});
      }
      request.route = kept.tree.stages;
      request.tree = kept.tree.places;
      request.receivers = kept.receivers;
    }
    fabric.start(std::move(request));
  }
  void received(std::uint64_t argument) {
    const std::size_t index = argument / 1000;
    outcome.received[index][argument % 1000] = scheduler.now();
    if (--multicasts[index].open == 0) delivered(index);
  }
  void departed(std::uint64_t index) { outcome.times[index].departed = scheduler.now(); }
  void delivered(std::uint64_t index) {
    outcome.times[index].delivered = scheduler.now();
    for (std::size_t i = 0; i < scenario.transfers.size(); ++i) {
      if (scenario.transfers[i].after == index) schedule(i, scheduler.now() + scenario.transfers[i].start);
    }
  }
  void schedule(std::size_t index, Time when) {
    const PlannedRequest& request = scenario.transfers[index].request;
    // Far from the operations of the fabric's callbacks.
    scheduler.schedule(when, sim::Phase::deliver, request.agent, request.operation * 2 + 1'000'000,
                       sim::call<&Run::begin>(this, index));
  }
  void sample(std::uint64_t) { outcome.samples.push_back(counters()); }
  std::vector<ServerCounters> counters() const {
    std::vector<ServerCounters> result;
    for (std::uint32_t i = 0; i < scenario.servers.size(); ++i) result.push_back(fabric.counters(ServerId{i}));
    return result;
  }

  struct Kept {  // of a multicast
    Tree tree;
    std::vector<Receiver> receivers;
    std::size_t open = 0;
  };

  const Scenario& scenario;
  const RunOptions& options;
  std::vector<Kept> multicasts = std::vector<Kept>(scenario.transfers.size());
  sim::Scheduler scheduler;
  Fabric fabric;
  Outcome outcome;
};

}  // namespace

Outcome simulate(const Scenario& scenario, const RunOptions& options) {
  Run run(scenario, options);
  for (const ServerSpec& spec : scenario.servers) run.fabric.add_server(spec);
  run.outcome.times.resize(scenario.transfers.size());
  run.outcome.logs.resize(scenario.transfers.size());
  run.outcome.received.resize(scenario.transfers.size());
  for (std::size_t i = 0; i < scenario.transfers.size(); ++i) {
    const std::size_t index = options.reversed_order ? scenario.transfers.size() - 1 - i : i;
    if (!scenario.transfers[index].after) run.schedule(index, scenario.transfers[index].start);
  }
  for (std::size_t i = 0; i < options.sample_at.size(); ++i) {
    run.scheduler.schedule(options.sample_at[i], sim::Phase::sample, {}, i, sim::call<&Run::sample>(&run, i));
  }
  run.scheduler.run();
  run.outcome.counters = run.counters();
  run.outcome.events = run.scheduler.events_processed();
  run.outcome.in_flight = run.fabric.in_flight();
  run.outcome.idle = run.fabric.idle();
  return run.outcome;
}

namespace {

TrafficClass random_class(std::mt19937_64& random) {
  const VirtualNetwork network = pick(random, 0, 2) == 0 ? VirtualNetwork::response : VirtualNetwork::request;
  return {network, static_cast<std::uint8_t>(pick(random, 0, 3) == 0 ? 1 : 0)};
}

/// Where the servers of a random scenario are.
struct Layout {
  std::uint32_t first_memory = 0, first_members = 0;
  std::uint32_t second_memory = 0, second_members = 0;
  std::uint32_t begin = 0, end = 0;  // plain servers
  std::uint32_t last_memory = 0, last_members = 0;
};

Layout add_servers(Scenario& scenario, std::mt19937_64& random) {
  const auto add = [&](std::int64_t count, std::int64_t most_buffer) {
    const auto first = static_cast<std::uint32_t>(scenario.servers.size());
    for (std::int64_t i = 0; i < count; ++i) {
      scenario.add(server_spec(per_byte(pick(random, 1, 4)), ps(pick(random, 1, 9)), pick(random, 1, most_buffer),
                               Bytes(pick(random, 0, 3))));
      scenario.servers.back().queue = Bytes(pick(random, 1, 20));
    }
    return first;
  };
  Layout layout;
  layout.first_members = static_cast<std::uint32_t>(pick(random, 2, 4));
  layout.first_memory = add(layout.first_members, 18);
  layout.second_members = static_cast<std::uint32_t>(pick(random, 2, 3));
  layout.second_memory = add(layout.second_members, 48);
  const std::int64_t plain = pick(random, 1, 7);
  layout.begin = add(plain, pick(random, 1, 48));
  layout.end = layout.begin + static_cast<std::uint32_t>(plain);
  std::mt19937_64 own = random;  // the other figures stay what they are without packets
  for (std::uint32_t link = layout.begin; link < layout.end; ++link) {
    if (pick(own, 0, 2) == 0) scenario.servers[link].packets = {Bytes(pick(own, 1, 9)), Bytes(pick(own, 0, 4))};
    scenario.servers[link].lane = pick(own, 0, 2) == 0;
  }
  layout.last_members = static_cast<std::uint32_t>(pick(random, 2, 4));
  layout.last_memory = add(layout.last_members, 24);
  return layout;
}

std::vector<Stage> random_route(const Layout& layout, bool one_class, bool may_return, std::mt19937_64& random) {
  std::vector<Stage> route;
  switch (pick(random, 0, 3)) {
    case 0:
      route.push_back(stage(layout.first_memory, static_cast<std::uint16_t>(layout.first_members)));
      break;
    case 1:
      route.push_back(stage(layout.second_memory, static_cast<std::uint16_t>(layout.second_members)));
      break;
    default:
      break;
  }
  for (std::uint32_t server = layout.begin; server < layout.end; ++server) {
    if (pick(random, 0, 2) > 0) route.push_back(stage(server));
  }
  if (may_return && route.size() > 1 && route[0].group > 1 && pick(random, 0, 5) == 0) {
    route.push_back(route[0]);  // back to the memory where it came from: its servers twice on one route
  } else if (pick(random, 0, 2) == 0 || route.empty()) {
    route.push_back(stage(layout.last_memory, static_cast<std::uint16_t>(layout.last_members)));
  }
  if (one_class) return route;
  for (Stage& at : route) at.traffic = random_class(random);
  return route;
}

}  // namespace

std::vector<StridedRange> landing_of(const std::vector<StridedRange>& ranges, std::mt19937_64& random) {
  std::int64_t left = 0;
  for (const StridedRange& range : ranges) left += range.total().count();
  std::vector<StridedRange> landing;
  while (left > 0) {
    const std::int64_t row = pick(random, 1, std::min<std::int64_t>(left, left > 1000 ? 3000 : 12));
    const std::int64_t rows = pick(random, 1, std::min<std::int64_t>(left / row, 4));
    landing.push_back({static_cast<std::uint64_t>(pick(random, 0, 64)), rows, Bytes(row), row + pick(random, 0, 9)});
    left -= rows * row;
  }
  return landing;
}

Scenario random_scenario(std::mt19937_64& random, std::size_t transfers) {
  Scenario scenario;
  const Layout layout = add_servers(scenario, random);
  const std::int64_t spread = pick(random, 0, 2) * 60;
  const std::int64_t granule = pick(random, 2, 5);
  const bool one_class = pick(random, 0, 1) == 0;  // all in the same queues
  for (std::size_t i = 0; i < transfers; ++i) {
    PlannedTransfer& planned = scenario.transfers.emplace_back();
    planned.request.agent.value = static_cast<std::uint32_t>(2000 + pick(random, 0, 3));
    planned.request.operation = i;
    planned.request.route = random_route(layout, one_class, transfers > 1, random);
    planned.request.granule = Bytes(granule);
    planned.request.burst = Bytes(pick(random, 0, 1) == 0 ? granule * pick(random, 1, 4) : pick(random, 1, 12));
    for (std::int64_t range = pick(random, 1, 2); range > 0; --range) {
      const std::int64_t row = pick(random, 1, 12);
      planned.request.ranges.push_back(
          {static_cast<std::uint64_t>(pick(random, 0, 64)), pick(random, 1, 4), Bytes(row), row + pick(random, 0, 9)});
    }
    if (pick(random, 0, 2) == 0) planned.request.landing = landing_of(planned.request.ranges, random);
    planned.start = ps(pick(random, 0, 3) == 0 ? 0 : pick(random, 0, spread));
    if (i > 0 && pick(random, 0, 2) == 0) {
      planned.after = static_cast<std::size_t>(pick(random, 0, static_cast<std::int64_t>(i) - 1));
      planned.start = ps(pick(random, 1, 12));
    }
  }
  return scenario;
}

Scenario random_traffic(std::mt19937_64& random, Time spread) {
  Scenario scenario;
  const std::int64_t links = 8;
  for (std::int64_t i = 0; i < links; ++i) {
    scenario.add(
        server_spec(Bandwidth::gigabytes_per_second(pick(random, 64, 256)), ps(pick(random, 1000, 8000)), 16 * 1024));
  }
  for (int i = 0; i < 40; ++i) {
    const std::int64_t from = pick(random, 0, links - 1);
    std::vector<Stage> route;
    for (std::int64_t at = from; at <= pick(random, from, links - 1); ++at)
      route.push_back(stage(static_cast<std::uint32_t>(at)));
    scenario.send(std::move(route), pick(random, 1, 64) * 1024, 1024, ps(pick(random, 0, spread.count())));
  }
  return scenario;
}

}  // namespace kernbench::hardware::testing
