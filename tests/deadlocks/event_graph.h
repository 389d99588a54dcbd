// What can happen, when everything waits for something: the fixed point of a program of sends and receives, worked out
// from their meaning alone, without simulating anything.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <tuple>
#include <vector>

namespace kernbench::deadlocks_test {

/// Events that happen once each, and what each of them needs before it.
class EventGraph {
 public:
  using Event = std::size_t;
  /// A new event that is due to `owner`, and needs `before` (and whatever needs() adds).
  Event add(int owner, const std::vector<Event>& before = {});
  void needs(Event event, Event before);
  /// It never happens.
  void forbid(Event event);
  /// The owners of events that never happen.
  std::set<int> stuck() const;

 private:
  struct Node {
    int owner = 0;
    std::size_t open = 0;  // events that it needs
    std::vector<Event> next;
  };
  std::vector<Node> nodes_;
};

/// Channels with a bounded number of slots each, in an event graph. What is put into a channel is put in the order of
/// its sends, and taken out in the order of its receives; a receive takes the first message with its tag that none
/// before it has taken.
class Channels {
 public:
  using Event = EventGraph::Event;
  /// A channel of a sender, a receiver, and whatever else tells it from others.
  using Key = std::tuple<int, int, int>;
  Channels(EventGraph& graph, int slots) : graph_(graph), slots_(static_cast<std::size_t>(slots)) {}

  /// A message of so many segments, each of which needs a slot. Returns the event that the last one is in its slot.
  Event send(const Key& channel, int tag, int segments, Event asked);
  /// Returns the event that the last segment is taken out; `segments` of a message that is never sent do not matter.
  Event receive(const Key& channel, int tag, int segments, Event asked);
  /// To be called when all sends and receives are there: joins them. Returns how many messages no receive is for.
  std::size_t join();

 private:
  struct Message {
    int tag;
    std::size_t first, count;  // of the channel's puts or takes
    int owner;
  };
  struct Channel {
    std::vector<Event> puts, takes;
    std::vector<Message> sends, receives;
  };
  Event append(std::vector<Event>& line, int owner, int segments, Event asked);
  void match(Channel& channel);

  EventGraph& graph_;
  std::size_t slots_;
  std::map<Key, Channel> channels_;
  std::size_t unreceived_ = 0;
};

}  // namespace kernbench::deadlocks_test
