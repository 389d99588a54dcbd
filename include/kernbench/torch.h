// Host tensors in libtorch's spelling: write `namespace torch = kernbench::torch;` and use it like <torch/torch.h>.
#pragma once

#include "kernbench/torch/attention.h"
#include "kernbench/torch/embedding.h"
#include "kernbench/torch/factories.h"
#include "kernbench/torch/functional.h"
#include "kernbench/torch/gemm.h"
#include "kernbench/torch/grad_mode.h"
#include "kernbench/torch/indexing.h"
#include "kernbench/torch/npy.h"
#include "kernbench/torch/operations.h"
#include "kernbench/torch/tensor.h"
#include "kernbench/torch/transformer.h"
#include "kernbench/torch/types.h"
