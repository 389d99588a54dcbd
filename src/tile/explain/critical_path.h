// The critical path of a program: the chain of intervals that determined when it ended.
#pragma once

#include <vector>

#include "tile/explain/record.h"

namespace kernbench::tile {

/// A part of a critical path: an interval of an operation, or of the program itself.
struct PathSegment {
  Activity activity = Activity::program;
  Time start, end;
  const char* kind = "";                                    // of the operation; "" for the program itself
  hardware::EngineKind engine = hardware::EngineKind::dma;  // of the operation
  tl::Where where;
  bool has_where = false;
  PartId on;  // the server that it is due to, if it is known
  Time duration() const { return end - start; }
};

class TraceStore;

/// Walks back from the program's end. At each point the path goes on with whatever ended the wait there:
///   the program waited for an operation, or for room or a place that it gave back   -> that operation
///   an operation waited for its turn                                                -> the operation before it
///   it was ready at last                                                            -> the producer of its last
///   operand it was issued and could start at once                                           -> the program that issued
///   it
///   it is a receive that waited for its message          -> the way of the message, then the send, in the program of
///   the sender; what that program did before it began is "sender not started"
/// A wait that another operation of another program ended stays a wait, and so does one for a message whose sender
/// `others` (may be null) does not know. The segments tile [start, end] of `trace`, in order of time.
std::vector<PathSegment> critical_path(const ProgramTrace& trace, const TraceStore* others = nullptr);

}  // namespace kernbench::tile
