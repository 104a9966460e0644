#include "worker/gbdt/model/lightgbm_text.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <limits>

#include "base/random.h"
#include "tests/support/golden.h"
#include "tests/worker/gbdt/golden_model.h"
#include "worker/gbdt/predict/predictor.h"

namespace strata {
namespace {

std::string ModelText(const std::string& name) { return Golden("gbdt/" + name + ".model.txt"); }

TreeModel Model(const std::string& text) {
  Result<TreeModel> model = ReadLightGbmText(text, "model");
  EXPECT_TRUE(model.ok()) << model.status().ToString();
  return model.ok() ? *std::move(model) : TreeModel();
}

std::vector<double> Predicted(const TreeModel& model, const PredictOptions& options) {
  const Result<Predictor> predictor = Predictor::Make(model, options);
  EXPECT_TRUE(predictor.ok()) << predictor.status().ToString();
  if (!predictor.ok()) return {};
  const auto pool = WorkPool::Start("test", 0);
  std::vector<double> out;
  EXPECT_TRUE(predictor->Predict(ToSparse(GoldenRows("rows.csv")), **pool, &out).ok());
  return out;
}

// What a kind of prediction says of all golden rows, and what it should.
void ExpectPredictions(const TreeModel& model, PredictionKind kind,
                       std::vector<double> ExpectedRow::*expected, double tolerance,
                       const std::string& name) {
  std::vector<double> all;
  for (const ExpectedRow& row : GoldenExpected(name)) {
    all.insert(all.end(), (row.*expected).begin(), (row.*expected).end());
  }
  ExpectClose(Predicted(model, {.kind = kind}), all, tolerance, name);
}

class LightGbmGolden : public testing::TestWithParam<const char*> {};

TEST_P(LightGbmGolden, PredictsWhatLightGbmPredicts) {
  const TreeModel model = Model(ModelText(GetParam()));
  ExpectPredictions(model, PredictionKind::kRaw, &ExpectedRow::raw, 0, GetParam());
  ExpectPredictions(model, PredictionKind::kTransformed, &ExpectedRow::predictions, 1e-14,
                    GetParam());
  ExpectPredictions(model, PredictionKind::kLeaves, &ExpectedRow::leaves, 0, GetParam());
  ExpectPredictions(model, PredictionKind::kContributions, &ExpectedRow::contributions, 1e-12,
                    GetParam());
}

TEST_P(LightGbmGolden, WrittenAndReadItIsTheSame) {
  const TreeModel model = Model(ModelText(GetParam()));
  const Result<std::string> text = WriteLightGbmText(model);
  ASSERT_TRUE(text.ok()) << text.status().ToString();
  EXPECT_TRUE(Model(*text) == model);
  // LightGBM's own text differs in numbers alone: it prints 17 digits where fewer say the same.
  const auto without_trees = [](const std::string& whole) {
    const size_t sizes = whole.find("\ntree_sizes=");
    return whole.substr(0, sizes) + whole.substr(whole.find("\nend of trees"));
  };
  EXPECT_EQ(without_trees(*text), without_trees(ModelText(GetParam())));
}

TEST_P(LightGbmGolden, OlderVersionsAndNoSizesAreTheSame) {
  std::string text = ModelText(GetParam());
  const TreeModel model = Model(text);
  text.replace(text.find("version=v4"), 10, "version=v3");
  const size_t sizes = text.find("tree_sizes=");
  text.erase(sizes, text.find('\n', sizes) + 1 - sizes);
  EXPECT_TRUE(Model(text) == model);
}

TEST_P(LightGbmGolden, ACutFileIsAnError) {
  const std::string text = ModelText(GetParam());
  for (size_t size = 0; size < text.find("end of trees") + 12; size += 1 + size / 20) {
    const Result<TreeModel> model = ReadLightGbmText(text.substr(0, size), "model");
    ASSERT_FALSE(model.ok()) << size;
    EXPECT_EQ(model.status().code(), StatusCode::kCorrupt);
  }
}

INSTANTIATE_TEST_SUITE_P(All, LightGbmGolden,
                         testing::Values("binary", "numeric", "square_root", "poisson",
                                         "multiclass", "one_vs_all", "rank", "dart", "forest",
                                         "entropy", "absolute", "constant", "pandas", "infinite"),
                         [](const auto& param) { return std::string(param.param); });

// Models of LightGBM before 2.2, which wrote no "end of trees"; before 2.0.12 neither version nor
// tree_sizes.
class OldLightGbm : public testing::TestWithParam<const char*> {};

TEST_P(OldLightGbm, PredictsWhatLightGbmPredicts) {
  const TreeModel model = Model(ModelText(GetParam()));
  ExpectPredictions(model, PredictionKind::kRaw, &ExpectedRow::raw, 0, GetParam());
  ExpectPredictions(model, PredictionKind::kLeaves, &ExpectedRow::leaves, 0, GetParam());
}

TEST_P(OldLightGbm, ACutFileIsAnError) {
  const std::string text = ModelText(GetParam());
  for (size_t size = 0; size < text.find("feature importances:") + 20; size += 1 + size / 40) {
    const Result<TreeModel> model = ReadLightGbmText(text.substr(0, size), "model");
    ASSERT_FALSE(model.ok()) << size;
    EXPECT_EQ(model.status().code(), StatusCode::kCorrupt);
  }
}

TEST_P(OldLightGbm, ItsEndIsNoneOfALaterVersion) {
  std::string text = ModelText(GetParam());
  const std::string of_line = text.find("version=v2\n") == std::string::npos ? "" : "version=v2\n";
  text.replace(text.find("tree\n") + 5, of_line.size(), "version=v3\n");
  const Result<TreeModel> model = ReadLightGbmText(text, "model");
  ASSERT_FALSE(model.ok());
  EXPECT_NE(model.status().message().find("expected Tree= or 'end of trees'"), std::string::npos)
      << model.status().message();
}

INSTANTIATE_TEST_SUITE_P(All, OldLightGbm, testing::Values("old_2_0_5", "old_2_0_12", "old_2_1_2"),
                         [](const auto& param) { return std::string(param.param); });

TEST(LightGbmText, ExactNumbersSurvive) {
  TreeModel model = Model(ModelText("binary"));
  Random random(5);
  for (Tree& tree : model.trees) {
    tree.shrinkage = random.Uniform() / 3;
    for (TreeNode& node : tree.nodes) {
      node.gain = random.Uniform() * 1e5;
      node.value = random.Uniform() - 0.5;
      node.weight = random.Uniform() * 1e-30;
      if (!node.categorical) node.threshold = random.Uniform() * 1e300;
    }
    for (TreeLeaf& leaf : tree.leaves) leaf.value = random.Uniform() * 1e-300;
  }
  model.monotone_constraints = {0, 1, -1, 0, 0, 0};
  const Result<std::string> text = WriteLightGbmText(model);
  ASSERT_TRUE(text.ok());
  EXPECT_TRUE(Model(*text) == model);
}

TEST(LightGbmText, ThresholdsMayBeInfinite) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const std::string text = ModelText("infinite");
  ASSERT_EQ(Model(text).trees[0].nodes[0].threshold, kInfinity);
  std::string below = text;
  below.replace(below.find("threshold=inf"), 13, "threshold=-inf");
  below.erase(below.find("tree_sizes="), below.find("\n\n") - below.find("tree_sizes="));
  EXPECT_EQ(Model(below).trees[0].nodes[0].threshold, -kInfinity);
}

TEST(LightGbmText, NamesThatLightGbmDoesNotTakeAreChanged) {
  TreeModel model = Model(ModelText("constant"));
  model.feature_names = {"a b", "c=d", "e,f:g", "", "{h}", "fine-1"};
  const Result<std::string> text = WriteLightGbmText(model);
  ASSERT_TRUE(text.ok());
  EXPECT_EQ(Model(*text).feature_names,
            (std::vector<std::string>{"a_b", "c=d", "e_f_g", "Column_3", "_h_", "fine-1"}));
}

TEST(LightGbmText, TwoNamesThatWouldBecomeOneAreAnError) {
  TreeModel model = Model(ModelText("constant"));
  model.feature_names = {"a b", "a_b"};
  model.feature_infos.resize(2, "none");
  const Result<std::string> text = WriteLightGbmText(model);
  ASSERT_FALSE(text.ok());
  EXPECT_NE(text.status().message().find("named 'a b' and 'a_b'"), std::string::npos)
      << text.status().message();
}

TEST(LightGbmText, WhatTheFormatCannotSayIsAnError) {
  TreeModel model = Model(ModelText("binary"));
  for (Tree& tree : model.trees) {
    for (TreeNode& node : tree.nodes) node.default_left = true;
  }
  const Result<std::string> text = WriteLightGbmText(model);
  ASSERT_FALSE(text.ok());
  EXPECT_NE(text.status().message().find("sends missing values to the listed categories"),
            std::string::npos);
}

TEST(Importances, CountSplitsAndGains) {
  const TreeModel model = Model(ModelText("binary"));
  std::vector<double> splits(6, 0);
  std::vector<double> gains(6, 0);
  for (const Tree& tree : model.trees) {
    for (const TreeNode& node : tree.nodes) {
      splits[static_cast<size_t>(node.feature)] += 1;
      gains[static_cast<size_t>(node.feature)] += node.gain;
    }
  }
  EXPECT_EQ(FeatureImportances(model, ImportanceKind::kSplit), splits);
  EXPECT_EQ(FeatureImportances(model, ImportanceKind::kGain), gains);
  const Result<std::string> text = WriteLightGbmText(model, ImportanceKind::kGain);
  ASSERT_TRUE(text.ok());
  EXPECT_NE(text->find(fmt::format("\nplain={}\n", static_cast<uint64_t>(gains[0]))),
            std::string::npos);
}

// One change of the good file that makes it wrong, and a part of the message.
struct Damage {
  const char* from;
  const char* to;
  const char* message;
};

TEST(LightGbmText, BadFilesSayWhereAndWhy) {
  const std::string good = ModelText("binary");
  const Damage damages[] = {
      {"tree\n", "wood\n", "model:1: expected a LightGBM text model"},
      {"version=v4", "version=v9", "model:2: version v9"},
      {"num_class=1\n", "num_class=0\n", "num_class = 0"},
      {"num_class=1\n", "num_class=99999999999\n", "expected 1 to"},
      {"num_class=1\n", "", "num_class= is missing"},
      {"num_class=1\nnum_tree_per_iteration=1", "num_class=3\nnum_tree_per_iteration=3",
       "5 trees are no multiple"},
      {"num_tree_per_iteration=1", "num_tree_per_iteration=5",
       "num_class = 1, num_tree_per_iteration = 5: expected the same"},
      {"max_feature_idx=5", "max_feature_idx=4", "makes 5 features, found 6"},
      {"max_feature_idx=5", "max_feature_idx=9223372036854775807", "features, found 6"},
      {"label_index=0", "label index", "model:5: expected key=value"},
      {"label_index=0", "num_class=1", "model:5: num_class stands twice"},
      {"tree_sizes=", "tree_sizes=1", "model:10: tree_sizes: tree 0 has"},
      {"tree_sizes=", "tree_sizes=7 ", "model:10: tree_sizes: expected 5 numbers, found more"},
      {"num_leaves=7", "num_leaves=4000000", "split_feature: expected 3999999 numbers, found 6"},
      {"num_leaves=7", "num_leaves=18446744073709551615", "expected 1 to"},
      {"num_leaves=7", "num_leaves=0", "num_leaves: 0"},
      {"num_leaves=7", "num_leaves=seven",
       "num_leaves: expected whole numbers from 0 on, found 'seven'"},
      {"split_feature=", "split_feature=-1 ", "expected 6 numbers, found more"},
      {"\nleft_child=1 ", "\nleft_child=0 ", "child 0 has two parents"},
      {"\nleft_child=1 ", "\nleft_child=-900 ", "child -900: the tree has 6 nodes and 7 leaves"},
      {"\nleft_child=1 ", "\nleft_child=2147483648 ", "left_child: expected whole numbers"},
      {"is_linear=0", "is_linear=1", "linear leaves are not supported"},
      {"\nleaf_value=", "\nleaf_value=nan ", "leaf_value: expected 7 numbers"},
      {"end of trees", "end", "expected Tree= or 'end of trees', found 'end'"},
      {"cat_boundaries=0 ", "cat_boundaries=5 ", "model:27: cat_boundaries: must ascend from 0"},
      {"cat_threshold=", "cat_threshold=1 2 3 ", "cat_threshold: expected"},
  };
  for (const Damage& damage : damages) {
    std::string text = good;
    const size_t at = text.find(damage.from);
    ASSERT_NE(at, std::string::npos) << damage.from;
    text.replace(at, std::string(damage.from).size(), damage.to);
    const Result<TreeModel> model = ReadLightGbmText(text, "model");
    ASSERT_FALSE(model.ok()) << damage.from << " -> " << damage.to;
    EXPECT_EQ(model.status().code(), StatusCode::kCorrupt);
    EXPECT_NE(model.status().message().find(damage.message), std::string::npos)
        << model.status().message() << "\nexpected: " << damage.message;
  }
}

}  // namespace
}  // namespace strata
