// The channels of SIP 0 when all SIPs are alike and only it is built: what it sends to others it gets from others.
#pragma once

#include "hardware/ipcq/installation.h"
#include "topology/alike_sips.h"

namespace kernbench::hardware {

/// Joins the channels with an end on SIP 0 of its installation. A channel from SIP 0 leads to another SIP, and what
/// that one gets is what SIP 0 gets through the channel that stands to it in the same way, its mate: from the PE that
/// has the sender's place to the receiver's. Each end is told the entry and the slots of its mate. A channel may have
/// none: where ranks do not stand alike, and half way round a ring (AlikeSips::ways_are_alike). Nothing can be sent
/// through it.
void join_mates(InstallRequest& request, const topology::AlikeSips& sips);

}  // namespace kernbench::hardware
