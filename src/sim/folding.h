// Lines of a report that say the same of several ranks, programs or parts of the machine, as one line.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace kernbench::sim {

/// What may differ between texts that are alike.
enum class SlotKind : std::uint8_t {
  rank,       // "rank 3"
  peer,       // "src=3", "dst=3"
  part,       // "sip0", "cube2", "pe5", "receive0", "stream 2"
  path,       // the rank in the name of a launch: "ring_allreduce#3.1"
  operation,  // "recv#7 on sip0.cube0.pe1.ipcq.receive0"
};

/// A text with the numbers left out that may differ between texts that are alike.
struct Skeleton {
  std::string text;  // with a mark for each slot
  std::vector<SlotKind> kinds;
  std::vector<std::string> values;
};
Skeleton skeleton(std::string_view text);

/// Texts with one skeleton.
class AlikeTexts {
 public:
  /// Requires a text with the skeleton of those before.
  void add(const std::string& text, const Skeleton& skeleton);
  std::size_t size() const { return texts_.size(); }
  /// One text for all: "recv (ring.cpp:17) on sip0.cube*.pe{0, 1}.ipcq.receive0", "ranks {0, 2-63}".
  std::string text() const;
  /// The same for names of those who wait: "128 programs of ring#0 (sip0.cube*.pe*)", "ranks {0, 2-63}".
  std::string name() const;
  /// Whether name() takes a verb in the plural.
  bool is_plural() const;

 private:
  std::string render(std::size_t first_slot, std::string_view pattern) const;
  std::size_t end_of_place() const;
  bool is_program() const { return end_of_place() > 0; }
  bool names_ranks() const;

  std::string skeleton_;
  std::vector<SlotKind> kinds_;
  struct Less {
    bool operator()(const std::string& a, const std::string& b) const;
  };
  std::vector<std::set<std::string, Less>> values_;  // by slot
  std::set<std::string> texts_;
};

/// "ranks {0, 2-63} and main"; `plural` tells whether a verb behind it is.
struct FoldedNames {
  std::string text;
  bool plural = false;
};
FoldedNames fold_names(const std::vector<std::string>& names);

/// One line of a report: `name` `verb` `what``tail`, as "rank 0" "waits for" "BARRIER" " [cycle]".
struct ReportLine {
  std::string name, verb, what, tail = {};
};

/// Lines by what they say, in the order in which each was first said.
class FoldedLines {
 public:
  void add(const ReportLine& line);
  std::size_t size() const { return groups_.size(); }
  /// The text of a group, and of how many lines it is.
  std::string text(std::size_t group) const;
  std::size_t lines(std::size_t group) const { return groups_[group].lines; }

 private:
  struct Group {
    AlikeTexts names, whats, tails;
    std::string verb;
    std::size_t lines = 0;
  };
  std::vector<Group> groups_;
  std::map<std::string, std::size_t> places_;
};

/// "waits for" as "wait for", "has ended" as "have ended": the first word of a predicate in the plural.
std::string plural(std::string_view predicate);

}  // namespace kernbench::sim
