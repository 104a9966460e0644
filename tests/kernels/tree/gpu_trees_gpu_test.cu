// Trees of the GPU against those of a plain grower here: leaf by leaf, one split after the other,
// with the CPU's kernels. They are the same to the bit.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <numeric>

#include "kernels/tree/grow/gpu_trees.h"
#include "kernels/tree/histogram/histogram.h"
#include "kernels/tree/split/node_draw.h"
#include "tests/kernels/tree/random_bins.h"
#include "tests/support/device_memory.cuh"

namespace strata {
namespace {

struct Problem {
  std::string name = {};
  uint64_t seed = 1;
  size_t rows = 1000;
  std::vector<uint32_t> bins = {};
  std::vector<FeatureShape> shapes = {};  // with `bins`
  GpuTreeOptions options = {};
  bool wide = false;       // gradients of 32 bits
  double share = 1;        // of rows in the bag
  bool one_signal = true;  // gradients follow a feature
  bool mirrored = false;  // each row has a counterpart: bins from the other end, the opposite slope
};

struct Tree {
  std::vector<GrownNode> nodes;
  std::vector<GrownLeaf> leaves;
  std::vector<std::vector<uint32_t>> rows;  // of leaves
};

// What the CPU's grower does, plainly.
class PlainGrower {
 public:
  PlainGrower(const Problem& problem, const RandomBins& data, const GradientUnits& units,
              std::vector<uint8_t> used, uint64_t tree_number)
      : p_(problem), data_(data), units_(units), used_(used) {
    splittable_.push_back(std::move(used));
    paths_.push_back(RootPath(tree_number));
    interactions_.push_back(~uint64_t{0});
  }

  Tree Grow(const std::vector<uint32_t>& bag) {
    GrownLeaf root;
    root.leaf.sums = SumOf(bag);
    root.leaf.rows = static_cast<int64_t>(bag.size());
    SplitRules plain = p_.options.rules;
    plain.path_smooth = 0;
    root.leaf.output =
        LeafOutput(static_cast<double>(root.leaf.sums.gradient) * units_.gradient,
                   static_cast<double>(root.leaf.sums.hessian) * units_.hessian + kHessianEpsilon,
                   plain.lambda_l2, root.leaf.rows, plain, 0);
    tree_.leaves = {root};
    tree_.rows = {bag};
    best_ = {Search(0)};
    while (tree_.leaves.size() < p_.options.num_leaves) {
      size_t best = 0;
      for (size_t leaf = 1; leaf < best_.size(); ++leaf) {
        if (ComesBefore(leaf, best)) best = leaf;
      }
      if (!best_[best].exists()) break;
      SplitLeafAt(best);
    }
    return tree_;
  }

 private:
  bool ComesBefore(size_t a, size_t b) const {
    if (p_.options.policy == GrowPolicy::kDepthWise && best_[a].exists() && best_[b].exists() &&
        tree_.leaves[a].depth != tree_.leaves[b].depth) {
      return tree_.leaves[a].depth < tree_.leaves[b].depth;
    }
    return IsBetter(best_[a], best_[b]);
  }

  GradientSums Of(uint32_t row) const { return data_.sums[row]; }
  GradientSums SumOf(const std::vector<uint32_t>& rows) const {
    GradientSums sum;
    for (const uint32_t row : rows) sum += Of(row);
    return sum;
  }

  Split Search(size_t at) {
    Split best;
    const GrownLeaf& leaf = tree_.leaves[at];
    if (p_.options.max_depth > 0 && leaf.depth >= p_.options.max_depth) return best;
    if (leaf.leaf.rows < 2 * p_.options.rules.min_data_in_leaf) return best;
    for (size_t f = 0; f < p_.bins.size(); ++f) {
      if (splittable_[at][f] == 0 || !MayUse(f, at)) continue;
      std::vector<GradientSums> histogram(p_.bins[f]);
      for (const uint32_t row : tree_.rows[at]) histogram[data_.bins[row][f]] += Of(row);
      Split split = FindBestSplit(p_.shapes[f], static_cast<int32_t>(f), histogram, leaf.leaf,
                                  units_, p_.options.rules, BinToTry(f, at));
      if (split.monotone != 0) {
        split.gain *= MonotoneFactor(p_.options.monotone_penalty, leaf.depth);
      }
      splittable_[at][f] = split.exists() ? 1 : 0;
      if (IsBetter(split, best)) best = split;
    }
    return best;
  }

