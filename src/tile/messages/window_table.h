// The windows of the members of a set of channels, and what their programs have under way to them.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "hardware/command.h"
#include "hardware/window/window.h"
#include "kernbench/coordinates.h"
#include "kernbench/queues.h"
#include "kernbench/tl/atomics.h"
#include "numerics/memory/memory.h"

namespace kernbench::tile {

class KernelCommand;
using KernelCommandRef = Reference<KernelCommand>;

class WindowTable {
 public:
  /// Besides the signal words that `options` ask for each member has those of its barriers.
  WindowTable(const std::vector<PeCoordinate>& members, const WindowOptions& options);
  ~WindowTable();
  WindowTable(const WindowTable&) = delete;
  WindowTable& operator=(const WindowTable&) = delete;

  const WindowOptions& options() const { return options_; }
  /// By member. Whoever installs them gives them their addresses.
  std::vector<hardware::Window>& rows() { return rows_; }
  const std::vector<hardware::Window>& rows() const { return rows_; }
  const hardware::Window& row(std::int32_t member) const { return rows_[static_cast<std::size_t>(member)]; }

  /// The contents of a member's window; made when first used.
  numerics::Memory& bytes_of(std::int32_t member, numerics::Executor& executor, bool zeros);

  /// Makes `command` of the program on `member` wait for those before it that fences and common bytes or words order
  /// it behind, and counts it as under way.
  void add_order(std::int32_t member, const KernelCommandRef& command);
  /// What the program on `member` has put and signalled so far comes before what it puts and signals from now on.
  void fence(std::int32_t member);
  /// What it has under way.
  std::vector<hardware::CommandRef> under_way(std::int32_t member);

  /// The members that a barrier of `member` is for, in their order.
  std::vector<std::int32_t> group(std::int32_t member, tl::Scope scope) const;
  /// The word of a round of the barriers of `scope`.
  std::int32_t barrier_word(tl::Scope scope, std::int32_t round) const;
  /// `member` comes to a barrier: which one of the scope, from 1.
  std::int64_t enter_barrier(std::int32_t member, tl::Scope scope) { return ++arrivals(member, scope); }
  /// How many barriers of the scope it has come to.
  std::int64_t entered(std::int32_t member, tl::Scope scope) { return arrivals(member, scope); }

 private:
  struct Issued {
    KernelCommandRef command;  // until it has finished it knows its launch, which knows this table
    bool fenced = false;
  };
  struct Member {
    std::unique_ptr<numerics::Memory> bytes;
    std::vector<Issued> issued;  // in program order
    std::array<std::int64_t, 4> barriers{};
  };
  Member& at(std::int32_t member) { return members_[static_cast<std::size_t>(member)]; }
  std::int64_t& arrivals(std::int32_t member, tl::Scope scope) {
    return at(member).barriers[static_cast<std::size_t>(scope)];
  }
  void forget_finished(std::int32_t member);

  WindowOptions options_;
  std::int32_t rounds_ = 0;  // of a barrier of all
  std::vector<hardware::Window> rows_;
  std::vector<Member> members_;
};

}  // namespace kernbench::tile
