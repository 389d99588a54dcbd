#include "event_graph.h"

namespace kernbench::deadlocks_test {

EventGraph::Event EventGraph::add(int owner, const std::vector<Event>& before) {
  nodes_.push_back({owner, 0, {}});
  const Event event = nodes_.size() - 1;
  for (const Event each : before) needs(event, each);
  return event;
}

void EventGraph::needs(Event event, Event before) {
  ++nodes_[event].open;
  nodes_[before].next.push_back(event);
}

void EventGraph::forbid(Event event) {
  ++nodes_[event].open;
}

std::set<int> EventGraph::stuck() const {
  std::vector<std::size_t> open(nodes_.size());
  std::vector<Event> ready;
  for (Event event = 0; event < nodes_.size(); ++event) {
    open[event] = nodes_[event].open;
    if (open[event] == 0) ready.push_back(event);
  }
  while (!ready.empty()) {
    const Event event = ready.back();
    ready.pop_back();
    for (const Event next : nodes_[event].next) {
      if (--open[next] == 0) ready.push_back(next);
    }
  }
  std::set<int> owners;
  for (Event event = 0; event < nodes_.size(); ++event) {
    if (open[event] > 0) owners.insert(nodes_[event].owner);
  }
  return owners;
}

// Segments of one line follow each other.
EventGraph::Event Channels::append(std::vector<Event>& line, int owner, int segments, Event asked) {
  for (int segment = 0; segment < segments; ++segment) {
    const Event event = graph_.add(owner, {asked});
    if (!line.empty()) graph_.needs(event, line.back());
    line.push_back(event);
  }
  return line.back();
}

EventGraph::Event Channels::send(const Key& key, int tag, int segments, Event asked) {
  Channel& channel = channels_[key];
  const int sender = std::get<0>(key);
  channel.sends.push_back({tag, channel.puts.size(), static_cast<std::size_t>(segments), sender});
  return append(channel.puts, sender, segments, asked);
}

EventGraph::Event Channels::receive(const Key& key, int tag, int segments, Event asked) {
  Channel& channel = channels_[key];
  const int receiver = std::get<1>(key);
  channel.receives.push_back({tag, channel.takes.size(), static_cast<std::size_t>(segments), receiver});
  return append(channel.takes, receiver, segments, asked);
}

void Channels::match(Channel& channel) {
  std::vector<bool> taken(channel.sends.size());
  for (const Message& receive : channel.receives) {
    std::size_t at = 0;
    while (at < channel.sends.size() && (taken[at] || channel.sends[at].tag != receive.tag)) ++at;
    if (at == channel.sends.size()) {
      graph_.forbid(channel.takes[receive.first]);
      continue;
    }
    taken[at] = true;
    for (std::size_t i = 0; i < receive.count; ++i) {
      graph_.needs(channel.takes[receive.first + i], channel.puts[channel.sends[at].first + i]);
    }
  }
  for (const bool each : taken) unreceived_ += each ? 0 : 1;
}

std::size_t Channels::join() {
  for (auto& [key, channel] : channels_) {
    match(channel);
    // A segment needs a slot: the one that the oldest but `slots` segments was in, or whichever was free before that.
    for (std::size_t put = slots_; put < channel.puts.size(); ++put) {
      if (put - slots_ < channel.takes.size()) {
        graph_.needs(channel.puts[put], channel.takes[put - slots_]);
      } else {
        graph_.forbid(channel.puts[put]);
      }
    }
  }
  return unreceived_;
}

}  // namespace kernbench::deadlocks_test
