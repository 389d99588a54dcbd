// The tile language: what a kernel is written in. A kernel is an ordinary C++ function; one instance of it runs on each
// PE of a launch. Operations are issued in program order and run asynchronously on the PE's engines, each starting when
// its operands are ready and its engine is free.
#pragma once

#include "kernbench/tl/atomics.h"
#include "kernbench/tl/composite.h"
#include "kernbench/tl/compute.h"
#include "kernbench/tl/cube_memory.h"
#include "kernbench/tl/fuse.h"
#include "kernbench/tl/lanes.h"
#include "kernbench/tl/memory.h"
#include "kernbench/tl/multicast.h"
#include "kernbench/tl/program.h"
#include "kernbench/tl/queues.h"
#include "kernbench/tl/random.h"
#include "kernbench/tl/scaled.h"
#include "kernbench/tl/shape.h"
#include "kernbench/tl/standard.h"
#include "kernbench/tl/types.h"
#include "kernbench/tl/windows.h"
