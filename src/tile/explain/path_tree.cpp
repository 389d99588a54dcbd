#include "tile/explain/path_tree.h"

#include <algorithm>

namespace kernbench::tile {

PartId common_part(const PartId& a, const PartId& b) {
  const auto common = [](std::int32_t of_a, std::int32_t of_b) { return of_a == of_b ? of_a : kAnyNumber; };
  PartId both = a;
  both.at.sip.value = common(a.at.sip.value, b.at.sip.value);
  both.at.cube.value = common(a.at.cube.value, b.at.cube.value);
  both.at.pe.value = common(a.at.pe.value, b.at.pe.value);
  both.index = common(a.index, b.index);
  return both;
}

// Long chains are let go one by one, not one within the other.
void PathNode::dispose() noexcept {
  PathTree& tree = tree_;
  PathNode* node = this;
  while (node != nullptr) {
    PathNode* next = nullptr;
    if (node->before_) {
      if (node->before_->is_shared())
        node->before_.reset();
      else
        next = node->before_.release();
    }
    node->sums_.clear();
    node->longest_.clear();
    node->has_last_ = false;
    node->origin_.reset();
    node->forget_references();
    tree.remove(*node);
    tree.free_.emplace_back(node);
    node = next;
  }
  if (tree.is_over()) delete &tree;
}

void PathTree::leave() {
  owned_ = false;
  if (is_over()) delete this;
}

void PathTree::end_cut(Time start) {
  cuts_.erase(cuts_.find(start));
  if (is_over()) delete this;
}

std::size_t PathTree::Hash::operator()(const PathKey& key) const {
  const auto mixed = [](std::size_t seed, std::size_t value) { return (seed ^ value) * 0x9e3779b97f4a7c15ULL; };
  std::size_t hash = (static_cast<std::size_t>(key.activity) << 24) | (static_cast<std::size_t>(key.engine) << 16) |
                     (static_cast<std::size_t>(key.on) << 8) | (key.has_where ? 1U : 0U);
  hash = mixed(hash, reinterpret_cast<std::uintptr_t>(key.kind));
  hash = mixed(hash, reinterpret_cast<std::uintptr_t>(key.file));
  return mixed(hash, key.line);
}

std::uint32_t PathTree::key(const PathKey& key) {
  const auto [entry, is_new] = numbers_.try_emplace(key, static_cast<std::uint32_t>(keys_.size()));
  if (is_new) keys_.push_back(key);
  return entry->second;
}

void PathTree::remove(PathNode& node) {
  nodes_[node.place_] = nodes_.back();
  nodes_[node.place_]->place_ = node.place_;
  nodes_.pop_back();
}

// Nodes go while this passes, and others take their places: those are looked at the next time.
void PathTree::absorb_everywhere() {
  for (std::size_t i = 0; i < nodes_.size(); ++i) absorb_before(*nodes_[i]);
  enough_nodes_ = std::max(kFewNodes, 2 * nodes_.size());
}

Path PathTree::make_node(Path before) {
  if (nodes_.size() >= enough_nodes_) absorb_everywhere();
  if (free_.empty()) free_.emplace_back(new PathNode(*this));
  Path made(free_.back().release());
  free_.pop_back();
  made->place_ = nodes_.size();
  nodes_.push_back(made.get());
  made->before_ = std::move(before);
  return made;
}

bool PathTree::is_cut_within(Time begin, Time end) const {
  if (cuts_.empty() || *cuts_.rbegin() <= begin) return false;
  return *cuts_.upper_bound(begin) < end;
}

void PathTree::add_sum(std::vector<PathSum>& sums, const PathSum& sum) {
  for (PathSum& each : sums) {
    if (each.key != sum.key) continue;
    each.time += sum.time;
    each.count += sum.count;
    each.on = common_part(each.on, sum.on);
    return;
  }
  sums.push_back(sum);
}

// Of equals the earlier one counts as longer.
void PathTree::add_longest(std::vector<PathSegment>& longest, const PathSegment& segment) {
  const auto longer = [](const PathSegment& a, const PathSegment& b) {
    if (a.duration() != b.duration()) return a.duration() > b.duration();
    return a.start < b.start;
  };
  if (longest.size() == kLongest) {
    if (!longer(segment, longest.back())) return;
    longest.pop_back();
  }
  longest.insert(std::ranges::upper_bound(longest, segment, longer), segment);
}

void PathTree::sum_last(PathNode& node) {
  if (!node.has_last_) return;
  add_sum(node.sums_, {node.last_.key, node.last_.duration(), 1, node.last_.on});
  add_longest(node.longest_, node.last_);
  node.has_last_ = false;
}

// What the node before has is put into this one as long as nobody else goes on from there.
void PathTree::absorb_before(PathNode& node) {
  while (node.before_ && !node.before_->is_shared() && !is_cut_within(node.before_->begin_, node.end_)) {
    PathNode& before = *node.before_;
    sum_last(before);
    if (node.sums_.size() < before.sums_.size()) {
      std::swap(node.sums_, before.sums_);
      std::swap(node.longest_, before.longest_);
    }
    for (const PathSum& sum : before.sums_) add_sum(node.sums_, sum);
    for (const PathSegment& segment : before.longest_) add_longest(node.longest_, segment);
    node.begin_ = before.begin_;
    node.origin_ = std::move(before.origin_);
    Path further = std::move(before.before_);
    node.before_ = std::move(further);
  }
}

Path PathTree::begin(Time now, std::shared_ptr<const PathOrigin> origin) {
  Path path = make_node({});
  path->begin_ = path->end_ = now;
  path->origin_ = std::move(origin);
  return path;
}

void PathTree::append(Path& path, const PathSegment& segment) {
  if (segment.start >= segment.end) return;
  if (!path || path->is_shared() || is_cut_within(path->begin_, segment.end)) {
    path = make_node(std::move(path));
    path->begin_ = segment.start;
  } else {
    sum_last(*path);
  }
  path->last_ = segment;
  path->has_last_ = true;
  path->end_ = segment.end;
  absorb_before(*path);
  if (path->before_) absorb_before(*path->before_);
}

const PathSegment* PathTree::last(const Path& path) {
  return path && path->has_last_ ? &path->last_ : nullptr;
}

void PathTree::extend(Path& path, Time end) {
  PathSegment segment = path->last_;
  segment.end = end;
  if (!path->is_shared() && !is_cut_within(path->begin_, end)) {
    path->last_ = segment;
    path->end_ = end;
    return;
  }
  // The last segment gets a node of its own, behind all that was before it.
  Path before = path->before_;
  std::shared_ptr<const PathOrigin> origin = path->origin_;
  if (!path->sums_.empty()) {
    before = make_node(path->before_);
    before->origin_ = std::exchange(origin, nullptr);
    before->begin_ = path->begin_;
    before->end_ = segment.start;
    before->sums_ = path->sums_;
    before->longest_ = path->longest_;
  }
  path = make_node(std::move(before));
  path->origin_ = std::move(origin);
  path->begin_ = segment.start;
  path->end_ = end;
  path->last_ = segment;
  path->has_last_ = true;
}

void PathTree::merge(FoundPath& into, const PathNode& node) {
  for (const PathSum& sum : node.sums_) add_sum(into.sums, sum);
  for (const PathSegment& segment : node.longest_) add_longest(into.longest, segment);
}

FoundPath PathTree::find(const Path& path, Time start) const {
  FoundPath found;
  const auto add = [&](PathSegment segment) {
    segment.start = std::max(segment.start, start);
    if (segment.start >= segment.end) return;
    add_sum(found.sums, {segment.key, segment.duration(), 1, segment.on});
    add_longest(found.longest, segment);
  };
  Time first = Time::max();
  const PathNode* earliest = nullptr;
  for (const PathNode* node = path.get(); node != nullptr && node->end_ > start; node = node->before_.get()) {
    if (node->has_last_) add(node->last_);
    if (node->begin_ >= start) merge(found, *node);  // else the last segment is all: the path has been cut there
    first = node->begin_;
    earliest = node;
  }
  if (earliest != nullptr && first > start) {
    if (earliest->origin_) {
      found.sender = {earliest->origin_, start, first};
    } else {
      add({sender_, start, first, kAnywhere});
    }
  }
  std::ranges::sort(found.longest, {}, &PathSegment::start);
  return found;
}

}  // namespace kernbench::tile
