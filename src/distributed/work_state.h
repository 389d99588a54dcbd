// An operation of a process group that has been issued.
#pragma once

#include <cstdint>
#include <exception>
#include <memory>

#include "base/units.h"
#include "runtime/stream.h"

namespace kernbench::distributed {

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
  std::exception_ptr error = {};                  // another rank has called something that does not fit
};

}  // namespace kernbench::distributed
