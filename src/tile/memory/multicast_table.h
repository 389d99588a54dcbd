// The multicasts of a launch: who has called what, and whether all call the same.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "hardware/command_name.h"
#include "hardware/dma/multicast.h"
#include "kernbench/dtype.h"
#include "kernbench/tl.h"
#include "tile/memory/memory_access.h"

namespace kernbench::tile {

/// What a call asks for: two calls that are equal in all of it load the same bytes.
struct MulticastBlock {
  std::string tensor;
  std::uint64_t va = 0;
  DType dtype = DType::f16;
  tl::Extents offsets, shape;            // of the block
  std::int64_t base = 0;                 // block pointers: their first element
  tl::Extents strides, parent, checked;  // likewise
  int padding = 0;
  double other = 0;
  bool has_other = false;
  bool operator==(const MulticastBlock&) const = default;
};

/// One multicast, as far as its members have come.
struct MulticastRound {
  MulticastBlock block;
  std::int64_t first = 0;  // the program that called first, and its line
  tl::Where where;
  std::uint64_t number = 0;  // in its group
  std::size_t calls = 0;
  // When the first member has its room.
  std::shared_ptr<hardware::Multicast> work;
  std::vector<hardware::DmaLeg> legs;
  std::vector<numerics::Piece> pieces;                  // for the first member, with data
  std::vector<std::vector<hardware::PageRange>> pages;  // by member: what each translates
  std::shared_ptr<TileValue> value;                     // that the read yields
  hardware::CommandName read;                           // the first member's command
};

/// The part of one member in a multicast.
struct MulticastPart {
  std::shared_ptr<MulticastRound> round;
  std::size_t member = 0;
  std::shared_ptr<const tl::MulticastGroup> group;
  std::shared_ptr<const std::vector<PeCoordinate>> pes;  // of the members
};

/// Of one launch.
class MulticastTable {
 public:
  /// The running program calls. ValueError: see tl::multicast_load.
  MulticastPart join(const AccessCall& call, const tl::MulticastGroup& group, const MulticastBlock& block);

 private:
  struct Group {
    std::shared_ptr<const tl::MulticastGroup> named;
    std::shared_ptr<const std::vector<PeCoordinate>> pes;
    std::int64_t first = 0;  // the program that used it first, and its line
    tl::Where where;
    std::vector<std::uint64_t> calls;  // by member
    std::uint64_t closed = 0;          // rounds that all have called
    std::deque<std::shared_ptr<MulticastRound>> open;
  };
  Group& group_of(const AccessCall& call, const tl::MulticastGroup& group);

  std::map<std::string, Group, std::less<>> groups_;
};

/// The running program takes part: of replicas those near to the group's first program are read.
MulticastPart take_part(AccessCall& call, const tl::MulticastGroup& group, const MulticastBlock& block);

/// The places of a member, which has its room: legs of all, pages that it translates itself. Those of pages that lie in
/// a member's own slice are its own, others go round. The first one to come finds them with `locate`.
Places places_of_member(const AccessCall& call, const MulticastPart& part, const std::function<Places()>& locate);

/// The work of a member with these places.
hardware::DmaWork multicast_work(const AccessCall& call, const MulticastPart& part, Places& places);

}  // namespace kernbench::tile
