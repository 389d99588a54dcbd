// Bisection bandwidth: what the links between SIPs can carry from one half of the system to the other.
#pragma once

#include "kernbench/units.h"
#include "topology/network.h"

namespace kernbench::topology {

/// The sum of the bandwidths of the links from one half of the SIPs to the other, in the direction with less; 0 for one
/// SIP. The halves of a torus and a mesh lie on both sides of the middle of its longer side, those of any other system
/// are the lower and the upper half of the SIPs; of an odd number the upper half is the larger one. Through a switch go
/// the links up to it, or down from it, whichever carry less. Links that are down count nothing.
Bandwidth bisection_bandwidth(const Network& network);

}  // namespace kernbench::topology
