// Functions that are made of others: one fused command under a name of its own.
#pragma once

#include <utility>

#include "kernbench/tl.h"
#include "tile/compute/fused_command.h"
#include "tile/program/program.h"

namespace kernbench::tile {

/// tl::fuse for the function `call` of tl, which a program calls at `where`: reports name the command after it. Within
/// another fuse it is part of that one.
template <class Function>
auto fuse_as(const char* call, const tl::Where& where, Function&& function) {
  const bool outermost = Program::current(call, where).fused() == nullptr;
  return tl::fuse([&] {
    if (outermost) Program::current(call).fused()->name(call, where);
    return std::forward<Function>(function)();
  });
}

}  // namespace kernbench::tile