  bool MayUse(size_t feature, size_t leaf) const {
    const auto fits = [&](size_t f) {
      return (p_.shapes[f].interactions & interactions_[leaf]) != 0;
    };
    if (!fits(feature)) return false;
    if (p_.options.feature_fraction_bynode >= 1) return true;
    const uint64_t seed = NodeSeed(p_.options.feature_seed, paths_[leaf]);
    size_t all = 0;
    size_t before = 0;
    for (size_t f = 0; f < used_.size(); ++f) {
      if (used_[f] == 0) continue;
      ++all;
      before += fits(f) && FeatureDraw(seed, f) < FeatureDraw(seed, feature) ? 1 : 0;
    }
    return before < ShareOfFeatures(all, p_.options.feature_fraction_bynode);
  }

  int64_t BinToTry(size_t feature, size_t leaf) const {
    if (!p_.options.extra_trees) return -1;
    return RandomBin(NodeSeed(p_.options.extra_seed, paths_[leaf]), feature, p_.shapes[feature]);
  }

  void SplitLeafAt(size_t at) {
    const Split split = best_[at];
    const size_t right_at = tree_.leaves.size();
    const auto node_at = static_cast<int32_t>(tree_.nodes.size());
    const GrownLeaf parent = tree_.leaves[at];
    if (parent.parent >= 0) {
      GrownNode& above = tree_.nodes[static_cast<size_t>(parent.parent)];
      (parent.is_left ? above.left : above.right) = node_at;
    }
    const auto feature = static_cast<size_t>(split.feature);
    const SplitSides sides(p_.shapes[feature], split);
    std::vector<uint32_t> left;
    std::vector<uint32_t> right;
    for (const uint32_t row : tree_.rows[at]) {
      (sides.IsLeft(data_.bins[row][feature]) ? left : right).push_back(row);
    }
    GrownLeaf left_leaf = {.leaf = {split.left, static_cast<int64_t>(left.size()),
                                    split.left_output, parent.leaf.bounds},
                           .depth = parent.depth + 1,
                           .parent = node_at,
                           .is_left = true};
    GrownLeaf right_leaf = left_leaf;
    right_leaf.leaf.sums = split.right;
    right_leaf.leaf.rows = static_cast<int64_t>(right.size());
    right_leaf.leaf.output = split.right_output;
    right_leaf.is_left = false;
    if (split.monotone != 0) {
      const double middle = (split.left_output + split.right_output) / 2;
      (split.monotone > 0 ? left_leaf : right_leaf).leaf.bounds.max = middle;
      (split.monotone > 0 ? right_leaf : left_leaf).leaf.bounds.min = middle;
    }
    tree_.nodes.push_back({.split = split,
                           .left = ~static_cast<int32_t>(at),
                           .right = ~static_cast<int32_t>(right_at),
                           .leaf = parent.leaf});
    tree_.leaves[at] = left_leaf;
    tree_.leaves.push_back(right_leaf);
    tree_.rows[at] = left;
    tree_.rows.push_back(right);
    const std::vector<uint8_t> inherited = splittable_[at];
    splittable_.push_back(inherited);
    paths_.push_back(ChildPath(paths_[at], false));
    paths_[at] = ChildPath(paths_[at], true);
    interactions_[at] &= p_.shapes[feature].interactions;
    interactions_.push_back(interactions_[at]);
    best_[at] = {};
    best_.emplace_back();
    if (tree_.leaves.size() >= p_.options.num_leaves) return;
    best_[at] = Search(at);
    best_[right_at] = Search(right_at);
  }

