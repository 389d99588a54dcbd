// What the programs of a launch share in the SRAMs of their cubes.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "kernbench/coordinates.h"
#include "kernbench/dtype.h"
#include "kernbench/tl.h"
#include "tile/memory/memory_access.h"
#include "tile/program/buffer_state.h"
#include "tile/program/environment.h"

namespace kernbench::tile {

constexpr CubeCoordinate cube_of(PeCoordinate pe) {
  return {pe.sip, pe.cube};
}

/// A region of an SRAM, and its bytes; operations under way hold them.
struct CubeRegion {
  std::string name;
  CubeCoordinate cube;
  DType dtype = DType::f16;
  tl::Extents shape;
  std::uint64_t offset = 0;  // in the SRAM
  Bytes size;
  std::int64_t first = 0;  // the program that allocated first, and its line
  tl::Where where;
  std::shared_ptr<BufferBytes> bytes;
};

/// The state behind tl::CubeBuffer: the region as one program sees it.
class CubeBufferState {
 public:
  CubeBufferState(Program& program, std::shared_ptr<const CubeRegion> region)
      : program_(program.weak_from_this()), region_(std::move(region)) {}
  bool belongs_to(const Program& program) const { return program_.lock().get() == &program; }
  const CubeRegion& region() const { return *region_; }

 private:
  std::weak_ptr<const Program> program_;
  std::shared_ptr<const CubeRegion> region_;
};

/// Of one launch: its regions, by cube and name. They are given back with it.
class CubeMemoryTable {
 public:
  explicit CubeMemoryTable(std::weak_ptr<SramRooms> rooms) : rooms_(std::move(rooms)) {}
  ~CubeMemoryTable();
  CubeMemoryTable(const CubeMemoryTable&) = delete;
  CubeMemoryTable& operator=(const CubeMemoryTable&) = delete;

  /// The running program allocates. Errors: see tl::alloc.
  std::shared_ptr<const CubeRegion> region(const AccessCall& call, const std::string& name, DType dtype,
                                           const tl::Extents& shape);

 private:
  std::shared_ptr<CubeRegion> take(const AccessCall& call, const std::string& name, DType dtype,
                                   const tl::Extents& shape);
  [[noreturn]] void out_of_memory(const AccessCall& call, const CubeRegion& wanted, Bytes free) const;

  std::weak_ptr<SramRooms> rooms_;  // the simulation may end first
  std::map<std::pair<CubeCoordinate, std::string>, std::shared_ptr<CubeRegion>> regions_;
};

/// `"weights" in sip0.cube1.sram`
std::string text_of(const CubeRegion& region);

/// Where a box of a region is, for a DMA engine of the cube: by the port of `reader`.
Places places_of_region(const CubeRegion& region, const tl::Extents& offsets, const tl::Extents& shape,
                        PeCoordinate reader);

/// The region behind a handle of the running program. ValueError for an empty handle, or another program's.
const CubeRegion& own_region(const AccessCall& call, const tl::CubeBuffer& buffer);

}  // namespace kernbench::tile
