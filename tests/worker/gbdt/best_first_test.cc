// A tree that has grown further than best-first growth needs, in any order, against growing leaf by
// leaf.
#include "worker/gbdt/grower/best_first.h"

#include <gtest/gtest.h>

#include "base/random.h"

namespace strata {
namespace {

constexpr size_t kRows = 1 << 10;

// Rows [begin, begin + count), halved by each split; gains, of which many are equal, by the leaf.
GrownLeaf LeafOf(size_t begin, size_t count, size_t depth) {
  GrownLeaf leaf;
  leaf.leaf.rows = static_cast<int64_t>(count);
  leaf.begin = begin;
  leaf.count = count;
  leaf.depth = depth;
  return leaf;
}

Split SplitOf(uint64_t seed, const GrownLeaf& leaf) {
  Split split;
  const uint64_t drawn = Mix64(seed ^ (leaf.begin * kRows + leaf.count));
  split.gain = leaf.count < 32 ? 0 : static_cast<double>(drawn % 7);
  split.feature = static_cast<int32_t>(drawn >> 32) & 1;
  split.threshold = static_cast<uint32_t>(leaf.begin * 4096 + leaf.count);
  return split;
}

struct Growing {
  uint64_t seed = 0;
  GrownTree tree = {};
  std::vector<GrownLeaf> before = {};
  std::vector<Split> best = {};

  explicit Growing(uint64_t s) : seed(s) {
    tree.leaves.push_back(LeafOf(0, kRows, 0));
    best.push_back(SplitOf(seed, tree.leaves[0]));
  }

  void SplitLeaf(size_t at) {
    const GrownLeaf leaf = tree.leaves[at];
    const auto node = static_cast<int32_t>(tree.nodes.size());
    if (leaf.parent >= 0) {
      GrownNode& above = tree.nodes[static_cast<size_t>(leaf.parent)];
      (leaf.is_left ? above.left : above.right) = node;
    }
    tree.nodes.push_back({.split = best[at],
                          .left = ~static_cast<int32_t>(at),
                          .right = ~static_cast<int32_t>(tree.leaves.size()),
                          .leaf = leaf.leaf});
    before.push_back(leaf);
    const size_t half = leaf.count / 2;
    tree.leaves[at] = LeafOf(leaf.begin, half, leaf.depth + 1);
    tree.leaves.push_back(LeafOf(leaf.begin + half, leaf.count - half, leaf.depth + 1));
    tree.leaves[at].parent = tree.leaves.back().parent = node;
    tree.leaves[at].is_left = true;
    best[at] = SplitOf(seed, tree.leaves[at]);
    best.push_back(SplitOf(seed, tree.leaves.back()));
  }

  KnownTree Known(std::vector<const Split*>* pointers) const {
    for (const Split& split : best) pointers->push_back(&split);
    return {.tree = tree, .before = before, .best = *pointers};
  }
};

Growing LeafByLeaf(uint64_t seed, size_t leaves) {
  Growing grown(seed);
  while (grown.tree.leaves.size() < leaves) {
    size_t best = 0;
    for (size_t leaf = 1; leaf < grown.best.size(); ++leaf) {
      if (IsBetter(grown.best[leaf], grown.best[best])) best = leaf;
    }
    if (!grown.best[best].exists()) break;
    grown.SplitLeaf(best);
  }
  return grown;
}

void ExpectSame(const GrownTree& a, const GrownTree& b) {
  ASSERT_EQ(a.nodes.size(), b.nodes.size());
  ASSERT_EQ(a.leaves.size(), b.leaves.size());
  for (size_t i = 0; i < a.nodes.size(); ++i) {
    EXPECT_EQ(a.nodes[i].split.threshold, b.nodes[i].split.threshold) << i;
    EXPECT_EQ(a.nodes[i].left, b.nodes[i].left) << i;
    EXPECT_EQ(a.nodes[i].right, b.nodes[i].right) << i;
    EXPECT_EQ(a.nodes[i].leaf.rows, b.nodes[i].leaf.rows) << i;
  }
  for (size_t i = 0; i < a.leaves.size(); ++i) {
    EXPECT_EQ(a.leaves[i].begin, b.leaves[i].begin) << i;
    EXPECT_EQ(a.leaves[i].count, b.leaves[i].count) << i;
    EXPECT_EQ(a.leaves[i].depth, b.leaves[i].depth) << i;
    EXPECT_EQ(a.leaves[i].parent, b.leaves[i].parent) << i;
    EXPECT_EQ(a.leaves[i].is_left, b.leaves[i].is_left) << i;
  }
}

TEST(BestFirst, IsFoundInATreeThatHasGrownInAnyOrder) {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    Growing all(seed);
    while (true) {
      std::vector<size_t> open;
      for (size_t leaf = 0; leaf < all.best.size(); ++leaf) {
        if (all.best[leaf].exists()) open.push_back(leaf);
      }
      if (open.empty()) break;
      all.SplitLeaf(open[random.Below(open.size())]);
    }
    for (const size_t leaves : {1U, 2U, 7U, 20U, 1000U}) {
      std::vector<const Split*> pointers;
      const KnownTree known = all.Known(&pointers);
      std::vector<size_t> merged;
      const GrownTree taken = TakeInOrder(known, BestFirstOrder(known, leaves - 1), &merged);
      ExpectSame(taken, LeafByLeaf(seed, leaves).tree);
      for (const size_t leaf : merged) {
        EXPECT_TRUE(SplitOf(seed, taken.leaves[leaf]).exists());
      }
    }
  }
}

// As a grower uses it: splitting ahead ends with all that is needed, and the first leaf named is
// the next one.
TEST(BestFirst, NamesTheLeavesToSplit) {
  for (const size_t at_a_time : {1U, 4U, 16U}) {
    const Growing expected = LeafByLeaf(5, 20);
    Growing ahead(5);
    while (true) {
      std::vector<const Split*> pointers;
      const std::vector<int32_t> order = BestFirstOrder(ahead.Known(&pointers), 19);
      std::vector<size_t> next;
      for (const int32_t id : order) {
        if (id < 0 && next.size() < at_a_time) next.push_back(static_cast<size_t>(~id));
      }
      if (next.empty()) break;
      for (const size_t leaf : next) ahead.SplitLeaf(leaf);
    }
    if (at_a_time == 1) {
      EXPECT_EQ(ahead.tree.nodes.size(), expected.tree.nodes.size());
    }
    std::vector<const Split*> pointers;
    const KnownTree known = ahead.Known(&pointers);
    std::vector<size_t> merged;
    ExpectSame(TakeInOrder(known, BestFirstOrder(known, 19), &merged), expected.tree);
  }
}

}  // namespace
}  // namespace strata
