// Whole trees against an oracle, and what holds of them whatever their splits are.
#include "worker/gbdt/grower/grower.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "base/random.h"
#include "tests/worker/gbdt/grower_oracle.h"
#include "worker/gbdt/grower/monotone_neighbours.h"

namespace strata {
namespace {

Problem RandomProblem(Random& random) {
  Problem p;
  p.rows = 40 + random.Below(80);
  const size_t features = 2 + random.Below(4);
  const bool weighed = random.Chance(0.4);
  for (size_t f = 0; f < features; ++f) {
    FeatureShape shape{.bins = 3 + static_cast<uint32_t>(random.Below(6))};
    shape.categorical = random.Chance(0.3);
    if (!shape.categorical) shape.missing = static_cast<MissingKind>(random.Below(3));
    shape.default_bin = static_cast<uint32_t>(random.Below(shape.bins));
    if (!shape.categorical && random.Chance(0.3)) shape.monotone = random.Chance(0.5) ? 1 : -1;
    if (random.Chance(0.2)) shape.penalty = static_cast<double>(random.Below(4)) / 2;
    p.shapes.push_back(shape);
  }
  for (size_t row = 0; row < p.rows; ++row) {
    std::vector<uint32_t> bins;
    int32_t gradient = static_cast<int32_t>(random.Below(401)) - 200;
    for (const FeatureShape& shape : p.shapes) {
      bins.push_back(static_cast<uint32_t>(random.Below(shape.bins)));
      gradient += static_cast<int32_t>(bins.back() * 2654435761U % 257) - 128;
    }
    p.bins.push_back(std::move(bins));
    p.gradients.push_back({gradient, weighed ? 1 + static_cast<int32_t>(random.Below(4)) : 2});
  }
  GrowerOptions& o = p.options;
  SplitRules& r = o.rules;
  o.num_leaves = 2 + random.Below(12);
  o.max_depth = random.Chance(0.3) ? 1 + random.Below(4) : 0;
  if (random.Chance(0.3)) o.policy = GrowPolicy::kDepthWise;
  if (random.Chance(0.3)) o.monotone_penalty = static_cast<double>(random.Below(30)) / 10;
  if (random.Chance(0.3)) o.feature_fraction = 0.7;
  if (random.Chance(0.3)) o.feature_fraction_bynode = 0.6;
  o.extra_trees = random.Chance(0.2);
  r.min_data_in_leaf = 1 + static_cast<int64_t>(random.Below(8));
  r.min_sum_hessian_in_leaf = random.Chance(0.3) ? 3.3 : 1e-3;
  r.lambda_l1 = random.Chance(0.3) ? 0.7 : 0;
  r.lambda_l2 = random.Chance(0.5) ? 1.5 : 0;
  r.min_gain_to_split = random.Chance(0.3) ? 0.05 : 0;
  r.max_delta_step = random.Chance(0.3) ? 0.4 : 0;
  if (random.Chance(0.3)) {
    r.path_smooth = 2.5;
    r.min_data_in_leaf = std::max<int64_t>(2, r.min_data_in_leaf);
  }
  r.cat_l2 = random.Chance(0.5) ? 10 : 0.5;
  r.cat_smooth = random.Chance(0.5) ? 3 : 1;
  r.max_cat_to_onehot = random.Chance(0.5) ? 4 : 100;
  r.max_cat_threshold = 1 + static_cast<int32_t>(random.Below(4));
  r.min_data_per_group = 1 + static_cast<int64_t>(random.Below(10));
  if (random.Chance(0.3)) {
    for (size_t s = 0; s < 3; ++s) {
      std::set<size_t> set;
      for (size_t f = 0; f < features; ++f) {
        if (random.Chance(0.5)) set.insert(f);
      }
      p.sets.push_back(std::move(set));
    }
    for (size_t f = 0; f < features; ++f) {
      p.shapes[f].interactions = 0;
      for (size_t s = 0; s < 3; ++s) {
        if (p.sets[s].contains(f)) p.shapes[f].interactions |= uint64_t{1} << s;
      }
    }
  }
  p.tree_number = random.Below(1000);
  return p;
}

// Forced splits, which no constraint of the kinds above is there with.
void AddForced(Random& random, Problem* p) {
  for (FeatureShape& shape : p->shapes) {
    shape.monotone = 0;
    shape.interactions = ~uint64_t{0};
  }
  p->sets.clear();
  p->options.max_depth = 0;
  p->options.num_leaves += 3;
  for (int i = 0; i < 3; ++i) {
    const size_t feature = random.Below(p->shapes.size());
    const FeatureShape& shape = p->shapes[feature];
    const auto bin = static_cast<uint32_t>(random.Below(shape.bins));
    p->options.forced.push_back(
        {.feature = feature, .bin = shape.categorical ? std::max(1U, bin) : bin});
  }
  const bool chain = random.Chance(0.5);
  p->options.forced[0].left = 1;
  (chain ? p->options.forced[1].right : p->options.forced[0].right) = 2;
}

// Of random rows in which one monotone feature takes all its values, one after the other.
void ExpectMonotone(const Problem& p, Random& random, const GrownTree& tree) {
  std::vector<uint32_t> counts;
  for (const FeatureShape& shape : p.shapes) counts.push_back(shape.bins);
  BinMatrix one(1, counts);
  const BinnedTraversal traversal(tree, p.shapes);
  for (int i = 0; i < 100; ++i) {
    std::vector<uint32_t> row;
    for (const uint32_t count : counts) row.push_back(static_cast<uint32_t>(random.Below(count)));
    for (size_t f = 0; f < p.shapes.size(); ++f) {
      const FeatureShape& shape = p.shapes[f];
      if (shape.monotone == 0) continue;
      const uint32_t own = row[f];
      double before = -1e300;
      for (row[f] = 0; row[f] < shape.bins; ++row[f]) {
        if (IsMissing(shape, row[f])) continue;
        one.SetRow(0, row);
        const double output = shape.monotone * tree.leaves[traversal.LeafOf(one, 0)].leaf.output;
        EXPECT_GE(output, before) << "feature " << f << ", bin " << row[f] << ", row " << i;
        before = output;
      }
      row[f] = own;
    }
  }
}

class Grower : public testing::Test {
 protected:
  // Grows a tree and calls check(tree).
  template <typename Check>
  static void WithTree(const Problem& p, const Check& check) {
    std::vector<uint32_t> counts;
    for (const FeatureShape& shape : p.shapes) counts.push_back(shape.bins);
    BinMatrix bins(p.rows, counts);
    std::vector<uint32_t> bag;
    for (size_t row = 0; row < p.rows; ++row) {
      bins.SetRow(row, p.bins[row]);
      bag.push_back(static_cast<uint32_t>(row));
    }
    const auto pool = WorkPool::Start("test", 1);
    STRATA_CHECK(pool.ok());
    const std::unique_ptr<Exchange> exchange = MakeExchange(nullptr, bins, p.shapes, {});
    GrowerOptions options = p.options;
    options.threads = 2;
    LeafWiseGrower grower(bins, p.shapes, options, **pool, *exchange);
    check(grower.Grow({.rows16 = {}, .rows32 = p.gradients}, p.units, bag, p.tree_number));
  }

