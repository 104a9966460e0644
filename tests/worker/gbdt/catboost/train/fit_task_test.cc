// Training of CatBoost's trees, from parameters and files of rows to the model, held against the
// models that CatBoost itself trains.
#include "worker/tasks/catboost/fit_task.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/file/text_file.h"
#include "tests/support/golden.h"
#include "tests/support/sim_disk.h"
#include "tests/worker/gbdt/catboost/train/training_case.h"
#include "worker/gbdt/catboost/catboost_json.h"
#include "worker/gbdt/catboost/catboost_predictor.h"

namespace strata {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string Read(SimDisk& disk, const std::string& path) {
  Result<std::string> text = ReadFile(disk, path, 1 << 24);
  return text.ok() ? *text : text.status().ToString();
}

class GoldenTrainingTest : public testing::TestWithParam<std::string> {};

TEST_P(GoldenTrainingTest, MakesCatBoostsModel) { ExpectSameTraining(GoldenTraining(GetParam())); }

INSTANTIATE_TEST_SUITE_P(All, GoldenTrainingTest, testing::ValuesIn(GoldenTrainings()),
                         [](const auto& test) { return test.param; });

// More trainings, where the folder that holds them lies beside the sources.
class SharedTrainingTest : public testing::TestWithParam<std::string> {};

// What the model's text says of the rows of test.tsv.
void ExpectPredictions(SimDisk& disk, const std::string& text, const nlohmann::json& expected) {
  const Result<CatBoostModel> model = ReadCatBoostJson(text, "model.json");
  ASSERT_TRUE(model.ok()) << model.status().ToString();
  const PoolOptions options = {
      .path = "test.tsv", .column_description = "rows.cd", .delimiter = ','};
  const auto file = PoolFile::Open(disk, options, *model, [] { return Status::Ok(); });
  ASSERT_TRUE(file.ok()) << file.status().ToString();
  TextBlock block;
  ASSERT_TRUE((*file)->Next(&block).ok());
  const std::vector<Line> lines = (*file)->RowsOf(block);
  ASSERT_EQ(lines.size(), expected.size());
  CatBoostRows rows(*model, lines.size());
  CsvFields fields;
  std::string_view id;
  for (size_t row = 0; row < lines.size(); ++row) {
    ASSERT_TRUE((*file)->ReadRow(lines[row].text, row, &rows, &fields, &id).ok());
  }
  std::vector<double> raw(lines.size() * model->outputs);
  CatBoostPredictor(*model).Raw(rows, raw);
  std::vector<double> values;  // of several outputs each row is a list
  for (const nlohmann::json& row : expected) {
    if (row.is_number()) {
      values.push_back(row);
    } else {
      values.insert(values.end(), row.begin(), row.end());
    }
  }
  ASSERT_EQ(raw.size(), values.size());
  for (size_t i = 0; i < raw.size(); ++i) EXPECT_NEAR(raw[i], values[i], 1e-9) << i;
}

TEST_P(SharedTrainingTest, MakesCatBoostsModel) {
  const std::string folder = STRATA_SOURCE_DIR "/../shared/oracles/catboost/";
  std::ifstream file(folder + GetParam() + ".json");
  if (!file.is_open()) GTEST_SKIP() << "there is no " << folder;
  TrainingCase training;
  training.json = nlohmann::json::parse(file);
  training.json["params"].erase("random_seed");
  std::ifstream rows(folder + "data.csv");
  std::string line;
  const auto fields_of = [](const std::string& of) {
    std::vector<std::string> fields(1);
    for (const char c : of) {
      if (c == ',') {
        fields.emplace_back();
      } else {
        fields.back() += c;
      }
    }
    return fields;
  };
  std::getline(rows, line);
  const std::vector<std::string> names = fields_of(line);
  // The label, the weight, and the features in the case's order.
  std::vector<std::string> columns = {training.json["target"], "weight"};
  for (const std::string name : training.json["features"]) columns.push_back(name);
  for (size_t c = 0; c < columns.size(); ++c) {
    const char* const type = c == 0  ? "Label"
                             : c > 1 ? (columns[c][0] == 'f' ? "Num" : "Categ")
                             : training.json["weight"] == true ? "Weight"
                                                               : "Auxiliary";
    training.description += fmt::format("{}\t{}\t{}\n", c, type, columns[c]);
  }
  for (size_t row = 0; std::getline(rows, line); ++row) {
    const std::vector<std::string> fields = fields_of(line);
    std::vector<std::string> picked;
    for (const std::string& column : columns) {
      picked.push_back(
          fields[static_cast<size_t>(std::ranges::find(names, column) - names.begin())]);
    }
    (row < 400 ? training.learn : training.test) += fmt::format("{}\n", fmt::join(picked, ","));
  }
  SimDisk disk;
  WriteTraining(disk, training);
  const auto result = TrainFromFiles(disk, {"delimiter=,"});
  ASSERT_TRUE(result.ok()) << result.status().ToString();
  const std::string text = Read(disk, "model.json");
  ExpectSameModel(nlohmann::json::parse(text), training.json["model"]);
  // CatBoost's sums of means are rounded to floats, which moves rows whose means are on a border.
  if (GetParam() != "ctr_onehot_mean") ExpectPredictions(disk, text, training.json["test_raw"]);
}

INSTANTIATE_TEST_SUITE_P(All, SharedTrainingTest,
                         testing::Values("numeric_rmse", "numeric_rmse_l2score", "numeric_logloss",
                                         "numeric_logloss_gradient", "numeric_logloss_newton10",
                                         "numeric_mae_exact", "numeric_quantile", "numeric_poisson",
                                         "numeric_tweedie", "numeric_multiclass", "numeric_ova",
                                         "nan_max", "onehot", "ctr_simple", "ctr_types",
                                         "ctr_onehot_mean", "ctr_combinations", "ctr_multiclass"),
                         [](const auto& test) { return test.param; });

class FitTaskTest : public testing::Test {
 protected:
  void Start(const std::string& name) { WriteTraining(disk_, GoldenTraining(name)); }

