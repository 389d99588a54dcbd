// The call of the user's program that a fiber is in.
#pragma once

#include <source_location>
#include <string>

namespace kernbench::sim {

/// A call from the user's program into the library. Both live as long as the program: no text is copied.
struct ProgramCall {
  const char* name = nullptr;  // "all_reduce"; null: none
  std::source_location where;  // line 0: not known
};

/// "train.cpp:12"; empty when the line is not known, or is one of the standard library (a function that was passed on
/// as a std::function).
std::string place_text(const std::source_location& where);

/// "all_reduce at train.cpp:12", "all_reduce" without a line, and empty without a call.
std::string to_text(const ProgramCall& call);

/// "train.cpp:12 (all_reduce)", for where an error happened; empty when the line is not known.
std::string where_text(const ProgramCall& call);

}  // namespace kernbench::sim
