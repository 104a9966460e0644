// Parameters of files as CatBoost itself writes them, and what an error says of wrong ones.
#include "worker/tasks/catboost/fit_input.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/file/text_file.h"
#include "tests/support/golden.h"
#include "tests/support/sim_disk.h"
#include "tests/worker/gbdt/catboost/train/training_case.h"

namespace strata {
namespace {

using testing::HasSubstr;

class FitInputTest : public testing::Test {
 protected:
  void Start(const std::string& name) { WriteTraining(disk_, GoldenTraining(name)); }

  void Write(const std::string& path, const std::string& text) {
    ASSERT_TRUE(WriteFileAtomically(disk_, path, text).ok());
  }

  // The model that these parameters make.
  std::string Model(const std::string& params, const std::vector<std::string>& words = {}) {
    Write("params.json", params);
    const auto result = TrainFromFiles(disk_, words);
    EXPECT_TRUE(result.ok()) << result.status().ToString() << params;
    return result.ok() ? *ReadFile(disk_, "model.json", 1 << 24) : "";
  }

  std::string Error(const std::string& params, const std::vector<std::string>& words = {}) {
    Write("params.json", params);
    const Status status = TrainFromFiles(disk_, words).status();
    EXPECT_EQ(status.code(), StatusCode::kInvalid) << params;
    return std::string(status.message());
  }

  SimDisk disk_;
};

// Golden trainings whose parameters are all that get_all_params() says of the model.
TEST_F(FitInputTest, AllParametersOfATrainedModelMakeTheSameModel) {
  const nlohmann::json cases = nlohmann::json::parse(Golden("catboost/training/all_params.json"));
  ASSERT_EQ(cases.size(), 12U);
  TrainingCase training = GoldenTraining("best");
  for (const auto& [name, of] : cases.items()) {
    const auto features = of["features"].get<std::vector<std::string>>();
    size_t column = 0;
    training.description.clear();
    for (const std::string field : {"real", "binary", "probability", "weight", "f0", "f1", "f2",
                                    "f3", "f4", "c0", "c1", "c2"}) {
      const bool is_used = std::ranges::find(features, field) != features.end();
      training.description += fmt::format("{}\t{}\n", column++,
                                          of["target"] == field ? "Label"
                                          : !is_used            ? "Auxiliary"
                                          : field[0] == 'f'     ? "Num"
                                                                : "Categ");
    }
    WriteTraining(disk_, training);
    std::vector<std::string> words;
    if (of["test"] == true) words = {"test_set=test.tsv"};
    const nlohmann::json few = {{"iterations", 5},
                                {"learning_rate", 0.3},
                                {"loss_function", of["params"]["loss_function"]}};
    const std::string model = Model(of["params"].dump(), words);
    ASSERT_NE(model, "") << name;
    EXPECT_EQ(model, Model(few.dump(), words)) << name;
  }
}

// As CatBoost has them where nothing is said.
TEST_F(FitInputTest, DefaultsChangeNothing) {
  Start("best");
  const std::string model = Model(R"({"iterations": 4, "learning_rate": 0.3})");
  EXPECT_EQ(Model(R"({"iterations": 4.0, "learning_rate": 0.3, "od_wait": 20, "od_pval": 0,
      "od_type": "IncToDec", "best_model_min_trees": 1, "penalties_coefficient": 1.0,
      "model_shrink_mode": "Constant", "auto_class_weights": "None", "save_snapshot": false,
      "langevin": false, "custom_metric": [], "text_features": [], "cat_features": [],
      "classes_count": 0, "sampling_unit": "Object", "bayesian_matrix_reg": 0.1,
      "bagging_temperature": 1, "use_best_model": false, "max_leaves": 64, "grow_policy": null,
      "allow_writing_files": true, "class_names": null, "verbose": 0})"),
            model);
  const std::vector<std::string> test = {"test_set=test.tsv"};
  EXPECT_EQ(Model(R"({"iterations": 8, "learning_rate": 0.3, "od_wait": 2, "od_pval": 0})", test),
            Model(R"({"iterations": 8, "learning_rate": 0.3})", test))
      << "an od_pval of 0 never ends a training";
}

TEST_F(FitInputTest, ParametersHaveSeveralForms) {
  Start("logloss");
  const auto model = [this](const std::string& more) {
    return Model(R"({"bootstrap_type": "No", "random_strength": 0, "iterations": 4, )" + more +
                 "}");
  };
  const std::string plain = model(R"("loss_function": "Logloss")");
  EXPECT_EQ(model(R"("loss_function": {"type": "Logloss", "params": {}})"), plain);
  EXPECT_EQ(model(R"("loss_function": {"type": "Logloss"}, "depth": 6.0)"), plain);
  const std::string weighted = model(R"("loss_function": "Logloss", "class_weights": [1, 2.5])");
  EXPECT_NE(weighted, plain);
  EXPECT_EQ(model(R"("loss_function": "Logloss", "class_weights": {"1": 2.5, "0": 1})"), weighted);
  EXPECT_EQ(model(R"("loss_function": "Logloss", "class_weights": "1:2.5,0:1")"), weighted);
  EXPECT_EQ(model(R"("loss_function": "Logloss", "class_weights": {"1": 2.5, "0": 1},
                     "class_names": [0, 1])"),
            weighted);
  Start("quantile");
  EXPECT_EQ(model(R"("loss_function": {"type": "Quantile", "params": {"alpha": "0.3",
                     "__params_key_order": "[\"alpha\"]"}})"),
            model(R"("loss_function": "Quantile:alpha=0.3")"));
}

