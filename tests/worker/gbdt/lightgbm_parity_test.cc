// Our trees are LightGBM's: its models of the same rows and parameters lie in tests/golden/gbdt,
// made by make_parity.py there. Gains are sums of floats there and of integers here, so that
// thresholds between which no row lies, and sides of missing values where there are none, are ties
// that may come out differently; the golden models have none but those named here.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "tests/support/golden.h"
#include "tests/support/temp_folder.h"
#include "worker/gbdt/lightgbm/train_conf.h"
#include "worker/gbdt/model/lightgbm_text.h"
#include "worker/tasks/trees/tree_task.h"

namespace strata {
namespace {

// Which categories go left.
std::vector<uint32_t> SetOf(const Tree& tree, const TreeNode& node) {
  if (!node.categorical) return {};
  const auto set = static_cast<size_t>(node.threshold);
  return {tree.set_words.begin() + static_cast<ptrdiff_t>(tree.set_begins[set]),
          tree.set_words.begin() + static_cast<ptrdiff_t>(tree.set_begins[set + 1])};
}

// What may differ.
struct Apart {
  bool sides = false;  // of missing values, of which there are none
  // Of a forced root: LightGBM takes off what the root of the tree before would have had.
  bool root_gains = false;
};

void ExpectSameTrees(const TreeModel& ours, const TreeModel& theirs, const Apart& apart) {
  ASSERT_EQ(ours.trees.size(), theirs.trees.size());
  EXPECT_EQ(ours.objective, theirs.objective);
  for (size_t t = 0; t < ours.trees.size(); ++t) {
    const Tree& a = ours.trees[t];
    const Tree& b = theirs.trees[t];
    ASSERT_EQ(a.nodes.size(), b.nodes.size()) << "tree " << t;
    for (size_t i = 0; i < a.nodes.size(); ++i) {
      const std::string where = fmt::format("tree {} node {}", t, i);
      EXPECT_EQ(a.nodes[i].feature, b.nodes[i].feature) << where;
      EXPECT_EQ(a.nodes[i].threshold, b.nodes[i].threshold) << where;
      EXPECT_EQ(a.nodes[i].categorical, b.nodes[i].categorical) << where;
      EXPECT_EQ(a.nodes[i].missing, b.nodes[i].missing) << where;
      EXPECT_EQ(a.nodes[i].left, b.nodes[i].left) << where;
      EXPECT_EQ(a.nodes[i].right, b.nodes[i].right) << where;
      EXPECT_EQ(a.nodes[i].rows, b.nodes[i].rows) << where;
      EXPECT_EQ(SetOf(a, a.nodes[i]), SetOf(b, b.nodes[i])) << where;
      EXPECT_TRUE(apart.sides || a.nodes[i].default_left == b.nodes[i].default_left) << where;
      if (apart.root_gains && i == 0) continue;
      // Six digits are written.
      EXPECT_NEAR(a.nodes[i].gain, b.nodes[i].gain, 1e-5 * b.nodes[i].gain + 1e-5) << where;
    }
    for (size_t i = 0; i < a.leaves.size(); ++i) {
      EXPECT_NEAR(a.leaves[i].value, b.leaves[i].value, 1e-7) << "tree " << t << " leaf " << i;
      EXPECT_EQ(a.leaves[i].rows, b.leaves[i].rows) << "tree " << t << " leaf " << i;
    }
  }
}

class LightGbmParity : public ::testing::Test {
 protected:
  // The model that these lines of a train.conf make.
  Result<TreeModel> Train(const std::string& conf) const {
    const std::string path = folder_.File("model.txt");
    const std::string overrides[] = {"verbosity=-1", "gradient_bits=32", "output_model=" + path};
    STRATA_ASSIGN(const TreeParameters parameters, ParseLightGbmConf(conf, "conf", overrides));
    const TreeTaskContext context = {.disk = RealDisk(),
                                     .clock = RealClock(),
                                     .progress = [](const TreeProgress&) {},
                                     .check = [] { return Status::Ok(); }};
    STRATA_TRY(RunTreeTask(parameters, context).status());
    return ReadLightGbmText(ReadWholeFile(path), path);
  }

  void ExpectGoldenTrees(const std::string& name, const std::string& conf,
                         const Apart& apart = {}) const {
    SCOPED_TRACE(name);
    const Result<TreeModel> theirs =
        ReadLightGbmText(Golden("gbdt/parity_" + name + ".model.txt"), name);
    ASSERT_TRUE(theirs.ok()) << theirs.status().ToString();
    const Result<TreeModel> ours = Train(conf);
    ASSERT_TRUE(ours.ok()) << ours.status().ToString();
    ExpectSameTrees(*ours, *theirs, apart);
  }

