#include "tile/messages/window_table.h"

#include <algorithm>

#include "tile/program/kernel_command.h"

namespace kernbench::tile {

namespace {

using hardware::SignalUpdate;
using hardware::WindowWork;

bool have_common_bytes(const WindowWork& a, const WindowWork& b) {
  const std::uint64_t first_a = a.memory.value(), first_b = b.memory.value();
  const auto bytes_a = static_cast<std::uint64_t>(a.bytes.count());
  const auto bytes_b = static_cast<std::uint64_t>(b.bytes.count());
  return first_a < first_b + bytes_b && first_b < first_a + bytes_a;
}

/// Whether program order must be kept between two accesses, first `a`, to one member. Additions to a word may change
/// places.
bool must_keep_order(const WindowWork& a, const WindowWork& b, bool fenced) {
  if (a.target != b.target) return false;
  if (fenced && !a.reads && !b.reads) return true;
  if (!(a.reads && b.reads) && have_common_bytes(a, b)) return true;
  const bool both_add = a.update == SignalUpdate::add && b.update == SignalUpdate::add;
  return a.signals && b.signals && a.word == b.word && !both_add;
}

std::int32_t rounds_of(std::size_t members) {
  std::int32_t rounds = 0;
  while ((std::size_t{1} << rounds) < members) ++rounds;
  return rounds;
}

}  // namespace

WindowTable::WindowTable(const std::vector<PeCoordinate>& members, const WindowOptions& options)
    : options_(options), rounds_(rounds_of(members.size())), members_(members.size()) {
  constexpr std::int32_t kScopes = 3;  // a barrier of one PE needs no words
  for (const PeCoordinate owner : members) {
    hardware::Window row;
    row.owner = owner;
    row.bytes = options.bytes;
    row.buffer_kind = options.buffer_kind;
    row.words = options.signals + kScopes * rounds_;
    rows_.push_back(row);
  }
}

WindowTable::~WindowTable() = default;

numerics::Memory& WindowTable::bytes_of(std::int32_t member, numerics::Executor& executor, bool zeros) {
  auto& bytes = at(member).bytes;
  if (bytes == nullptr) {
    bytes = std::make_unique<numerics::Memory>(executor);
    bytes->map(0, options_.bytes.count(), zeros);
  }
  return *bytes;
}

void WindowTable::forget_finished(std::int32_t member) {
  // Those that were dropped with their program will not finish.
  std::erase_if(at(member).issued,
                [](const Issued& each) { return each.command->program == nullptr || each.command->done.is_set(); });
}

void WindowTable::add_order(std::int32_t member, const KernelCommandRef& command) {
  forget_finished(member);
  for (const Issued& each : at(member).issued) {
    if (!must_keep_order(each.command->window(), command->window(), each.fenced)) continue;
    command->dependencies.push_back(each.command);
  }
  at(member).issued.push_back({command});
}

void WindowTable::fence(std::int32_t member) {
  for (Issued& each : at(member).issued) each.fenced = true;
}

std::vector<hardware::CommandRef> WindowTable::under_way(std::int32_t member) {
  forget_finished(member);
  std::vector<hardware::CommandRef> commands;
  for (const Issued& each : at(member).issued) commands.emplace_back(each.command);
  return commands;
}

std::vector<std::int32_t> WindowTable::group(std::int32_t member, tl::Scope scope) const {
  const PeCoordinate self = row(member).owner;
  const auto belongs = [&](PeCoordinate other) {
    switch (scope) {
      case tl::Scope::pe:
        return other == self;
      case tl::Scope::cube:
        return other.sip == self.sip && other.cube == self.cube;
      case tl::Scope::sip:
        return other.sip == self.sip;
      case tl::Scope::system:
        break;
    }
    return true;
  };
  std::vector<std::int32_t> members;
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    if (belongs(rows_[i].owner)) members.push_back(static_cast<std::int32_t>(i));
  }
  return members;
}

std::int32_t WindowTable::barrier_word(tl::Scope scope, std::int32_t round) const {
  return options_.signals + (static_cast<std::int32_t>(scope) - 1) * rounds_ + round;
}

}  // namespace kernbench::tile
