// Library kernels of embeddings: rows of a table chosen by indices, and the sums of gradients for a table.
#pragma once

#include <cstdint>

#include "tile/library/view.h"

namespace kernbench::tile::library {

/// A table as a part of a larger one of `whole` rows: its row 0 is row `first` of that. An index that is in the larger
/// one alone stands for zeros and adds nothing; one that is in neither fails the program.
struct EmbeddingTable {
  std::int64_t first = 0, whole = 0;
  /// A row that gets no gradient; none: -1.
  std::int64_t padding = -1;
};

/// The row that lookup `i` of an embedding of so many rows is taken to ask for in a run without data, which does not
/// have the indices: i s mod rows, where s is the first number from 0.618 rows (the golden section) on without a
/// divisor in common with `rows`. So any lookups that follow each other are spread evenly over the table and its parts,
/// and name no row twice until all have had their turn.
std::int64_t assumed_row(std::int64_t i, std::int64_t rows);

/// out[i, :] = table[index[i] - first, :]; `index` is a view [n, columns] of integers that repeats along the columns.
/// Each program makes what it holds, in blocks of at most 4 Ki elements: one load of indices, one gather by DMA of the
/// rows asked for, one store. TCM: six tiles of a block.
void embedding(const View& table, const View& index, const EmbeddingTable& how, const View& out);

/// sums[index[i, c] - first, c] += grad[i, c], for a table of f32 that is not replicated; `index` is a view of the
/// shape of `grad`, which repeats along the columns where whole rows are added. Each program takes an equal part of the
/// columns, and the rows of `grad` in their order: every element is added to by one program, in one order, whatever the
/// number of PEs and the placement. The table lies where its gradient is wanted: a table that lay with the programs
/// would have to be moved as a whole afterwards, and it is usually larger than `grad`. Blocks as above: two loads,
/// which are under way for three blocks, one atomic addition. TCM: twelve tiles of a block.
/// `readers`: all programs that have columns, which then load the indices together; null: each by itself.
/// REQUIRES of readers: the index repeats along the columns.
void embedding_backward(const View& grad, const View& index, const EmbeddingTable& how, const View& sums,
                        const tl::MulticastGroup* readers = nullptr);
/// The columns that each program takes; the last ones fewer or none.
std::int64_t columns_of_a_program(std::int64_t columns, std::int64_t programs);

}  // namespace kernbench::tile::library