  void Write(const std::string& path, const std::string& text) {
    ASSERT_TRUE(WriteFileAtomically(disk_, path, text).ok());
  }

  void ExpectError(const std::vector<std::string>& words, const std::string& message) {
    const Status status = TrainFromFiles(disk_, words).status();
    EXPECT_FALSE(status.ok()) << message;
    EXPECT_THAT(status.message(), HasSubstr(message));
  }

  SimDisk disk_;
};

// Rows enough for several pieces and blocks, whose weights and labels add up differently in another
// order.
TEST_F(FitTaskTest, ThreadsDoNotShowInALargeModel) {
  std::string rows;
  double weights = 0;
  double labels = 0;
  uint64_t state = 7;
  const auto next = [&state] {
    state = state * 6364136223846793005 + 1442695040888963407;
    return static_cast<double>(state >> 40) / (1 << 24);
  };
  for (size_t i = 0; i < 60000; ++i) {
    const double a = next();
    const double b = next();
    const double label = std::round(1e5 * (std::sin(6 * a) + b * b + next() / 5)) / 1e5;
    const double weight = std::round(1e4 * (0.1 + next())) / 1e4;
    rows += fmt::format("{:.5f}\t{:.4f}\t{:.4f}\t{:.3f}\t{:.4f}\n", label, weight, a, b, next());
    labels += weight * label;
    weights += weight;
  }
  Write("learn.tsv", rows);
  Write("rows.cd", "0\tLabel\n1\tWeight\n");
  Write("params.json",
        R"({"iterations": 5, "learning_rate": 0.5, "depth": 6, "bootstrap_type": "No",
            "random_strength": 0, "leaf_estimation_iterations": 3})");
  std::string first;
  for (const char* threads : {"thread_count=1", "thread_count=2", "thread_count=5"}) {
    const auto result = TrainFromFiles(disk_, {threads});
    ASSERT_TRUE(result.ok()) << result.status().ToString();
    if (first.empty()) first = Read(disk_, "model.json");
    EXPECT_EQ(Read(disk_, "model.json"), first) << threads;
    EXPECT_LT(result->evaluations[0].metrics[0].value, 0.2);
  }
  const auto model = nlohmann::json::parse(first);
  EXPECT_NEAR(model["scale_and_bias"][1][0].get<double>(), labels / weights, 1e-6);
  double of_leaves = 0;
  for (const double weight : model["oblivious_trees"][4]["leaf_weights"]) of_leaves += weight;
  EXPECT_NEAR(of_leaves, weights, 0.01);
}

