// Rows that no tree can part: the model is the constant that LightGBM 4.7 writes for the same rows,
// and goes on from there to prediction, evaluation and files.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <sstream>
#include <string>
#include <vector>

#include "tests/support/temp_folder.h"
#include "tests/worker/gbdt/rank_world.h"
#include "worker/gbdt/lightgbm/train_conf.h"
#include "worker/gbdt/model/lightgbm_text.h"
#include "worker/tasks/trees/tree_task.h"

namespace strata {
namespace {

constexpr int kConstantRows = 40;

// 1, 2, 3, 4, 5, 1, ...
double AmountOf(int row) { return row % 5 + 1; }

class ConstantModel : public ::testing::Test {
 protected:
  void SetUp() override { WriteRows(AmountOf); }

  // The features are constant.
  void WriteRows(const std::function<double(int)>& label) const {
    std::string rows;
    for (int row = 0; row < kConstantRows; ++row) rows += fmt::format("{},7,0\n", label(row));
    WriteWholeFile(folder_.File("rows.csv"), rows);
  }

  Result<TreeTaskResult> Run(const std::string& conf, Group* group = nullptr) const {
    const std::string all = fmt::format(
        "data = {0}/rows.csv\noutput_model = {0}/model.txt\nnum_threads = 1\nverbosity = -1\n{1}\n",
        folder_.path(), conf);
    STRATA_ASSIGN(const TreeParameters parameters, ParseLightGbmConf(all, "conf", {}));
    return RunTreeTask(parameters, {.disk = RealDisk(),
                                    .clock = RealClock(),
                                    .progress = [](const TreeProgress&) {},
                                    .check = [] { return Status::Ok(); },
                                    .group = group});
  }

  TreeModel Model() const {
    const std::string path = folder_.File("model.txt");
    Result<TreeModel> model = ReadLightGbmText(ReadWholeFile(path), path);
    EXPECT_TRUE(model.ok()) << model.status().ToString();
    return model.ok() ? std::move(*model) : TreeModel();
  }

  // One tree of one leaf for each class.
  void ExpectConstants(const std::string& conf, const std::vector<double>& expected) const {
    SCOPED_TRACE(conf);
    const Result<TreeTaskResult> done = Run(conf);
    ASSERT_TRUE(done.ok()) << done.status().ToString();
    const TreeModel model = Model();
    ASSERT_EQ(model.trees.size(), expected.size());
    for (size_t k = 0; k < expected.size(); ++k) {
      ASSERT_TRUE(model.trees[k].nodes.empty());
      EXPECT_NEAR(model.trees[k].leaves[0].value, expected[k], 1e-13);
      EXPECT_EQ(model.trees[k].leaves[0].rows, kConstantRows);
    }
    EXPECT_EQ(model.feature_infos, (std::vector<std::string>{"none", "none"}));
  }

