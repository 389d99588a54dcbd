// torch::nn in libtorch's spelling: modules, layers, containers and first values. Not part of kernbench/kernbench.h.
#pragma once

#include "kernbench/nn/activation.h"
#include "kernbench/nn/any_module.h"
#include "kernbench/nn/containers.h"
#include "kernbench/nn/dropout.h"
#include "kernbench/nn/embedding.h"
#include "kernbench/nn/init.h"
#include "kernbench/nn/linear.h"
#include "kernbench/nn/loss.h"
#include "kernbench/nn/module.h"
#include "kernbench/nn/normalization.h"
#include "kernbench/nn/utils.h"
#include "kernbench/torch.h"
