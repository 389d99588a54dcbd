// The state behind a tl::Token: an explicitly asynchronous access and whether it has been waited for.
#pragma once

#include <cstdint>
#include <memory>

#include "hardware/command.h"
#include "kernbench/tl.h"

namespace kernbench::tile {

class Program;

struct AsyncState {
  std::shared_ptr<Program> program;
  hardware::CommandRef command;
  const char* call;     // "load_async"
  tl::Where where;      // of the call
  std::uint64_t order;  // among the program's asynchronous accesses
  bool awaited = false;
};

}  // namespace kernbench::tile
