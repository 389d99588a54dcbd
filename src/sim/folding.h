// Lines of a report that say the same of several ranks, programs or parts of the machine, as one line.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/name.h"
#include "sim/predicate.h"

namespace kernbench::sim {

/// What names that are alike have in common: the text with a mark for each slot.
std::string pattern_of(const Name& name);

/// Names with one pattern.
class AlikeNames {
 public:
  /// Requires a name with the pattern of those before.
  void add(const Name& name);
  std::size_t size() const { return texts_.size(); }
  /// One text for all: "recv (ring.cpp:17) on sip0.cube*.pe{0, 1}.ipcq.receive0", "ranks {0, 2-63}". Slots with one
  /// value stay slots.
  Name text() const;
  /// The same for names of those who wait: "128 programs of ring#0 (sip0.cube*.pe*)", "ranks {0, 2-63}".
  Name name() const;
  /// Whether name() takes a verb in the plural.
  bool is_plural() const;

 private:
  /// A value of a slot; numbers by value, others by length.
  struct Value {
    std::string text;
    std::int64_t number;
    bool operator<(const Value& other) const {
      return text.size() != other.text.size() ? text.size() < other.text.size() : text < other.text;
    }
  };
  using Values = std::set<Value>;

  Name render(std::size_t begin, std::size_t end) const;
  Name slot_name(std::size_t slot) const;
  bool is_of_pes() const { return first_.lead() == Name::Lead::pe; }
  bool is_rank() const;
  bool names_ranks() const;

  Name first_;
  std::vector<Values> values_;  // by slot
  std::set<std::string> texts_;
};

/// "ranks {0, 2-63} and main"; `plural` tells whether a verb behind it is.
struct FoldedNames {
  Name text;
  bool plural = false;
};
FoldedNames fold_names(const std::vector<Name>& names);

/// One line of a report: `name` `verb` `what``tail`, as "rank 0" "waits for" "BARRIER" " [cycle]".
struct ReportLine {
  Name name;
  Verb verb;
  Name what;
  Name tail = {};
};

/// Lines by what they say, in the order in which each was first said.
class FoldedLines {
 public:
  void add(const ReportLine& line);
  std::size_t size() const { return groups_.size(); }
  /// The text of a group, and of how many lines it is. The name keeps its slots.
  Name line(std::size_t group) const;
  std::string text(std::size_t group) const { return line(group).text(); }
  std::size_t lines(std::size_t group) const { return groups_[group].lines; }

 private:
  struct Group {
    AlikeNames names, whats, tails;
    Verb verb;
    std::size_t lines = 0;
  };
  std::vector<Group> groups_;
  std::map<std::string, std::size_t> places_;
};

}  // namespace kernbench::sim
