// Training that goes on from a model of XGBoost, and refit of one.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/clock.h"
#include "base/random.h"
#include "tests/support/golden.h"
#include "tests/support/sim_disk.h"
#include "tests/worker/gbdt/golden_model.h"
#include "worker/gbdt/from_model/continue_model.h"
#include "worker/gbdt/lightgbm/train_conf.h"
#include "worker/gbdt/model/lightgbm_text.h"
#include "worker/gbdt/model/xgboost_json.h"
#include "worker/gbdt/predict/predictor.h"
#include "worker/tasks/trees/tree_task.h"

namespace strata {
namespace {

class ContinueXgboost : public testing::Test {
 protected:
  ContinueXgboost() {
    Random random(5);
    std::string text;
    for (int row = 0; row < 300; ++row) {
      text += fmt::format("{}", row % 3);
      for (int f = 0; f < 6; ++f) text += fmt::format(",{:.2f}", 4 * random.Uniform() - 2);
      text += '\n';
    }
    Put("d", text);
  }

  void Put(const std::string& path, const std::string& text) {
    STRATA_CHECK(WriteFileAtomically(disk_, path, text).ok());
  }

  // Runs a task on a golden model, and reads the model that it leaves.
  Result<TreeModel> Run(const std::string& name, std::vector<std::string> settings) {
    Put("x.json", Golden("gbdt/" + name + ".json"));
    settings.insert(settings.end(), {"data=d", "input_model=x.json", "output_model=m"});
    STRATA_ASSIGN(const TreeParameters p, ParseLightGbmConf("", "test", settings));
    STRATA_TRY(RunTreeTask(p, {.disk = disk_,
                               .clock = RealClock(),
                               .progress = [](const TreeProgress&) {},
                               .check = [] { return Status(); }})
                   .status());
    return ReadLightGbmText(*ReadFile(disk_, "m", 1 << 24), "m");
  }

  static std::vector<double> Raw(const TreeModel& model, size_t rounds) {
    const Result<Predictor> predictor =
        Predictor::Make(model, {.kind = PredictionKind::kRaw, .iterations = rounds});
    STRATA_CHECK(predictor.ok());
    const auto pool = WorkPool::Start("test", 0);
    std::vector<double> out;
    STRATA_CHECK(predictor->Predict(ToSparse(GoldenRows("tame_rows.csv")), **pool, &out).ok());
    return out;
  }
  static std::vector<double> RawOf(const std::string& name) {
    return Raw(*ReadXgboostJson(Golden("gbdt/" + name + ".json"), name), 0);
  }

  SimDisk disk_;
};

TEST_F(ContinueXgboost, RoundsAreAddedToItsTrees) {
  const Result<TreeModel> model =
      Run("xgb_parallel_squared", {"objective=regression", "num_iterations=2"});
  ASSERT_TRUE(model.ok()) << model.status().ToString();
  EXPECT_EQ(model->trees.size(), 9U + 2U);
  EXPECT_EQ(Raw(*model, 9), RawOf("xgb_parallel_squared"));
  EXPECT_NE(Raw(*model, 0), RawOf("xgb_parallel_squared"));
}

TEST_F(ContinueXgboost, RoundsAreAddedToParallelTreesOfClasses) {
  const Result<TreeModel> model =
      Run("xgb_parallel_multiclass", {"objective=multiclass", "num_class=3", "num_iterations=2"});
  ASSERT_TRUE(model.ok()) << model.status().ToString();
  EXPECT_EQ(model->trees.size(), 18U + 6U);
  EXPECT_EQ(Raw(*model, 6), RawOf("xgb_parallel_multiclass"));
}

TEST_F(ContinueXgboost, RefitWithoutDecayKeepsItsPredictions) {
  const Result<TreeModel> model =
      Run("xgb_parallel_squared", {"task=refit", "objective=regression", "refit_decay_rate=1"});
  ASSERT_TRUE(model.ok()) << model.status().ToString();
  EXPECT_EQ(Raw(*model, 0), RawOf("xgb_parallel_squared"));
}

TEST_F(ContinueXgboost, RefitLearnsTheLeavesOfParallelTreesOfClasses) {
  const Result<TreeModel> model =
      Run("xgb_parallel_multiclass", {"task=refit", "objective=multiclass", "num_class=3"});
  ASSERT_TRUE(model.ok()) << model.status().ToString();
  EXPECT_EQ(model->trees.size(), 18U);
  EXPECT_NE(Raw(*model, 0), RawOf("xgb_parallel_multiclass"));
}

TEST_F(ContinueXgboost, WhatCannotGoOnIsNamed) {
  const auto message = [&](const std::string& name, std::vector<std::string> settings) {
    return std::string(Run(name, std::move(settings)).status().message());
  };
  for (const std::string task : {"task=train", "task=refit"}) {
    EXPECT_NE(message("xgb_parallel_squared", {task, "objective=poisson"})
                  .find("x.json: its objective is regression, the parameters have poisson"),
              std::string::npos);
    EXPECT_NE(message("xgb_parallel_multiclass", {task, "objective=multiclass", "num_class=4"})
                  .find("x.json: its num_class is 3, the parameters have 4"),
              std::string::npos);
    EXPECT_NE(message("xgb_squared", {task, "objective=regression"})
                  .find("x.json: a categorical split sends missing values"),
              std::string::npos);
  }
  EXPECT_NE(message("xgb_parallel_binary", {"objective=binary", "sigmoid=2"})
                .find("x.json: its sigmoid is 1, the parameters have 2"),
            std::string::npos);
}

TEST_F(ContinueXgboost, ALossThatIsNotOursIsNamed) {
  std::string text = Golden("gbdt/xgb_parallel_squared.json");
  const std::string objective = "reg:squarederror";
  text.replace(text.find(objective), objective.size(), "reg:squaredlogerror");
  const Result<TreeModel> model = ReadXgboostJson(text, "x.json");
  ASSERT_TRUE(model.ok());
  TreeParameters p;
  p.objective.name = "regression";
  p.task.input_model = "x.json";
  EXPECT_EQ(CheckContinues(*model, p, TreeDataset{}).message(),
            "x.json: its trees were grown for XGBoost's reg:squaredlogerror, a loss that no "
            "objective here has: it can predict, but neither be refitted nor go on");
}

}  // namespace
}  // namespace strata
