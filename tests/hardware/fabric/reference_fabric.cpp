#include "reference_fabric.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

namespace kernbench::hardware::testing {
namespace {

/// An input port: queues (0, server, class, write buffer or not) before injections (1, agent, operation, response
/// buffer or not).
using Port = std::tuple<int, std::uint64_t, std::uint64_t, int>;

struct ReferenceAccess {
  std::uint64_t address = 0, landing = 0;
  std::int64_t bytes = 0;
};

struct Occupied {  // a channel, by one burst
  std::size_t server = 0;
  std::int64_t end = 0;
};

struct Visit {  // of one burst at one stage
  std::int64_t start = 0, head = 0, end = 0, tail = 0;
  std::vector<Occupied> channels;  // of a memory
  std::uint64_t order = 0;         // over all starts
};

struct ReferenceBurst {
  std::size_t transfer = 0;
  std::size_t index = 0;
  std::vector<ReferenceAccess> accesses;
  std::int64_t bytes = 0;
  std::vector<Visit> visits;  // one per stage started
};

/// Packet by packet: what a link serialises for so many bytes.
Bytes on_wire(std::int64_t bytes, const Packets& packets) {
  std::int64_t wire = 0;
  for (std::int64_t left = bytes; left > 0; left -= packets.payload.count()) {
    if (packets.payload == Bytes(0)) return Bytes(bytes);
    wire += std::min(left, packets.payload.count()) + packets.overhead.count();
  }
  return Bytes(wire);
}

struct ReferenceByte {
  std::uint64_t address = 0;
  bool ends_row = false;
};

std::vector<ReferenceByte> bytes_of(const std::vector<StridedRange>& ranges) {
  std::vector<ReferenceByte> bytes;
  for (const StridedRange& range : ranges) {
    for (std::int64_t row = 0; row < range.rows; ++row) {
      for (std::int64_t i = 0; i < range.row_bytes.count(); ++i) {
        bytes.push_back(
            {range.address + static_cast<std::uint64_t>(row * range.stride + i), i + 1 == range.row_bytes.count()});
      }
    }
  }
  return bytes;
}

std::vector<ReferenceAccess> accesses_of(const PlannedRequest& request) {
  const auto from = bytes_of(request.ranges);
  const auto to = request.landing.empty() ? from : bytes_of(request.landing);
  const auto granule = static_cast<std::uint64_t>(request.granule.count());
  const auto burst = static_cast<std::uint64_t>(request.burst.count());
  const auto ends = [&](const ReferenceByte& byte) {
    const std::uint64_t next = byte.address + 1;
    return byte.ends_row || next % granule == 0 || (burst < granule && next % burst == 0);
  };
  std::vector<ReferenceAccess> accesses;
  ReferenceAccess access;
  for (std::size_t byte = 0; byte < from.size(); ++byte) {
    if (access.bytes == 0) access = {from[byte].address, to[byte].address, 0};
    ++access.bytes;
    if (!ends(from[byte]) && !ends(to[byte])) continue;
    accesses.push_back(access);
    access = {};
  }
  return accesses;
}

class Reference {
 public:
  explicit Reference(const Scenario& scenario) : scenario_(scenario), times_(scenario.transfers.size()) {
    begin_.resize(scenario.transfers.size(), -1);
    last_side_.resize(scenario.servers.size(), Port{-1, 0, 0, 0});
    for (std::size_t i = 0; i < scenario.transfers.size(); ++i) {
      if (!scenario.transfers[i].after) admit(i, scenario.transfers[i].start.count());
    }
  }

  std::vector<TransferTimes> run() {
    while (!instants_.empty()) {
      now_ = *instants_.begin();
      instants_.erase(instants_.begin());
      while (grant_one()) {
      }
    }
    return times_;
  }

 private:
  const PlannedRequest& request(const ReferenceBurst& burst) const {
    return scenario_.transfers[burst.transfer].request;
  }

