// torch::optim in libtorch's spelling: optimisers and schedules of learning rates. Not part of kernbench/kernbench.h.
#pragma once

#include "kernbench/optim/adagrad.h"
#include "kernbench/optim/adam.h"
#include "kernbench/optim/lr_scheduler.h"
#include "kernbench/optim/optimizer.h"
#include "kernbench/optim/rmsprop.h"
#include "kernbench/optim/sgd.h"