// What training says of the test rows is what the saved model predicts for them.
TEST_F(FitTaskTest, TheLossOfTheTestRowsIsThatOfTheSavedModel) {
  for (const std::string name : {"best", "logloss", "rmse_weights"}) {
    Start(name);
    const auto result = TrainFromFiles(disk_, {"test_set=test.tsv"});
    ASSERT_TRUE(result.ok()) << result.status().ToString();
    const auto model = ReadCatBoostJson(Read(disk_, "model.json"), "model.json");
    ASSERT_TRUE(model.ok()) << model.status().ToString();
    EXPECT_EQ(result->rounds, model->trees.size());
    EXPECT_EQ(*result->best_round, name == "best" ? 3U : 4U);
    std::vector<std::vector<std::string>> cells;
    std::istringstream lines(Read(disk_, "test.tsv"));
    for (std::string line; std::getline(lines, line);) {
      std::istringstream fields(line);
      std::vector<std::string>& row = cells.emplace_back();
      for (std::string field; std::getline(fields, field, '\t');) row.push_back(field);
    }
    CatBoostRows rows(*model, cells.size());
    for (size_t row = 0; row < cells.size(); ++row) {
      for (size_t f = 0; f < 5; ++f) {
        ASSERT_TRUE(ReadPoolNumber(cells[row].at(4 + f), &rows.Number(f)[row]));
      }
    }
    std::vector<double> raw(cells.size());
    CatBoostPredictor(*model).Raw(rows, raw);
    const bool is_rmse = name != "logloss";
    double sum = 0;
    double weights = 0;
    for (size_t row = 0; row < raw.size(); ++row) {
      const double label = std::stof(cells[row][is_rmse ? 0 : 1]);
      const double weight = name == "rmse_weights" ? std::stod(cells[row][3]) : 1;
      const double p = 1 / (1 + std::exp(-raw[row]));
      sum += weight * (is_rmse ? std::pow(label - raw[row], 2) : -std::log(label == 1 ? p : 1 - p));
      weights += weight;
    }
    const double loss = is_rmse ? std::sqrt(sum / weights) : sum / weights;
    EXPECT_NEAR(result->evaluations[1].metrics[0].value, loss, 1e-12) << name;
  }
}

// As many trees stay as CatBoost keeps.
TEST_F(FitTaskTest, TheBestModelHasSoManyTrees) {
  Start("best");
  const auto rounds = [this](const std::vector<std::string>& words) {
    std::vector<std::string> all = {"test_set=test.tsv"};
    all.insert(all.end(), words.begin(), words.end());
    const auto result = TrainFromFiles(disk_, all);
    EXPECT_TRUE(result.ok()) << result.status().ToString();
    return result->rounds;
  };
  EXPECT_EQ(rounds({"best_model_min_trees=5"}), 5U);
  EXPECT_EQ(rounds({"best_model_min_trees=8"}), 8U);
  EXPECT_EQ(rounds({"best_model_min_trees=9"}), 8U);
  EXPECT_EQ(rounds({"best_model_min_trees=6", "od_wait=2"}), 5U);
  ExpectError({"best_model_min_trees=2"},
              "best_model_min_trees has no effect without use_best_model and test_set");
}

TEST_F(FitTaskTest, AllTreesStayWithoutUseBestModel) {
  Start("best");
  const auto result = TrainFromFiles(disk_, {"test_set=test.tsv", "use_best_model=false"});
  ASSERT_TRUE(result.ok()) << result.status().ToString();
  EXPECT_EQ(result->rounds, 8U);
  EXPECT_EQ(*result->best_round, 3U);
}

TEST_F(FitTaskTest, AllTreesStayWhereTestLabelsAreTheSame) {
  Start("best");
  std::string rows;
  for (size_t row = 0; row < 20; ++row)
    rows += fmt::format("1\t0\t0\t1\t0.{}\t1\t2\t0\t7\ta\tb\tc\n", row);
  Write("test.tsv", rows);
  const auto result = TrainFromFiles(disk_, {"test_set=test.tsv"});
  ASSERT_TRUE(result.ok()) << result.status().ToString();
  EXPECT_EQ(result->rounds, 8U);
  EXPECT_LT(*result->best_round, 8U);
}

TEST_F(FitTaskTest, ThatTheLabelsAreAllTheSameMayBeAllowed) {
  Start("rmse");
  Write("rows.cd", "0\tLabel\n");
  Write("learn.tsv", "7\t2\n7\t3\n");
  const auto result = TrainFromFiles(disk_, {"allow_const_label=true"});
  ASSERT_TRUE(result.ok()) << result.status().ToString();
  EXPECT_EQ(result->evaluations[0].metrics[0].value, 0);
}

