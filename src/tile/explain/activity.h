// Reasons for which time passes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "hardware/work.h"
#include "kernbench/tl.h"

namespace kernbench::tile {

/// What passes in an interval of an operation, of a program or of a launch.
enum class Activity : std::uint8_t {
  // An operation waits,
  tcm,      // for room in the TCM: until an operation ended, or a program let go of a tile
  queue,    // for a place in its engine's queue: until an operation there ended
  issue,    // for the control processor to issue it
  operand,  // for the operation that produces its last operand
  order,    // for an earlier operation on the same bytes
  engine,   // for its turn: until an operation before it in the queue ended, or (DMA) was set up
  credit,   // a send for free slots at the receiver
  message,  // a receive for the message
  members,  // a multicast for the other programs of its group
  // or is worked on.
  setup,        // DMA: the descriptor
  translation,  // DMA: walks of the page table
  request,      // DMA: the request of a read, the acknowledgement of a write
  data,         // DMA: the data on their way, at the least, beyond the latency; queues: the message on its way
  latency,      // DMA: of memory and route, for the data; queues: of the message's way, the latency of what it passes
  link_buffer,  // DMA: for room behind a link whose buffer is too small for it
  contention,   // DMA: beyond what the operation would take alone
  compute,      // the command of a compute engine
  // The program itself
  value,         // waits for the value of a tile
  scalar_read,   // reads a scalar
  token,         // waits for an asynchronous access
  signal,        // waits for a signal word
  delay,         // is delayed on request
  drain,         // has returned; its operations are still under way
  next_program,  // has ended; the next one of its PE starts
  sender,        // has not begun: a program that sends what another one waits for
  sender_busy,   // likewise, while the launch before it in its stream still runs
  program,       // does something else
  // A launch is on its way to its program, or back.
  dispatch,
  completion,
};

/// "TCM full", "operand", "gemm": as results show it. `engine`: of the operation whose activity it is.
std::string_view name(Activity activity, hardware::EngineKind engine);
/// "dma", "gemm", "vector".
std::string_view name(hardware::EngineKind engine);
/// "gemm.cpp:41".
std::string place(const tl::Where& where);
std::string place(std::string_view file, std::uint32_t line);

}  // namespace kernbench::tile
