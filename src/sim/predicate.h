// What a report says of somebody: a verb and what follows it.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "base/name.h"

namespace kernbench::sim {

/// As said of one, and of several. Both live as long as the program.
struct Verb {
  std::string_view singular, plural;

  std::string_view of(bool several) const { return several ? plural : singular; }
};

inline constexpr Verb kHas{"has", "have"};
inline constexpr Verb kIs{"is", "are"};
inline constexpr Verb kNeeds{"needs", "need"};
inline constexpr Verb kSleeps{"sleeps", "sleep"};
inline constexpr Verb kWaits{"waits", "wait"};
inline constexpr Verb kWaitsFor{"waits for", "wait for"};

/// "has ended without calling BARRIER".
struct Predicate {
  Verb verb;
  Name rest;

  bool empty() const { return verb.singular.empty(); }
  std::string text() const { return std::string(verb.singular) + " " + rest.text(); }
};

}  // namespace kernbench::sim