// Without learning_rate, parameters of leaves make it 0.03.
TEST_F(FitTaskTest, TheLearningRateIsChosen) {
  Start("chosen_rate");
  const auto model = [this](const std::vector<std::string>& words) {
    const auto result = TrainFromFiles(disk_, words);
    EXPECT_TRUE(result.ok()) << result.status().ToString();
    return Read(disk_, "model.json");
  };
  const std::string other = model({"learning_rate=0.03"});
  EXPECT_NE(model({}), other);
  EXPECT_EQ(model({"l2_leaf_reg=3"}), other);
  EXPECT_EQ(model({"leaf_estimation_method=Newton"}), other);
  EXPECT_EQ(model({"leaf_estimation_iterations=1"}), other);
}

TEST_F(FitTaskTest, LeavesTakeAsManyStepsAsCatBoostTakes) {
  const auto model = [this](const std::vector<std::string>& words) {
    std::vector<std::string> all = {"max_depth=2"};
    all.insert(all.end(), words.begin(), words.end());
    const auto result = TrainFromFiles(disk_, all);
    EXPECT_TRUE(result.ok()) << result.status().ToString();
    return Read(disk_, "model.json");
  };
  Start("logloss");
  const std::string one = model({});
  EXPECT_EQ(model({"leaf_estimation_iterations=1"}), one);
  const std::string many = model({"n_estimators=200"});
  EXPECT_EQ(model({"n_estimators=200", "leaf_estimation_iterations=10"}), many);
  EXPECT_NE(model({"n_estimators=200", "leaf_estimation_iterations=1"}), many);
  const std::string gradient = model({"n_estimators=200", "leaf_estimation_method=Gradient"});
  EXPECT_EQ(model({"n_estimators=200", "leaf_estimation_method=Gradient",
                   "leaf_estimation_iterations=40"}),
            gradient);
}

// A sample decides about splits. Leaves have the weights of all rows.
TEST_F(FitTaskTest, SamplesDependOnTheSeedAlone) {
  Start("rmse");
  const auto model = [this](const std::vector<std::string>& words) {
    const auto result = TrainFromFiles(disk_, words);
    EXPECT_TRUE(result.ok()) << result.status().ToString();
    return Read(disk_, "model.json");
  };
  const std::string all = model({});
  EXPECT_EQ(model({"bootstrap_type=MVS", "subsample=1"}), all);
  EXPECT_EQ(model({"bootstrap_type=Bayesian", "bagging_temperature=0"}), all);
  for (const std::string type : {"MVS", "Bernoulli", "Bayesian", "Poisson"}) {
    const std::string sampled = model({"bootstrap_type=" + type, "thread_count=1"});
    EXPECT_NE(sampled, all) << type;
    EXPECT_EQ(model({"bootstrap_type=" + type, "thread_count=5"}), sampled) << type;
    EXPECT_NE(model({"bootstrap_type=" + type, "random_seed=1"}), sampled) << type;
    const auto trees = nlohmann::json::parse(sampled)["oblivious_trees"];
    for (const auto& tree : trees) {
      double rows = 0;
      for (const double weight : tree["leaf_weights"]) rows += weight;
      EXPECT_EQ(rows, 160) << type;
    }
  }
  const std::string mvs = model({"bootstrap_type=MVS"});
  EXPECT_NE(model({"bootstrap_type=MVS", "mvs_reg=9"}), mvs);
  EXPECT_EQ(model({"bootstrap_type=MVS", "subsample=0.8"}), mvs);
  Write("params.json",
        R"({"random_strength": 0, "iterations": 4, "depth": 3, "learning_rate": 0.3})");
  EXPECT_EQ(model({}), mvs) << "the default";
}

// What is random is there by default, and depends on the seed alone.
TEST_F(FitTaskTest, NoiseAndDrawsDependOnTheSeedAlone) {
  Start("logloss");
  const auto model = [this](const std::vector<std::string>& words) {
    const auto result = TrainFromFiles(disk_, words);
    EXPECT_TRUE(result.ok()) << result.status().ToString();
    return Read(disk_, "model.json");
  };
  const std::string plain = model({});
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"random_strength=1"},
        {"rsm=0.5"},
        {"bootstrap_type=Bernoulli", "subsample=0.5", "sampling_frequency=PerTreeLevel"}}) {
    const auto with = [&](const std::string& word) {
      std::vector<std::string> all = words;
      all.push_back(word);
      return model(all);
    };
    const std::string one = with("thread_count=1");
    EXPECT_NE(one, plain) << words[0];
    EXPECT_EQ(with("thread_count=5"), one) << words[0];
    EXPECT_NE(with("random_seed=2"), one) << words[0];
  }
  EXPECT_NE(model({"bootstrap_type=MVS"}),
            model({"bootstrap_type=MVS", "sampling_frequency=PerTreeLevel"}));
  const std::vector<std::string> all_random = {"random_strength=1", "bootstrap_type=MVS"};
  const std::string expected = model(all_random);
  Write("params.json", R"({"iterations": 4, "depth": 4, "learning_rate": 0.3,
                           "loss_function": "Logloss"})");
  EXPECT_EQ(model({}), expected) << "the defaults";
}

