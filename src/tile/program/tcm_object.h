// Common part of tiles and buffers: what a program holds in its PE's TCM.
#pragma once

#include <cstdint>
#include <memory>

#include "hardware/machine.h"
#include "kernbench/tl.h"
#include "kernbench/units.h"

namespace kernbench::tile {

class Program;

/// Bytes of a PE's TCM, given back when the last holder (a handle or an operation under way) lets go. Tiles that are
/// views of each other share one.
class Reservation {
 public:
  Reservation(hardware::TcmAllocator& tcm, Bytes bytes) : tcm_(tcm), bytes_(bytes) {}
  ~Reservation() { tcm_.release(bytes_); }
  Reservation(const Reservation&) = delete;
  Reservation& operator=(const Reservation&) = delete;
  Bytes bytes() const { return bytes_; }
  /// Counts the live objects in it: true for the first to come, and for the last to leave.
  bool enter() { return objects_++ == 0; }
  bool leave() { return --objects_ == 0; }

 private:
  hardware::TcmAllocator& tcm_;
  Bytes bytes_;
  std::int64_t objects_ = 0;
};
using ReservationRef = std::shared_ptr<Reservation>;

/// How an object came to be: for the lists of live objects in error texts.
struct TcmObjectInfo {
  const char* noun;      // "tile", "buffer"
  std::uint64_t number;  // in program order, tiles and buffers counted together
  DType dtype;
  tl::Extents shape;
  const char* kind;  // the operation that made it
  tl::Where where;
};

/// Counts as live in its program while it exists.
class TcmObject {
 public:
  TcmObject(Program& program, const TcmObjectInfo& info, ReservationRef reservation);
  TcmObject(const TcmObject&) = delete;
  TcmObject& operator=(const TcmObject&) = delete;

  Program& program() const { return *program_; }
  const TcmObjectInfo& info() const { return info_; }
  std::uint64_t number() const { return info_.number; }
  DType dtype() const { return info_.dtype; }
  const tl::Extents& shape() const { return info_.shape; }
  const char* kind() const { return info_.kind; }
  const tl::Where& where() const { return info_.where; }
  const ReservationRef& reservation() const { return reservation_; }

 protected:
  ~TcmObject();

 private:
  friend class Program;
  std::shared_ptr<Program> program_;
  TcmObjectInfo info_;
  ReservationRef reservation_;
};

}  // namespace kernbench::tile
