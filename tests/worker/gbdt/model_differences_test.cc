// A model that is applied or converted has its own objective, classes and kind of boosting.
// Parameters that say another one are refused, by whichever task.
#include "worker/gbdt/from_model/model_differences.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "worker/gbdt/lightgbm/train_conf.h"

namespace strata {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TreeParameters ParametersOf(const std::string& conf) {
  Result<TreeParameters> p = ParseLightGbmConf(conf + "input_model = m.txt\n", "f", {});
  EXPECT_TRUE(p.ok()) << p.status().ToString();
  return *std::move(p);
}

std::string ErrorOf(const TreeModel& model, const std::string& conf) {
  return std::string(CheckNoneContradicts(model, ParametersOf(conf)).message());
}

TreeModel Binary() {
  TreeModel model;
  model.objective = "binary sigmoid:1";
  return model;
}

TEST(ModelDifferences, WhatIsSetAgainstTheModelIsRefusedByName) {
  const std::tuple<std::string, std::string, std::string> cases[] = {
      {"objective = mse\n", "objective = regression", "whose objective is binary"},
      {"objective = multiclass\nnum_class = 3\n", "objective = multiclass", "is binary"},
      {"sigmoid = 2\n", "sigmoid = 2", "whose sigmoid is 1"},
      {"boosting = rf\nbagging_freq = 1\nbagging_fraction = 0.5\n", "boosting = rf",
       "whose boosting is not rf"}};
  for (const auto& [conf, given, of_model] : cases) {
    EXPECT_THAT(ErrorOf(Binary(), conf), AllOf(HasSubstr(given), HasSubstr(of_model))) << conf;
    EXPECT_THAT(ErrorOf(Binary(), conf), HasSubstr("m.txt")) << conf;
  }
  TreeModel classes;
  classes.objective = "multiclass num_class:3";
  classes.classes = 3;
  EXPECT_THAT(ErrorOf(classes, "objective = multiclass\nnum_class = 4\n"),
              AllOf(HasSubstr("num_class = 4"), HasSubstr("num_class is 3")));
  TreeModel rooted;
  rooted.objective = "regression sqrt";
  EXPECT_THAT(ErrorOf(rooted, "reg_sqrt = false\n"), HasSubstr("whose reg_sqrt is true"));
}

TEST(ModelDifferences, DefaultsAndEqualValuesContradictNothing) {
  TreeModel forest;
  forest.objective = "multiclassova num_class:3 sigmoid:2";
  forest.classes = 3;
  forest.average_output = true;
  EXPECT_EQ(ErrorOf(forest, ""), "");
  EXPECT_EQ(ErrorOf(forest,
                    "objective = ova\nnum_classes = 3\nsigmoid = 2\nboosting = "
                    "random_forest\nbagging_freq = 1\nbagging_fraction = 0.5\n"),
            "");
  EXPECT_EQ(ErrorOf(Binary(), "boosting = goss\nobjective = binary\n"), "");
}

TEST(ModelDifferences, AModelOfNoKnownObjectiveLeavesItToTheParameters) {
  for (const char* objective : {"", "custom", "none"}) {
    TreeModel model;
    model.objective = objective;
    EXPECT_EQ(ErrorOf(model, "objective = binary\n"), "") << objective;
  }
}

TEST(ModelDifferences, OfAJobFileTheKeyIsNamedAsThereWritten) {
  TreeParameters p = ParametersOf("sigmoid = 2\n");
  p.data.columns.emplace();
  EXPECT_THAT(std::string(CheckNoneContradicts(Binary(), p).message()),
              HasSubstr("gbdt.sigmoid = 2"));
}

}  // namespace
}  // namespace strata
