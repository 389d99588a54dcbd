// Attention with PyTorch's names.
#pragma once

#include <optional>

#include "kernbench/torch/operations.h"

namespace kernbench::torch {

/// softmax(query key^T scale) value, as torch.nn.functional.scaled_dot_product_attention. query [..., L, E], key
/// [..., S, E], value [..., S, Ev] yield [..., L, Ev]; the leading dimensions agree, but with enable_gqa dimension -3
/// of query is a multiple of that of key and value, whose heads it shares in order. With is_causal row i sees the keys
/// 0 to i, whatever L and S are (PyTorch's upper left). One floating-point dtype.
///
/// On a device one kernel on all PEs that hold an operand or the result, which stores no scores; where there are too
/// few rows for the PEs, as in decoding, the keys are split and a second one adds the parts
/// (src/tile/library/attention.h). Scores and sums are f32. `scale` is 1 / sqrt(E) without one. ValueError for shapes
/// and types that do not fit together, a mask, or dropout.
Tensor scaled_dot_product_attention(const TensorOperand& query, const Tensor& key, const Tensor& value,
                                    const std::optional<Tensor>& attn_mask = {}, double dropout_p = 0.0,
                                    bool is_causal = false, std::optional<double> scale = {}, bool enable_gqa = false);

}  // namespace kernbench::torch