// Lists and objects of the file are what the command line spells.
TEST_F(FitTaskTest, RulesOfFeaturesHaveTwoForms) {
  const auto model = [this](const std::string& params, const std::string& word) {
    Write("params.json",
          R"({"bootstrap_type": "No", "random_strength": 0, "iterations": 6)" + params + "}");
    const auto result = TrainFromFiles(
        disk_, word.empty() ? std::vector<std::string>() : std::vector<std::string>{word});
    EXPECT_TRUE(result.ok()) << word << result.status().ToString();
    return Read(disk_, "model.json");
  };
  Start("rmse");
  const std::string plain = model("", "");
  const std::string weighted = model(R"(, "feature_weights": [1, 0.5, 2])", "");
  EXPECT_NE(weighted, plain);
  EXPECT_EQ(model(R"(, "feature_weights": {"f1": 0.5, "2": 2})", ""), weighted);
  EXPECT_EQ(model("", "feature_weights=(1,0.5,2)"), weighted);
  EXPECT_EQ(model("", "feature_weights=1:0.5,f2:2"), weighted);
  const std::string ignored = model(R"(, "ignored_features": [0, "f1", 4])", "");
  EXPECT_NE(ignored, plain);
  EXPECT_EQ(model("", "ignored_features=0-1:f4"), ignored);
  EXPECT_EQ(model("", "ignored_features=0:1-1:4"), ignored);
}

TEST_F(FitTaskTest, WrongRulesOfFeaturesAreNamed) {
  Start("rmse");
  ExpectError({"feature_weights=1"}, "feature_weights: expected numbers of 0 or above, for each");
  ExpectError({"feature_weights=(1,x)"}, "as in 0:1,NAME:0; found '(1,x)'");
  ExpectError({"feature_weights=0:-1"}, "found '0:-1'");
  ExpectError({"monotone_constraints=(1)", "loss_function=MAE"},
              "monotone_constraints are not there yet for leaf_estimation_method = Exact");
  ExpectError({"monotone_constraints=(1,0.5)"},
              "monotone_constraints: expected 1, 0 or -1, for each feature as in (1,0,1)");
  ExpectError(
      {"feature_weights=f9:1"},
      "feature_weights: there is no feature 'f9': expected an index from 0 to 4, or a name");
  ExpectError({"first_feature_use_penalties=(0,0,0,0,0,1)"}, "there is no feature '5'");
  ExpectError({"penalties_coefficient=2"},
              "penalties_coefficient has no effect without first_feature_use_penalties");
  ExpectError({"ignored_features=7"}, "ignored_features: there is no feature '7'");
  ExpectError({"ignored_features=0-4"}, "no split is possible");
  ExpectError({"ignored_features=0-4294967295"}, "there is no feature '0-4294967295'");
  ExpectError({"ignored_features=2-1"}, "there is no feature '2-1'");
  ExpectError({"ignored_features=0::1"}, "there is no feature ''");
  ExpectError({"model_shrink_mode=Decreasing"}, "has no effect without model_shrink_rate");
  ExpectError({"model_shrink_rate=4"},
              "expected a rate that times the learning rate 0.3 is below 1, found 4: lower it");
  ExpectError({"model_shrink_rate=1", "model_shrink_mode=Decreasing"},
              "model_shrink_rate: expected a rate that is below 1, found 1");
}

