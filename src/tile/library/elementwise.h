// Library kernel: one tile function applied to every element of views that broadcast.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <vector>

#include "tile/library/view.h"

namespace kernbench::tile::library {

/// Makes the tile of a block of the result from the same blocks of the operands. Where an operand repeats, its tile has
/// extent 1 and broadcasts. `block` is where the block lies in the result.
using TileFunction = std::function<tl::Tile(const std::vector<tl::Tile>& operands, const Box& block)>;

/// Which part of a result a program makes. held: what its PE holds, so that every replica is written. spread: an equal
/// part of the largest dimension, wherever it lies; for results that few PEs hold.
enum class Share : std::uint8_t { held, spread };
std::vector<Box> share_of(const View& out, Share share);
/// The same of whole lines along the dimensions `along`. held: lines that lie whole on one PE. spread: lines as even
/// as they go, the lines of a program one after the other, so that most of them are near to where a balanced placement
/// has them.
std::vector<Box> lines_of(const View& out, const std::vector<bool>& along, Share share);

/// The boxes of a view that each holder has, in the order of programs. Of a result: what each program makes.
using HeldBoxes = std::map<PeCoordinate, std::vector<Box>>;
HeldBoxes held_boxes(const View& view);

/// Which programs of a launch load which operands by multicast.
struct SharedLoads {
  std::vector<bool> operands = {};                                     // which are loaded together
  std::vector<std::shared_ptr<const tl::MulticastGroup>> groups = {};  // by program; null: it loads by itself
};

struct ElementwiseOptions {
  int live_tiles = 8;  // tiles of a block, of f32 or the largest type, that are alive at the same time
  /// Programs make what their PE holds of the first operand, wherever it goes; else what it holds of the result.
  bool by_source = false;
  Share share = Share::held;  // of the result, where it is not by the source
  /// Programs begin at different places of what they make; those that load together do not.
  bool apart = false;
  SharedLoads shared = {};
};

/// What is shared where each program makes what its PE holds of `out`: operands that several programs load in the same
/// order, as one row of all lines or the source of all replicas, if what they would wait for the busiest slice and for
/// walks of the page table by themselves is longer by a walk than what they wait for one load; a walk stands for the
/// messages of a multicast. Operands that have replicas or are interleaved are not. A program loads with one group:
/// where different programs have operands in common, that is shared which saves most bytes, and others with it if that
/// saves more. `made`: held_boxes(out), here and below.
SharedLoads shared_loads(const View& out, const std::vector<View>& operands, const HeldBoxes& made, int live_tiles,
                         const topology::Topology& topology);

/// Whether programs should begin apart: those that begin at the same place would all read one slice at the same time,
/// and then the next one (programs_meet, of some operand that does not repeat).
bool reads_meet(const View& out, const std::vector<View>& operands, const HeldBoxes& made, int live_tiles,
                const MachineLimits& limits);

/// Whether a copy is made where the source lies: where the result's holders would read pieces shorter than an access of
/// the HBM, and the accesses of the busiest PE have fewer bytes so, by more than `least`. Neither side has replicas.
bool copies_by_source(const View& out, const View& source, const HeldBoxes& made, int live_tiles,
                      const MachineLimits& limits, double least);

/// out = function(operands), all of one shape, converted to the type of `out`. Each program makes its share block by
/// block: at most 16 Ki elements, and `live_tiles` tiles of f32 or the largest type within the TCM budget. The blocks
/// have long rows in the memory of every operand, and come in the order in which the largest operand that repeats is
/// loaded once. Cost: one load for each operand (one in all for what repeats), the vector commands of `function`, one
/// store; where the elements of the result have gaps, a copy that repeats them on their way (store_with_gaps).
void elementwise(const View& out, const std::vector<View>& operands, const TileFunction& function,
                 const ElementwiseOptions& options = {});

/// Blocks that begin at another place for each program.
void begin_apart(std::vector<Box>& blocks);
/// Adds the slices that hold what a block of a result needs; false if that is not known.
using SlicesOfBlock = std::function<bool(const Box& block, std::set<PeCoordinate>& slices)>;
/// Whether programs, each of which makes its boxes of a result, would leave most slices idle if each began with
/// its first block: that is in fewer than half as many slices as there are programs, or `slices` that hold what is
/// read. Where it is not known of some program, they do not meet.
bool programs_meet(const HeldBoxes& made, std::size_t slices, std::span<const std::size_t> fast,
                   std::int64_t largest_block, const SlicesOfBlock& add_slices);
/// Finds the slices that hold boxes of a view. It begins where it found the last box, as programs that follow each
/// other read the same slices or neighbours, and ends when it has all of a box.
class SliceFinder {
 public:
  explicit SliceFinder(const View& view);
  /// False if elements have replicas or the tensor is interleaved.
  bool add(const Box& box, std::set<PeCoordinate>& slices);

 private:
  const View& view_;
  bool is_known_;
  std::size_t next_ = 0;  // shard
};
/// The dimensions in which some of the views have long rows; none where all agree.
std::vector<std::size_t> fast_dimensions(const View& out, const std::vector<View>& operands);
/// Bytes of TCM for each element that store_with_gaps needs besides.
std::int64_t bytes_beside(const View& out, const MachineLimits& limits);

/// The tile with the shape of the block: repeats what broadcasts.
tl::Tile fill_out(const tl::Tile& tile, const tl::Extents& shape);

}  // namespace kernbench::tile::library
