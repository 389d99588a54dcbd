// Copies of more legs than one command can have, as several commands.
#pragma once

#include <cstddef>
#include <vector>

#include "hardware/copy/copy_engine.h"

namespace kernbench::hardware {

/// The same copy as commands of at most `limit` legs each, in their order. What is to be called when all legs have come
/// so far is called by the command whose legs are the last.
std::vector<CopyRequest> split(CopyRequest request, std::size_t limit);
std::vector<PeerCopyRequest> split(PeerCopyRequest request, std::size_t limit);

}  // namespace kernbench::hardware
