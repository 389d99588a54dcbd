// The description of how a run ended early.
#pragma once

#include "report/description/key.h"
#include "report/result.h"

namespace kernbench::report {

template <class V, Of<WaitEdgeResult> R>
void describe(V& visit, R& edge) {
  visit.key({"who", "the one that waits"}, edge.who);
  visit.key({"reason", "what for"}, edge.reason);
  visit.key({"target", "the one that it waits for; null: nobody in the simulation can provide it", {.nullable = true}},
            edge.target);
  visit.key({"in_cycle", "whether it waits for itself in the end"}, edge.in_cycle);
}

template <class V, Of<SlotAdvice> R>
void describe(V& visit, R& slots) {
  visit.key({"needed",
             "the least number of slots of each queue without the deadlock; null: none was found",
             {.nullable = true}},
            slots.needed);
  visit.key({"tried", "the most with which the program was run again; 0: it was not, for no send waits for a slot"},
            slots.tried);
  visit.key({"text", "both, for people"}, slots.text);
}

template <class V, Of<RankErrorResult> R>
void describe(V& visit, R& error) {
  visit.key({"ranks", "the ranks that threw it, ascending"}, error.ranks);
  visit.key({"time_ps", "when"}, error.time);
  visit.key({"type", "as in `error`; `ProcessExitedException` for a rank that called `exit` with a code"}, error.type);
  visit.key({"message", "as in `error`"}, error.message);
  visit.key({"where", "as in `error`"}, error.where);
}

template <class V, Of<ErrorResult> R>
void describe(V& visit, R& error) {
  const bool spawn = !error.rank_errors.empty(), deadlock = !error.waits.empty();
  visit.key({"type", "the name of the kind of error"}, error.type);
  visit.key({"message", "for people"}, error.message);
  visit.key({"where", "a place, or empty"}, error.where);
  visit.key({"errors",
             "of a failed spawn: what its ranks threw on their own, by simulated time, then rank",
             {.layout = Layout::lines, .omitted = !spawn, .missing_with = "errors"}},
            error.rank_errors);
  visit.key({"victims",
             "the ranks that were unwound because of them, ascending",
             {.omitted = !spawn, .missing_with = "errors"}},
            error.victims);
  visit.key({"waits",
             "of a deadlock: who waits for whom through all layers",
             {.layout = Layout::lines, .omitted = !deadlock, .missing_with = "waits"}},
            error.waits);
  visit.key({"cycles",
             "one cycle through each group of parties that wait for each other, as names, the first one again at the "
             "end",
             {.layout = Layout::lines, .omitted = !deadlock, .missing_with = "waits"}},
            error.cycles);
  visit.key({"slots",
             "with `--explain`: what more slots would do",
             {.omitted = !deadlock || !error.slots, .missing_with = "slots"}},
            error.slots);
}

}  // namespace kernbench::report
