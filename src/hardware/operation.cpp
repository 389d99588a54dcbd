#include "hardware/operation.h"

#include "hardware/pe/command_queue.h"

namespace kernbench::hardware {

std::string Operation::wait_name() const {
  std::string text = kind + ("#" + std::to_string(number));
  if (!name.empty()) text += " (" + name + ")";
  if (queue != nullptr) text += " on " + queue->wait_name();
  return text;
}

void Operation::waits_for(std::vector<sim::WaitEdge>& edges) const {
  if (done.is_set()) return;
  for (const OperationRef& dependency : dependencies) {
    if (!dependency->done.is_set()) edges.push_back({dependency.get(), "an operand"});
  }
  if (!edges.empty() || queue == nullptr) return;
  if (under_way) return queue->needs(*this, edges);
  edges.push_back({queue, "its turn"});
}

}  // namespace kernbench::hardware
