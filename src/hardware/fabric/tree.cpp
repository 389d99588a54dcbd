#include "hardware/fabric/tree.h"

#include <algorithm>
#include <cassert>

namespace kernbench::hardware {

namespace {

bool same(const Stage& a, const Stage& b) {
  return a.server == b.server && a.group == b.group && a.traffic.index() == b.traffic.index();
}

/// Makes the part of a tree that some of the paths share, from one depth on.
class TreeMaker {
 public:
  TreeMaker(std::span<const std::span<const Stage>> paths, Tree& tree) : paths_(paths), tree_(tree) {}

  /// `members`: the paths that are alike up to `depth`, and have a stage there.
  void branch_out(const std::vector<std::size_t>& members, std::size_t depth) {
    std::vector<std::vector<std::size_t>> branches;
    for (const std::size_t member : members) {
      const auto alike = std::ranges::find_if(branches, [&](const std::vector<std::size_t>& branch) {
        return same(paths_[branch.front()][depth], paths_[member][depth]);
      });
      if (alike == branches.end())
        branches.push_back({member});
      else
        alike->push_back(member);
    }
    std::size_t before = tree_.stages.size();
    for (std::size_t i = 0; i < branches.size(); ++i) {
      const std::size_t at = tree_.stages.size();
      if (i > 0) tree_.places[before].next_branch = static_cast<std::uint16_t>(at);
      before = at;
      add(branches[i], depth);
    }
  }

 private:
  void add(const std::vector<std::size_t>& members, std::size_t depth) {
    const auto at = static_cast<std::uint16_t>(tree_.stages.size());
    tree_.stages.push_back(paths_[members.front()][depth]);
    tree_.places.emplace_back();
    for (const std::size_t member : members) tree_.paths[member].push_back(at);
    if (paths_[members.front()].size() > depth + 1) return branch_out(members, depth + 1);
    assert(members.size() == 1 && "two receivers at one place");
    tree_.places[at].receiver = static_cast<std::uint16_t>(members.front());
  }

  std::span<const std::span<const Stage>> paths_;
  Tree& tree_;
};

}  // namespace

Tree tree_of(std::span<const std::span<const Stage>> paths) {
  Tree tree;
  tree.paths.resize(paths.size());
  std::vector<std::size_t> all(paths.size());
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = i;
  TreeMaker(paths, tree).branch_out(all, 0);
  return tree;
}

}  // namespace kernbench::hardware
