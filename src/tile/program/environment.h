// The interface of kernel programs to the simulation that they run in.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <source_location>
#include <string>
#include <string_view>
#include <vector>

#include "addressing/page_table.h"
#include "base/pool.h"
#include "hardware/machine.h"
#include "kernbench/coordinates.h"
#include "numerics/memory/executor.h"
#include "numerics/memory/memory.h"
#include "sim/scheduler.h"
#include "tile/program/failure_places.h"
#include "tile/stream/operation_stream.h"

namespace kernbench::tile {

class Explainer;

/// The bytes of all HBM slices, created as they are first touched.
class DeviceBytes {
 public:
  explicit DeviceBytes(numerics::Executor& executor, const topology::Topology& topology);
  numerics::Memory& slice(PeCoordinate at);

 private:
  numerics::Executor& executor_;
  std::int32_t cubes_, pes_;
  std::vector<std::unique_ptr<numerics::Memory>> slices_;
};

/// Who has which bytes of the cubes' SRAMs: slots of queues, and what programs allocate.
class SramRooms {
 public:
  virtual ~SramRooms() = default;
  /// The offset of `bytes` that were free; none when no free block is as long.
  virtual std::optional<std::uint64_t> take_sram(CubeCoordinate cube, Bytes bytes) = 0;
  virtual void give_back_sram(CubeCoordinate cube, std::uint64_t offset, Bytes bytes) = 0;
  virtual Bytes free_sram(CubeCoordinate cube) = 0;
};

/// References to the parts of one simulation; owned by the runtime.
struct Environment {
  sim::Scheduler& scheduler;
  hardware::Machine& machine;
  numerics::Executor& executor;
  /// Computes the tiles whose values are known before the run (tile/program/known.h): `executor` itself, or under
  /// --no-data one that works all the same.
  numerics::Executor& constants;
  DeviceBytes& bytes;
  addressing::VirtualAddressSpace& addresses;
  OperationStream& stream;
  bool data_enabled;
  /// Takes whole lines, with their ends, that programs print (tl::device_print), in simulated order.
  std::function<void(std::string_view)> print;
  /// Fresh memory reads as zeros, not as invalid.
  bool fresh_memory_is_zero = false;
  /// Lanes of a load outside of its tensor read nothing, where they would otherwise raise.
  bool reads_may_leave_tensors = false;
  /// Told where exceptions escape from programs; may be null.
  FailurePlaces* failures = nullptr;
  /// Names of the launches so far, which sources of invalid lanes refer to; only with data.
  std::shared_ptr<std::deque<std::string>> launch_names = std::make_shared<std::deque<std::string>>();
  /// Memory of commands and tiles.
  std::shared_ptr<Pool> pool = std::make_shared<Pool>();
  /// Of the consumers of the stream the one that explains launches; null: nobody does.
  Explainer* explainer = nullptr;
  /// Launches may outlive it.
  std::weak_ptr<SramRooms> sram = {};
};

}  // namespace kernbench::tile