// The best loss of the test rows comes after the third round of eight.
TEST_F(FitTaskTest, ADetectorEndsTheTraining) {
  Start("best");
  std::vector<std::vector<double>> rounds;
  const auto result =
      TrainFromFiles(disk_, {"test_set=test.tsv", "early_stopping_rounds=2"}, &rounds);
  ASSERT_TRUE(result.ok()) << result.status().ToString();
  EXPECT_EQ(rounds.size(), 5U);
  EXPECT_EQ(result->rounds, 3U);
  EXPECT_EQ(result->stop_reason, "no improvement on test rows in 2 rounds (od_type = Iter)");
  const std::string model = Read(disk_, "model.json");
  const auto same = TrainFromFiles(disk_, {"test_set=test.tsv", "od_wait=2"});
  ASSERT_TRUE(same.ok()) << same.status().ToString();
  EXPECT_EQ(same->stop_reason, result->stop_reason);
  const auto by_p_value = TrainFromFiles(
      disk_, {"test_set=test.tsv", "od_wait=3", "od_pval=1", "use_best_model=false"});
  ASSERT_TRUE(by_p_value.ok()) << by_p_value.status().ToString();
  EXPECT_EQ(by_p_value->rounds, 6U);
  EXPECT_THAT(by_p_value->stop_reason, HasSubstr("in 3 rounds, p-value"));
  EXPECT_THAT(by_p_value->stop_reason, HasSubstr("(od_type = IncToDec)"));
  const auto full = TrainFromFiles(disk_, {"test_set=test.tsv", "od_wait=6"});
  ASSERT_TRUE(full.ok()) << full.status().ToString();
  EXPECT_EQ(full->stop_reason, "");
  EXPECT_EQ(Read(disk_, "model.json"), model);
}

// Of eight rounds.
TEST_F(FitTaskTest, RoundsAreShownNowAndThen) {
  Start("best");
  const auto shown = [this](const std::string& word, bool shows_progress = true) {
    const std::vector<std::string> words = {"learn_set=learn.tsv", "cd=rows.cd", word};
    const auto options = LoadFitOptions(disk_, "params.json", words, "train");
    EXPECT_TRUE(options.ok()) << options.status().ToString();
    EXPECT_EQ(options->display.shows_progress, shows_progress) << word;
    std::vector<size_t> rounds;
    const TreeTaskContext context = {
        .disk = disk_,
        .clock = RealClock(),
        .progress = [&](const TreeProgress& at) { rounds.push_back(at.round); },
        .check = [] { return Status::Ok(); }};
    EXPECT_TRUE(RunFitTask(*options, context).ok());
    return rounds;
  };
  EXPECT_THAT(shown("metric_period=3"), ElementsAre(3, 6, 8));
  EXPECT_THAT(shown("verbose=5"), ElementsAre(5, 8));
  EXPECT_EQ(shown("verbose=true").size(), 8U);
  EXPECT_EQ(shown("verbose=1").size(), 8U);
  EXPECT_EQ(shown("verbose=false", false).size(), 8U);
  EXPECT_EQ(shown("verbose=0", false).size(), 8U);
  EXPECT_EQ(shown("logging_level=Silent", false).size(), 8U);
}

// Before each level of a tree it is asked whether to go on.
TEST_F(FitTaskTest, EndsWithinATree) {
  Start("rmse");
  const auto run = [this](const std::string& depth, size_t checks_max) {
    const auto options = LoadFitOptions(
        disk_, "params.json",
        std::vector<std::string>{"learn_set=learn.tsv", "cd=rows.cd", "iterations=1", depth},
        "train");
    size_t checks = 0;
    size_t rounds = 0;
    const TreeTaskContext context = {
        .disk = disk_,
        .clock = RealClock(),
        .progress = [&](const TreeProgress&) { ++rounds; },
        .check =
            [&] {
              return checks++ < checks_max ? Status() : Status(StatusCode::kCancelled, "stopped");
            }};
    const auto result = RunFitTask(*options, context);
    EXPECT_EQ(rounds, result.ok() ? 1U : 0U);
    EXPECT_TRUE(result.ok() || result.status().message() == "stopped");
    return checks;
  };
  const size_t checks = run("depth=5", 1000);
  EXPECT_EQ(checks, run("depth=2", 1000) + 3);
  EXPECT_EQ(run("depth=5", checks - 3), checks - 2);
}

TEST_F(FitTaskTest, EndsWhereNobodyReads) {
  Start("rmse");
  const auto options = LoadFitOptions(
      disk_, "params.json", std::vector<std::string>{"learn_set=learn.tsv", "cd=rows.cd"}, "train");
  ASSERT_TRUE(options.ok()) << options.status().ToString();
  size_t rounds = 0;
  TreeTaskContext context = {.disk = disk_,
                             .clock = RealClock(),
                             .progress = [&](const TreeProgress&) { ++rounds; },
                             .check = [] { return Status::Ok(); },
                             .is_unread = [&] { return rounds == 2; }};
  const auto result = RunFitTask(*options, context);
  ASSERT_TRUE(result.ok()) << result.status().ToString();
  EXPECT_EQ(result->rounds, 2U);
  EXPECT_EQ(result->stop_reason, "nobody reads the losses any more");
  context.check = [] { return Status(StatusCode::kCancelled, "stopped"); };
  EXPECT_EQ(RunFitTask(*options, context).status().message(), "stopped");
}

