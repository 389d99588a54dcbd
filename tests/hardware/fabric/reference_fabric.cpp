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

struct Visit {  // of one chunk at one stage
  std::int64_t start = 0, end = 0, tail = 0;
  std::uint64_t order = 0;  // over all starts
};

struct ReferenceChunk {
  std::size_t transfer = 0;
  std::size_t index = 0;
  std::uint64_t address = 0, landing = 0;
  std::int64_t bytes = 0;
  std::vector<Visit> visits;  // one per stage started
};

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

class Reference {
 public:
  explicit Reference(const Scenario& scenario) : scenario_(scenario), times_(scenario.transfers.size()) {
    begin_.resize(scenario.transfers.size(), -1);
    last_port_.resize(scenario.servers.size(), Port{-1, 0, 0, 0});
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
  const TransferRequest& request(const ReferenceChunk& chunk) const {
    return scenario_.transfers[chunk.transfer].request;
  }

  void admit(std::size_t transfer, std::int64_t when) {
    begin_[transfer] = when;
    instants_.insert(when);
    const TransferRequest& request = scenario_.transfers[transfer].request;
    const auto from = bytes_of(request.ranges);
    const auto to = request.landing.empty() ? from : bytes_of(request.landing);
    const auto ends = [&](const ReferenceByte& byte) {
      return byte.ends_row || (byte.address + 1) % static_cast<std::uint64_t>(request.chunk.count()) == 0;
    };
    ReferenceChunk chunk;
    std::size_t index = 0;
    for (std::size_t byte = 0; byte < from.size(); ++byte) {
      if (chunk.bytes == 0) {
        chunk.address = from[byte].address;
        chunk.landing = to[byte].address;
      }
      ++chunk.bytes;
      if (!ends(from[byte]) && !ends(to[byte])) continue;
      chunk.transfer = transfer;
      chunk.index = index++;
      chunks_.push_back(chunk);
      chunk = {};
    }
  }

  std::size_t server(const ReferenceChunk& chunk, std::size_t stage) const {
    const Stage& at = request(chunk).route[stage];
    const bool lands = stage > 0 && stage + 1 == request(chunk).route.size();
    std::uint64_t granule = (lands ? chunk.landing : chunk.address) /
                            static_cast<std::uint64_t>(request(chunk).interleave_granule().count());
    std::uint64_t digits = 0;
    while (at.group > 1 && granule > 0) {
      digits += granule % at.group;
      granule /= at.group;
    }
    return at.server.value + (at.group > 1 ? digits % at.group : 0);
  }

  bool buffers_responses(const ReferenceChunk& chunk) const {
    return request(chunk).route.size() > 1 && request(chunk).route[0].group > 1;
  }

  /// Whether a chunk goes from `stage` into a group of servers, where it stays.
  bool lands_after(const ReferenceChunk& chunk, std::size_t stage) const {
    const std::vector<Stage>& route = request(chunk).route;
    return stage + 2 == route.size() && route[stage + 1].group > 1;
  }

  /// The buffer that a chunk is in after `stage`: shared by a class, or the transfer's own behind a group.
  Port buffer(const ReferenceChunk& chunk, std::size_t stage) const {
    if (stage == 0 && buffers_responses(chunk)) return {2, chunk.transfer, server(chunk, 0), 0};
    return {0, server(chunk, stage), request(chunk).route[stage].traffic.index(), lands_after(chunk, stage) ? 1 : 0};
  }

  /// The port at which a chunk waits, and its place in that port's line.
  std::pair<Port, std::pair<std::uint64_t, std::uint64_t>> line(const ReferenceChunk& chunk) const {
    const std::size_t stage = chunk.visits.size();
    const TransferRequest& of = request(chunk);
    if (stage == 0) return {{1, of.agent.value, of.operation, 0}, {server(chunk, 0), chunk.index}};
    if (stage == 1 && buffers_responses(chunk)) return {{1, of.agent.value, of.operation, 1}, {0, chunk.index}};
    const std::uint64_t member = lands_after(chunk, stage - 1) ? server(chunk, stage) : 0;
    return {buffer(chunk, stage - 1), {member, chunk.visits.back().order}};
  }

  bool credit_available(const ReferenceChunk& chunk) const {
    const std::size_t stage = chunk.visits.size();
    if (stage + 1 == request(chunk).route.size()) return true;
    const std::size_t at = server(chunk, stage);
    std::int32_t taken = 0;
    for (const ReferenceChunk& other : chunks_) {
      for (std::size_t i = 0; i < other.visits.size() && i + 1 < request(other).route.size(); ++i) {
        if (buffer(other, i) != buffer(chunk, stage)) continue;
        const bool moved_on = other.visits.size() > i + 1;
        if (!moved_on || other.visits[i + 1].tail + latency(at) > now_) ++taken;
      }
    }
    return taken < scenario_.servers[at].credits;
  }

  std::int64_t latency(std::size_t server) const { return scenario_.servers[server].latency.count(); }

  /// Whether a chunk is first in its line; in front of a group as first stage there is a line for each member.
  bool is_head(const ReferenceChunk& chunk) const {
    const auto mine = line(chunk);
    if (std::get<0>(mine.first) == 1 && std::get<3>(mine.first) == 1) {
      // In order out of the response buffer: nothing before it may be missing.
      return std::ranges::none_of(chunks_, [&](const ReferenceChunk& other) {
        return other.transfer == chunk.transfer && other.index < chunk.index && other.visits.size() < 2;
      });
    }
    return std::ranges::none_of(chunks_, [&](const ReferenceChunk& other) {
      if (other.visits.size() == request(other).route.size()) return false;
      const auto theirs = line(other);
      return theirs.first == mine.first && theirs.second.first == mine.second.first &&
             theirs.second.second < mine.second.second;
    });
  }

  bool is_eligible(const ReferenceChunk& chunk) const {
    const std::size_t stage = chunk.visits.size();
    if (stage == request(chunk).route.size()) return false;
    const std::int64_t ready =
        stage == 0 ? begin_[chunk.transfer] : chunk.visits.back().start + latency(server(chunk, stage - 1));
    return ready <= now_ && is_head(chunk) && credit_available(chunk);
  }

  bool is_free(std::size_t at) const {
    return std::ranges::none_of(chunks_, [&](const ReferenceChunk& chunk) {
      for (std::size_t i = 0; i < chunk.visits.size(); ++i) {
        if (server(chunk, i) == at && chunk.visits[i].end > now_) return true;
      }
      return false;
    });
  }

  /// The lowest server that can serve something now serves it.
  bool grant_one() {
    std::map<std::size_t, std::map<Port, ReferenceChunk*>> asking;
    for (ReferenceChunk& chunk : chunks_) {
      if (is_eligible(chunk)) asking[server(chunk, chunk.visits.size())][line(chunk).first] = &chunk;
    }
    for (auto& [at, ports] : asking) {
      if (!is_free(at)) continue;
      auto next = ports.upper_bound(last_port_[at]);
      if (next == ports.end()) next = ports.begin();
      last_port_[at] = next->first;
      start(*next->second, at);
      return true;
    }
    return false;
  }

  void start(ReferenceChunk& chunk, std::size_t at) {
    const std::size_t stage = chunk.visits.size();
    const ServerSpec& spec = scenario_.servers[at];
    Visit visit;
    visit.start = now_;
    visit.end = now_ + transfer_time(std::max(Bytes(chunk.bytes), spec.minimum), spec.bandwidth).count();
    visit.tail = visit.end;
    if (stage > 0) {
      const std::int64_t way = latency(server(chunk, stage - 1));
      visit.tail = std::max(visit.tail, chunk.visits.back().tail + way);
      instants_.insert(visit.tail + way);
    }
    visit.order = order_++;
    chunk.visits.push_back(visit);
    instants_.insert(visit.end);
    instants_.insert(visit.start + latency(at));
    TransferTimes& times = times_[chunk.transfer];
    const Time gone = ps(visit.tail + latency(at));
    if (stage == 0) times.departed = std::max(times.departed, gone);
    if (stage + 1 < request(chunk).route.size()) return;
    times.delivered = std::max(times.delivered, gone);
    const bool all = std::ranges::none_of(chunks_, [&](const ReferenceChunk& other) {
      return other.transfer == chunk.transfer && other.visits.size() < request(other).route.size();
    });
    if (!all) return;
    const std::size_t transfer = chunk.transfer;  // admit() moves the chunks
    for (std::size_t i = 0; i < scenario_.transfers.size(); ++i) {
      const PlannedTransfer& planned = scenario_.transfers[i];
      if (planned.after == transfer) admit(i, (times_[transfer].delivered + planned.start).count());
    }
  }

  const Scenario& scenario_;
  std::vector<TransferTimes> times_;
  std::vector<std::int64_t> begin_;
  std::vector<Port> last_port_;
  std::vector<ReferenceChunk> chunks_;
  std::set<std::int64_t> instants_;
  std::int64_t now_ = 0;
  std::uint64_t order_ = 0;
};

}  // namespace

std::vector<TransferTimes> reference_times(const Scenario& scenario) {
  return Reference(scenario).run();
}

}  // namespace kernbench::hardware::testing
