// Loads of a library kernel's next blocks under way while it works at one.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "tile/library/view.h"

namespace kernbench::tile::library {

/// The blocks of `box` in row-major order, behind those that `blocks` has.
void append_blocks(std::vector<Box>& blocks, const Box& box, const tl::Extents& block);

/// The same elements in the same order, the first block in parts of an eighth, an eighth, a quarter and a half of it,
/// cut along its first dimension of more than one element that `whole` does not name: what works on blocks starts
/// sooner.
std::vector<Box> growing(std::vector<Box> blocks, const std::vector<bool>& whole);

/// How the loads of a pipeline are made.
struct PipelineOptions {
  const tl::MulticastGroup* mates = nullptr;  // programs that load the same tiles of `shared` in the same order
  std::vector<bool> shared = {};              // by operand: loaded by multicast
  std::int64_t beside = 0;                    // bytes of TCM for each element of a block that the body needs besides
  std::int64_t item = 4;                      // of an element of what the body makes
};

/// Calls body(block, tiles) for each block in turn, with the tiles of `operands` at it: views of one shape, which may
/// repeat along dimensions of stride 0. The loads of three blocks are under way, of fewer where the TCM budget does not
/// hold as many tiles of the largest block, of f32 or the largest type, and one more. No more than three: loads under
/// way share the bandwidth, and those that are needed first should have it. A tile that the next block needs, too, is
/// loaded once.
void pipeline(const std::vector<Box>& blocks, const std::vector<View>& operands,
              const std::function<void(const Box& block, std::vector<tl::Tile> tiles)>& body,
              const PipelineOptions& options = {});

/// The blocks of one pipeline with operands of their own.
struct PipelinePart {
  std::vector<Box> blocks;
  std::vector<View> operands;
  std::function<void(const Box& block, std::vector<tl::Tile> tiles)> body;
};
/// All parts in turn: loads of a part begin while the program works at those before it, so that no part may load what
/// another one stores. As many blocks are under way as the part allows that allows fewest.
void pipeline(const std::vector<PipelinePart>& parts, const PipelineOptions& options = {});

/// Whether two blocks have the same elements of an operand, which repeats where its stride is 0.
bool same_elements(const View& operand, const Box& a, const Box& b);

}  // namespace kernbench::tile::library