TEST_F(FitTaskTest, WrongParametersAreNamed) {
  Start("rmse");
  ExpectError({"learning_rat=1"}, "unknown key 'learning_rat'; did you mean 'learning_rate'?");
  ExpectError({"depth=17"}, "depth must be an integer from 1 to 16; found '17'");
  ExpectError({"learning_rate=0"}, "learning_rate: expected a number above 0, found 0");
  ExpectError({"loss_function=Cox"}, "command line: loss_function: expected one of RMSE, Logloss,");
  ExpectError({"eta=1", "learning_rate=1"}, "learning_rate is given twice");
  ExpectError({"fast"}, "'fast': expected key=value");
  ExpectError({"bootstrap_type=Some"}, "bootstrap_type must be one of MVS, Bernoulli, Bayesian");
  ExpectError({"rsm=0"}, "rsm: expected a probability above 0, found 0");
  ExpectError({"sampling_frequency=PerTreeLevel"},
              "sampling_frequency = PerTreeLevel has no effect with bootstrap_type = No");
  ExpectError({"boosting_type=Ordered"}, "boosting_type = Ordered is not there yet");
  ExpectError({"subsample=0.5"}, "subsample has no effect with bootstrap_type = No: remove it");
  ExpectError({"bootstrap_type=Bayesian", "subsample=0.5"}, "subsample has no effect");
  ExpectError({"bootstrap_type=MVS", "subsample=0"},
              "subsample: expected a share above 0, found 0");
  ExpectError({"bootstrap_type=MVS", "bagging_temperature=2"},
              "bagging_temperature has no effect with bootstrap_type = MVS");
  ExpectError({"bootstrap_type=Bernoulli", "mvs_reg=1"}, "mvs_reg has no effect");
  ExpectError({"bootstrap_type=Bernoulli", "subsample=1e-9"}, "sampling leaves none of 160 rows");
  ExpectError({"verbose=maybe"}, "verbose: expected true, false or a number of rounds");
  ExpectError({"verbose=2", "metric_period=2"}, "metric_period and verbose exclude each other");
  ExpectError({"allow_writing_files=maybe"}, "allow_writing_files = maybe is not supported");
  ExpectError({"early_stopping_rounds=2", "od_wait=2"}, "od_wait is given twice");
  ExpectError({"test_set=test.tsv", "od_type=Iter", "od_pval=0.1"},
              "od_pval has no effect with od_type = Iter");
  ExpectError({"test_set=test.tsv", "od_type=Wilcoxon"},
              "od_type = Wilcoxon never ends a training without od_pval");
  ExpectError({"use_best_model=true"}, "use_best_model has no effect without test_set");
  ExpectError({"loss_function=Poisson", "boost_from_average=true"},
              "boost_from_average = true is not for Poisson: remove it");
  ExpectError({"loss_function=MAE", "leaf_estimation_method=Newton"},
              "leaf_estimation_method = Newton is not for MAE: expected Gradient or Exact");
  ExpectError({"leaf_estimation_method=Exact"},
              "leaf_estimation_method = Exact is not for RMSE: expected Gradient or Newton");
  ExpectError({"eval_metric=AUC"}, "eval_metric: AUC does not measure a training for RMSE");
  ExpectError({"eval_metric=R2"}, "eval_metric: AUC, Accuracy, or a loss: expected one of RMSE,");
  ExpectError({"loss_function=Logloss", "eval_metric=RMSE"},
              "RMSE does not measure a training for Logloss: expected the loss, CrossEntropy,");
  ExpectError({"loss_function=Logloss", "eval_metric=AUC"},
              "eval_metric = AUC has no effect without test_set");
  ExpectError({"loss_function=MAPE", "leaf_estimation_iterations=2"},
              "leaf_estimation_iterations = 2: Exact leaves take one step: expected 1");
  ExpectError({"loss_function=MAE", "score_function=NewtonL2"},
              "score_function = NewtonL2 is not for MAE, whose second derivative is 0");
  ExpectError({"learn_set="}, "learn_set is missing");
  ExpectError({"test_set="},
              "command line: test_set is empty: expected test_set=FILE, or leave it");
  ExpectError({"model_file=m.cbm"}, "model_file = m.cbm: CatBoost's binary format (.cbm) is not");
  ExpectError({"model_file=learn.tsv"}, "learn.tsv");
  ExpectError({"learn_set=none.tsv"}, "none.tsv");
  ExpectError({"learn_set=-", "test_set=-"}, "learn_set and test_set are both standard input");
  Write("params.json", R"({"depth": [1]})");
  ExpectError({}, "params.json: depth: expected a text, a number, true or false, found");
  Write("params.json", R"({"cat_features": [1]})");
  ExpectError({},
              "params.json: cat_features = [1] is not supported: give the columns the type Categ");
  Write("params.json", R"([1])");
  ExpectError({}, "expected an object of parameters");
  Write("params.json", "{");
  ExpectError({}, "params.json");
  EXPECT_EQ(TrainFromFiles(disk_, {}).status().code(), StatusCode::kInvalid);
}

