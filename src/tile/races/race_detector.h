// Finds accesses of programs to the same bytes that nothing orders.
//
// An access of one program lies before an access of another one when
//   - the first program had ended when the second one began, or
//   - a chain of synchronisations leads from one to the other: a message, a signal word (wait_until, signal_value, a
//     barrier), an atomic with `release` and one with `acquire` on the same bytes, in scopes that both are in, or a
//     multicast, which reads when all of its members have joined, and which is over for all of them.
// What a synchronisation stands for is what has been seen to lie before it: of the program's own accesses those of the
// past that it waits for, or that had finished when it began; of others', what the program had learned by then. So
// nothing that is ordered is reported; what no synchronisation orders, but happened in time by chance, may be missed.
// Accesses of one program, reads among each other, and atomics among each other never race.
//
// As FastTrack (Flanagan, Freund, 2009) does it for threads: clocks by program, and for each byte range the accesses
// that nothing later stands for. Unlike a thread, a program has several accesses under way: a release lists those
// before it that it does not stand for.
//
// Which lanes a mask chooses is known here of pointers alone: loads and stores of boxes with a mask are not looked at.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/address.h"
#include "hardware/command_name.h"
#include "kernbench/coordinates.h"
#include "kernbench/result.h"
#include "kernbench/units.h"
#include "tile/program/kernel_command.h"
#include "tile/races/clock.h"
#include "tile/races/shadow_memory.h"
#include "tile/stream/operation_stream.h"

namespace kernbench::tile {

class RaceDetector final : public OperationConsumer {
 public:
  /// What lies at an address of a slice, as text ("element [0, 3] of x"); empty: not known.
  using NameOfPlace = std::function<std::string(PeCoordinate slice, std::uint64_t address)>;

  explicit RaceDetector(NameOfPlace name_of_place) : name_of_place_(std::move(name_of_place)) {}

  void subscribe_to(OperationStream& stream) {
    stream.subscribe(*this, {Topic::operations, Topic::programs, Topic::stages, Topic::edges, Topic::signals});
  }

  /// Of each pair of lines the first race, in the order in which they were found.
  const std::vector<RaceResult>& results() const { return races_; }

  void on_program_begin(Program& program) override;
  void on_program_end(Program& program, bool stands) override;
  void on_program_abandoned(Program& program) override;
  void on_made(KernelCommand& command, KernelCommand* granted_by) override;
  void on_start(KernelCommand& command, KernelCommand* before) override;
  void on_operation(const OperationRecord& operation) override;
  void on_signal_seen(const Program& program, PhysAddr word) override;

 private:
  /// What a release of a program stands for: its operations before `next` but those that had not finished.
  struct Release {
    std::uint64_t next = 0;
    std::vector<std::uint64_t> unfinished;  // ascending
    bool operator==(const Release&) const = default;
  };
  struct ProgramState {
    const Program* program = nullptr;  // until it has ended
    Time begun;
    std::optional<Time> ended;
    Clock clock;                            // what lies before what it issues now
    std::vector<Release> releases;          // by number
    std::vector<std::uint64_t> unfinished;  // accesses, ascending
    std::uint64_t behind_last_access = 0;   // the number behind that of the last access so far
    std::shared_ptr<const std::string> launch;
    tl::Where called_at = {};  // of a kernel of the library
    PeCoordinate at;
  };
  struct Site {
    std::string_view operation, file;
    std::uint32_t line = 0;
    auto operator<=>(const Site&) const = default;
  };
  /// Of releases by atomics: who may see them, and where they were made.
  struct Sharers {
    tl::Scope scope = tl::Scope::system;
    CubeCoordinate by;
    auto operator<=>(const Sharers&) const = default;
  };
  /// A multicast under way.
  struct Together {
    std::shared_ptr<const hardware::Multicast> multicast;
    std::size_t started = 0, finished = 0;  // members
    KernelCommandRef read;                  // of the first member, which stands for the read
    Clock clock;                            // what lies before the read, and the read
    Time begun;                             // of the member whose program began last
  };
  /// Both sites of a race, the lower number first.
  using Pair = std::pair<std::uint32_t, std::uint32_t>;

  /// Null: its program does not run any more.
  ProgramState* state_of(const KernelCommand& command);
  std::uint32_t number_of(const ProgramState& state) const {
    return static_cast<std::uint32_t>(&state - &programs_[0]);
  }
  std::uint32_t number_of_site(const KernelCommand& command);
  void end(Program& program);
  /// What lies before that which a command of the program releases: `with_itself`, its own access, too.
  Clock release(ProgramState& state, std::uint64_t command, bool with_itself);
  void release_by_atomic(ProgramState& state, const KernelCommand& command);
  void acquire_by_atomic(ProgramState& state, const KernelCommand& command);
  void join_multicast(ProgramState& state, KernelCommand& command);
  void leave_multicast(ProgramState& state, const KernelCommand& command);
  /// The command of a program accesses memory, behind what the clock has and what was over when the program began.
  void touch(const KernelCommand& command, std::uint32_t program, const Clock& clock, Time begun);
  bool lies_before(const MemoryAccess& earlier, std::uint32_t program, const Clock& clock, Time begun) const;
  void report(const MemoryAccess& earlier, const MemoryAccess& later, const std::string& place, Time now);
  RaceAccess describe(const MemoryAccess& access) const;
  void forget_what_is_over();

  NameOfPlace name_of_place_;
  std::vector<ProgramState> programs_;                                   // by number
  std::unordered_map<const Program*, std::uint32_t> numbers_;            // of those that run
  std::map<hardware::CommandName, Clock> messages_;                      // by the send
  std::unordered_map<std::uint64_t, Clock> signals_;                     // by the address of the word
  std::unordered_map<std::uint64_t, std::map<Sharers, Clock>> atomics_;  // by address, in words
  std::unordered_map<const hardware::Multicast*, Together> multicasts_;  // looked up only
  ShadowMemory shadow_;
  std::size_t forget_at_ = std::size_t{1} << 20;  // ranges
  std::map<Site, std::uint32_t> site_numbers_;
  std::vector<Site> sites_;
  std::vector<RaceResult> races_;
  std::map<Pair, std::size_t> known_;  // index in `races_`
};

}  // namespace kernbench::tile