  void admit(std::size_t transfer, std::int64_t when) {
    begin_[transfer] = when;
    instants_.insert(when);
    const PlannedRequest& request = scenario_.transfers[transfer].request;
    ReferenceBurst burst;
    burst.transfer = transfer;
    for (const ReferenceAccess& access : accesses_of(request)) {
      if (burst.bytes > 0 && burst.bytes + access.bytes > request.burst.count()) {
        bursts_.push_back(burst);
        burst.accesses.clear();
        burst.bytes = 0;
        ++burst.index;
      }
      burst.accesses.push_back(access);
      burst.bytes += access.bytes;
    }
    bursts_.push_back(burst);
  }

  const Stage& stage(const ReferenceBurst& burst, std::size_t at) const { return request(burst).route[at]; }
  std::size_t server(const ReferenceBurst& burst, std::size_t at) const { return stage(burst, at).server.value; }
  std::int64_t latency(std::size_t server) const { return scenario_.servers[server].latency.count(); }
  bool is_memory(const ReferenceBurst& burst, std::size_t at) const {
    return stage(burst, at).group > 1 || scenario_.servers[server(burst, at)].minimum > Bytes(0);
  }

  std::size_t channel(const ReferenceBurst& burst, std::size_t at, std::uint64_t address) const {
    const std::uint64_t group = stage(burst, at).group;
    std::uint64_t digits = 0;
    for (std::uint64_t granule = address / static_cast<std::uint64_t>(request(burst).granule.count()); granule > 0;
         granule /= std::max<std::uint64_t>(group, 2)) {
      digits += granule % std::max<std::uint64_t>(group, 2);
    }
    return server(burst, at) + digits % group;
  }

  bool buffers_responses(const ReferenceBurst& burst) const {
    return request(burst).route.size() > 1 && request(burst).route[0].group > 1;
  }

  /// Whether a burst goes from `at` into a group of servers, where it stays.
  bool lands_after(const ReferenceBurst& burst, std::size_t at) const {
    const std::vector<Stage>& route = request(burst).route;
    return at + 2 == route.size() && route[at + 1].group > 1;
  }

  /// The buffer that a burst is in after `at`: shared by a class, or the transfer's own behind a group.
  Port buffer(const ReferenceBurst& burst, std::size_t at) const {
    if (at == 0 && buffers_responses(burst)) return {1, request(burst).agent.value, request(burst).operation, 1};
    return {0, server(burst, at), stage(burst, at).traffic.index(), lands_after(burst, at) ? 1 : 0};
  }

  std::int64_t size_of_buffer(const ReferenceBurst& burst, std::size_t at) const {
    std::int64_t bytes = 0;
    const std::size_t members = at == 0 && buffers_responses(burst) ? stage(burst, at).group : 1;
    for (std::size_t i = 0; i < members; ++i) bytes += scenario_.servers[server(burst, at) + i].buffer.count();
    return bytes;
  }

  /// The port at which a burst waits, and its place in that port's line.
  std::pair<Port, std::uint64_t> line(const ReferenceBurst& burst) const {
    const std::size_t at = burst.visits.size();
    if (at == 0) return {{1, request(burst).agent.value, request(burst).operation, 0}, burst.index};
    return {buffer(burst, at - 1), burst.visits.back().order};
  }

  bool has_room(const ReferenceBurst& burst) const {
    const std::size_t at = burst.visits.size();
    if (at + 1 == request(burst).route.size()) return true;
    const std::int64_t size = size_of_buffer(burst, at);
    std::int64_t taken = std::min(burst.bytes, size);
    for (const ReferenceBurst& other : bursts_) {
      for (std::size_t i = 0; i < other.visits.size() && i + 1 < request(other).route.size(); ++i) {
        if (buffer(other, i) != buffer(burst, at)) continue;
        const bool moved_on = other.visits.size() > i + 1;
        if (!moved_on || other.visits[i + 1].tail + latency(server(other, i)) > now_)
          taken += std::min(other.bytes, size);
      }
    }
    return taken <= size;
  }