TEST_F(FitTaskTest, WrongRowsAreNamed) {
  Start("rmse");
  Write("rows.cd", "0\tLabel\n");
  const auto rows = [this](const std::string& text, const std::string& message,
                           const std::vector<std::string>& words = {}) {
    Write("learn.tsv", text);
    ExpectError(words, message);
  };
  rows("1\t2\nx\t3\n", "learn.tsv:2: column 0: expected a label that is a number, found 'x'");
  rows("size\tx\n1\t3\n",
       "learn.tsv:1: column 1: expected a number, found 'x': a category has the type Categ in the "
       "column description; if the first line names the columns, say has_header=true");
  rows("size\t2\n1\t3\n", "found 'size'; if the first line names the columns, say has_header=true");
  rows("1\t2\n\t3\n", "learn.tsv:2: column 0: expected a label that is a finite number, found ''");
  rows("1\t2\n1.5\t3\n", "a probability from 0 to 1", {"loss_function=CrossEntropy"});
  rows("1\t2\n-1\t3\n", "learn.tsv:2: column 0: expected a label that is 0 or above",
       {"loss_function=Poisson"});
  rows("1\t2\n-1\t3\n", "0 or above", {"loss_function=Tweedie:variance_power=1.5"});
  rows("1\t2\n1\t3\n", "CrossEntropy begins at inf: expected labels that are not all 0 or all 1",
       {"loss_function=CrossEntropy", "boost_from_average=true", "allow_const_label=true"});
  rows("7\t2\n7\t3\n",
       "learn.tsv: Target contains only one unique value ('7'): expected others, too, or "
       "allow_const_label=true");
  rows("1\t2\n1\ta\n", "learn.tsv:2: column 1: expected a number, found 'a'");
  rows("1\t2\n1\t2\t3\n", "learn.tsv:2: expected 2 columns, found 3");
  rows("1\t2\n2\t\n", "learn.tsv:2: feature 0 is missing, and nan_mode = Forbidden",
       {"nan_mode=Forbidden"});
  rows("1\t2\n2\t2\n", "learn.tsv: no split is possible: expected a feature with different values");
  rows("3e38\t2\n-3e38\t3\n1\t4\n", ": RMSE is no number any more",
       {"learning_rate=1e6", "iterations=60"});
  const auto columns = [this](const std::string& text, const std::string& message) {
    Write("learn.tsv", "1\t2\t3\n2\t0\t4\n");
    Write("rows.cd", text);
    ExpectError({}, message);
  };
  columns("1\tWeight\n", "learn.tsv: expected one column of the type Label in the column");
  columns("0\tLabel\n1\tLabel\n", "description, found 2");
  columns("0\tLabel\n1\tWeight\n2\tWeight\n", "found columns 1 and 2");
  columns("0\tLabel\n1\tGroupId\n", "column 1: training by groups or times of rows is not there");
  columns("0\tLabel\n1\tAuxiliary\n2\tSampleId\n", "expected a column of the type Num or Categ");
  Write("rows.cd", "0\tLabel\n1\tWeight\n");
  rows("1\t-1\t3\n", "learn.tsv:1: column 1: expected a weight of 0 or above, found '-1'");
  rows("1\t0\t3\n2\t0\t4\n", "learn.tsv: all weights are 0");
  Write("learn.tsv", "1\t2\t3\n2\t1\t4\n");
  Write("test.tsv", "1\t2\n");
  ExpectError({"test_set=test.tsv"}, "test.tsv: the model uses feature 0");
  Write("test.tsv", "1\t2\t3\t4\n");
  ExpectError({"test_set=test.tsv"},
              "test.tsv: expected 3 columns, as the rows to learn from have them, found 4 in the "
              "first row");
}

}  // namespace
}  // namespace strata
