// Tensor parallelism with Megatron-LM's names: parallel state, mappings, layers, gradients, optimisers. Not part of
// kernbench/kernbench.h.
#pragma once

#include "kernbench/tp/argmax.h"
#include "kernbench/tp/cross_entropy.h"
#include "kernbench/tp/embedding.h"
#include "kernbench/tp/gradients.h"
#include "kernbench/tp/layers.h"
#include "kernbench/tp/mappings.h"
#include "kernbench/tp/optimizer.h"
#include "kernbench/tp/overlap.h"
#include "kernbench/tp/parallel_state.h"
#include "kernbench/tp/primitives.h"
