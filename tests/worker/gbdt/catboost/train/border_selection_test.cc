// Borders of numbers, held against those of CatBoost.
#include "worker/gbdt/catboost/train/border_selection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "tests/support/golden.h"

namespace strata {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr std::pair<const char*, BorderType> kTypes[] = {
    {"GreedyLogSum", BorderType::kGreedyLogSum},
    {"Median", BorderType::kMedian},
    {"Uniform", BorderType::kUniform},
    {"UniformAndQuantiles", BorderType::kUniformAndQuantiles},
    {"MinEntropy", BorderType::kMinEntropy},
    {"MaxLogSum", BorderType::kMaxLogSum}};

TEST(BorderSelection, ChoosesThoseOfCatBoost) {
  const auto golden = nlohmann::json::parse(Golden("catboost/training/borders.json"));
  for (const auto& [name, type] : kTypes) {
    for (const size_t count : {5, 15}) {
      const std::string key = std::string(name) + ":" + std::to_string(count);
      for (size_t column = 0; column < 3; ++column) {
        const auto values = golden["columns"][column].get<std::vector<float>>();
        const auto expected = golden["borders"][key][column].get<std::vector<double>>();
        const std::vector<float> found = SelectBorders(values, type, count);
        ASSERT_EQ(found.size(), expected.size()) << key << " " << column;
        for (size_t i = 0; i < found.size(); ++i) {
          // CatBoost's file has ten digits of them.
          EXPECT_EQ(found[i], static_cast<float>(expected[i])) << key << " " << column << " " << i;
        }
      }
    }
  }
}

TEST(BorderSelection, HasCatBoostsNames) {
  for (const auto& [name, type] : kTypes) EXPECT_EQ(FindBorderType(name), type) << name;
  EXPECT_FALSE(FindBorderType("Uniforms").has_value());
}

TEST(BorderSelection, OfFewValuesThereAreFew) {
  for (const auto& [name, type] : kTypes) {
    EXPECT_THAT(SelectBorders({}, type, 10), IsEmpty()) << name;
    EXPECT_THAT(SelectBorders({2, 2, 2}, type, 10), IsEmpty()) << name;
    EXPECT_THAT(SelectBorders({1, 2}, type, 0), IsEmpty()) << name;
    EXPECT_THAT(SelectBorders({2, 1, 2, 1}, type, 1), ElementsAre(1.5F)) << name;
  }
  EXPECT_THAT(SelectBorders({1, 2, 3}, BorderType::kGreedyLogSum, 10), ElementsAre(1.5F, 2.5F));
}

TEST(BorderSelection, BordersAreFiniteAndAscend) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  constexpr float kMax = std::numeric_limits<float>::max();
  for (const auto& [name, type] : kTypes) {
    for (const std::vector<float>& values :
         {std::vector<float>{-kInfinity, -kMax, 0, 1, kMax, kInfinity},
          {-kMax, kMax},
          {-kInfinity, kInfinity},
          {0, 1e-45F, 2e-45F, 3e-45F}}) {
      const std::vector<float> borders = SelectBorders(values, type, 20);
      for (size_t i = 0; i < borders.size(); ++i) {
        EXPECT_TRUE(std::isfinite(borders[i])) << name;
        EXPECT_TRUE(i == 0 || borders[i - 1] < borders[i]) << name;
      }
    }
  }
  EXPECT_THAT(SelectBorders({-kMax, kMax}, BorderType::kGreedyLogSum, 20), ElementsAre(0));
  for (const BorderType type :
       {BorderType::kGreedyLogSum, BorderType::kMinEntropy, BorderType::kMaxLogSum}) {
    EXPECT_THAT(SelectBorders({kMax / 2, kMax}, type, 1), ElementsAre(0.75F * kMax));
  }
}

}  // namespace
}  // namespace strata
