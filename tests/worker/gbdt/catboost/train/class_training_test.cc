// Training for losses of classes, held against the models that CatBoost itself trains.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <random>

#include "base/file/text_file.h"
#include "tests/support/sim_disk.h"
#include "tests/worker/gbdt/catboost/train/training_case.h"
#include "worker/tasks/catboost/fit_options.h"

namespace strata {
namespace {

using testing::HasSubstr;

class GoldenClassesTest : public testing::TestWithParam<std::string> {};

TEST_P(GoldenClassesTest, MakesCatBoostsModel) {
  ExpectSameTraining(GoldenClassTraining(GetParam()));
}

INSTANTIATE_TEST_SUITE_P(All, GoldenClassesTest,
                         testing::Values("weights", "balanced", "names", "multi", "multi_names",
                                         "multi_steps", "multi_gradient", "multi_count",
                                         "one_vs_all", "one_vs_all_gradient"),
                         [](const auto& test) { return test.param; });

class ClassTrainingTest : public testing::Test {
 protected:
  void Write(const std::string& path, const std::string& text) {
    ASSERT_TRUE(WriteFileAtomically(disk_, path, text).ok());
  }

  // Trains for Logloss from rows of a label and a number.
  Result<TreeTaskResult> Train(const std::string& rows, const std::vector<std::string>& more = {}) {
    Write("params.json", R"({"loss_function": "Logloss", "iterations": 2, "learning_rate": 0.3,
                             "bootstrap_type": "No", "random_strength": 0})");
    Write("rows.cd", "0\tLabel\n");
    Write("learn.tsv", rows);
    return TrainFromFiles(disk_, more);
  }

  void ExpectError(const std::string& rows, const std::vector<std::string>& more,
                   const std::string& message) {
    const Status status = Train(rows, more).status();
    EXPECT_FALSE(status.ok()) << message;
    EXPECT_THAT(status.message(), HasSubstr(message));
  }

  // The model of a training that must go well.
  std::string Model(const std::string& rows, const std::vector<std::string>& words) {
    const auto result = Train(rows, words);
    EXPECT_TRUE(result.ok()) << result.status().ToString();
    return *ReadFile(disk_, "model.json", 1 << 24);
  }

  // The classes of the model that was written.
  nlohmann::json Classes() {
    return nlohmann::json::parse(
        *ReadFile(disk_, "model.json", 1 << 24))["model_info"]["class_params"];
  }