  TempFolder folder_;
};

TEST_F(ConstantModel, IsThatOfLightGbmForEachObjective) {
  struct ConstantCase {
    const char* conf;
    std::function<double(int)> label;
    std::vector<double> expected;
  };
  const auto share = [](int row) { return AmountOf(row) / 10; };
  const auto third = [](int row) {
    return static_cast<double>(static_cast<int>(AmountOf(row)) % 3);
  };
  const auto one = [](int) { return 1.0; };
  constexpr double kLogOfThree = 1.0986122886681098;
  constexpr double kLeast = -34.538776391283193;
  const ConstantCase cases[] = {
      {"objective = regression", AmountOf, {3}},
      {"objective = regression\nreg_sqrt = true", AmountOf, {1.6764664649963379}},
      {"objective = regression_l1", AmountOf, {3}},
      {"objective = huber", AmountOf, {3}},
      {"objective = fair", AmountOf, {3}},
      {"objective = poisson", AmountOf, {kLogOfThree}},
      {"objective = quantile", AmountOf, {5}},
      {"objective = mape", AmountOf, {2}},
      {"objective = gamma", AmountOf, {kLogOfThree}},
      {"objective = tweedie", AmountOf, {kLogOfThree}},
      {"objective = cross_entropy", share, {-0.84729783909983059}},
      {"objective = cross_entropy_lambda", share, {-1.05022559556692}},
      {"objective = binary",
       [](int row) { return AmountOf(row) > 2 ? 1.0 : 0.0; },
       {0.40546510810816422}},
      {"objective = binary", one, {34.539575992340879}},
      {"objective = binary\nsigmoid = 2", [](int) { return 0.0; }, {-17.269388195641596}},
      {"objective = multiclass\nnum_class = 3",
       third,
       {-1.6094379124341003, -0.916290731874155, -0.916290731874155}},
      {"objective = multiclass\nnum_class = 3", one, {kLeast, 0, kLeast}},
      {"objective = multiclassova\nnum_class = 3",
       third,
       {-1.3862943611198906, -0.40546510810816427, -0.40546510810816427}},
      {"objective = multiclassova\nnum_class = 3", one, {kLeast, 34.539575992340879, kLeast}}};
  for (const ConstantCase& c : cases) {
    WriteRows(c.label);
    for (const char* more : {"", "\nboost_from_average = false", "\nboosting = dart",
                             "\ndata_sample_strategy = goss"}) {
      ExpectConstants(std::string(c.conf) + more, c.expected);
    }
  }
}

TEST_F(ConstantModel, IsZeroForRanking) {
  WriteRows([](int row) { return static_cast<double>(row % 3); });
  WriteWholeFile(folder_.File("rows.csv.query"), "15\n25\n");
  ExpectConstants("objective = lambdarank", {0});
  ExpectConstants("objective = rank_xendcg", {0});
}

TEST_F(ConstantModel, IsWhatWeightsMakeOfTheLabels) {
  std::string weights;
  for (int row = 0; row < kConstantRows; ++row) weights += AmountOf(row) > 4 ? "3\n" : "1\n";
  WriteWholeFile(folder_.File("rows.csv.weight"), weights);
  ExpectConstants("objective = regression", {25.0 / 7});
}

// Features that could be split, but not so that both sides have enough rows.
TEST_F(ConstantModel, ComesOfRowsThatAreTooFewToSplit) {
  WriteWholeFile(folder_.File("rows.csv"), "1,5\n4,6\n");
  const Result<TreeTaskResult> done = Run("");
  ASSERT_TRUE(done.ok()) << done.status().ToString();
  ASSERT_EQ(Model().trees.size(), 1U);
  EXPECT_EQ(Model().trees[0].leaves[0].value, 2.5);
}

TEST_F(ConstantModel, OfOneClassComesOfFeaturesThatCouldBeSplit) {
  std::string rows;
  for (int row = 0; row < kConstantRows; ++row) rows += fmt::format("1,{},{}\n", row, row % 3);
  WriteWholeFile(folder_.File("rows.csv"), rows);
  for (const char* more : {"", "\nboosting = dart", "\nis_unbalance = true"}) {
    const Result<TreeTaskResult> done =
        Run(std::string("objective = binary\nmin_data_in_leaf = 2") + more);
    ASSERT_TRUE(done.ok()) << done.status().ToString();
    ASSERT_EQ(Model().trees.size(), 1U);
    EXPECT_NEAR(Model().trees[0].leaves[0].value, 34.539575992340879, 1e-13);
  }
}

// Each tree of a forest stands for itself, so that each is the constant.
TEST_F(ConstantModel, OfAForestIsThatOfEachTree) {
  for (const char* more : {"", "\nboost_from_average = false"}) {
    const Result<TreeTaskResult> done =
        Run(std::string("boosting = rf\nbagging_freq = 1\nbagging_fraction = 0.5\n"
                        "num_iterations = 4") +
            more);
    ASSERT_TRUE(done.ok()) << done.status().ToString();
    const TreeModel model = Model();
    ASSERT_EQ(model.trees.size(), 4U);
    for (const Tree& tree : model.trees) EXPECT_EQ(tree.leaves[0].value, 3) << more;
  }
}

TEST_F(ConstantModel, IsMeasuredAndReported) {
  const Result<TreeTaskResult> done =
      Run(fmt::format("valid = {0}/rows.csv\nearly_stopping_round = 2\nreport_file = {0}/report\n"
                      "is_provide_training_metric = true\nmetric = l2,r2",
                      folder_.path()));
  ASSERT_TRUE(done.ok()) << done.status().ToString();
  ASSERT_EQ(done->evaluations.size(), 2U);
  for (const Evaluation& evaluation : done->evaluations) {
    EXPECT_NEAR(evaluation.metrics[0].value, 2, 1e-13) << evaluation.data;
    EXPECT_NEAR(evaluation.metrics[1].value, 0, 1e-13) << evaluation.data;
  }
  EXPECT_THAT(ReadWholeFile(folder_.File("report.html")), testing::HasSubstr("<html"));
}

TEST_F(ConstantModel, PredictsAndIsEvaluated) {
  ASSERT_TRUE(Run("").ok());
  const std::string input = fmt::format("input_model = {}/model.txt\n", folder_.path());
  ASSERT_TRUE(Run("task = predict\noutput_result = " + folder_.File("out") + "\n" + input).ok());
  std::istringstream out(ReadWholeFile(folder_.File("out")));
  double value = 0;
  int rows = 0;
  for (; out >> value; ++rows) EXPECT_EQ(value, 3);
  EXPECT_EQ(rows, kConstantRows);
  const Result<TreeTaskResult> measured = Run("task = evaluate\n" + input);
  ASSERT_TRUE(measured.ok()) << measured.status().ToString();
  EXPECT_NEAR(measured->evaluations[0].metrics[0].value, 2, 1e-13);
}

TEST_F(ConstantModel, StaysAsItIsWhereTrainingGoesOn) {
  ASSERT_TRUE(Run("").ok());
  const Result<TreeTaskResult> done =
      Run(fmt::format("input_model = {}/model.txt", folder_.path()));
  ASSERT_TRUE(done.ok()) << done.status().ToString();
  ASSERT_EQ(Model().trees.size(), 1U);
  EXPECT_EQ(Model().trees[0].leaves[0].value, 3);
}

TEST_F(ConstantModel, ComesOfRowsThatWereSavedAsBins) {
  ASSERT_TRUE(Run("save_binary = true").ok());
  WriteWholeFile(folder_.File("model.txt"), "");
  const Result<TreeTaskResult> done = Run("");
  ASSERT_TRUE(done.ok()) << done.status().ToString();
  const std::string binned = ReadWholeFile(folder_.File("rows.csv.bin"));
  WriteWholeFile(folder_.File("rows.csv"), binned);
  ExpectConstants("", {3});
}

// It needs no GPU.
TEST_F(ConstantModel, IsTheSameForEveryDevice) {
  ExpectConstants("device_type = cuda", {3});
  ExpectConstants("device_type = cuda\nnum_gpu = 2", {3});
}

TEST_F(ConstantModel, IsTheSameForAnyNumberOfRanks) {
  for (const char* conf :
       {"objective = regression", "objective = binary", "objective = multiclass\nnum_class = 2"}) {
    if (conf != std::string_view("objective = regression")) WriteRows([](int) { return 1.0; });
    ASSERT_TRUE(Run(conf).ok());
    const std::string alone = ReadWholeFile(folder_.File("model.txt"));
    for (const char* learner : {"data", "feature", "voting"}) {
      WriteWholeFile(folder_.File("model.txt"), "");
      RunRanks(3, [&](Group& group) {
        const auto done = Run(fmt::format("{}\ntree_learner = {}", conf, learner), &group);
        EXPECT_TRUE(done.ok()) << done.status().ToString();
        if (!done.ok()) group.Cancel(done.status());
      });
      EXPECT_EQ(ReadWholeFile(folder_.File("model.txt")), alone) << conf << learner;
    }
  }
}

}  // namespace
}  // namespace strata
