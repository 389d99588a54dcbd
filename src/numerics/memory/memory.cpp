#include "numerics/memory/memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cstring>

#include "kernbench/error.h"
#include "numerics/memory/access_plan.h"
#include "numerics/memory/region.h"

namespace kernbench::numerics {

// ---- memory ----------------------------------------------------------------------------------------------------

void Memory::map(std::uint64_t address, std::int64_t bytes, bool zeros, NamedPlace start) {
  assert(bytes > 0);
  const auto next = regions_.upper_bound(address);
  assert(next == regions_.end() || next->first >= address + static_cast<std::uint64_t>(bytes));
  assert(!find(address));
  const auto region = std::make_shared<Region>(address, bytes, executor_.enabled(), std::move(start));
  if (zeros) region->set_valid({0, 1, bytes, 0});  // its bytes are
  regions_.emplace_hint(next, address, region);
}

void Memory::unmap(std::uint64_t address, std::int64_t bytes) {
  const std::uint64_t end = address + static_cast<std::uint64_t>(bytes);
  const auto first = regions_.lower_bound(address);
  const auto last = regions_.lower_bound(end);
  assert(!find(address) || (first != regions_.end() && first->first == address));
  assert(first == last || std::prev(last)->first + static_cast<std::uint64_t>(std::prev(last)->second->size()) <= end);
  regions_.erase(first, last);
}

std::shared_ptr<Region> Memory::find(std::uint64_t address) const {
  const auto next = regions_.upper_bound(address);
  if (next == regions_.begin()) return nullptr;
  const std::shared_ptr<Region>& region = std::prev(next)->second;
  return address - region->address() < static_cast<std::uint64_t>(region->size()) ? region : nullptr;
}

bool Memory::mapped(std::uint64_t address, std::int64_t bytes) const {
  const std::uint64_t end = address + static_cast<std::uint64_t>(bytes);
  while (address < end) {
    const std::shared_ptr<Region> region = find(address);
    if (!region) return false;
    address = region->address() + static_cast<std::uint64_t>(region->size());
  }
  return true;
}

Memory::Contents Memory::read(std::uint64_t address, std::int64_t bytes) {
  assert(executor_.enabled());
  const AccessPlan plan(*this, address, bytes);
  plan.wait(executor_, false);
  Contents contents;
  contents.bytes.resize(static_cast<std::size_t>(bytes));
  for (const RegionPiece& piece : plan.pieces()) {
    const auto size = static_cast<std::size_t>(piece.where.row_bytes);
    std::memcpy(contents.bytes.data() + piece.tile_offset, piece.region->view().at(piece.where.begin), size);
    piece.region->for_each_invalid(piece.where, [&](std::int64_t, std::int64_t begin, std::int64_t end, SourceId) {
      contents.validity.resize(contents.bytes.size(), 1);
      std::fill_n(contents.validity.begin() + piece.tile_offset + begin, end - begin, std::uint8_t{0});
    });
  }
  return contents;
}

void Memory::write(std::uint64_t address, std::span<const std::byte> bytes, std::span<const std::uint8_t> validity) {
  assert(validity.empty() || validity.size() == bytes.size());
  const AccessPlan plan(*this, address, static_cast<std::int64_t>(bytes.size()));
  if (!executor_.enabled()) return;
  plan.wait(executor_, true);
  plan.set_left_out(false);
  const SourceId source = validity.empty() ? kValid : OwnSource(executor_.sources()).id(Cause::given);
  for (const RegionPiece& piece : plan.pieces()) {
    const auto size = static_cast<std::size_t>(piece.where.row_bytes);
    std::memcpy(piece.region->to_write(piece.where.begin), bytes.data() + piece.tile_offset, size);
    piece.region->set_valid(piece.where);
    if (validity.empty()) continue;
    const std::uint8_t* lanes = validity.data() + piece.tile_offset;
    for (std::int64_t i = 0; i < piece.where.row_bytes; ++i) {
      if (lanes[i] == 0) piece.region->set_invalid({piece.where.begin + i, 1, 1, 0}, source);
    }
  }
}

bool Memory::shares_bytes(std::uint64_t address) const {
  return find(address)->shares_bytes();
}

// ---- access plan -----------------------------------------------------------------------------------------------

AccessPlan::AccessPlan(std::span<const Piece> pieces, std::int64_t item) {
  pieces_.reserve(pieces.size());
  for (const Piece& piece : pieces) {
    assert(piece.row_bytes % item == 0 && piece.stride >= 0 && piece.row_stride >= 0);
    if (piece.rows <= 0 || piece.row_bytes <= 0) continue;
    Rectangle where{0, piece.rows, piece.row_bytes, piece.stride};
    const std::int64_t tile_row_stride = piece.row_stride * item;
    if (piece.stride == piece.row_bytes && tile_row_stride == piece.row_bytes) {
      where = {0, 1, piece.rows * piece.row_bytes, 0};  // one long row
    }
    add(*piece.memory, where, piece.address, piece.offset * item, tile_row_stride);
  }
}

AccessPlan::AccessPlan(const Memory& memory, std::uint64_t address, std::int64_t bytes) {
  if (bytes > 0) add(memory, {0, 1, bytes, 0}, address, 0, 0);
}

void AccessPlan::add(const Memory& memory, const Rectangle& at_address_zero, std::uint64_t address,
                     std::int64_t tile_offset, std::int64_t tile_row_stride) {
  Rectangle where = at_address_zero;
  if (std::shared_ptr<Region> region = memory.find(address)) {
    where.begin = static_cast<std::int64_t>(address - region->address());
    if (where.end() <= region->size()) {
      pieces_.push_back({std::move(region), where, tile_offset, tile_row_stride});
      return;
    }
  }
  for (std::int64_t r = 0; r < where.rows; ++r) {
    const std::uint64_t row_address = address + static_cast<std::uint64_t>(r * where.stride);
    add_row(memory, row_address, where.row_bytes, tile_offset + r * tile_row_stride);
  }
}

void AccessPlan::add_row(const Memory& memory, std::uint64_t address, std::int64_t bytes, std::int64_t tile_offset) {
  while (bytes > 0) {
    std::shared_ptr<Region> region = memory.find(address);
    if (!region) throw OutOfBoundsError(fmt::format("address {:#x} of an access is not mapped", address));
    const auto begin = static_cast<std::int64_t>(address - region->address());
    const std::int64_t count = std::min(bytes, region->size() - begin);
    pieces_.push_back({std::move(region), {begin, 1, count, 0}, tile_offset, 0});
    address += static_cast<std::uint64_t>(count);
    tile_offset += count;
    bytes -= count;
  }
}

std::vector<AccessPlan::Footprint> AccessPlan::footprints() const {
  constexpr std::size_t kFew = 64;  // assumption: more than a block has that lies in one piece of memory
  std::vector<Footprint> result;
  for (const RegionPiece& piece : pieces_) {
    Region* region = piece.region.get();
    const auto known = std::ranges::find(result, region, &Footprint::region);
    if (pieces_.size() <= kFew || known == result.end()) {
      result.push_back({region, piece.where});
      continue;
    }
    const std::int64_t begin = std::min(known->where.begin, piece.where.begin);
    known->where = {begin, 1, std::max(known->where.end(), piece.where.end()) - begin, 0};
  }
  return result;
}

std::vector<TaskHandle> AccessPlan::conflicts(bool writes) const {
  std::vector<TaskHandle> tasks;
  for (const Footprint& each : footprints()) each.region->find_conflicts(each.where, writes, tasks);
  // Many rows often meet the same task.
  std::ranges::sort(tasks);
  const auto repeated = std::ranges::unique(tasks);
  tasks.erase(repeated.begin(), repeated.end());
  return tasks;
}

void AccessPlan::record(bool writes, const TaskHandle& task) const {
  for (const Footprint& each : footprints()) each.region->add_access(each.where, writes, task);
}

bool AccessPlan::has_left_out() const {
  return std::ranges::any_of(pieces_, [](const RegionPiece& piece) { return piece.region->has_left_out(piece.where); });
}

void AccessPlan::set_left_out(bool left_out) const {
  for (const RegionPiece& piece : pieces_) piece.region->set_left_out(piece.where, left_out);
}

void AccessPlan::wait(Executor& executor, bool writes) const {
  for (const TaskHandle& task : conflicts(writes)) executor.force(task);
}

}  // namespace kernbench::numerics