  SimDisk disk_;
};

TEST_F(ClassTrainingTest, ClassesAreOrderedAsCatBoostOrdersThem) {
  const auto expect = [this](const std::string& first, const std::string& second,
                             const std::string& classes) {
    const auto result = Train(first + "\t1\n" + second + "\t2\n" + first + "\t3\n");
    ASSERT_TRUE(result.ok()) << result.status().ToString();
    EXPECT_EQ(Classes()["class_names"].dump(), classes);
    EXPECT_EQ(Classes()["class_to_label"].dump(), "[0,1]");
  };
  expect("yes", "no", R"(["no","yes"])");
  expect("10", "9", "[9,10]");
  expect("1", "-1", "[-1,1]");
  expect("10", "2.5", R"(["2.5","10"])");
  expect("1e1", "9.0", R"(["9.0","1e1"])");
  expect("x1", "10", R"(["10","x1"])");
  expect("b", "B", R"(["B","b"])");
  expect("01", "1", R"(["01","1"])");
}

// Counted classes are numbers, however they are written.
TEST_F(ClassTrainingTest, ClassesMayBeCounted) {
  const std::vector<std::string> words = {"loss_function=MultiClass", "classes_count=4"};
  ASSERT_TRUE(Train("2\t1\n0.0\t2\n2.0\t3\n", words).ok());
  EXPECT_EQ(Classes()["classes_count"], 4);
  EXPECT_EQ(Classes()["class_to_label"].dump(), "[0,2]");
  EXPECT_EQ(Classes()["class_names"].dump(), "[]");
}

TEST_F(ClassTrainingTest, WeightsOfClassesAreThoseOfRows) {
  const std::string rows = "a\t1\nb\t2\nb\t1\na\t3\nb\t3\n";
  const auto model = [&](const std::vector<std::string>& words) { return Model(rows, words); };
  const std::string weighted = model({"class_weights=1,1.5"});
  EXPECT_NE(weighted, model({}));
  EXPECT_EQ(weighted, model({"scale_pos_weight=1.5"}));
  EXPECT_EQ(model({"class_weights=1.5,1"}), model({"auto_class_weights=Balanced"}));
  EXPECT_EQ(model({"class_weights=1,1"}), model({"auto_class_weights=None"}));
}

TEST_F(ClassTrainingTest, SeveralClassesHaveBayesianSamples) {
  Write("params.json", R"({"loss_function": "MultiClass", "random_strength": 0})");
  const auto sampling = [this](const std::vector<std::string>& more) {
    std::vector<std::string> words = {"learn_set=learn.tsv"};
    words.insert(words.end(), more.begin(), more.end());
    return LoadFitOptions(disk_, "params.json", words, "train")->parameters.sampling.type;
  };
  EXPECT_EQ(sampling({}), BootstrapType::kBayesian);
  EXPECT_EQ(sampling({"bootstrap_type=No"}), BootstrapType::kNo);
  EXPECT_EQ(sampling({"loss_function=Logloss"}), BootstrapType::kMvs);
}

// Rows enough for several pieces and blocks. Which thread meets a class first is chance.
TEST_F(ClassTrainingTest, ThreadsDoNotShowInALargeModel) {
  std::mt19937_64 random(3);
  std::string rows;
  for (size_t row = 0; row < 30000; ++row) {
    const uint64_t a = random() % 1000;
    const uint64_t b = random() % 1000;
    rows += fmt::format("class {}\t{}\t{}\n", (a / 250 + b / 400 + random() % 2) % 5, a, b);
  }
  std::string first;
  for (const char* threads : {"thread_count=1", "thread_count=2", "thread_count=5"}) {
    const auto result = Train(rows, {threads, "loss_function=MultiClass", "iterations=4",
                                     "auto_class_weights=Balanced", "eval_metric=Accuracy"});
    ASSERT_TRUE(result.ok()) << result.status().ToString();
    if (first.empty()) first = *ReadFile(disk_, "model.json", 1 << 24);
    EXPECT_EQ(*ReadFile(disk_, "model.json", 1 << 24), first) << threads;
    EXPECT_GT(result->evaluations[0].metrics[0].value, 0.4);
  }
}

TEST_F(ClassTrainingTest, WrongClassesAreNamed) {
  const std::string two = "a\t1\nb\t2\n";
  ExpectError("a\t1\na\t2\n", {},
              "learn.tsv: Target contains only one unique value ('a'): expected both classes, or "
              "class_names and allow_const_label=true");
  ExpectError("a\t1\na\t2\n", {"class_names=a,b"}, "Target contains only one unique value ('a')");
  ExpectError("a\t1\na\t2\n", {"allow_const_label=true"}, "Target contains only one unique value");
  ExpectError("a\t1\nb\t2\nc\t2\n", {}, "as Logloss has them, found 3 (a, b, c): take MultiClass");
  ExpectError("a\t1\n\t2\n", {},
              "learn.tsv:2: column 0: expected a label that is the name of a class");
  ExpectError(
      "a\t1\nb\t2\n", {"class_names=b,c"},
      "learn.tsv:1: column 0: expected a label that is one of the 2 classes (b, c), found 'a'");
  ExpectError(two, {"class_names=b,a,b"}, "class_names: 'b' is there twice");
  ExpectError(two, {"class_weights=1,2,3"},
              "class_weights: expected 2 weights, one a class (a, b), found 3");
  ExpectError(two, {"class_weights=1,-2"}, "or all with names, as in no:1,yes:2.5; found '-2'");
  ExpectError(two, {"class_weights=0,0"}, "learn.tsv: all weights of rows times those of their");
  Write("large.cd", "0\tLabel\n1\tWeight\n");
  ExpectError("a\t1e30\t1\nb\t2\t2\n", {"class_weights=1e30,1", "cd=large.cd"},
              "learn.tsv: a row's weight 1e+30 times 1e+30 of its class is above all floats");
  ExpectError("a\xff\t1\nb\t2\n", {}, "expected a label that is a text in UTF-8");
  ExpectError(two, {"class_names=a\xff,b"}, "class_names: expected texts in UTF-8");
  ExpectError(two, {"class_weights=1,2", "scale_pos_weight=2"},
              "class_weights and scale_pos_weight exclude each other");
  ExpectError(two, {"loss_function=RMSE", "class_weights=1,2"},
              "class_weights is for losses of classes, and RMSE has none");
  ExpectError(two, {"loss_function=RMSE", "class_names=1,2"},
              "class_names is for losses of classes, and RMSE has none");
  Write("test.tsv", "a\t1\nc\t2\n");
  ExpectError(
      two, {"test_set=test.tsv"},
      "test.tsv:2: column 0: expected a label that is one of the 2 classes (a, b), found 'c'");
  ExpectError(two, {"classes_count=2"}, "classes_count is for MultiClass and MultiClassOneVsAll");
  const std::string multi = "loss_function=MultiClass";
  ExpectError(two, {multi, "class_names=a,b", "classes_count=2"}, "exclude each other");
  ExpectError(
      "0\t1\n3\t2\n", {multi, "classes_count=3"},
      "learn.tsv:2: column 0: expected a label that is one of the 3 classes (0, 1, 2), found '3'");
  ExpectError("0\t1\n0\t2\n", {multi, "classes_count=3"},
              "only one unique value ('0'): expected rows of two or more classes");
  ExpectError(two, {multi, "scale_pos_weight=2"}, "scale_pos_weight is for Logloss");
  ExpectError(two, {multi, "score_function=NewtonL2"},
              "which has a second derivative for each class");
  ExpectError(two, {multi, "eval_metric=AUC", "test_set=test.tsv"},
              "expected the loss, or Accuracy");
  std::string many;
  for (size_t row = 0; row < 1100; ++row) many += std::to_string(row) + "\t1\n";
  ExpectError(many, {}, "expected a label that is one of up to 1000 classes");
  std::string names = "class_names=a";
  for (size_t name = 0; name < 1000; ++name) names += fmt::format(",{}", name);
  ExpectError(two, {names}, "class_names: expected up to 1000 classes, found 1001");
  ExpectError("a\t0.1\nb\t2\n", {"auto_class_weights=Balanced", "cd=weights.cd"}, "weights.cd");
  Write("weights.cd", "0\tLabel\n1\tWeight\n");
  ExpectError("a\t0.1\t1\nb\t2\t2\n", {"auto_class_weights=Balanced", "cd=weights.cd"},
              "auto_class_weights: expected weights of the rows of class 'a' that add up to 1");
}

// A row's loss then is that of the class that it has, be it the first or the second one.
TEST_F(ClassTrainingTest, LoglossMayBeWithoutRowsOfAClass) {
  for (const std::string names : {"class_names=a,b", "class_names=b,a"}) {
    const auto result = Train("a\t1\na\t2\n", {names, "allow_const_label=true"});
    ASSERT_TRUE(result.ok()) << result.status().ToString();
    EXPECT_LT(result->evaluations[0].metrics[0].value, std::log(2)) << names;
    const auto model = nlohmann::json::parse(*ReadFile(disk_, "model.json", 1 << 24));
    const double leaf = model["oblivious_trees"][0]["leaf_values"][0];
    EXPECT_EQ(leaf > 0, names == "class_names=b,a");
  }
}

TEST_F(ClassTrainingTest, ParametersOfAFileMayBeLists) {
  ASSERT_TRUE(Train("b\t1\na\t2\n").ok());
  const auto load = [this](const std::string& more) {
    Write("params.json", R"({"loss_function": "Logloss", "iterations": 2, "learning_rate": 0.3,
                             "bootstrap_type": "No", "random_strength": 0, )" +
                             more + "}");
    return TrainFromFiles(disk_, {}).status();
  };
  EXPECT_TRUE(load(R"("class_names": ["b", "a"], "class_weights": [1, 2.5])").ok());
  EXPECT_EQ(Classes()["class_names"].dump(), R"(["b","a"])");
  EXPECT_THAT(load(R"("class_names": ["b,a", "c"])").message(), HasSubstr("a text without commas"));
  EXPECT_THAT(load(R"("class_weights": [[1]])").message(), HasSubstr("a text or a number"));
}

}  // namespace
}  // namespace strata
