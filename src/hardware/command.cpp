#include "hardware/command.h"

#include "hardware/pe/command_queue.h"
#include "hardware/traffic.h"

namespace kernbench::hardware {

bool Command::sends() const {
  if (const auto* window = std::get_if<WindowWork>(&work)) return !window->reads;
  const auto* message = std::get_if<MessageWork>(&work);
  return message != nullptr && message->sends;
}

void Command::count_moved(std::span<const Stage> route, Bytes bytes) const {
  if (traffic != nullptr) traffic->add(route, bytes);
}

Name Command::wait_name() const {
  // Without a queue its number is all that tells it from others.
  if (queue == nullptr) return named("{}#{}", kind, number);
  return named("{}{} on {}", kind, operation_number(number), queue->wait_name());
}

void Command::waits_for(std::vector<sim::WaitEdge>& edges) const {
  if (done.is_set()) return;
  for (const CommandRef& dependency : dependencies) {
    if (!dependency->done.is_set()) edges.push_back({dependency.get(), "an operand"});
  }
  if (!edges.empty() || queue == nullptr) return;
  if (under_way) return queue->needs(*this, edges);
  edges.push_back({queue, "its turn"});
}

}  // namespace kernbench::hardware
