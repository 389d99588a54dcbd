// The place of a program among the members of its launch's channels.
#pragma once

#include <cstdint>
#include <memory>

#include "hardware/operation.h"
#include "tile/memory/memory_access.h"
#include "tile/messages/queue_table.h"

namespace kernbench::tile {

struct Membership {
  const std::shared_ptr<QueueTable>& queues;
  std::int32_t self;
};

/// ProgramError ("NoChannelError") when the launch has no channels, or this PE none of them.
Membership membership(const AccessCall& call);

/// "kernel ring#0 on sip0.cube0.pe1 (program 1), ring.cpp:12", good after the program's end.
Site site_of(const AccessCall& call);

/// Suspends the program until an operation that it has issued is over.
void wait_until_done(const AccessCall& call, const hardware::OperationRef& operation);

}  // namespace kernbench::tile
