// The stream of all operations of all programs, with those who read it.
#pragma once

#include <array>
#include <initializer_list>
#include <vector>

#include "tile/stream/operation_consumer.h"

namespace kernbench::tile {

class OperationStream {
 public:
  /// `consumer` is told of these topics from now on, after those who subscribed before. It must outlive the programs.
  void subscribe(OperationConsumer& consumer, std::initializer_list<Topic> topics) {
    for (const Topic topic : topics) consumers_[static_cast<std::size_t>(topic)].push_back(&consumer);
  }
  bool wanted(Topic topic) const { return !consumers_[static_cast<std::size_t>(topic)].empty(); }

  /// Calls tell(consumer) for each who subscribed to `topic`, in order.
  template <class Tell>
  void tell(Topic topic, Tell tell) const {
    for (OperationConsumer* consumer : consumers_[static_cast<std::size_t>(topic)]) tell(*consumer);
  }

 private:
  std::array<std::vector<OperationConsumer*>, kTopics> consumers_;
};

}  // namespace kernbench::tile
