// An operation of a process group that has been issued.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "kernbench/units.h"
#include "runtime/context.h"
#include "runtime/streams/stream.h"

namespace kernbench::distributed {

class Group;
class Transfer;

struct WorkState {
  std::uint64_t sequence = 0;
  int device = 0;
  bool host_waits = false;  // wait() holds up the host, not the stream
  Time begun, ended;
  runtime::CompletionRef finished;
  /// The first communication of the other ranks, for which the host has not waited yet; null: nothing to wait for.
  runtime::CompletionRef others_here = {};
  std::shared_ptr<const Transfer> transfer = {};  // of a send or a receive
  bool receives = false;                          // the latter
  runtime::FailureRef failure = {};               // another rank has called something that does not fit
  std::shared_ptr<Group> group = {};              // of a collective
  bool refused = false;                           // it has no commands, for it was called when others differed already

  /// The waits of streams for its end.
  struct StreamWait {
    std::weak_ptr<runtime::Stream> stream;
    runtime::CompletionRef wait;
  };
  std::vector<StreamWait> waits = {};

  void fail(const runtime::FailureRef& why) {
    failure = why;
    if (refused) finished->set();
  }
  /// What streams were given that begins behind it does not begin any more.
  void drop_behind() {
    for (const auto& each : std::exchange(waits, {})) {
      if (const auto stream = each.stream.lock(); stream && !each.wait->is_set()) stream->drop_behind(*each.wait);
    }
  }
};

}  // namespace kernbench::distributed
