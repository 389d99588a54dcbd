#include "hardware/command.h"

#include "hardware/pe/command_queue.h"

namespace kernbench::hardware {

bool Command::sends() const {
  if (const auto* window = std::get_if<WindowWork>(&work)) return !window->reads;
  const auto* message = std::get_if<MessageWork>(&work);
  return message != nullptr && message->sends;
}

std::string Command::wait_name() const {
  std::string text = kind + ("#" + std::to_string(number));
  if (queue != nullptr) text += " on " + queue->wait_name();
  return text;
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
