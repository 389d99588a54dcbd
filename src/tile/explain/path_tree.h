// Critical paths that grow as a simulation runs, summed up where nobody needs their parts any more.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/part.h"
#include "base/reference.h"
#include "hardware/work.h"
#include "kernbench/tl.h"
#include "kernbench/units.h"
#include "tile/explain/activity.h"

namespace kernbench::tile {

/// What parts of a path have in common that are summed up. Texts are compared by address; equal texts at two addresses
/// are put together when the path has been found.
struct PathKey {
  Activity activity = Activity::program;
  hardware::EngineKind engine = hardware::EngineKind::dma;  // of the operation
  PartKind on = PartKind::none;                             // kind of the server that it is due to
  const char* kind = "";                                    // of the operation; "" for the program itself
  const char* file = "";
  std::uint32_t line = 0;
  bool has_where = false;
  bool operator==(const PathKey&) const = default;
};

/// A part of a path: an interval of an operation, or of a program itself.
struct PathSegment {
  std::uint32_t key = 0;  // see PathTree::key()
  Time start, end;
  PartId on;  // the server that it is due to, if it is known; else of no kind, at the PE
  Time duration() const { return end - start; }
};

/// Stands for a number that differs, or is not known.
inline constexpr std::int32_t kAnyNumber = -1;
/// Where a segment passed of which nothing is known.
inline constexpr PartId kAnywhere{PartKind::none, PeCoordinate{SipId{kAnyNumber}, CubeId{kAnyNumber}, PeId{kAnyNumber}},
                                  kAnyNumber};

struct PathSum {
  std::uint32_t key = 0;
  Time time;
  std::int64_t count = 0;
  PartId on;  // that of all segments; kAnyNumber where they differ
};

/// What two parts of one kind have in common.
PartId common_part(const PartId& a, const PartId& b);

/// The program whose path it is at its beginning, and what it came behind.
struct PathOrigin {
  PartId at;                                  // that runs it
  std::shared_ptr<const std::string> launch;  // "work#1"
  std::shared_ptr<const std::string> before;  // the launch before it in its stream; null: none
  Time before_ended;
};

/// The beginning of a path that comes from a program which began later.
struct LateSender {
  std::shared_ptr<const PathOrigin> origin;  // null: there is none
  Time start, begun;                         // of the path that was asked for; of that program
  /// From start on, the launch before it ran until then.
  Time free() const { return origin->before ? std::clamp(origin->before_ended, start, begun) : start; }
};

/// A path that has been found: `sender`, if there is one, and its segments tile [start, end].
struct FoundPath {
  LateSender sender;
  std::vector<PathSum> sums;         // each key once
  std::vector<PathSegment> longest;  // at most PathTree::kLongest, in order of time
};

class PathTree;

/// A piece of a path. Paths that begin alike share their first pieces.
class PathNode final : public Counted {
 private:
  friend class PathTree;
  friend struct std::default_delete<PathNode>;
  explicit PathNode(PathTree& tree) : tree_(tree) {}
  ~PathNode() override = default;
  void dispose() noexcept override;
  bool is_shared() const { return reference_count() > 1; }

  PathTree& tree_;
  std::size_t place_ = 0;  // among the tree's nodes
  Reference<PathNode> before_;
  std::shared_ptr<const PathOrigin> origin_;  // of a path that begins here; null: not known
  Time begin_, end_;
  bool has_last_ = false;
  PathSegment last_;                  // not in the sums yet: it may go on
  std::vector<PathSum> sums_;         // of the segments before it
  std::vector<PathSegment> longest_;  // of these
};

/// A path up to some time; empty: none has been gone.
using Path = Reference<PathNode>;

/// All paths of a simulation. A segment that is added to a path which others share, or which has been cut, begins a new
/// node. A node that only one other goes on from is put into that one: at once, or when there are twice as many nodes
/// as the last time. So there are about as many nodes as paths that somebody holds, whatever their length. The tree
/// lives until its owner has let it go and the last path and cut are gone: a tile that escapes from its kernel may hold
/// a path.
class PathTree {
 public:
  static constexpr std::size_t kLongest = 12;

  /// The owner lets go.
  struct Leave {
    void operator()(PathTree* tree) const { tree->leave(); }
  };
  using Owner = std::unique_ptr<PathTree, Leave>;
  static Owner make() { return Owner(new PathTree); }
  PathTree(const PathTree&) = delete;
  PathTree& operator=(const PathTree&) = delete;

  /// The number of a key, for segments.
  std::uint32_t key(const PathKey& key);
  const PathKey& key(std::uint32_t number) const { return keys_[number]; }

  /// A path on which nothing has been gone.
  Path begin(Time now, std::shared_ptr<const PathOrigin> origin);
  /// The path goes on by a segment that starts where it ends; nothing happens for an empty one.
  void append(Path& path, const PathSegment& segment);
  /// The last segment of the path goes on until `end`.
  void extend(Path& path, Time end);
  /// The last segment that has been appended; null when there is none.
  static const PathSegment* last(const Path& path);

  /// Paths can be found from `start` on, as long as it lives: nothing is summed up across that time.
  class Cut {
   public:
    Cut() = default;
    Cut(PathTree& tree, Time start) : tree_(&tree), start_(start) { tree.cuts_.insert(start); }
    Cut(Cut&& other) noexcept : tree_(std::exchange(other.tree_, nullptr)), start_(other.start_) {}
    Cut& operator=(Cut&& other) noexcept {
      std::swap(tree_, other.tree_);
      std::swap(start_, other.start_);
      return *this;
    }
    ~Cut() {
      if (tree_ != nullptr) tree_->end_cut(start_);
    }

   private:
    PathTree* tree_ = nullptr;
    Time start_;
  };

  /// The path from `start` on; before it begins, its `sender`, or where no origin is known Activity::sender.
  FoundPath find(const Path& path, Time start) const;

  /// Nodes that exist now.
  std::size_t nodes() const { return nodes_.size(); }

 private:
  friend class PathNode;
  PathTree() : sender_(key({.activity = Activity::sender})) {}
  ~PathTree() = default;
  void leave();
  void end_cut(Time start);
  bool is_over() const { return !owned_ && nodes_.empty() && cuts_.empty(); }
  struct Hash {
    std::size_t operator()(const PathKey& key) const;
  };
  Path make_node(Path before);
  bool is_cut_within(Time begin, Time end) const;
  static void add_sum(std::vector<PathSum>& sums, const PathSum& sum);
  static void add_longest(std::vector<PathSegment>& longest, const PathSegment& segment);
  static void sum_last(PathNode& node);
  static void merge(FoundPath& into, const PathNode& node);
  void absorb_before(PathNode& node);
  void absorb_everywhere();
  void remove(PathNode& node);

  std::vector<std::unique_ptr<PathNode>> free_;  // with the room of what they held
  std::vector<PathKey> keys_;
  std::unordered_map<PathKey, std::uint32_t, Hash> numbers_;  // only looked up
  std::uint32_t sender_;
  bool owned_ = true;
  std::multiset<Time> cuts_;
  static constexpr std::size_t kFewNodes = 64;
  std::vector<PathNode*> nodes_;          // that exist
  std::size_t enough_nodes_ = kFewNodes;  // to look for those that can be put into others
};

}  // namespace kernbench::tile