  bool is_head(const ReferenceBurst& burst) const {
    const auto mine = line(burst);
    return std::ranges::none_of(bursts_, [&](const ReferenceBurst& other) {
      if (other.visits.size() == request(other).route.size()) return false;
      const auto theirs = line(other);
      return theirs.first == mine.first && theirs.second < mine.second;
    });
  }

  bool is_eligible(const ReferenceBurst& burst) const {
    const std::size_t at = burst.visits.size();
    if (at == request(burst).route.size()) return false;
    const std::int64_t ready =
        at == 0 ? begin_[burst.transfer] : burst.visits.back().head + latency(server(burst, at - 1));
    return ready <= now_ && is_head(burst) && has_room(burst);
  }

  std::int64_t channel_free(std::size_t channel) const {
    std::int64_t free = 0;
    for (const ReferenceBurst& burst : bursts_) {
      for (const Visit& visit : burst.visits) {
        for (const Occupied& occupied : visit.channels) {
          if (occupied.server == channel) free = std::max(free, occupied.end);
        }
      }
    }
    return free;
  }

  std::int64_t queue(std::size_t channel) const {
    return transfer_time(scenario_.servers[channel].queue, scenario_.servers[channel].bandwidth).count();
  }

  /// When the server of a burst's next stage can serve again.
  std::int64_t next_service(const ReferenceBurst& asking) const {
    const std::size_t stage_of_asking = asking.visits.size();
    const std::size_t at = server(asking, stage_of_asking);
    const bool memory = is_memory(asking, stage_of_asking);
    std::int64_t next = 0, taken = -1;
    for (const ReferenceBurst& burst : bursts_) {
      for (std::size_t i = 0; i < burst.visits.size(); ++i) {
        if (server(burst, i) != at) continue;
        next = std::max(next, burst.visits[i].end);
        taken = std::max(taken, burst.visits[i].start);
      }
    }
    if (!memory) return next;
    if (taken < 0) return 0;
    const std::size_t members = stage(asking, stage_of_asking).group;
    std::int64_t first = channel_free(at), behind = 0;
    for (std::size_t i = 0; i < members; ++i) {
      first = std::min(first, channel_free(at + i));
      behind = std::max(behind, channel_free(at + i) - queue(at + i));
    }
    return std::max({taken, first, behind});
  }

  /// The lowest server that can serve something now serves all that it can.
  bool grant_one() {
    for (std::size_t at = 0; at < scenario_.servers.size(); ++at) {
      if (!grant(at)) continue;
      while (grant(at)) {
      }
      return true;
    }
    return false;
  }

  bool grant(std::size_t at) {
    std::map<Port, ReferenceBurst*> ports;
    for (ReferenceBurst& burst : bursts_) {
      if (is_eligible(burst) && server(burst, burst.visits.size()) == at) ports[line(burst).first] = &burst;
    }
    if (ports.empty() || next_service(*ports.begin()->second) > now_) return false;
    std::map<Port, std::map<Port, ReferenceBurst*>> sides;
    for (const auto& [port, burst] : ports) sides[side_of(port)][port] = burst;
    auto side = sides.upper_bound(last_side_[at]);
    if (side == sides.end()) side = sides.begin();
    last_side_[at] = side->first;
    const auto last = last_port_.find({at, side->first});
    auto next = last == last_port_.end() ? side->second.begin() : side->second.upper_bound(last->second);
    if (next == side->second.end()) next = side->second.begin();
    last_port_[{at, side->first}] = next->first;
    start(*next->second, at);
    return true;
  }

  /// Each port is a side, but for lanes, which are one together.
  Port side_of(const Port& port) const {
    const bool lane = std::get<0>(port) == 0 && scenario_.servers[std::get<1>(port)].lane;
    return lane ? Port{0, scenario_.servers.size(), 0, 0} : port;
  }

