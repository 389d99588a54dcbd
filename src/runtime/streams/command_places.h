// The places of a device's queue for the launches of one stream.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "sim/waitable.h"

namespace kernbench::runtime {

class CommandPlaces;

/// One place, given back when nobody holds it any more.
using CommandPlace = std::shared_ptr<const void>;

/// Who wants a place while there is none waits for one, in the order of arrival.
class CommandPlaces final : public sim::Waitable, public std::enable_shared_from_this<CommandPlaces> {
 public:
  explicit CommandPlaces(std::int32_t places) : free_(places) {}
  bool full() const { return free_ == 0; }
  /// Waits until there is one.
  CommandPlace take() {
    if (!block_until([this] { return free_ > 0; })) return nullptr;
    --free_;
    return {this, [self = shared_from_this()](const void*) { self->give_back(); }};
  }

 private:
  const char* missing() const override { return "a free place in the device's queue"; }
  void give_back() {
    ++free_;
    wake_one();
  }
  std::int32_t free_;
};

}  // namespace kernbench::runtime
