#include "addressing/page_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>

#include "base/text.h"
#include "kernbench/error.h"

namespace kernbench::addressing {

namespace {

constexpr std::size_t kTombstones = 256;

std::int64_t round_up(std::int64_t value, std::int64_t granule) {
  return (value + granule - 1) / granule * granule;
}

/// "[0x10000, 0x12000)"
std::string range_text(std::uint64_t begin, std::int64_t bytes) {
  return fmt::format("[{:#x}, {:#x})", begin, begin + static_cast<std::uint64_t>(bytes));
}

/// "shard there, on sip0.cube0.pe0"
std::string place_text(PeCoordinate first, const Interleaving& how) {
  if (how.slices() == 0) return fmt::format("shard there, on {}", to_text(first));
  return fmt::format("array there, interleaved over {} slices from {} on", how.slices(), to_text(first));
}

bool contains(std::uint64_t start, std::int64_t bytes, std::uint64_t va) {
  return va >= start && va - start < static_cast<std::uint64_t>(bytes);
}

}  // namespace

std::size_t nearest_copy(std::span<const PeCoordinate> copies, PeCoordinate reader) {
  assert(!copies.empty());
  const auto own = std::ranges::lower_bound(copies, reader);
  if (own != copies.end() && *own == reader) return static_cast<std::size_t>(own - copies.begin());
  const auto in_cube = std::ranges::lower_bound(copies, PeCoordinate{reader.sip, reader.cube, PeId{0}});
  if (in_cube != copies.end() && in_cube->sip == reader.sip && in_cube->cube == reader.cube)
    return static_cast<std::size_t>(in_cube - copies.begin());
  return 0;
}

// The first page stays unmapped, so that a null address is caught.
VirtualAddressSpace::VirtualAddressSpace(Bytes page) : page_(page), next_(static_cast<std::uint64_t>(page.count())) {
  assert(page.count() > 0);
}

std::uint64_t VirtualAddressSpace::map(std::string name, Bytes bytes, std::vector<Mapping> mappings) {
  std::ranges::sort(mappings, [](const Mapping& a, const Mapping& b) {
    return a.offset != b.offset ? a.offset < b.offset : a.slice < b.slice;
  });
  Range range{.name = std::move(name), .bytes = bytes, .pieces = {}};
  for (const Mapping& mapping : mappings) {
    if (range.pieces.empty() || range.pieces.back().offset != mapping.offset)
      range.pieces.push_back({.offset = mapping.offset,
                              .bytes = mapping.bytes,
                              .copies = {},
                              .addresses = {},
                              .interleaving = mapping.interleaving});
    Piece& piece = range.pieces.back();
    assert(piece.bytes == mapping.bytes && piece.interleaving == mapping.interleaving);
    piece.copies.push_back(mapping.slice);
    piece.addresses.push_back(mapping.address);
  }
  const std::uint64_t start = next_;
  next_ += static_cast<std::uint64_t>(round_up(bytes.count(), page_.count()) + page_.count());
  ranges_.emplace(start, std::move(range));
  return start;
}

void VirtualAddressSpace::unmap(std::uint64_t va) {
  const auto found = ranges_.find(va);
  assert(found != ranges_.end());
  freed_.push_back({.start = va, .name = std::move(found->second.name), .bytes = found->second.bytes});
  if (freed_.size() > kTombstones) freed_.pop_front();
  ranges_.erase(found);
}

Translation VirtualAddressSpace::translate(PeCoordinate reader, std::uint64_t va, Bytes bytes) const {
  auto next = ranges_.upper_bound(va);
  if (next == ranges_.begin()) fail(va, bytes);
  const auto& [start, range] = *--next;
  const std::uint64_t offset = va - start;
  auto after = std::ranges::upper_bound(range.pieces, offset, {}, &Piece::offset);
  if (after == range.pieces.begin()) fail(va, bytes);
  const Piece& piece = *--after;
  const std::uint64_t inside = offset - piece.offset;
  const auto size = static_cast<std::uint64_t>(piece.bytes.count());
  // An empty access still has to point somewhere.
  const auto length = static_cast<std::uint64_t>(std::max<std::int64_t>(bytes.count(), 1));
  if (inside >= size || length > size - inside) fail(va, bytes);
  const std::size_t copy = nearest_copy(piece.copies, reader);
  if (piece.interleaving.slices() == 0) return {.slice = piece.copies[copy], .address = piece.addresses[copy] + inside};
  const InterleavedRegion region(piece.copies[copy], piece.interleaving);
  return {.slice = region.first(), .address = region.of_share(piece.addresses[copy]) + inside, .region = region};
}

void VirtualAddressSpace::fail(std::uint64_t va, Bytes bytes) const {
  const std::string access = fmt::format("access of {} at virtual address {:#x}", to_text(bytes), va);
  // The guard page after a range counts as its neighbourhood: an overrun names the tensor that it ran out of.
  const auto owns = [&](std::uint64_t start, Bytes size) {
    return contains(start, round_up(size.count(), page_.count()) + page_.count(), va);
  };
  auto next = ranges_.upper_bound(va);
  if (next != ranges_.begin() && owns(std::prev(next)->first, std::prev(next)->second.bytes)) {
    const auto& [start, range] = *std::prev(next);
    std::string shard;
    for (const Piece& piece : range.pieces) {
      if (!contains(start + piece.offset, round_up(piece.bytes.count(), page_.count()), va)) continue;
      shard = fmt::format("; the {}, is {}", place_text(piece.copies.front(), piece.interleaving),
                          range_text(start + piece.offset, piece.bytes.count()));
    }
    throw UnmappedAccess(fmt::format("{} is outside of tensor \"{}\", whose range is {}{}", access, range.name,
                                     range_text(start, range.bytes.count()), shard),
                         start);
  }
  for (const Tombstone& freed : freed_) {
    if (!owns(freed.start, freed.bytes)) continue;
    throw UnmappedAccess(fmt::format("{} touches tensor \"{}\", which was freed; its range was {}", access, freed.name,
                                     range_text(freed.start, freed.bytes.count())),
                         freed.start);
  }
  if (va < static_cast<std::uint64_t>(page_.count()))
    throw UnmappedAccess(access + " is a null address: no tensor is there", std::nullopt);
  throw UnmappedAccess(access + " belongs to no tensor", std::nullopt);
}

}  // namespace kernbench::addressing