  const Problem& p_;
  const RandomBins& data_;
  const GradientUnits units_;
  const std::vector<uint8_t> used_;  // in the tree
  Tree tree_;
  std::vector<Split> best_;
  std::vector<std::vector<uint8_t>> splittable_;  // of each leaf
  std::vector<uint64_t> paths_;
  std::vector<uint64_t> interactions_;
};

void ExpectSameLeaf(const SplitLeaf& found, const SplitLeaf& expected) {
  EXPECT_EQ(found.sums, expected.sums);
  EXPECT_EQ(found.rows, expected.rows);
  EXPECT_EQ(found.output, expected.output);
  EXPECT_EQ(found.bounds.min, expected.bounds.min);
  EXPECT_EQ(found.bounds.max, expected.bounds.max);
}

void ExpectSameTree(const GrownTree& found, const Tree& expected) {
  ASSERT_EQ(found.nodes.size(), expected.nodes.size());
  ASSERT_EQ(found.leaves.size(), expected.leaves.size());
  for (size_t i = 0; i < found.nodes.size(); ++i) {
    SCOPED_TRACE(fmt::format("node {}", i));
    const Split& a = found.nodes[i].split;
    Split b = expected.nodes[i].split;
    ASSERT_EQ(a.feature, b.feature);
    ASSERT_EQ(a.gain, b.gain);
    EXPECT_EQ(a.categorical, b.categorical);
    EXPECT_EQ(a.default_left, b.default_left);
    EXPECT_EQ(a.left, b.left);
    EXPECT_EQ(a.right, b.right);
    EXPECT_EQ(a.left_output, b.left_output);
    EXPECT_EQ(a.right_output, b.right_output);
    EXPECT_EQ(a.monotone, b.monotone);
    if (!a.categorical) EXPECT_EQ(a.threshold, b.threshold);
    std::ranges::sort(b.left_bins);
    EXPECT_EQ(a.left_bins, b.left_bins);
    EXPECT_EQ(found.nodes[i].left, expected.nodes[i].left);
    EXPECT_EQ(found.nodes[i].right, expected.nodes[i].right);
    ExpectSameLeaf(found.nodes[i].leaf, expected.nodes[i].leaf);
  }
  for (size_t i = 0; i < found.leaves.size(); ++i) {
    SCOPED_TRACE(fmt::format("leaf {}", i));
    ExpectSameLeaf(found.leaves[i].leaf, expected.leaves[i].leaf);
    EXPECT_EQ(found.leaves[i].depth, expected.leaves[i].depth);
    EXPECT_EQ(found.leaves[i].parent, expected.leaves[i].parent);
    EXPECT_EQ(found.leaves[i].is_left, expected.leaves[i].is_left);
    const std::span<const uint32_t> rows = found.RowsOf(found.leaves[i]);
    EXPECT_TRUE(std::ranges::equal(rows, expected.rows[i]));
  }
}

// Random gradients with a signal, so that trees are deep, in place of what `data` has.
void DrawGradients(const Problem& problem, RandomBins* data) {
  Random random(problem.seed + 99);
  for (size_t row = 0; row < data->rows; ++row) {
    int32_t gradient = static_cast<int32_t>(random.Below(2001)) - 1000;
    if (problem.one_signal) {
      for (size_t f = 0; f < std::min<size_t>(3, problem.bins.size()); ++f) {
        gradient += (data->bins[row][f] * 7919 % 13 < 6 ? 900 : -900) / static_cast<int32_t>(f + 1);
      }
    }
    auto hessian = static_cast<int32_t>(random.Below(1000));
    if (problem.wide) {
      gradient *= 100003;
      hessian *= 900007;
    }
    data->sums[row] = {gradient, hessian};
    data->rows16[row] = PackRow16(gradient, hessian);
    data->rows32[row] = {gradient, hessian};
  }
}

std::vector<int> FirstGpus(int count) {
  std::vector<int> devices(static_cast<size_t>(count));
  std::iota(devices.begin(), devices.end(), 0);
  return devices;
}

// Makes the second half of the rows counterparts of the first. Thresholds at the same distance from
// both ends then have gains that differ by roundings alone.
void Mirror(const Problem& problem, RandomBins* data) {
  const size_t half = data->rows / 2;
  for (size_t row = 0; row < half; ++row) {
    std::vector<uint32_t>& bins = data->bins[half + row];
    for (size_t f = 0; f < bins.size(); ++f) bins[f] = problem.bins[f] - 1 - data->bins[row][f];
    data->matrix.SetRow(half + row, bins);
    const GradientSums& of = data->sums[row];
    const auto gradient = static_cast<int32_t>(-of.gradient);
    const auto hessian = static_cast<int32_t>(of.hessian);
    data->sums[half + row] = {gradient, hessian};
    data->rows16[half + row] = PackRow16(gradient, hessian);
    data->rows32[half + row] = {gradient, hessian};
  }
}

void ExpectTreesOfThePlainGrower(const Problem& p, int gpus, bool by_phase) {
  SCOPED_TRACE(fmt::format("{} GPUs", gpus));
  RandomBins data(p.seed, p.rows, p.bins);
  DrawGradients(p, &data);
  if (p.mirrored) Mirror(p, &data);
  const auto opened = GpuTrees::Open(FirstGpus(gpus), data.matrix, p.shapes, p.options);
  ASSERT_TRUE(opened.ok()) << opened.status().ToString();
  GpuTrees& trees = **opened;
  trees.TimePhases(by_phase);
  const GradientUnits units{.gradient = 0x1p-10, .hessian = p.wide ? 0x1p-28 : 0x1p-9};
  for (uint64_t number = 0; number < 2; ++number) {
    SCOPED_TRACE(fmt::format("tree {}", number));
    std::vector<uint32_t> bag = SomeRows(p.seed + number, p.rows, p.share);
    std::vector<uint8_t> used(p.bins.size(), 1);
    if (number == 1) used[0] = 0;  // not by the first feature
    FixedGradients gradients;
    if (p.wide) {
      gradients.rows32 = data.rows32;
    } else {
      gradients.rows16 = data.rows16;
    }
    ASSERT_TRUE(trees.SetGradients(gradients, units, bag).ok());
    GrownTree tree;
    std::vector<uint32_t> rows;
    const auto not_finite = trees.Grow(used, number, &tree);
    ASSERT_TRUE(not_finite.ok()) << not_finite.status().ToString();
    EXPECT_EQ(*not_finite, 0U);
    EXPECT_EQ(tree.nodes.empty(), p.name == "NoSplit" || std::ranges::count(used, 1) == 0);
    ASSERT_TRUE(trees.FetchRows(&tree, &rows).ok());
    ExpectSameTree(tree, PlainGrower(p, data, units, used, number).Grow(bag));

    // Scores of all rows: through the segments of leaves where the bag is all, else by walking.
    std::vector<double> values(tree.leaves.size());
    for (size_t leaf = 0; leaf < values.size(); ++leaf) {
      values[leaf] = static_cast<double>(leaf) + 0.25;
    }
    std::vector<double> scores(p.rows, 1);
    ASSERT_TRUE(trees.SetScores(scores).ok());
    ASSERT_TRUE(trees.AddTree(0, tree, values).ok());
    const GrownTree copy = tree;
    ASSERT_TRUE(trees.AddTree(0, copy, values).ok());
    ASSERT_TRUE(trees.GetScores(scores).ok());
    const BinnedTraversal traversal(tree, p.shapes);
    for (size_t row = 0; row < p.rows; ++row) {
      ASSERT_EQ(scores[row], 1 + 2 * values[traversal.LeafOf(data.matrix, row)]) << row;
    }
  }
}

class GpuTreesTest : public testing::TestWithParam<Problem> {};

TEST_P(GpuTreesTest, TreesAreThoseOfThePlainGrower) {
  STRATA_SKIP_BELOW_GPUS(1);
  ExpectTreesOfThePlainGrower(GetParam(), 1, false);
}

TEST_P(GpuTreesTest, SeveralGpusGrowThemToo) {
  STRATA_SKIP_BELOW_GPUS(2);
  if (GpusTogether() < 2) GTEST_SKIP() << "needs GPUs that reach each other's memory";
  ExpectTreesOfThePlainGrower(GetParam(), std::min(GpusTogether(), 3), false);
}

std::vector<FeatureShape> ShapesOf(const std::vector<uint32_t>& bins) {
  std::vector<FeatureShape> shapes;
  for (const uint32_t count : bins) shapes.push_back({.bins = count});
  return shapes;
}

// Numeric features with each kind of missing values, and categorical ones.
Problem MixedProblem(uint64_t seed, size_t rows, size_t features, size_t leaves) {
  Problem p{.seed = seed, .rows = rows};
  p.options.num_leaves = leaves;
  p.options.rules.min_data_in_leaf = 5;
  p.options.rules.min_data_per_group = 10;
  p.options.rules.cat_smooth = 2;
  Random random(seed);
  for (size_t f = 0; f < features; ++f) {
    p.bins.push_back(2 + static_cast<uint32_t>(random.Below(f % 3 == 0 ? 255 : 20)));
    FeatureShape shape{.bins = p.bins.back()};
    shape.missing = static_cast<MissingKind>(f % 3);
    shape.default_bin = static_cast<uint32_t>(random.Below(shape.bins));
    shape.categorical = f % 5 == 4;
    if (shape.categorical) shape.missing = MissingKind::kNone;
    p.shapes.push_back(shape);
  }
  return p;
}

std::vector<Problem> Problems() {
  std::vector<Problem> all;
  const auto add = [&](const char* name, Problem p) {
    p.name = name;
    all.push_back(std::move(p));
  };
  Problem numeric{.rows = 3000, .bins = std::vector<uint32_t>(28, 64)};
  numeric.shapes = ShapesOf(numeric.bins);
  numeric.options.num_leaves = 31;
  add("Numeric", numeric);
  Problem wide = numeric;
  wide.wide = true;
  add("Gradients32", wide);
  Problem bag = numeric;
  bag.share = 0.6;
  add("Bag", bag);
  add("Mixed", MixedProblem(3, 3000, 11, 40));
  Problem thirty_two = MixedProblem(4, 2000, 33, 20);
  thirty_two.wide = true;
  add("MixedGradients32", thirty_two);
  Problem tiny = MixedProblem(5, 300, 6, 100);
  tiny.options.rules.min_data_in_leaf = 1;
  tiny.options.rules.min_sum_hessian_in_leaf = 0;
  add("TinyLeaves", tiny);
  Problem ties{.rows = 2000, .bins = std::vector<uint32_t>(9, 3)};
  ties.shapes = ShapesOf(ties.bins);
  ties.options.num_leaves = 60;
  add("FewBins", ties);
  Problem many{.rows = 1500, .bins = {1000, 300, 40, 5000, 2, 256, 257}};
  many.shapes = ShapesOf(many.bins);
  many.shapes[0].missing = MissingKind::kNaN;
  many.shapes[1].categorical = true;
  many.options.num_leaves = 15;
  many.options.rules.cat_smooth = 0.5;
  many.options.rules.min_data_per_group = 5;
  add("ManyBins", many);
  Problem one{.rows = 500, .bins = {30}};
  one.shapes = ShapesOf(one.bins);
  one.options.num_leaves = 10;
  add("OneFeature", one);
  Problem features{.rows = 200, .bins = std::vector<uint32_t>(300, 7)};
  features.shapes = ShapesOf(features.bins);
  features.options.num_leaves = 8;
  add("ManyFeatures", features);
  Problem depth = numeric;
  depth.options.max_depth = 4;
  depth.options.num_leaves = 64;
  add("MaxDepth", depth);
  Problem regular = numeric;
  regular.options.rules.lambda_l1 = 0.5;
  regular.options.rules.lambda_l2 = 2;
  regular.options.rules.max_delta_step = 0.2;
  regular.options.rules.path_smooth = 3;
  regular.options.rules.min_gain_to_split = 0.01;
  add("Regularised", regular);
  Problem monotone = numeric;
  monotone.shapes[0].monotone = 1;
  monotone.shapes[1].monotone = -1;
  monotone.shapes[2].penalty = 0.5;
  add("Monotone", monotone);
  Problem penalised = monotone;
  penalised.options.monotone_penalty = 2.3;
  add("MonotonePenalty", penalised);
  Problem levels = MixedProblem(8, 1500, 11, 25);
  levels.options.policy = GrowPolicy::kDepthWise;
  levels.options.num_leaves = 23;
  add("DepthWise", levels);
  levels.options.num_leaves = 64;
  levels.options.max_depth = 5;
  add("DepthWiseBounded", levels);
  Problem together = MixedProblem(9, 1500, 11, 25);
  for (size_t f = 0; f < together.shapes.size(); ++f) {
    together.shapes[f].interactions = f == 3 ? 0 : (1U << (f % 3)) | (1U << (f % 4));
  }
  add("Interactions", together);
  together.options.feature_fraction_bynode = 0.4;
  add("InteractionsByNode", together);
  Problem nodes = MixedProblem(6, 1500, 11, 25);
  nodes.options.feature_fraction_bynode = 0.5;
  add("ByNode", nodes);
  Problem extra = MixedProblem(7, 1500, 11, 25);
  extra.options.extra_trees = true;
  add("ExtraTrees", extra);
  Problem none = numeric;
  none.options.rules.min_data_in_leaf = 2000;
  add("NoSplit", none);
  Problem mirrored = numeric;
  mirrored.bins.assign(60, 256);
  mirrored.shapes = ShapesOf(mirrored.bins);
  mirrored.options.rules.min_data_in_leaf = 1;
  mirrored.options.rules.min_sum_hessian_in_leaf = 0;
  mirrored.mirrored = true;
  add("NearTies", mirrored);
  Problem stump = numeric;
  stump.options.num_leaves = 2;
  add("TwoLeaves", stump);
  return all;
}

INSTANTIATE_TEST_SUITE_P(All, GpuTreesTest, testing::ValuesIn(Problems()),
                         [](const auto& info) { return info.param.name; });

// Without graphs, one phase after the other, each waited for.
TEST(GpuTrees, SeveralGpusGrowThemPhaseByPhase) {
  if (GpusTogether() < 2) GTEST_SKIP() << "needs GPUs that reach each other's memory";
  for (const Problem& p : Problems()) {
    if (p.name == "Bag" || p.name == "TinyLeaves") ExpectTreesOfThePlainGrower(p, 2, true);
  }
}

TEST(GpuTrees, GpusWithoutARowAreLeftOut) {
  if (GpusTogether() < 2) GTEST_SKIP() << "needs GPUs that reach each other's memory";
  Problem p{.rows = 1, .bins = {4, 4}};
  p.shapes = ShapesOf(p.bins);
  p.name = "NoSplit";
  ExpectTreesOfThePlainGrower(p, 2, false);
}

TEST(GpuTrees, GpusThatDoNotReachEachOtherAreNamed) {
  STRATA_SKIP_BELOW_GPUS(2);
  const FailCalls fail = CallsThatFail();
  if (fail == nullptr) GTEST_SKIP() << "needs GPUs that are emulated";
  const RandomBins data(1, 10, {4});
  fail("cudaDeviceCanAccessPeer", 1, 1);
  const auto trees = GpuTrees::Open(FirstGpus(2), data.matrix, ShapesOf({4}), {});
  EXPECT_EQ(trees.status().code(), StatusCode::kFailed);
  EXPECT_NE(trees.status().message().find("GPU 1 cannot reach the memory of GPU 0"),
            std::string::npos)
      << trees.status().ToString();
}

TEST(GpuTrees, RefusesWhatItCannotGrow) {
  STRATA_SKIP_BELOW_GPUS(1);
  const RandomBins data(1, 10, {4});
  const std::vector<FeatureShape> shapes = ShapesOf({4});
  GpuTreeOptions options;
  options.num_leaves = kGpuLeavesMax + 1;
  const auto large = GpuTrees::Open(FirstGpus(1), data.matrix, shapes, options);
  ASSERT_FALSE(large.ok());
  EXPECT_EQ(large.status().message(),
            "a tree of 4097 leaves on a GPU: expected 1 to 4096; use the CPU");
  const auto none = GpuTrees::Open(std::vector{0, 99}, data.matrix, shapes, {});
  EXPECT_EQ(none.status().code(), StatusCode::kNotFound);
  EXPECT_EQ(none.status().message(),
            fmt::format("GPU 99 is not there; this process sees {}", GpusHere()));
  const auto many = GpuTrees::Open(FirstGpus(17), data.matrix, shapes, {});
  EXPECT_EQ(many.status().message(), "trees over 17 GPUs: expected 1 to 16");
}

}  // namespace
}  // namespace strata
