#include "distributed/msccl/connections.h"

#include <fmt/format.h>

namespace kernbench::distributed::msccl {
namespace {

/// Chunks that a threadblock sends, or receives.
std::int64_t chunks_of(const ThreadBlock& block, bool (*does)(StepType)) {
  std::int64_t chunks = 0;
  for (const Step& step : block.steps)
    if (does(step.type)) chunks += step.count;
  return chunks;
}

std::string text_of(const ConnectionKey& key) {
  const auto [from, to, channel] = key;
  return fmt::format("gpu {} to gpu {} on channel {}", from, to, channel);
}

/// Takes one end of a connection for a threadblock.
void take(const Schedule& schedule, int& end, int gpu, int block, const ConnectionKey& key, const char* does) {
  if (end >= 0)
    refuse(schedule, schedule.gpus[static_cast<std::size_t>(gpu)].blocks[static_cast<std::size_t>(block)].line,
           place_text(schedule, gpu, block, -1),
           fmt::format("{} from {}, as {} does; give one of them another chan", does, text_of(key),
                       place_text(schedule, gpu, end, -1)));
  end = block;
}

}  // namespace

std::map<ConnectionKey, Connection> connections_of(const Schedule& schedule) {
  std::map<ConnectionKey, Connection> connections;
  for (int gpu = 0; gpu < schedule.ranks(); ++gpu) {
    const auto& blocks = schedule.gpus[static_cast<std::size_t>(gpu)].blocks;
    for (int place = 0; place < static_cast<int>(blocks.size()); ++place) {
      const ThreadBlock& block = blocks[static_cast<std::size_t>(place)];
      if (const std::int64_t sent = chunks_of(block, sends); sent > 0) {
        const ConnectionKey key{gpu, block.send, block.channel};
        take(schedule, connections[key].sender, gpu, place, key, "sends");
        connections[key].sent = sent;
      }
      if (const std::int64_t received = chunks_of(block, receives); received > 0) {
        const ConnectionKey key{block.receive, gpu, block.channel};
        take(schedule, connections[key].receiver, gpu, place, key, "receives");
        connections[key].received = received;
      }
    }
  }
  for (const auto& [key, connection] : connections) {
    if (connection.sent == connection.received) continue;
    const auto [from, to, channel] = key;
    const bool at_sender = connection.sender >= 0;
    const int gpu = at_sender ? from : to, block = at_sender ? connection.sender : connection.receiver;
    refuse(schedule, schedule.gpus[static_cast<std::size_t>(gpu)].blocks[static_cast<std::size_t>(block)].line,
           place_text(schedule, gpu, block, -1),
           fmt::format("from {}, {} chunks are sent and {} received; add the steps that are missing at the other end",
                       text_of(key), connection.sent, connection.received));
  }
  return connections;
}

}  // namespace kernbench::distributed::msccl
