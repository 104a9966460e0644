#include "tests/worker/gbdt/catboost/train/training_case.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "base/clock.h"
#include "base/file/text_file.h"
#include "tests/support/golden.h"
#include "tests/support/sim_disk.h"
#include "worker/tasks/catboost/fit_task.h"

namespace strata {
namespace {

void Write(Disk& disk, const std::string& path, const std::string& text) {
  ASSERT_TRUE(WriteFileAtomically(disk, path, text).ok());
}

// A list, where CatBoost has null for an empty one.
std::vector<nlohmann::json> ListOf(const nlohmann::json& value) {
  if (value.is_null()) return {};
  return value.get<std::vector<nlohmann::json>>();
}

void ExpectNear(const nlohmann::json& found, const nlohmann::json& expected,
                const std::string& what) {
  ASSERT_EQ(found.size(), expected.size()) << what;
  for (size_t i = 0; i < found.size(); ++i) {
    const double value = expected[i].get<double>();
    EXPECT_NEAR(found[i].get<double>(), value, 1e-9 * std::max(1.0, std::abs(value)))
        << what << " " << i;
  }
}

// A value that CatBoost has measured, and how far from it another may be.
struct GoldenLoss {
  double value = 0;
  double tolerance = 0;
};

// Of each round: the metrics of the learning rows, then those of the test rows.
std::vector<std::vector<GoldenLoss>> GoldenLosses(const TrainingCase& training) {
  const nlohmann::json& losses = training.json["losses"];
  const nlohmann::json& params = training.json["params"];
  const std::string loss = params["loss_function"];
  std::vector<std::vector<GoldenLoss>> rounds;
  const auto add = [&](const std::string& metric, bool is_learn, const nlohmann::json& values) {
    // CatBoost measures learning rows with an approximate logarithm.
    const bool has_logarithm =
        metric == "Logloss" || metric == "CrossEntropy" || metric == "Poisson";
    rounds.resize(values.size());
    for (size_t round = 0; round < values.size(); ++round) {
      rounds[round].push_back({.value = values[round].get<double>(),
                               .tolerance = is_learn && has_logarithm ? 2e-4 : 1e-9});
    }
  };
  for (const char* part : {"learn", "validation"}) {
    if (!losses.contains(part)) continue;
    const bool is_learn = std::string(part) == "learn";
    if (losses[part].is_array()) {
      add(loss, is_learn, losses[part]);
      continue;
    }
    const std::string eval_metric = params.value("eval_metric", loss);
    if (eval_metric != loss && losses[part].contains(eval_metric)) {
      add(eval_metric, is_learn, losses[part][eval_metric]);
    }
    add(loss, is_learn, losses[part][loss]);
  }
  return rounds;
}

double NumberOf(const nlohmann::json& object, const char* key) { return object[key].get<double>(); }

// Priors of means may be those of CatBoost times the number of borders of the target.
void ExpectSameCategories(const nlohmann::json& found, const nlohmann::json& expected) {
  const auto found_categories = ListOf(found.value("categorical_features", nlohmann::json()));
  const auto categories = ListOf(expected.value("categorical_features", nlohmann::json()));
  ASSERT_EQ(found_categories.size(), categories.size());
  for (size_t c = 0; c < categories.size(); ++c) {
    for (const char* key : {"feature_id", "feature_index", "flat_feature_index", "values"}) {
      EXPECT_EQ(found_categories[c].value(key, nlohmann::json()),
                categories[c].value(key, nlohmann::json()))
          << c << " " << key;
    }
  }
  const auto found_ctrs = ListOf(found.value("ctrs", nlohmann::json()));
  const auto ctrs = ListOf(expected.value("ctrs", nlohmann::json()));
  ASSERT_EQ(found_ctrs.size(), ctrs.size());
  for (size_t c = 0; c < ctrs.size(); ++c) {
    for (const char* key : {"borders", "ctr_type", "elements", "shift", "scale"}) {
      EXPECT_EQ(found_ctrs[c][key], ctrs[c][key]) << c << " " << key;
    }
    const auto prior = [](const nlohmann::json& ctr) {
      return NumberOf(ctr, "prior_numerator") / NumberOf(ctr, "prior_denomerator");
    };
    EXPECT_FLOAT_EQ(static_cast<float>(prior(found_ctrs[c])), static_cast<float>(prior(ctrs[c])))
        << c;
  }
}

}  // namespace

std::vector<std::string> GoldenTrainings() {
  return {"average",
          "best",
          "category_rules",
          "chosen_rate",
          "combinations",
          "cross_entropy",
          "eval_accuracy",
          "eval_auc",
          "eval_mae",
          "expectile",
          "expectile_gradient",
          "gradient",
          "halved",
          "huber",
          "logloss",
          "mae",
          "mae_gradient",
          "mape",
          "mape_gradient",
          "newton",
          "not_halved",
          "one_hot",
          "poisson",
          "quantile",
          "quantile_gradient",
          "quantiles",
          "redundant",
          "rmse",
          "rmse_weights",
          "statistic_types",
          "statistics",
          "tweedie",
          "monotone",
          "monotone_steps",
          "uniform",
          "weighted_features",
          "penalties",
          "ignored",
          "shrinks",
          "shrinks_less"};
}

TrainingCase GoldenTraining(const std::string& name) {
  TrainingCase training = {
      .json = nlohmann::json::parse(Golden("catboost/training/" + name + ".json")),
      .learn = Golden("catboost/training/learn.tsv"),
      .test = {},
      .description = {}};
  const nlohmann::json& json = training.json;
  if (json["test"].get<bool>()) training.test = Golden("catboost/training/test.tsv");
  size_t column = 0;
  const auto label = json["target"].get<std::string>();
  for (const std::string target : {"real", "binary", "probability"}) {
    training.description +=
        fmt::format("{}\t{}\n", column++, target == label ? "Label" : "Auxiliary");
  }
  training.description +=
      fmt::format("{}\t{}\n", column++, json["weight"].get<bool>() ? "Weight" : "Auxiliary");
  const auto features = json["features"].get<std::vector<std::string>>();
  for (const std::string feature : {"f0", "f1", "f2", "f3", "f4", "c0", "c1", "c2"}) {
    const bool is_used = std::ranges::find(features, feature) != features.end();
    const char* const type = feature[0] == 'f' ? "Num" : "Categ";
    training.description +=
        fmt::format("{}\t{}\t{}\n", column++, is_used ? type : "Auxiliary", feature);
  }
  return training;
}

TrainingCase GoldenClassTraining(const std::string& name) {
  const std::string folder = "catboost/training/classes";
  TrainingCase training = {.json = nlohmann::json::parse(Golden(folder + "_" + name + ".json")),
                           .learn = Golden(folder + ".tsv"),
                           .test = Golden(folder + "_test.tsv"),
                           .description = {}};
  size_t column = 0;
  for (const char* label : {"answer", "size", "animal", "level", "place"}) {
    training.description +=
        fmt::format("{}\t{}\n", column++, training.json["label"] == label ? "Label" : "Auxiliary");
  }
  training.description += fmt::format("{}\t{}\n", column++,
                                      training.json["weight"].get<bool>() ? "Weight" : "Auxiliary");
  for (const char* feature : {"f0", "f1", "f2"}) {
    training.description += fmt::format("{}\tNum\t{}\n", column++, feature);
  }
  return training;
}

void WriteTraining(Disk& disk, const TrainingCase& training) {
  Write(disk, "params.json", training.json["params"].dump());
  Write(disk, "learn.tsv", training.learn);
  if (!training.test.empty()) Write(disk, "test.tsv", training.test);
  Write(disk, "rows.cd", training.description);
}

Result<TreeTaskResult> TrainFromFiles(Disk& disk, const std::vector<std::string>& more,
                                      std::vector<std::vector<double>>* rounds) {
  std::vector<std::string> words = more;
  for (const char* word : {"learn_set=learn.tsv", "cd=rows.cd", "model_file=model.json"}) {
    const std::string key = std::string(word).substr(0, std::string(word).find('=') + 1);
    if (std::ranges::none_of(more, [&](const auto& given) { return given.starts_with(key); })) {
      words.emplace_back(word);
    }
  }
  STRATA_ASSIGN(const FitOptions options, LoadFitOptions(disk, "params.json", words, "train"));
  const TreeTaskContext context = {.disk = disk,
                                   .clock = RealClock(),
                                   .progress =
                                       [&](const TreeProgress& at) {
                                         if (rounds == nullptr) return;
                                         std::vector<double>& losses = rounds->emplace_back();
                                         for (const Evaluation& e : *at.evaluations) {
                                           for (const MetricValue& m : e.metrics) {
                                             losses.push_back(m.value);
                                           }
                                         }
                                       },
                                   .check = [] { return Status::Ok(); }};
  return RunFitTask(options, context);
}

void ExpectSameTraining(const TrainingCase& training) {
  SimDisk disk;
  WriteTraining(disk, training);
  std::vector<std::string> words = {"thread_count=1"};
  if (!training.test.empty()) words.emplace_back("test_set=test.tsv");
  std::vector<std::vector<double>> rounds;
  const auto result = TrainFromFiles(disk, words, &rounds);
  ASSERT_TRUE(result.ok()) << result.status().ToString();
  const auto read = [&disk] { return *ReadFile(disk, "model.json", 1 << 24); };
  const std::string text = read();
  ExpectSameModel(nlohmann::json::parse(text), training.json["model"]);
  const std::vector<std::vector<GoldenLoss>> losses = GoldenLosses(training);
  ASSERT_EQ(rounds.size(), losses.size());
  for (size_t round = 0; round < rounds.size(); ++round) {
    ASSERT_EQ(rounds[round].size(), losses[round].size());
    for (size_t i = 0; i < losses[round].size(); ++i) {
      const GoldenLoss& loss = losses[round][i];
      EXPECT_NEAR(rounds[round][i], loss.value, loss.tolerance) << round << " " << i;
    }
  }
  for (const char* threads : {"thread_count=2", "thread_count=5"}) {
    words[0] = threads;
    ASSERT_TRUE(TrainFromFiles(disk, words).ok());
    EXPECT_EQ(read(), text) << threads;
  }
}

void ExpectSameModel(const nlohmann::json& found, const nlohmann::json& expected) {
  const auto found_features =
      ListOf(found["features_info"].value("float_features", nlohmann::json()));
  const auto features = ListOf(expected["features_info"].value("float_features", nlohmann::json()));
  ASSERT_EQ(found_features.size(), features.size());
  for (size_t f = 0; f < features.size(); ++f) {
    for (const char* key :
         {"feature_id", "feature_index", "flat_feature_index", "has_nans", "nan_value_treatment"}) {
      EXPECT_EQ(found_features[f][key], features[f][key]) << f;
    }
    EXPECT_EQ(ListOf(found_features[f]["borders"]), ListOf(features[f]["borders"])) << f;
  }
  ExpectSameCategories(found["features_info"], expected["features_info"]);
  const auto found_trees = ListOf(found["oblivious_trees"]);
  const auto trees = ListOf(expected["oblivious_trees"]);
  ASSERT_EQ(found_trees.size(), trees.size());
  for (size_t t = 0; t < trees.size(); ++t) {
    EXPECT_EQ(ListOf(found_trees[t]["splits"]), ListOf(trees[t]["splits"])) << t;
    ExpectNear(found_trees[t]["leaf_values"], trees[t]["leaf_values"], fmt::format("tree {}", t));
    ExpectNear(found_trees[t]["leaf_weights"], trees[t]["leaf_weights"], fmt::format("tree {}", t));
  }
  EXPECT_EQ(found["scale_and_bias"][0], expected["scale_and_bias"][0]);
  for (size_t output = 0; output < expected["scale_and_bias"][1].size(); ++output) {
    EXPECT_DOUBLE_EQ(found["scale_and_bias"][1].at(output).get<double>(),
                     expected["scale_and_bias"][1][output].get<double>());
  }
  nlohmann::json info = found["model_info"];
  EXPECT_EQ(info["params"]["flat_params"].size(), 1U) << "which the golden models lack";
  info["params"].erase("flat_params");
  EXPECT_EQ(info, expected["model_info"]);
}

}  // namespace strata
