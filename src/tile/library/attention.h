// Library kernel: scaled dot product attention that never stores the scores (Dao et al., "FlashAttention", 2022; keys
// split over programs: Dao et al., "Flash-Decoding", 2023).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "tile/library/elementwise.h"
#include "tile/library/view.h"

namespace kernbench::tile::library {

/// q [batch, heads, length, size], k [batch, kv_heads, keys, size], v [batch, kv_heads, keys, value_size]; `heads` is a
/// multiple of `kv_heads`, and query head h reads kv head h / (heads / kv_heads).
struct AttentionShape {
  std::int64_t batch = 1, heads = 1, kv_heads = 1, length = 1, keys = 1, size = 1, value_size = 1;
  bool causal = false;  // row i sees the keys 0 to i
  DType dtype = DType::f32;
};

/// Rows that see the same keys, on one program: `rows` of the length of each of `heads` query heads of one kv head.
struct AttentionUnit {
  std::int64_t batch = 0, head = 0, heads = 1, row = 0, rows = 1;
  std::int64_t split = 0, key = 0, key_end = 0;
  std::int64_t first_key = 0;  // where the program begins; after key_end come those from `key` on
};

struct AttentionPlan {
  AttentionShape shape;
  std::int64_t rows = 1, heads = 1;               // of a unit, at most
  std::int64_t keys = 1;                          // of a step
  std::int64_t splits = 1;                        // parts of the keys
  bool turns_scores = false;                      // the scores are permuted, which are fewer than a key's elements
  std::vector<std::vector<AttentionUnit>> units;  // by program
};

/// A plan for so many programs: units as large as leave all of them work, with the keys split where rows alone are too
/// few. All tiles of a program are within `budget` bytes of TCM. The units of a kv head go to neighbouring programs,
/// near to which a balanced placement has its keys, and each of these begins at another key, so that they do not all
/// ask one memory channel.
std::shared_ptr<const AttentionPlan> plan_attention(const AttentionShape& shape, std::int64_t programs,
                                                    std::int64_t budget);

/// softmax(q k^T scale) v, without a mask or causal. Scores, sums and results are f32; the weights are rounded to the
/// type of v before they are multiplied with it. With several splits `out` is f32 [splits, batch, heads, length,
/// value_size] and `logs` [splits, batch, heads, length, 1] holds the logarithms of the sums; attention_finish makes
/// the result of them.
///
/// Roof: the larger of the GEMM engine's 2 (size + value_size) FLOP for each score, the vector engine's operations (for
/// each score: maximum, multiply-add, exp, sum, rounding; size / rows more for the transpose of a key, or one for that
/// of the score, whichever is less), and the bytes of q, k, v and out once over the HBM bandwidth. With up to as many
/// rows as the array has, the GEMM engine takes as long as with these: it takes a row of the array of each key and
/// value for each cycle.
///
/// Loads under way share the memory, so that a program asks for the keys of the next step and the values of this one
/// when the keys of this one are there: the first product begins when its keys alone have been read.
void attention(const View& q, const View& k, const View& v, double scale, const View& out,
               const std::optional<View>& logs, const std::shared_ptr<const AttentionPlan>& plan);

/// out = sum of parts, weighed with exp(log - largest log). Each program makes what it holds, or an equal part.
void attention_finish(const View& parts, const View& logs, const View& out, Share share);

}  // namespace kernbench::tile::library
