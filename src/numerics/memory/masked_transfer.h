// Gather and scatter in which a mask tile chooses the lanes. Whether the mask's lanes are valid is the caller's to
// check (see inspect): what is here runs only when somebody needs the result.
#pragma once

#include <span>

#include "numerics/memory/memory.h"
#include "numerics/value.h"

namespace kernbench::numerics {

/// Like gather, for the lanes for which `mask` (boolean; undefined: all) is true. The other lanes, and those that no
/// piece covers, are those of `other` (any type, cast to `dtype`), or invalid when it is undefined.
/// REQUIRES: mask and other broadcast to `shape`; the executor is enabled.
Value gather_masked(Executor& executor, const OperationKey& key, DType dtype, const Shape& shape,
                    std::span<const Piece> pieces, const Value& mask, const Value& other);

/// Like scatter, for the lanes for which `mask` is true: the bytes of the others stay as they are.
/// REQUIRES: mask broadcasts to the value's shape; the executor is enabled.
void scatter_masked(Executor& executor, const OperationKey& key, const Value& value, std::span<const Piece> pieces,
                    const Value& mask);

}  // namespace kernbench::numerics