  // Whether the whole tree could be told.
  static bool ExpectTreeOf(const Problem& p) {
    bool whole = false;
    WithTree(p, [&](const GrownTree& tree) { whole = Oracle(p).ExpectTree(tree); });
    return whole;
  }

  // Grows the trees of random problems, each changed by `change`, until one is wrong; how many of
  // them are whole.
  template <typename Change>
  static int WholeTrees(int problems, uint64_t first_seed, const Change& change) {
    int whole = 0;
    for (int i = 0; i < problems && !HasFailure(); ++i) {
      SCOPED_TRACE(fmt::format("seed {}", i));
      Random random(static_cast<uint64_t>(i) + first_seed);
      Problem p = RandomProblem(random);
      change(random, &p);
      whole += ExpectTreeOf(p) ? 1 : 0;
    }
    return whole;
  }
};

TEST_F(Grower, SplitsAreTheBestThatAreAllowed) {
  constexpr int kProblems = 400;
  const int whole = WholeTrees(kProblems, 0, [](Random&, Problem*) {});
  EXPECT_GT(whole, kProblems * 3 / 4);
}

// Many monotone features, few of which are categorical.
void MakeMonotone(Random& random, MonotoneMethod method, Problem* p) {
  p->options.monotone_method = method;
  p->options.num_leaves += 6;
  for (FeatureShape& shape : p->shapes) {
    if (!shape.categorical && random.Chance(0.5)) shape.monotone = random.Chance(0.5) ? 1 : -1;
  }
}

// Bounds as any two leaves show them whose rows may differ in one monotone feature alone.
TEST_F(Grower, OutputsOfNeighboursBoundLeaves) {
  for (const MonotoneMethod method : {MonotoneMethod::kIntermediate, MonotoneMethod::kAdvanced}) {
    SCOPED_TRACE(static_cast<int>(method));
    constexpr int kProblems = 400;
    const int whole = WholeTrees(kProblems, 9000, [&](Random& random, Problem* p) {
      MakeMonotone(random, method, p);
      for (FeatureShape& shape : p->shapes) {
        // A side without values is bounded by the other one though nothing can rise.
        if (shape.monotone != 0) shape.missing = MissingKind::kNone;
      }
    });
    EXPECT_GT(whole, kProblems / 2);
  }
}

TEST_F(Grower, NoChangeOfAMonotoneFeatureGoesTheWrongWay) {
  for (const MonotoneMethod method :
       {MonotoneMethod::kBasic, MonotoneMethod::kIntermediate, MonotoneMethod::kAdvanced}) {
    for (uint64_t seed = 0; seed < 1500 && !HasFailure(); ++seed) {
      SCOPED_TRACE(fmt::format("method {}, seed {}", static_cast<int>(method), seed));
      Random random(seed);
      Problem p = RandomProblem(random);
      MakeMonotone(random, method, &p);
      WithTree(p, [&](const GrownTree& tree) { ExpectMonotone(p, random, tree); });
    }
  }
}

// A feature of numbers 0 to 4 and missing values, another one of numbers.
TEST(MonotoneNeighbours, ASideOfMissingValuesAloneIsNotBetweenOthers) {
  std::vector<FeatureShape> shapes(2);
  shapes[0].bins = 6;
  shapes[0].missing = MissingKind::kNaN;
  shapes[1].bins = 4;
  // Numbers up to 2 and missing values are left of the first split. The second one parts the
  // latter, and those above its threshold, from the rest, which the third one parts once more.
  for (const uint32_t second : {2U, 1U}) {
    GrownTree tree;
    const auto add = [&](int32_t feature, uint32_t threshold, int32_t left, int32_t right) {
      GrownNode& node = tree.nodes.emplace_back();
      node.split.feature = feature;
      node.split.threshold = threshold;
      node.split.monotone = feature == 0 ? 1 : 0;
      node.left = left;
      node.right = right;
    };
    add(0, 2, 1, ~1);
    add(0, second, 2, ~2);
    add(1, 1, ~0, ~3);
    tree.nodes[1].split.default_left = false;
    tree.nodes[2].split.left_output = -0.5;
    tree.nodes[2].split.right_output = 0.5;
    tree.leaves.resize(4);
    std::vector<GrownLeaf> before(3);
    before[1].parent = 0;
    before[2].parent = 1;
    before[1].is_left = before[2].is_left = true;
    const std::vector<BoundedLeaf> bounded = BoundNeighbours(shapes, before, &tree);
    const bool touches = second == 2;  // else those above 1 are between
    ASSERT_EQ(bounded.size(), touches ? 2U : 1U);
    EXPECT_EQ(bounded.back().leaf, 2U);
    EXPECT_EQ(tree.leaves[2].leaf.bounds.min, 0.5);
    EXPECT_EQ(bounded.front().leaf, touches ? 1U : 2U);
    EXPECT_EQ(tree.leaves[1].leaf.bounds.min, touches ? 0.5 : OutputBounds().min);
    for (const BoundedLeaf& leaf : bounded) EXPECT_TRUE(leaf.from_below && leaf.changed);
  }
}

TEST_F(Grower, TreesBeginWithForcedSplits) {
  constexpr int kProblems = 200;
  const int whole = WholeTrees(kProblems, 5000, [](Random& random, Problem* p) {
    for (Row32& row : p->gradients) row.hessian = 2;  // forced ways are counted in rows
    AddForced(random, p);
  });
  EXPECT_GT(whole, kProblems * 3 / 4);
}

}  // namespace
}  // namespace strata
