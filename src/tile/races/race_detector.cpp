#include "tile/races/race_detector.h"

#include <algorithm>
#include <iterator>

#include "base/text.h"
#include "hardware/dma/multicast.h"
#include "hardware/machine.h"
#include "sim/scheduler.h"
#include "tile/memory/cube_memory.h"
#include "tile/program/program.h"

namespace kernbench::tile {

namespace {

/// Atomics meet in words of so many bytes.
constexpr std::uint64_t kWord = 4;

const hardware::WindowWork* window_of(const KernelCommand& command) {
  return std::get_if<hardware::WindowWork>(&command.work);
}

const hardware::DmaWork* atomic_of(const KernelCommand& command) {
  const auto* dma = std::get_if<hardware::DmaWork>(&command.work);
  return dma != nullptr && dma->kind == hardware::DmaKind::atomic ? dma : nullptr;
}

const hardware::DmaWork* multicast_of(const KernelCommand& command) {
  const auto* dma = std::get_if<hardware::DmaWork>(&command.work);
  return dma != nullptr && dma->multicast != nullptr ? dma : nullptr;
}

bool accesses_memory(const KernelCommand& command) {
  return command.engine() == hardware::EngineKind::dma || window_of(command) != nullptr;
}

AccessKind kind_of(const KernelCommand& command, bool writes) {
  if (!writes) return AccessKind::read;
  return atomic_of(command) != nullptr ? AccessKind::atomic : AccessKind::write;
}

/// Where the bytes are that the range counts from; none for what no other program can touch.
std::optional<std::uint64_t> address_of(const KernelCommand& command, const ByteRange& range) {
  switch (range.memory) {
    case MemoryKind::hbm:
      return command.program->environment().machine.addresses().hbm(range.owner, range.range.address).value();
    case MemoryKind::sram:
      return sram_address({range.owner.sip, range.owner.cube}, range.range.address).value();
    case MemoryKind::window:
      return window_of(command)->memory.value();
    case MemoryKind::buffer:
      break;
  }
  return std::nullopt;
}

/// Calls visit(address) for each word that the atomic touches.
template <class Visit>
void each_word(const KernelCommand& command, Visit visit) {
  OperationRecord(command).for_each_range([&](const ByteRange& range) {
    const auto first = address_of(command, range);
    if (!first) return;
    const auto bytes = static_cast<std::uint64_t>(range.range.row_bytes.count());
    for (std::int64_t row = 0; row < range.range.rows; ++row) {
      const std::uint64_t begin = *first + static_cast<std::uint64_t>(row * range.range.stride);
      for (std::uint64_t word = begin / kWord; word <= (begin + bytes - 1) / kWord; ++word) visit(word);
    }
  });
}

/// Whether the scope of a PE in one of two cubes reaches the other one.
bool reaches(tl::Scope scope, CubeCoordinate a, CubeCoordinate b) {
  switch (scope) {
    case tl::Scope::pe:
      return false;
    case tl::Scope::cube:
      return a == b;
    case tl::Scope::sip:
      return a.sip == b.sip;
    case tl::Scope::system:
      break;
  }
  return true;
}

}  // namespace

RaceDetector::ProgramState* RaceDetector::state_of(const KernelCommand& command) {
  const auto found = numbers_.find(command.program.get());
  return found == numbers_.end() ? nullptr : &programs_[found->second];
}

std::uint32_t RaceDetector::number_of_site(const KernelCommand& command) {
  const Site site{command.kind, command.where.file_name(), command.where.line()};
  const auto [at, is_new] = site_numbers_.emplace(site, static_cast<std::uint32_t>(sites_.size()));
  if (is_new) sites_.push_back(site);
  return at->second;
}

void RaceDetector::on_program_begin(Program& program) {
  numbers_[&program] = static_cast<std::uint32_t>(programs_.size());
  ProgramState state;
  state.begun = program.environment().scheduler.now();
  state.launch = program.launch().shared_name;
  state.called_at = program.launch().called_at;
  state.at = program.coordinate();
  programs_.push_back(std::move(state));
}

void RaceDetector::on_program_end(Program& program, bool /*stands*/) {
  end(program);
}

void RaceDetector::on_program_abandoned(Program& program) {
  end(program);
}

void RaceDetector::end(Program& program) {
  const auto found = numbers_.find(&program);
  if (found == numbers_.end()) return;
  programs_[found->second].ended = program.environment().scheduler.now();
  numbers_.erase(found);
  if (numbers_.empty()) {  // what begins from now on comes behind all of this
    programs_.clear();
    messages_.clear();
    signals_.clear();
    atomics_.clear();
    multicasts_.clear();
    shadow_.clear();
  } else if (shadow_.size() > forget_at_) {
    forget_what_is_over();
  }
}

void RaceDetector::forget_what_is_over() {
  Time earliest = Time::max();
  for (const auto& [program, number] : numbers_) earliest = std::min(earliest, programs_[number].begun);
  shadow_.forget([&](std::uint32_t program) {
    const auto& ended = programs_[program].ended;
    return ended && *ended <= earliest;
  });
  forget_at_ = std::max(forget_at_, 2 * shadow_.size());
}

void RaceDetector::on_made(KernelCommand& command, KernelCommand* /*granted_by*/) {
  ProgramState* state = state_of(command);
  if (state == nullptr || !accesses_memory(command)) return;
  state->behind_last_access = command.number + 1;
  state->unfinished.push_back(command.number);
}

Clock RaceDetector::release(ProgramState& state, std::uint64_t command, bool with_itself) {
  Release now{with_itself ? command + 1 : command, {}};
  for (const std::uint64_t access : state.unfinished) {
    if (access < command) now.unfinished.push_back(access);
  }
  const bool is_last = !state.releases.empty() && state.releases.back().next >= state.behind_last_access &&
                       state.releases.back().unfinished == now.unfinished;
  if (!is_last) state.releases.push_back(std::move(now));
  Clock clock = state.clock;
  clock.add({number_of(state), static_cast<std::uint32_t>(state.releases.size() - 1)});
  return clock;
}

void RaceDetector::release_by_atomic(ProgramState& state, const KernelCommand& command) {
  if (command.scope == tl::Scope::pe) return;
  const Clock clock = release(state, command.number, true);
  each_word(command, [&](std::uint64_t word) { atomics_[word][{command.scope, cube_of(state.at)}].join(clock); });
}

void RaceDetector::acquire_by_atomic(ProgramState& state, const KernelCommand& command) {
  const CubeCoordinate here = cube_of(state.at);
  each_word(command, [&](std::uint64_t word) {
    const auto found = atomics_.find(word);
    if (found == atomics_.end()) return;
    for (const auto& [sharers, clock] : found->second) {
      if (reaches(sharers.scope, sharers.by, here) && reaches(command.scope, sharers.by, here)) state.clock.join(clock);
    }
  });
}

// The read sets out when all members have joined, so it comes behind what each of them has done before.
void RaceDetector::join_multicast(ProgramState& state, KernelCommand& command) {
  const hardware::DmaWork& work = *multicast_of(command);
  Together& all = multicasts_[work.multicast.get()];
  all.multicast = work.multicast;
  if (work.accesses_memory()) all.read = KernelCommandRef(&command);
  all.clock.join(release(state, command.number, work.accesses_memory()));
  all.begun = std::max(all.begun, state.begun);
  if (++all.started < work.multicast->members().size() || !all.read) return;
  if (const ProgramState* reader = state_of(*all.read)) touch(*all.read, number_of(*reader), all.clock, all.begun);
}

void RaceDetector::leave_multicast(ProgramState& state, const KernelCommand& command) {
  const auto found = multicasts_.find(multicast_of(command)->multicast.get());
  if (found == multicasts_.end()) return;
  state.clock.join(found->second.clock);
  if (++found->second.finished == found->second.started) multicasts_.erase(found);
}

// Of two operations that are ordered the first has finished when the second one starts, so their starts are in order.
void RaceDetector::on_start(KernelCommand& command, KernelCommand* /*before*/) {
  ProgramState* state = state_of(command);
  if (state == nullptr) return;
  if (const auto* message = std::get_if<hardware::MessageWork>(&command.work)) {
    if (message->sends) messages_[command.command_name()] = release(*state, command.number, false);
    return;
  }
  if (multicast_of(command) != nullptr) return join_multicast(*state, command);
  touch(command, number_of(*state), state->clock, state->begun);
  if (const auto* window = window_of(command); window != nullptr && window->signals) {
    signals_[window->word.value()].join(release(*state, command.number, true));
  }
  if (command.releases && atomic_of(command) != nullptr) release_by_atomic(*state, command);
}

void RaceDetector::on_operation(const OperationRecord& operation) {
  const KernelCommand& command = operation.command();
  ProgramState* state = state_of(command);
  if (state == nullptr) return;
  if (accesses_memory(command)) std::erase(state->unfinished, command.number);
  if (multicast_of(command) != nullptr) leave_multicast(*state, command);
  for (const HappensBefore& edge : operation.happens_before()) {
    if (edge.reason != HappensBefore::Reason::message) continue;
    const auto found = messages_.find(edge.before);
    if (found == messages_.end()) continue;
    state->clock.join(found->second);
    messages_.erase(found);
  }
  if (command.acquires && atomic_of(command) != nullptr) acquire_by_atomic(*state, command);
}

void RaceDetector::on_signal_seen(const Program& program, PhysAddr word) {
  const auto found = signals_.find(word.value());
  const auto number = numbers_.find(&program);
  if (found != signals_.end() && number != numbers_.end()) programs_[number->second].clock.join(found->second);
}

void RaceDetector::touch(const KernelCommand& command, std::uint32_t program, const Clock& clock, Time begun) {
  const ChosenLane& chosen = command.chosen_lane;
  if (command.masks_lanes && chosen.item == 0) return;
  std::vector<std::uint32_t> told;  // sites with which this operation is known to race
  OperationRecord(command).for_each_range([&](const ByteRange& range) {
    const auto first = address_of(command, range);
    if (!first) return;
    const MemoryAccess access{command.number, program, number_of_site(command), kind_of(command, range.writes)};
    for (std::int64_t row = 0; row < range.range.rows; ++row) {
      const auto from_row = static_cast<std::uint64_t>(row * range.range.stride);
      const auto bytes = static_cast<std::uint64_t>(range.range.row_bytes.count());
      const auto visit = [&](const ShadowMemory::Accesses& accesses, std::uint64_t address) {
        for (const MemoryAccess& earlier : accesses) {
          if (!earlier.conflicts_with(access) || lies_before(earlier, program, clock, begun)) continue;
          if (std::ranges::find(told, earlier.site) != told.end()) continue;
          told.push_back(earlier.site);
          const bool is_hbm = range.memory == MemoryKind::hbm;
          const std::uint64_t local = range.range.address + (address - *first);
          std::string place = is_hbm ? name_of_place_(range.owner, local) : std::string();
          if (place.empty()) place = to_text(PhysAddr(address));
          report(earlier, access, place, command.times.started);
        }
      };
      if (chosen.item == 0) {
        shadow_.touch(*first + from_row, bytes, access, visit);
        continue;
      }
      const std::uint64_t item = chosen.item;
      for (std::uint64_t at = chosen.lane * item; at < bytes; at += chosen.lanes * item)
        shadow_.touch(*first + from_row + at, item, access, visit);
    }
  });
}

bool RaceDetector::lies_before(const MemoryAccess& earlier, std::uint32_t program, const Clock& clock,
                               Time begun) const {
  if (earlier.program == program) return true;
  const ProgramState& before = programs_[earlier.program];
  if (before.ended && *before.ended <= begun) return true;
  const Clock::Entry* known = clock.find(earlier.program);
  if (known == nullptr) return false;
  const Release& release = before.releases[known->release];
  return earlier.number < release.next && !std::ranges::binary_search(release.unfinished, earlier.number);
}

RaceAccess RaceDetector::describe(const MemoryAccess& access) const {
  const ProgramState& state = programs_[access.program];
  const Site& site = sites_[access.site];
  std::string where = place(site.file, site.line);
  if (state.called_at.line() != 0) where += " (" + to_text(state.called_at) + ")";
  return {std::string(site.operation), std::move(where), *state.launch, kernbench::to_text(state.at)};
}

void RaceDetector::report(const MemoryAccess& earlier, const MemoryAccess& later, const std::string& place, Time now) {
  const Pair sites = std::minmax(earlier.site, later.site);
  const auto [at, is_new] = known_.emplace(sites, races_.size());
  if (is_new) races_.push_back({describe(earlier), describe(later), place, now, 0});
  ++races_[at->second].count;
}

}  // namespace kernbench::tile
