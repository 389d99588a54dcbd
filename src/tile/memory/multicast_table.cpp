#include "tile/memory/multicast_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>
#include <span>
#include <utility>

#include "base/name_format.h"
#include "base/text.h"
#include "hardware/ipcq/ipcq.h"
#include "kernbench/error.h"
#include "tile/program/conversion.h"

namespace kernbench::tile {

namespace {

std::string block_text(const MulticastBlock& block) {
  std::string text =
      fmt::format("{} {} at {} of {}", name(block.dtype), to_text(block.shape), to_text(block.offsets), block.tensor);
  if (!block.strides.empty()) text += fmt::format(" (from element {}, strides {})", block.base, to_text(block.strides));
  return text;
}

/// "program 3 on sip0.cube0.pe3 at gemm.cpp:41"
std::string caller(const LaunchRecord& launch, std::int64_t program, const tl::Where& where) {
  return fmt::format("program {} on {} at {}", program, to_name(launch.place_of(program)), to_text(where));
}

std::vector<PeCoordinate> places_of_group(const AccessCall& call, const tl::MulticastGroup& group) {
  const LaunchRecord& launch = call.program.launch();
  std::vector<PeCoordinate> pes;
  std::set<PeCoordinate> taken;
  for (const std::int64_t program : group.programs) {
    if (program < 0 || program >= launch.grid.count()) {
      call.value_error(fmt::format("group \"{}\" names program {}; the launch has the programs 0 to {}", group.name,
                                   program, launch.grid.count() - 1));
    }
    pes.push_back(launch.place_of(program));
    if (taken.insert(pes.back()).second) continue;
    call.value_error(fmt::format(
        "group \"{}\" names two programs of {}, {} the second; programs of a PE run one after the other and "
        "can never load together, name one for each PE",
        group.name, to_name(pes.back()), program));
  }
  return pes;
}

/// A grid runs programs one after the other, so who stands for a PE's later ones is what runs there now.
hardware::Multicast::Missing who_is_missing(const AccessCall& call, const MulticastPart& part) {
  return [&machine = call.program.environment().machine, pes = part.pes, named_group = part.group,
          where = part.round->where](std::size_t member, std::vector<sim::WaitEdge>& edges) {
    const tl::MulticastGroup& group = *named_group;
    const PeCoordinate pe = (*pes)[member];
    const Name reason = named("the multicast of group \"{}\" by program {} on {} (called by others at {})", group.name,
                              group.programs[member], to_name(pe), to_text(where));
    machine.ipcq(pe).programs_of(pe, reason, edges);
    if (edges.back().target != nullptr) return;
    edges.back().missing = {to_name(pe)};
    edges.back().fault = {sim::kHas, named("no program left that could join the multicast of group \"{}\" (program {}, "
                                           "called by others at {})",
                                           group.name, group.programs[member], to_text(where))};
  };
}

}  // namespace

MulticastTable::Group& MulticastTable::group_of(const AccessCall& call, const tl::MulticastGroup& group) {
  const auto found = groups_.find(group.name);
  if (found == groups_.end()) {
    if (group.programs.empty()) call.value_error(fmt::format("group \"{}\" has no programs", group.name));
    Group fresh{std::make_shared<const tl::MulticastGroup>(group),
                std::make_shared<const std::vector<PeCoordinate>>(places_of_group(call, group)),
                call.program.id(),
                call.where,
                std::vector<std::uint64_t>(group.programs.size()),
                0,
                {}};
    return groups_.emplace(group.name, std::move(fresh)).first->second;
  }
  const Group& known = found->second;
  if (known.named->programs == group.programs) return found->second;
  call.value_error(
      fmt::format("group \"{}\" has the programs [{}] here, but [{}] for {}; give another group another name",
                  group.name, fmt::join(group.programs, ", "), fmt::join(known.named->programs, ", "),
                  caller(call.program.launch(), known.first, known.where)));
}

MulticastPart MulticastTable::join(const AccessCall& call, const tl::MulticastGroup& named_group,
                                   const MulticastBlock& block) {
  Group& group = group_of(call, named_group);
  const std::vector<std::int64_t>& programs = group.named->programs;
  const auto place = std::ranges::find(programs, call.program.id());
  if (place == programs.end()) {
    call.value_error(fmt::format("program {} is not in group \"{}\"; a program loads with groups that it is in",
                                 call.program.id(), named_group.name));
  }
  MulticastPart part{nullptr, static_cast<std::size_t>(place - programs.begin()), group.named, group.pes};
  const std::uint64_t number = group.calls[part.member]++;
  const auto index = static_cast<std::size_t>(number - group.closed);
  if (index == group.open.size()) {
    auto round = std::make_shared<MulticastRound>();
    round->block = block;
    round->first = call.program.id();
    round->where = call.where;
    round->number = number;
    round->value = make_pooled<TileValue>(*call.program.environment().pool);
    group.open.push_back(std::move(round));
  }
  part.round = group.open[index];
  MulticastRound& round = *part.round;
  if (!(round.block == block)) {
    call.value_error(
        fmt::format("multicast {} of group \"{}\" is {} here, but {} for {}; all programs of a group load "
                    "the same blocks in the same order",
                    number, named_group.name, block_text(block), block_text(round.block),
                    caller(call.program.launch(), round.first, round.where)));
  }
  // Calls of one member are in order, so the front is complete first.
  if (++round.calls == programs.size()) {
    group.open.pop_front();
    ++group.closed;
  }
  return part;
}

MulticastPart take_part(AccessCall& call, const tl::MulticastGroup& group, const MulticastBlock& block) {
  MulticastPart part = call.program.multicasts().join(call, group, block);
  call.reads_for = part.pes->front();
  return part;
}

static void append_page(std::vector<hardware::PageRange>& pages, std::uint64_t page) {
  if (!pages.empty() && pages.back().first + pages.back().count == page) {
    ++pages.back().count;
  } else {
    pages.push_back({page, 1, 1, 0});
  }
}

/// Each page by one member only: walks of many pages then take no longer than those of one member's part.
static std::vector<std::vector<hardware::PageRange>> pages_by_member(const AccessCall& call, const MulticastPart& part,
                                                                     std::span<const hardware::PageRange> pages) {
  const std::vector<PeCoordinate>& members = *part.pes;
  std::map<PeCoordinate, std::size_t> member_at;
  for (std::size_t member = 0; member < members.size(); ++member) member_at.emplace(members[member], member);
  const auto& addresses = call.program.environment().addresses;
  const auto page_bytes = static_cast<std::uint64_t>(addresses.page().count());
  std::vector<std::vector<hardware::PageRange>> by_member(members.size());
  std::size_t turn = 0;
  const auto give = [&](std::uint64_t page) {
    const addressing::Translation at = addresses.translate(call.reader(), page * page_bytes, Bytes(1));
    const auto own = at.region ? member_at.end() : member_at.find(at.slice);
    append_page(by_member[own == member_at.end() ? turn++ % members.size() : own->second], page);
  };
  for (const hardware::PageRange& range : pages) {
    for (std::uint64_t row = 0; row < range.rows; ++row) {
      for (std::uint64_t i = 0; i < range.count; ++i) give(range.first + row * range.stride + i);
    }
  }
  return by_member;
}

Places places_of_member(const AccessCall& call, const MulticastPart& part, const std::function<Places()>& locate) {
  MulticastRound& round = *part.round;
  if (round.pages.empty()) {
    Places places = locate();
    round.pages = pages_by_member(call, part, places.pages);
    round.legs = std::move(places.legs);
    round.pieces = std::move(places.pieces);
  }
  Places mine{round.legs, std::move(round.pages[part.member]), {}};
  if (part.member == 0) mine.pieces = std::move(round.pieces);
  return mine;
}

hardware::DmaWork multicast_work(const AccessCall& call, const MulticastPart& part, Places& places) {
  MulticastRound& round = *part.round;
  if (round.work == nullptr) {
    round.work = std::make_shared<hardware::Multicast>(part.group->name, *part.pes, places.legs,
                                                       call.program.environment().machine.topology(),
                                                       who_is_missing(call, part));
  }
  return {hardware::DmaKind::multicast, std::move(places.legs), std::move(places.pages), round.work, part.member};
}

}  // namespace kernbench::tile
