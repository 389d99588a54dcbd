// Algorithms of the user's own (kernbench/collectives.h) as the table has them.
#pragma once

#include <memory>

#include "distributed/algorithms/algorithm.h"
#include "kernbench/collectives.h"

namespace kernbench::distributed {

/// What stands behind collectives::Elements.
struct ElementRow {
  BlockRow row;
  Pieces pieces;
  std::int64_t tile_elements = 1;
  // For errors: whose they are, and of what.
  const collectives::Algorithm* algorithm = nullptr;
  std::int64_t rank = 0;
  const char* tensor = "";
};

CollectiveOperation operation_of(collectives::Operation operation);
/// Of a group or a number of ranks as the user's functions see it.
collectives::Shape shape_of(const GroupShape& shape);

/// It uses the texts of `own`, which must outlive it. Its channels are checked when they are asked for:
/// ConfigurationError for one from or to a rank that is not there, or to itself, and for one that is there twice.
CollectiveAlgorithm own_algorithm(const std::shared_ptr<const collectives::Algorithm>& own);

}  // namespace kernbench::distributed
