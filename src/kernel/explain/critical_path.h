// The critical path of a program: the chain of intervals that determined when it ended.
#pragma once

#include <vector>

#include "kernel/explain/record.h"

namespace kernbench::kernel {

/// A part of a critical path: an interval of an operation, or of the program itself.
struct PathSegment {
  Activity activity = Activity::program;
  Time start, end;
  const char* kind = "";                                    // of the operation; "" for the program itself
  hardware::EngineKind engine = hardware::EngineKind::dma;  // of the operation
  tl::Where where;
  bool has_where = false;
  const std::string* busiest = nullptr;  // contention: see OperationRecord
  Time duration() const { return end - start; }
};

/// Walks back from the program's end. At each point the path goes on with whatever ended the wait there:
///   the program waited for an operation, or for room or a place that it gave back   -> that operation
///   an operation waited for its turn                                                -> the operation before it
///   it was ready at last                                                            -> the producer of its last
///   operand it was issued and could start at once                                           -> the program that issued
///   it
/// A wait that an operation of another program ended stays a wait. The segments tile [start, end], in order of time.
std::vector<PathSegment> critical_path(const ProgramTrace& trace);

}  // namespace kernbench::kernel
