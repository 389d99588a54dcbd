#include "hardware/operation.h"

#include "hardware/pe/command_queue.h"

namespace kernbench::hardware {

Name Operation::wait_name() const {
  const std::string text = name.empty() ? "" : " (" + name + ")";
  // Without a queue its number is all that tells it from others.
  if (queue == nullptr) return named("{}#{}{}", kind, number, text);
  return named("{}{}{} on {}", kind, operation_number(number), text, queue->wait_name());
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
