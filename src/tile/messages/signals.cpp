#include "tile/messages/signals.h"

#include <fmt/format.h>

#include <utility>

#include "base/text.h"
#include "hardware/ipcq/ipcq.h"
#include "sim/folding.h"

namespace kernbench::tile {

namespace {

/// What other members could do for a program that waits for them.
struct Act {
  const char* of;        // "a signal of"; the PE follows
  sim::Predicate fault;  // of those that cannot any more
  bool alternative;      // one of them would be enough
};

/// So many members are enough to see what is going on; with more of them the report would grow with their square.
constexpr std::size_t kMostActors = 128;
constexpr std::size_t kMostNamed = 4;  // one by one, in a text

/// "sip0.cube0.pe1, sip0.cube0.pe2" and "127 PEs (sip0.cube*.pe*)".
Name list_of(const std::vector<Name>& pes) {
  return pes.size() <= kMostNamed ? join(pes, ", ") : sim::fold_names(pes).text;
}

/// The programs of members that could act: each that runs, and in one edge those that do not run any more.
void append_actors(const WindowAccess& access, const std::vector<std::int32_t>& members, const Act& act,
                   std::vector<sim::WaitEdge>& edges) {
  auto& machine = access.call.program.environment().machine;
  std::vector<Name> ended;
  std::size_t more = 0;
  for (const std::int32_t member : members) {
    const PeCoordinate pe = access.windows.row(member).owner;
    if (edges.size() >= kMostActors && ended.size() >= kMostActors) break;
    std::vector<sim::WaitEdge> running;
    machine.ipcq(pe).programs_of(pe, named("{} {}", act.of, to_name(pe)), running);
    if (running.front().target == nullptr) {
      if (ended.size() < kMostActors) {
        ended.push_back(to_name(pe));
      } else {
        ++more;
      }
    } else if (edges.size() < kMostActors) {
      for (sim::WaitEdge& edge : running) edge.alternative = act.alternative;
      edges.insert(edges.end(), running.begin(), running.end());
    }
  }
  if (ended.empty()) return;
  const Name text = named("{} {}{}, whose program{} ended", act.of, list_of(ended),
                          more > 0 ? named(" and {} more", more) : Name(), ended.size() == 1 ? " has" : "s have");
  edges.push_back({nullptr, text, false, act.alternative, std::move(ended), act.fault});
}

std::vector<std::int32_t> others(const WindowAccess& access) {
  std::vector<std::int32_t> members;
  for (std::int32_t member = 0; member < static_cast<std::int32_t>(access.windows.rows().size()); ++member) {
    if (member != access.self) members.push_back(member);
  }
  return members;
}

hardware::SignalUnit& signals_of(const WindowAccess& access) {
  return access.call.program.environment().machine.ipcq(access.call.program.coordinate()).signals();
}

PhysAddr own_word(const WindowAccess& access, std::int32_t word) {
  return access.windows.row(access.self).word(word);
}

std::int64_t suspend(const WindowAccess& access, hardware::SignalWait& waits) {
  const Program::Step step(access.call.program, Activity::signal, access.call.where);
  return waits.wait(access.queues.options().parameters.backpressure);
}

void note_seen(const WindowAccess& access, PhysAddr word) {
  const Program& program = access.call.program;
  program.environment().stream.tell(Topic::signals,
                                    [&](OperationConsumer& each) { each.on_signal_seen(program, word); });
}

const char* whose(tl::Scope scope) {
  switch (scope) {
    case tl::Scope::pe:
      return "this PE";
    case tl::Scope::cube:
      return "this cube";
    case tl::Scope::sip:
      return "this SIP";
    case tl::Scope::system:
      break;
  }
  return "all members";
}

}  // namespace

std::int64_t wait_for_signal(const WindowAccess& access, const SignalCondition& condition) {
  hardware::SignalUnit& unit = signals_of(access);
  const PhysAddr word = own_word(access, condition.word);
  hardware::SignalWait waits(unit, word, condition.met);
  waits.describe_as([&] {
    return named("signal {} of {} (it is {}; tl::wait_until at {} waits until it is {})", condition.word,
                 to_name(access.call.program.coordinate()), unit.value(word), to_text(access.call.where),
                 condition.text);
  });
  waits.provided_by([&](std::vector<sim::WaitEdge>& edges) {
    append_actors(access, others(access), {"a signal of", {sim::kHas, "ended without such a signal"}, true}, edges);
    if (edges.empty()) edges.push_back({nullptr, "a signal; this program is the only member"});
  });
  const std::int64_t seen = suspend(access, waits);
  note_seen(access, word);
  return seen;
}

std::int64_t read_signal(const WindowAccess& access, std::int32_t index) {
  const PhysAddr word = own_word(access, index);
  note_seen(access, word);
  return signals_of(access).value(word);
}

void wait_for_barrier(const WindowAccess& access, const BarrierRound& round) {
  hardware::SignalUnit& unit = signals_of(access);
  const PhysAddr word = own_word(access, round.word);
  hardware::SignalWait waits(unit, word, [&](std::int64_t count) { return count >= round.generation; });
  waits.describe_as([&] {
    return fmt::format("barrier {} of {} (at {}, {} members)", round.generation - 1, whose(round.scope),
                       to_text(access.call.where), round.group->size());
  });
  waits.provided_by([&](std::vector<sim::WaitEdge>& edges) {
    std::vector<std::int32_t> missing;
    for (const std::int32_t member : *round.group) {
      if (access.windows.entered(member, round.scope) < round.generation) missing.push_back(member);
    }
    append_actors(access, missing, {"tl::barrier on", {sim::kHas, "ended without this tl::barrier"}, false}, edges);
  });
  suspend(access, waits);
  note_seen(access, word);
}

}  // namespace kernbench::tile