  void serve(Visit& visit, const ReferenceBurst& burst, std::size_t at) const {
    const std::size_t here = burst.visits.size();
    if (!is_memory(burst, here)) {
      visit.head = now_;
      visit.end =
          now_ +
          transfer_time(on_wire(burst.bytes, scenario_.servers[at].packets), scenario_.servers[at].bandwidth).count();
      return;
    }
    const bool ends = here == 0 || here + 1 == request(burst).route.size();
    std::map<std::size_t, Bytes> loads;
    std::size_t first = at;
    if (ends) {
      const auto channel_of = [&](const ReferenceAccess& access) {
        return channel(burst, here, here == 0 ? access.address : access.landing);
      };
      for (const ReferenceAccess& access : burst.accesses) {
        loads[channel_of(access)] += std::max(Bytes(access.bytes), scenario_.servers[channel_of(access)].minimum);
      }
      first = channel_of(burst.accesses.front());
    } else {
      loads[at] = std::max(Bytes(burst.bytes), scenario_.servers[at].minimum);
    }
    for (const auto& [where, bytes] : loads) {
      const std::int64_t begin = std::max(now_, channel_free(where));
      const std::int64_t end = begin + transfer_time(bytes, scenario_.servers[where].bandwidth).count();
      if (where == first) visit.head = begin;
      visit.end = std::max(visit.end, end);
      visit.channels.push_back({where, end});
    }
  }

  void start(ReferenceBurst& burst, std::size_t at) {
    const std::size_t stage = burst.visits.size();
    Visit visit;
    visit.start = now_;
    serve(visit, burst, at);
    visit.tail = visit.end;
    if (stage > 0) {
      const std::int64_t way = latency(server(burst, stage - 1));
      visit.tail = std::max(visit.tail, burst.visits.back().tail + way);
      instants_.insert(visit.tail + way);
    }
    visit.order = order_++;
    const std::int64_t free = visit.end;
    instants_.insert(visit.head + latency(at));
    burst.visits.push_back(visit);
    instants_.insert(free);
    for (const Occupied& occupied : burst.visits.back().channels) {
      instants_.insert(occupied.end);
      const std::int64_t not_behind = occupied.end - queue(occupied.server);
      if (not_behind > now_) instants_.insert(not_behind);
    }
    TransferTimes& times = times_[burst.transfer];
    const Time gone = ps(burst.visits.back().tail + latency(at));
    if (stage == 0) times.departed = std::max(times.departed, gone);
    if (stage + 1 < request(burst).route.size()) return;
    times.delivered = std::max(times.delivered, gone);
    const bool all = std::ranges::none_of(bursts_, [&](const ReferenceBurst& other) {
      return other.transfer == burst.transfer && other.visits.size() < request(other).route.size();
    });
    if (!all) return;
    const std::size_t transfer = burst.transfer;  // admit() moves the bursts
    for (std::size_t i = 0; i < scenario_.transfers.size(); ++i) {
      const PlannedTransfer& planned = scenario_.transfers[i];
      if (planned.after == transfer) admit(i, (times_[transfer].delivered + planned.start).count());
    }
  }

  const Scenario& scenario_;
  std::vector<TransferTimes> times_;
  std::vector<std::int64_t> begin_;
  std::vector<Port> last_side_;                             // by server: whose turn was last
  std::map<std::pair<std::size_t, Port>, Port> last_port_;  // by server and side
  std::vector<ReferenceBurst> bursts_;
  std::set<std::int64_t> instants_;
  std::int64_t now_ = 0;
  std::uint64_t order_ = 0;
};

}  // namespace

std::vector<TransferTimes> reference_times(const Scenario& scenario) {
  return Reference(scenario).run();
}

}  // namespace kernbench::hardware::testing
