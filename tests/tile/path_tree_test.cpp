// Paths that are summed up as they grow have the parts of the paths that keep every segment.
#include "tile/explain/path_tree.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <vector>

namespace kernbench::tile::path_tree_test {
namespace {

Time ps(std::int64_t count) {
  return Time::picoseconds(count);
}

/// A path that keeps its segments.
using Plain = std::vector<PathSegment>;

struct Both {
  Path path;
  Plain plain;
};

struct Expected {
  std::map<std::uint32_t, std::pair<std::int64_t, std::int64_t>> sums;  // time and count by key
  std::vector<PathSegment> longest;
};

Expected expected(const Plain& plain, Time start, std::uint32_t sender) {
  Plain clipped;
  if (!plain.empty() && plain.front().start > start) clipped.push_back({sender, start, plain.front().start, {}});
  for (PathSegment segment : plain) {
    segment.start = std::max(segment.start, start);
    if (segment.start < segment.end) clipped.push_back(segment);
  }
  Expected result;
  for (const PathSegment& segment : clipped) {
    auto& [time, count] = result.sums[segment.key];
    time += segment.duration().count();
    ++count;
  }
  std::ranges::stable_sort(clipped, std::greater{}, &PathSegment::duration);
  clipped.resize(std::min(clipped.size(), PathTree::kLongest));
  std::ranges::sort(clipped, {}, &PathSegment::start);
  result.longest = clipped;
  return result;
}

void expect_found(PathTree& tree, const Both& each, Time start, std::uint32_t sender) {
  const FoundPath found = tree.find(each.path, start);
  const Expected law = expected(each.plain, start, sender);
  std::map<std::uint32_t, std::pair<std::int64_t, std::int64_t>> sums;
  for (const PathSum& sum : found.sums) {
    EXPECT_TRUE(sums.try_emplace(sum.key, sum.time.count(), sum.count).second) << "each key once";
  }
  EXPECT_EQ(sums, law.sums);
  ASSERT_EQ(found.longest.size(), law.longest.size());
  for (std::size_t i = 0; i < law.longest.size(); ++i) {
    EXPECT_EQ(found.longest[i].start, law.longest[i].start);
    EXPECT_EQ(found.longest[i].end, law.longest[i].end);
    EXPECT_EQ(found.longest[i].key, law.longest[i].key);
  }
}

// Programs that begin at any time, go on by themselves or from where another one is, and are asked for their paths.
TEST(PathTree, ItsSumsAreThoseOfAllSegmentsOnRandomPaths) {
  for (std::uint32_t seed = 0; seed < 400; ++seed) {
    std::mt19937 random(seed);
    const auto draw = [&](int below) { return static_cast<int>(random() % static_cast<unsigned>(below)); };
    const PathTree::Owner owner = PathTree::make();
    PathTree& tree = *owner;
    const std::uint32_t sender = tree.key({.activity = Activity::sender});
    std::vector<std::uint32_t> keys;
    for (std::uint32_t line = 0; line < 5; ++line) keys.push_back(tree.key({.file = "a.cpp", .line = line}));
    struct Started {
      Time start;
      PathTree::Cut cut;
    };
    std::vector<Both> paths(6);
    std::vector<Started> starts;
    Time now = ps(1);
    for (int step = 0; step < 300; ++step) {
      now += ps(draw(5));
      Both& one = paths[static_cast<std::size_t>(draw(6))];
      const Time end = one.plain.empty() ? now : one.plain.back().end;
      switch (draw(8)) {
        case 0:
          one = paths[static_cast<std::size_t>(draw(6))];
          break;
        case 1:
          if (draw(4) == 0) starts.push_back({now, PathTree::Cut(tree, now)});
          break;
        case 2:
          if (!starts.empty() && draw(3) == 0) starts.erase(starts.begin() + draw(static_cast<int>(starts.size())));
          break;
        case 3:
          if (PathTree::last(one.path) == nullptr || end == now) break;
          tree.extend(one.path, now);
          one.plain.back().end = now;
          break;
        default: {
          if (end >= now) break;
          const PathSegment segment{keys[static_cast<std::size_t>(draw(5))], end, now, {}};
          tree.append(one.path, segment);
          one.plain.push_back(segment);
        }
      }
      for (const Started& started : starts)
        expect_found(tree, paths[static_cast<std::size_t>(draw(6))], started.start, sender);
      if (HasFailure()) FAIL() << "seed " << seed << ", step " << step;
    }
  }
}

// Paths of one program that part, grow, go on and are let go: what is left of each knows where it began.
TEST(PathTree, APathThatBeganLaterHasItsOriginHoweverItGrew) {
  const auto sender = std::make_shared<const std::string>("send#1"),
             before = std::make_shared<const std::string>("work#1");
  const PathOrigin origin_is{PartId(PartKind::control, PeCoordinate{}), sender, before, ps(30)};
  for (std::uint32_t seed = 0; seed < 30; ++seed) {
    std::mt19937 random(seed);
    const PathTree::Owner owner = PathTree::make();
    PathTree& tree = *owner;
    const PathTree::Cut early(tree, ps(10)), cut(tree, ps(50));
    const auto origin = std::make_shared<const PathOrigin>(origin_is);
    std::vector<Path> paths{tree.begin(ps(50), origin)};
    std::vector<Time> ends{ps(50)};
    Time now = ps(50);
    for (int step = 0; step < 60; ++step) {
      now += ps(1 + static_cast<std::int64_t>(random() % 3));
      const std::size_t one = random() % paths.size();
      if (random() % 4 == 0) {
        paths.push_back(paths[one]);
        ends.push_back(ends[one]);
      } else if (random() % 4 == 0 && PathTree::last(paths[one]) != nullptr) {
        tree.extend(paths[one], now);
        ends[one] = now;
      } else {
        const std::uint32_t key = tree.key({.file = "a.cpp", .line = static_cast<std::uint32_t>(random() % 3)});
        tree.append(paths[one], {key, ends[one], now, {}});
        ends[one] = now;
      }
      for (std::size_t i = 0; i < paths.size(); ++i) {
        const FoundPath found = tree.find(paths[i], ps(10));
        ASSERT_EQ(found.sender.origin, origin) << "seed " << seed << ", step " << step;
        EXPECT_EQ(found.sender.start, ps(10));
        EXPECT_EQ(found.sender.begun, ps(50));
        EXPECT_EQ(found.sender.free(), ps(30)) << "until then the launch before it ran";
        Time all = found.sender.begun - found.sender.start;
        for (const PathSum& sum : found.sums) all += sum.time;
        EXPECT_EQ(all, ends[i] - ps(10)) << "they tile";
        EXPECT_EQ(tree.find(paths[i], ps(50)).sender.origin, nullptr) << "of its own program nothing is before it";
      }
    }
  }
}

TEST(PathTree, NodesAreAsManyAsPathsHoweverLongTheyAre) {
  const PathTree::Owner owner = PathTree::make();
  PathTree& tree = *owner;
  const std::uint32_t key = tree.key(PathKey());
  std::vector<Path> paths(4);
  std::mt19937 random(7);
  std::size_t most = 0;
  for (std::int64_t now = 0; now < 200'000; ++now) {
    Path& one = paths[random() % 4];
    if (random() % 3 == 0) one = paths[random() % 4];
    const PathSegment* last = PathTree::last(one);
    tree.append(one, {key, last == nullptr ? ps(0) : last->end, ps(now + 1), {}});
    most = std::max(most, tree.nodes());
  }
  EXPECT_LE(most, 64u);
  EXPECT_EQ(tree.find(paths[0], ps(0)).sums.size(), 1u);
  paths.clear();
  EXPECT_EQ(tree.nodes(), 0u);
}

TEST(PathTree, ALongChainOfNodesIsLetGoWithoutDeepCalls) {
  const PathTree::Owner owner = PathTree::make();
  PathTree& tree = *owner;
  const std::uint32_t key = tree.key(PathKey());
  std::vector<Path> kept;
  Path path;
  for (std::int64_t now = 0; now < 300'000; ++now) {
    tree.append(path, {key, ps(now), ps(now + 1), {}});
    kept.push_back(path);
  }
  path.reset();
  std::reverse(kept.begin(), kept.end());
  while (kept.size() > 1) kept.pop_back();
  kept.clear();
  EXPECT_EQ(tree.nodes(), 0u);
}

TEST(PathTree, ASumNamesWhatItsSegmentsHaveInCommon) {
  const PathTree::Owner owner = PathTree::make();
  const std::uint32_t one = owner->key({.line = 1}), several = owner->key({.line = 2});
  const auto channel = [](std::int32_t pe, std::int32_t number) {
    return PartId(PartKind::hbm_channel, PeCoordinate{SipId{0}, CubeId{2}, PeId{pe}}, number);
  };
  Path path;
  owner->append(path, {one, ps(0), ps(1), channel(3, 1)});
  owner->append(path, {several, ps(1), ps(2), channel(3, 1)});
  owner->append(path, {one, ps(2), ps(3), channel(3, 0)});
  owner->append(path, {several, ps(3), ps(4), channel(4, 1)});
  for (const PathSum& sum : owner->find(path, ps(0)).sums) {
    EXPECT_EQ(sum.on, sum.key == one ? channel(3, kAnyNumber) : channel(kAnyNumber, 1));
  }
  EXPECT_EQ(owner->find(path, ps(0)).sums.size(), 2u);
}

TEST(PathTree, ItLivesAsLongAsAPathThatHasEscaped) {
  Path escaped;
  PathTree::Cut cut;
  {
    const PathTree::Owner owner = PathTree::make();
    owner->append(escaped, {owner->key(PathKey()), ps(0), ps(5), {}});
    cut = PathTree::Cut(*owner, ps(5));
  }
  ASSERT_NE(PathTree::last(escaped), nullptr);
  EXPECT_EQ(PathTree::last(escaped)->end, ps(5));
}

}  // namespace
}  // namespace kernbench::tile::path_tree_test