  TempFolder folder_;
};

TEST_F(LightGbmParity, TreesOfAFewRounds) {
  WriteWholeFile(folder_.File("rows.csv"), Golden("gbdt/parity_rows.csv"));
  const std::string conf = "data = " + folder_.File("rows.csv") +
                           "\nnum_iterations = 5\nnum_leaves = 8\nmin_data_in_leaf = 10\n"
                           "categorical_feature = 5,6\ncat_smooth = 5\nmin_data_per_group = 20\n"
                           "ignore_column = 0\n";
  const std::string amount = conf + "label_column = 0\n";
  const std::string click = conf + "label_column = 1\nobjective = binary\n";
  ExpectGoldenTrees("squared", amount);
  ExpectGoldenTrees("binary", click);
  ExpectGoldenTrees("absolute", amount + "objective = regression_l1\n");
  ExpectGoldenTrees("gamma", amount + "objective = gamma\nmax_bin = 15\n");
  ExpectGoldenTrees("bounded",
                    click +
                        "lambda_l1 = 0.5\nlambda_l2 = 2\npath_smooth = 3\nmax_depth = 4\n"
                        "max_delta_step = 0.8\nmin_gain_to_split = 0.01\n");
  // Most features are never 0.
  ExpectGoldenTrees("zero", amount + "zero_as_missing = true\n", {.sides = true});
}

// A split that parts missing values from all others, infinity among them.
TEST_F(LightGbmParity, AnInfiniteThreshold) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  std::string rows;
  for (int row = 0; row < 300; row += 3) {
    rows += fmt::format("4,nan\n0,inf\n0,{}\n", row % 40);
  }
  WriteWholeFile(folder_.File("rows.csv"), rows);
  const Result<TreeModel> model =
      Train("data = " + folder_.File("rows.csv") + "\nnum_iterations = 1\n");
  ASSERT_TRUE(model.ok()) << model.status().ToString();
  const Tree& tree = model->trees[0];
  ASSERT_EQ(tree.nodes.size(), 1U);
  EXPECT_EQ(tree.nodes[0].threshold, kInfinity);
  const auto leaf = [&](double value) { return tree.LeafOf(std::vector{value}); };
  EXPECT_EQ(leaf(kInfinity), leaf(7));
  EXPECT_NE(leaf(kInfinity), leaf(std::nan("")));
}

TEST_F(LightGbmParity, TreesThatAreConstrainedForcedAndRenewed) {
  WriteWholeFile(folder_.File("rows.csv"), Golden("gbdt/parity_rows.csv"));
  WriteWholeFile(folder_.File("forced.json"), Golden("gbdt/forced_splits.json"));
  const std::string conf = "data = " + folder_.File("rows.csv") +
                           "\nnum_iterations = 5\nmin_data_in_leaf = 10\n"
                           "categorical_feature = 5,6\ncat_smooth = 5\nmin_data_per_group = 20\n";
  const std::string amount = conf + "num_leaves = 8\nlabel_column = 0\nignore_column = 0\n";
  const std::string click = conf + "label_column = 1\n";
  ExpectGoldenTrees("monotone",
                    click +
                        "ignore_column = 0\nobjective = binary\nnum_leaves = 15\n"
                        "monotone_constraints = 0,1,-1,1,0,0,0\nmonotone_penalty = 1.3\n",
                    {.sides = true});
  ExpectGoldenTrees("neighbours",
                    click +
                        "ignore_column = 0\nobjective = binary\nnum_leaves = 20\n"
                        "monotone_constraints = 1,1,0,-1,1,0,0\n"
                        "monotone_constraints_method = intermediate\n",
                    {.sides = true});
  ExpectGoldenTrees("together", amount +
                                    "interaction_constraints = [1,2,5],[3,5,6],[2,6]\n"
                                    "feature_contri = 1,0.4,1,2,1,1,0.8\n");
  ExpectGoldenTrees("forced_splits",
                    amount + "forcedsplits_filename = " + folder_.File("forced.json"),
                    {.root_gains = true});
  ExpectGoldenTrees("intensity", click +
                                     "num_leaves = 8\nobjective = cross_entropy_lambda\n"
                                     "weight_column = 0\n");
  ExpectGoldenTrees("nearest", click +
                                   "num_leaves = 8\nignore_column = 0\nobjective = binary\n"
                                   "use_quantized_grad = true\nnum_grad_quant_bins = 16\n"
                                   "stochastic_rounding = false\nquant_train_renew_leaf = true\n");
}

// Where all features are numbers and no value is missing.
TEST_F(LightGbmParity, TreesWithBoundsByThreshold) {
  WriteWholeFile(folder_.File("rows.csv"), Golden("gbdt/parity_rows.csv"));
  ExpectGoldenTrees("by_threshold", "data = " + folder_.File("rows.csv") +
                                        "\nnum_iterations = 5\nnum_leaves = 40\n"
                                        "min_data_in_leaf = 10\nlabel_column = 1\n"
                                        "ignore_column = 0\nobjective = binary\n"
                                        "monotone_constraints = 1,1,0,-1,1,0,0\n"
                                        "monotone_constraints_method = advanced\n"
                                        "use_missing = false\n");
}

TEST_F(LightGbmParity, BinsAroundForcedBounds) {
  WriteWholeFile(folder_.File("rows.csv"), Golden("gbdt/parity_rows.csv"));
  WriteWholeFile(folder_.File("forced.json"), Golden("gbdt/forced_bins.json"));
  ExpectGoldenTrees("forced", "data = " + folder_.File("rows.csv") +
                                  "\nnum_iterations = 5\nnum_leaves = 31\nmin_data_in_leaf = 10\n"
                                  "categorical_feature = 5,6\ncat_smooth = 5\nmax_bin = 12\n"
                                  "min_data_per_group = 20\nignore_column = 0\nlabel_column = 0\n"
                                  "forcedbins_filename = " +
                                  folder_.File("forced.json") + "\n");
}

// ../shared/data beside the repository, where it is.
class LightGbmParityOnRealData : public LightGbmParity {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(shared_)) GTEST_SKIP() << "there is no " << shared_;
  }
  const std::string shared_ = STRATA_SOURCE_DIR "/../shared/data/";
};

