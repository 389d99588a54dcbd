// Lines that let streams wait for events of which none has been recorded by then.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <map>
#include <source_location>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/program_call.h"

namespace kernbench::runtime {

/// A wait for an event that has not been recorded orders nothing, as in CUDA. The first rounds of a double buffer mean
/// just that. A line all of whose waits do so hardly means it: often the record comes later in the program.
class EventWaits {
 public:
  void add(const std::source_location& where, bool recorded) {
    Line& line = lines_[{where.file_name(), where.line()}];
    line.where = where;
    line.any_recorded = line.any_recorded || recorded;
  }
  /// Of the run until now, each line once.
  std::vector<std::string> warnings() const {
    std::vector<std::string> all;
    for (const auto& [key, line] : lines_) {
      if (line.any_recorded) continue;
      const std::string place = sim::place_text(line.where);
      all.push_back(
          fmt::format("a stream waits for an event{} that has not been recorded by then, which orders nothing: record "
                      "the event before",
                      place.empty() ? "" : " at " + place));
    }
    return all;
  }

 private:
  struct Line {
    std::source_location where;
    bool any_recorded = false;
  };
  std::map<std::pair<std::string_view, std::uint_least32_t>, Line> lines_;  // by the compiler's file and line
};

}  // namespace kernbench::runtime
