// The place of a program among the members of its launch's channels.
#pragma once

#include <cstdint>
#include <memory>

#include "hardware/command.h"
#include "tile/memory/memory_access.h"
#include "tile/messages/queue_table.h"

namespace kernbench::tile {

struct Membership {
  const std::shared_ptr<QueueTable>& queues;
  std::int32_t self;
};

/// ProgramError ("NoChannelError") when the launch has no channels, or this PE none of them.
Membership membership(const AccessCall& call);

/// Suspends the program until a command that it has issued is over.
void wait_until_done(const AccessCall& call, const hardware::CommandRef& command);

}  // namespace kernbench::tile