TEST_F(LightGbmParityOnRealData, FirstTreesOfHiggs) {
  for (const char* name : {"binary", "regression"}) {
    ExpectGoldenTrees(fmt::format("shared_{}", name),
                      fmt::format("data = {}{}.train\nobjective = {}\nnum_iterations = 1\n",
                                  shared_, name, name));
  }
}

// Rows of adult.train.csv with categories as their places among all of the column's, in order.
std::string NumberedAdult(const std::string& text) {
  const std::vector<size_t> categorical = {1, 3, 5, 6, 7, 8, 9, 13};
  std::vector<std::vector<std::string>> rows;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::vector<std::string> row;
    std::istringstream fields(line);
    for (std::string field; std::getline(fields, field, ',');) {
      row.push_back(field.substr(std::min(field.find_first_not_of(' '), field.size())));
    }
    if (row.size() == 15) rows.push_back(std::move(row));
  }
  for (const size_t column : categorical) {
    std::map<std::string, size_t> places;
    for (const auto& row : rows) places[row[column]] = 0;
    size_t place = 0;
    for (auto& [value, its_place] : places) its_place = place++;
    for (auto& row : rows) row[column] = fmt::format("{}", places[row[column]]);
  }
  std::string numbered;
  for (const auto& row : rows) {
    numbered += row[14].starts_with(">50K") ? "1" : "0";
    for (size_t column = 0; column < 14; ++column) numbered += "\t" + row[column];
    numbered += "\n";
  }
  return numbered;
}

TEST_F(LightGbmParityOnRealData, FirstTreeOfAdultWithCategories) {
  WriteWholeFile(folder_.File("adult.tsv"),
                 NumberedAdult(ReadWholeFile(shared_ + "adult.train.csv")));
  ExpectGoldenTrees("shared_adult", "data = " + folder_.File("adult.tsv") +
                                        "\nobjective = binary\nnum_iterations = 1\n"
                                        "categorical_feature = 1,3,5,6,7,8,9,13\n");
}

// Of the test rows, beside what LightGBM 4.7 says (tools/trees/compare_lightgbm.py).
TEST_F(LightGbmParityOnRealData, MetricsAfterAHundredRounds) {
  struct Case {
    const char* name;
    const char* more;
    const char* metric;
    double lightgbm;
    double tolerance;
  };
  const Case cases[] = {
      {"binary", "objective = binary\nmetric = auc\n", "auc", 0.83641318, 1e-6},
      {"rank", "objective = lambdarank\neval_at = 5\n", "ndcg@5", 0.67393056, 1e-6}};
  for (const Case& c : cases) {
    const std::string conf =
        fmt::format("data = {0}{1}.train\nvalid = {0}{1}.test\n{2}", shared_, c.name, c.more);
    const std::string overrides[] = {"output_model=" + folder_.File("model.txt")};
    const auto parameters = ParseLightGbmConf(conf, "conf", overrides);
    ASSERT_TRUE(parameters.ok()) << parameters.status().ToString();
    const TreeTaskContext context = {.disk = RealDisk(),
                                     .clock = RealClock(),
                                     .progress = [](const TreeProgress&) {},
                                     .check = [] { return Status::Ok(); }};
    const auto result = RunTreeTask(*parameters, context);
    ASSERT_TRUE(result.ok()) << result.status().ToString();
    const MetricValue& found = result->evaluations.at(0).metrics.at(0);
    EXPECT_EQ(found.name, c.metric);
    EXPECT_NEAR(found.value, c.lightgbm, c.tolerance) << c.name;
  }
}

}  // namespace
}  // namespace strata
