// Collective algorithms of the caller's own, by name: what a simulation is given. kernbench/collectives.h says what an
// algorithm is.
#pragma once

#include <memory>
#include <vector>

namespace kernbench::collectives {
struct Algorithm;
}

namespace kernbench {

/// A value: give it to a simulation as SimulateOptions::algorithms.
class CollectiveRegistry {
 public:
  using Algorithms = std::vector<std::shared_ptr<const collectives::Algorithm>>;

  /// Makes an algorithm known under its name. ValueError for a name that is taken (by a shipped algorithm, too) or is
  /// not 1 to 64 letters, digits and underscores, and for an algorithm without kernel, channels or method, or one that
  /// reduces and says no fold order.
  CollectiveRegistry& add(collectives::Algorithm algorithm);
  /// Adds all of another registry. ValueError for names that are taken.
  CollectiveRegistry& add(const CollectiveRegistry& other);
  const Algorithms& algorithms() const { return algorithms_; }

 private:
  Algorithms algorithms_;
};

}  // namespace kernbench
