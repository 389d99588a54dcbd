// Everything that a program for KernBench includes.
#pragma once

#include "kernbench/accelerator.h"
#include "kernbench/bench.h"
#include "kernbench/check.h"
#include "kernbench/distributed.h"
#include "kernbench/futures.h"
#include "kernbench/graphs.h"
#include "kernbench/launch.h"
#include "kernbench/memory.h"
#include "kernbench/models.h"
#include "kernbench/multiprocessing.h"
#include "kernbench/profiler.h"
#include "kernbench/simulate.h"
#include "kernbench/tl.h"
#include "kernbench/torch.h"
#include "kernbench/traffic.h"