TEST_F(FitInputTest, AnAucMayNameItsType) {
  Start("eval_auc");
  const std::vector<std::string> test = {"test_set=test.tsv"};
  const std::string params = R"({"iterations": 4, "loss_function": "Logloss", "eval_metric": )";
  EXPECT_EQ(Model(params + R"("AUC:type=Classic"})", test), Model(params + R"("AUC"})", test));
  EXPECT_THAT(Error(params + R"("AUC:type=Ranking"})", test),
              HasSubstr("eval_metric: expected AUC or AUC:type=Classic, found 'AUC:type=Ranking'"));
}

TEST_F(FitInputTest, OneErrorNamesAllThatIsWrong) {
  Start("rmse");
  EXPECT_EQ(Error(R"({"depht": 3, "langevin": true, "custom_metric": ["MAE"], "iterations": 1.5,
                      "loss_function": {"kind": 1}, "learn_pairs": "x", "boosting_type": "Ordered",
                      "border_count": [1]})",
                  {"fast=1", "boosting_type=Plain"}),
            "params.json: border_count: expected a text, a number, true or false, found an array "
            "of 1\n"
            "params.json: custom_metric = [\"MAE\"] is not there yet: eval_metric and the loss are "
            "measured: expected [], or remove it\n"
            "params.json: unknown key 'depht'; did you mean 'depth'?\n"
            "params.json: iterations must be an integer from 1 to 1000000; found '1.5'\n"
            "params.json: langevin = true is not there yet: expected false, or remove it\n"
            "params.json: learn_pairs is not there yet: remove it\n"
            "params.json: loss_function: 'type' is missing\n"
            "command line: unknown key 'fast'");
  std::string many = "{";
  for (size_t i = 0; i < 12; ++i) many += fmt::format("{}\"x{}\": 1", i == 0 ? "" : ",", i);
  EXPECT_THAT(Error(many + "}"), HasSubstr("\n2 more errors"));
}

TEST_F(FitInputTest, WrongFormsAreNamed) {
  Start("logloss");
  EXPECT_THAT(Error(R"({"depth": 3, "depth": 4})"),
              HasSubstr("params.json: the key 'depth' stands twice in an object: give it once"));
  EXPECT_THAT(Error(R"({"depth": 3, "max_depth": 4})"),
              HasSubstr("params.json: depth is given twice"));
  const std::string logloss = R"({"loss_function": "Logloss", )";
  EXPECT_THAT(Error(logloss + R"("class_weights": {"0": [1]}})"),
              HasSubstr("params.json: class_weights.0: expected a number, found an array of 1"));
  EXPECT_THAT(Error(logloss + R"("class_weights": "a:1,2"})"),
              HasSubstr("or all with names, as in no:1,yes:2.5; found '2'"));
  EXPECT_THAT(
      Error(logloss + R"("class_weights": {"0": 1, "2": 1}, "class_names": [0, 1]})"),
      HasSubstr("class_weights: expected a weight of class '1' of class_names, found none"));
  EXPECT_THAT(
      Error(logloss + R"("class_weights": {"0": 1, "1": 1, "2": 1},
                                "class_names": [0, 1]})"),
      HasSubstr("class_weights: expected weights of the 2 classes of class_names, found 3"));
  EXPECT_THAT(Error(logloss + R"("class_weights": {"0": 1, "yes": 1}})"),
              HasSubstr("expected a label that is one of the 2 classes (0, yes), found '1'"));
  EXPECT_THAT(Error(R"({"loss_function": {"type": "Huber", "params": 1}})"),
              HasSubstr("loss_function.params: expected an object, found 1"));
  EXPECT_THAT(Error(R"({"loss_function": {"type": "Huber", "parms": {}}})"),
              HasSubstr("loss_function: expected 'type' and 'params' alone, found 'parms'"));
  EXPECT_THAT(Error(R"({"loss_function": "MultiClass", "classes_count": 1})"),
              HasSubstr("classes_count: expected 2 or more, or 0, found 1"));
}

}  // namespace
}  // namespace strata
