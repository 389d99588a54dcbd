#include "tile/messages/queue_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "kernbench/error.h"

namespace kernbench::tile {

using Kind = tl::Peer::Kind;

namespace {

constexpr std::size_t kMostListed = 8;

const char* name(Kind kind) {
  switch (kind) {
    case Kind::ring_next:
      return "ring_next";
    case Kind::ring_previous:
      return "ring_previous";
    case Kind::north:
      return "north";
    case Kind::south:
      return "south";
    case Kind::east:
      return "east";
    case Kind::west:
      return "west";
    case Kind::self:
      return "self";
    case Kind::member:
    case Kind::coordinate:
      break;
  }
  return "member";
}

/// Where the router of a PE stands in the grid of its SIP.
std::pair<std::int32_t, std::int32_t> position(PeCoordinate pe, const topology::Topology& topology) {
  const MeshExtent cubes = topology.sip.cubes, pes = topology.cube.pes;
  return {pe.cube.value % cubes.width * pes.width + pe.pe.value % pes.width,
          pe.cube.value / cubes.width * pes.height + pe.pe.value / pes.width};
}

std::int32_t as_index(std::size_t place) {
  return static_cast<std::int32_t>(place);
}

}  // namespace

std::string to_text(const tl::Peer& peer) {
  if (peer.kind == Kind::member) return fmt::format("member {}", peer.index);
  if (peer.kind == Kind::coordinate) return kernbench::to_text(peer.coordinate);
  return name(peer.kind);
}

QueueTable::QueueTable(std::vector<PeCoordinate> members, const QueueOptions& options,
                       const topology::Topology& topology)
    : members_(std::move(members)), options_(options), sends_(members_.size()), receives_(members_.size()) {
  for (std::size_t i = 0; i < members_.size(); ++i) {
    if (!indices_.emplace(members_[i], as_index(i)).second) {
      throw ValueError(fmt::format("queues: {} is a member twice", kernbench::to_text(members_[i])));
    }
  }
  switch (options.topology) {
    case QueueTopology::none:
      break;
    case QueueTopology::ring_1d:
      add_ring();
      break;
    case QueueTopology::mesh_2d:
    case QueueTopology::torus_2d:
      add_mesh(topology, options.topology == QueueTopology::torus_2d);
      break;
    case QueueTopology::all_pairs:
      for (std::int32_t from = 0; from < as_index(members_.size()); ++from) {
        for (std::int32_t to = 0; to < as_index(members_.size()); ++to) {
          if (from != to) add(from, to, Kind::member, Kind::member);
        }
      }
      break;
  }
  for (const auto& [from, to] : options.pairs) {
    const auto exists = [&](std::int32_t member) { return member >= 0 && member < as_index(members_.size()); };
    if (!exists(from) || !exists(to) || from == to) {
      throw ValueError(
          fmt::format("queues: a channel from member {} to member {} cannot be; there are {} members, and "
                      "it joins two of them",
                      from, to, members_.size()));
    }
    add(from, to, Kind::member, Kind::member);
  }
  unreceived_.resize(rows_.size());
  if (options.window) windows_.emplace(members_, *options.window);
}

std::optional<std::int32_t> QueueTable::member_called(std::int32_t self, const tl::Peer& peer) const {
  const QueueRow* row = sending(self, peer);
  return row != nullptr ? std::optional(row->to) : member_of(self, peer);
}

void QueueTable::add(std::int32_t from, std::int32_t to, Kind as_receiver, Kind as_sender) {
  sends_[static_cast<std::size_t>(from)].push_back(rows_.size());
  receives_[static_cast<std::size_t>(to)].push_back(rows_.size());
  QueueRow row{from, to, as_receiver, as_sender, {}};
  row.channel.sender = members_[static_cast<std::size_t>(from)];
  row.channel.receiver = members_[static_cast<std::size_t>(to)];
  row.channel.parameters = options_.parameters;
  rows_.push_back(row);
}

void QueueTable::add_ring() {
  const std::int32_t n = as_index(members_.size());
  if (n < 2) return;
  for (std::int32_t i = 0; i < n; ++i) add(i, (i + 1) % n, Kind::ring_next, Kind::ring_previous);
  for (std::int32_t i = 0; i < n; ++i) add(i, (i + n - 1) % n, Kind::ring_previous, Kind::ring_next);
}

MeshExtent QueueTable::mesh_extent(const topology::Topology& topology) const {
  const auto count = static_cast<std::int64_t>(members_.size());
  if (options_.mesh != MeshExtent{0, 0}) {
    const MeshExtent mesh = options_.mesh;
    if (mesh.width > 0 && mesh.height > 0 && std::int64_t{mesh.width} * mesh.height == count) return mesh;
    throw ValueError(fmt::format("queues: a mesh of {} x {} does not hold {} members; give the extents of their mesh",
                                 mesh.width, mesh.height, count));
  }
  std::pair<std::int32_t, std::int32_t> low{INT32_MAX, INT32_MAX}, high{-1, -1};
  for (const PeCoordinate pe : members_) {
    const auto [x, y] = position(pe, topology);
    low = {std::min(low.first, x), std::min(low.second, y)};
    high = {std::max(high.first, x), std::max(high.second, y)};
    if (pe.sip != members_.front().sip) {
      throw ValueError(
          "queues: members on several SIPs stand in no common mesh; give its extents in QueueOptions::mesh");
    }
  }
  const MeshExtent mesh{high.first - low.first + 1, high.second - low.second + 1};
  if (std::int64_t{mesh.width} * mesh.height == count) return mesh;
  throw ValueError(
      fmt::format("queues: the {} members do not fill the mesh of {} x {} PEs in which they stand; give "
                  "the extents of their mesh in QueueOptions::mesh",
                  count, mesh.width, mesh.height));
}

// Members row by row: in their order when the mesh is given, else by where they stand.
std::vector<std::int32_t> QueueTable::mesh_order(MeshExtent mesh, const topology::Topology& topology) const {
  std::vector<std::int32_t> order(members_.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = as_index(i);
  if (options_.mesh != MeshExtent{0, 0} || mesh.count() == 0) return order;
  std::ranges::sort(order, {}, [&](std::int32_t member) {
    const auto [x, y] = position(members_[static_cast<std::size_t>(member)], topology);
    return std::pair(y, x);
  });
  return order;
}

void QueueTable::add_mesh(const topology::Topology& topology, bool around) {
  if (members_.empty()) return;
  const MeshExtent mesh = mesh_extent(topology);
  const auto order = mesh_order(mesh, topology);
  const auto member = [&](std::int32_t x, std::int32_t y) {
    const std::int64_t row = (y + mesh.height) % mesh.height, column = (x + mesh.width) % mesh.width;
    return order[static_cast<std::size_t>(row * mesh.width + column)];
  };
  struct Step {
    std::int32_t x, y;
    Kind as_receiver, as_sender;
  };
  for (const Step& step : {Step{1, 0, Kind::east, Kind::west}, Step{-1, 0, Kind::west, Kind::east},
                           Step{0, 1, Kind::south, Kind::north}, Step{0, -1, Kind::north, Kind::south}}) {
    for (std::int32_t y = 0; y < mesh.height; ++y) {
      for (std::int32_t x = 0; x < mesh.width; ++x) {
        const std::int32_t to_x = x + step.x, to_y = y + step.y;
        const bool inside = to_x >= 0 && to_x < mesh.width && to_y >= 0 && to_y < mesh.height;
        if (!inside && !around) continue;
        if (member(x, y) == member(to_x, to_y)) continue;
        add(member(x, y), member(to_x, to_y), step.as_receiver, step.as_sender);
      }
    }
  }
}

std::optional<std::int32_t> QueueTable::index_of(PeCoordinate pe) const {
  const auto found = indices_.find(pe);
  return found == indices_.end() ? std::nullopt : std::optional(found->second);
}

/// Whom a peer names when no channel has its name.
std::optional<std::int32_t> QueueTable::member_of(std::int32_t self, const tl::Peer& peer) const {
  const std::int32_t n = as_index(members_.size());
  switch (peer.kind) {
    case Kind::member:
      if (peer.index >= 0 && peer.index < n) return static_cast<std::int32_t>(peer.index);
      return std::nullopt;
    case Kind::coordinate:
      return index_of(peer.coordinate);
    case Kind::ring_next:
      return (self + 1) % n;
    case Kind::ring_previous:
      return (self + n - 1) % n;
    case Kind::self:
      return self;
    default:
      return std::nullopt;
  }
}

const QueueRow* QueueTable::find(std::int32_t self, const tl::Peer& peer, bool sends) const {
  const auto& mine = (sends ? sends_ : receives_)[static_cast<std::size_t>(self)];
  const bool named = peer.kind != Kind::member && peer.kind != Kind::coordinate;
  for (const std::size_t place : mine) {
    const QueueRow& row = rows_[place];
    if (named && (sends ? row.as_receiver : row.as_sender) == peer.kind) return &row;
  }
  const auto other = member_of(self, peer);
  for (const std::size_t place : mine) {
    const QueueRow& row = rows_[place];
    if (other && (sends ? row.to : row.from) == *other) return &row;
  }
  return nullptr;
}

const QueueRow* QueueTable::sending(std::int32_t self, const tl::Peer& peer) const {
  return find(self, peer, true);
}

const QueueRow* QueueTable::receiving(std::int32_t self, const tl::Peer& peer) const {
  return find(self, peer, false);
}

std::string QueueTable::text_of(std::int32_t self, bool sends) const {
  const auto& mine = (sends ? sends_ : receives_)[static_cast<std::size_t>(self)];
  if (mine.empty()) return "none";
  std::string text;
  for (std::size_t i = 0; i < mine.size() && i < kMostListed; ++i) {
    const QueueRow& row = rows_[mine[i]];
    const std::int32_t other = sends ? row.to : row.from;
    const Kind kind = sends ? row.as_receiver : row.as_sender;
    text += fmt::format("{}{} ({})", i == 0 ? "" : ", ",
                        kind == Kind::member ? fmt::format("member {}", other) : std::string(name(kind)),
                        kernbench::to_text(members_[static_cast<std::size_t>(other)]));
  }
  if (mine.size() > kMostListed) text += fmt::format(" and {} more", mine.size() - kMostListed);
  return text;
}

void QueueTable::note_received(std::size_t row, const hardware::CommandName& send) {
  Ring<SentMessage>& sent = unreceived_[row];
  for (std::size_t i = 0; i < sent.size(); ++i) {
    if (sent[i].send == send) return sent.erase(i);
  }
}

void QueueTable::forget_unreceived() {
  for (auto& sent : unreceived_) sent.clear();
}

void QueueTable::check_all_received(const char* receive) const {
  struct Unreceived {
    const SentMessage* message;
    PeCoordinate receiver;
  };
  std::vector<Unreceived> all;
  for (std::size_t row = 0; row < rows_.size(); ++row) {
    for (std::size_t i = 0; i < unreceived_[row].size(); ++i) {
      all.push_back({&unreceived_[row][i], rows_[row].channel.receiver});
    }
  }
  if (all.empty()) return;
  std::ranges::sort(all, {}, [](const Unreceived& each) { return each.message->send; });
  std::string text;
  for (std::size_t i = 0; i < std::min(all.size(), kMostListed); ++i) {
    text += fmt::format("\n  to {} with tag {}, in {}", kernbench::to_text(all[i].receiver), all[i].message->tag,
                        all[i].message->site.text());
  }
  if (all.size() > kMostListed) text += fmt::format("\n  and {} more", all.size() - kMostListed);
  throw ProgramError("UnreceivedMessageError",
                     fmt::format("{} message{} that {} sent {} never received; call {} for each:{}", all.size(),
                                 all.size() == 1 ? "" : "s", all.size() == 1 ? "was" : "were",
                                 all.size() == 1 ? "was" : "were", receive, text));
}

}  // namespace kernbench::tile
