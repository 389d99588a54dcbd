// The resources of a machine: servers, engines and processors, and what each has done.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/part.h"
#include "hardware/fabric/fabric.h"
#include "hardware/launch/launch_path.h"
#include "hardware/layout.h"
#include "kernbench/units.h"
#include "topology/spec.h"

namespace kernbench::hardware {

class Pe;

/// Busy time and bytes of one resource.
struct ResourceUsage {
  std::string name;
  PartKind kind = PartKind::none;
  Time busy;
  Bytes bytes;            // 0 for engines and processors
  std::size_t place = 0;  // among the counters of the machine
};

/// The same without the name.
struct ResourceCounters {
  Time busy;
  Bytes bytes;
};

/// All of them in structural order: the links; of each PE the HBM channels, the TCM port and the engines; the SRAMs;
/// the IO_CPUs and the M_CPUs. A resource keeps its place for the whole run: what is made when it is first used (a PE's
/// engines, the ends of its channels) has it before, with nothing done.
class Resources {
 public:
  /// The references must outlive it; `pes` by PE index, null where none has been made.
  Resources(const topology::Topology& topology, std::size_t links, const Layout& layout, const Fabric& fabric,
            const std::vector<std::unique_ptr<Pe>>& pes, const LaunchPath& launches)
      : topology_(topology), links_(links), layout_(layout), fabric_(fabric), pes_(pes), launches_(launches) {}

  /// What has a name by now. Engines count the commands that have finished.
  std::vector<ResourceUsage> usage() const;
  /// By place, up to now: work that is under way as far as it has got; processors count the messages that they have
  /// handled.
  std::vector<ResourceCounters> counters_now() const;

 private:
  template <class Visitor>
  void visit(Visitor& visitor) const;
  template <class Visitor>
  void visit_engines(std::int64_t pe_index, Visitor& visitor) const;
  /// Engines of a PE: DMA queues, GEMM and vector engine.
  std::size_t engines() const { return static_cast<std::size_t>(topology_.pe.dma.queues) + 2; }
  /// How many there are with so many of each PE.
  std::size_t count(std::size_t places_of_pe) const;

  const topology::Topology& topology_;
  std::size_t links_;
  const Layout& layout_;
  const Fabric& fabric_;
  const std::vector<std::unique_ptr<Pe>>& pes_;
  const LaunchPath& launches_;
};

}  // namespace kernbench::hardware
