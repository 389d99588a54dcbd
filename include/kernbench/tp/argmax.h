// The word with the best score where each rank of a tensor parallel group has the scores of a part of the vocabulary.
#pragma once

#include <cstdint>

#include "kernbench/torch/tensor.h"
#include "kernbench/tp/parallel_state.h"

namespace kernbench::tp {

/// argmax of all ranks' logits over the last dimension: `logits` [..., V / n] is the rank's part of the vocabulary, as
/// wide on each rank (DistributedError else), the
/// result [...] (Long) is in [0, V) and the same on each rank; the first of equals, and a NaN is larger than any
/// number. Of V words only the first `vocabulary` count, 0: all (the others pad V to a multiple of n). Each rank finds
/// the best word of its part, and an all-gather of one score and one index for each position follows, in place of all
/// scores'. ValueError: V above 2^24 (indices travel as f32), `vocabulary` beyond V.
torch::Tensor vocab_parallel_argmax(const torch::Tensor& logits, std::int64_t vocabulary = 0,
                                    const ProcessGroup& group = {}, Where where = Where::current());

}  // namespace kernbench::tp
