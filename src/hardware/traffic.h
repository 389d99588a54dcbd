// What the programs of a launch move on which routes.
#pragma once

#include <cstdint>
#include <span>

#include "base/flat_table.h"
#include "base/reference.h"
#include "hardware/fabric/fabric.h"
#include "kernbench/units.h"

namespace kernbench::hardware {

/// Bytes by route, or by the stages of a tree, each of which all bytes cross. What counts comes to its end before the
/// last program does: of messages, whose senders do not see them land, those that have landed by then. Thus no link on
/// a route can have less to do while the programs run. Requests, acknowledgements and credits are not counted.
class Traffic final : public Counted {
 public:
  /// `route` is kept for ever, as those of Transport are.
  void add(std::span<const Stage> route, Bytes bytes) {
    if (route.empty() || closed_) return;
    Sum& sum = sums_.find_or_add(reinterpret_cast<std::uintptr_t>(route.data())).first;
    sum.route = route;
    sum.bytes += bytes;
  }
  /// The last program has ended: what comes now does not count.
  void close() { closed_ = true; }
  /// Calls `visit(route, bytes)` for each, in no order.
  template <class Visit>
  void for_each(Visit visit) const {
    sums_.for_each([&](std::uint64_t, const Sum& sum) { visit(sum.route, sum.bytes); });
  }

 private:
  struct Sum {
    std::span<const Stage> route;
    Bytes bytes;
  };
  FlatTable<Sum> sums_;
  bool closed_ = false;
};

}  // namespace kernbench::hardware
