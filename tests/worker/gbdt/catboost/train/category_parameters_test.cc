// The descriptions of statistics, as CatBoost writes them.
#include "worker/gbdt/catboost/train/category_parameters.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace strata {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(CategoryParameters, ReadsDescriptions) {
  const auto all = ParseCtrDescriptions(
      "Borders,Buckets:targetbordercount=3:TargetBorderType=Median:Prior=0.25:PRIOR=-1/1,"
      "BinarizedTargetMeanValue:CtrBorderCount=7:CtrBorderType=Uniform,Counter");
  ASSERT_TRUE(all.ok()) << all.status().ToString();
  ASSERT_EQ(all->size(), 4U);
  const CtrDescription& borders = (*all)[0];
  EXPECT_EQ(borders.type, CtrType::kBorders);
  EXPECT_THAT(borders.priors, ElementsAre(0, 0.5F, 1));
  EXPECT_EQ(borders.border_count, 15U);
  EXPECT_FALSE(borders.target_border_count.has_value());
  EXPECT_EQ(borders.target_border_type, BorderType::kMinEntropy);
  const CtrDescription& buckets = (*all)[1];
  EXPECT_EQ(buckets.type, CtrType::kBuckets);
  EXPECT_THAT(buckets.priors, ElementsAre(0.25F, -1));
  EXPECT_EQ(buckets.target_border_count, 3U);
  EXPECT_EQ(buckets.target_border_type, BorderType::kMedian);
  EXPECT_EQ((*all)[2].type, CtrType::kBinarizedTargetMean);
  EXPECT_EQ((*all)[2].border_count, 7U);
  EXPECT_EQ((*all)[3].type, CtrType::kCounter);
  EXPECT_THAT((*all)[3].priors, ElementsAre(0));
}

TEST(CategoryParameters, ReadsDescriptionsByFeature) {
  const auto all = ParsePerFeatureCtrs("12:Borders,Counter:Prior=2;0:Buckets");
  ASSERT_TRUE(all.ok()) << all.status().ToString();
  ASSERT_EQ(all->size(), 2U);
  ASSERT_EQ(all->at(12).size(), 2U);
  EXPECT_THAT(all->at(12)[1].priors, ElementsAre(2));
  EXPECT_EQ(all->at(0)[0].type, CtrType::kBuckets);
}

TEST(CategoryParameters, WrongDescriptionsAreNamed) {
  const std::pair<const char*, const char*> wrong[] = {
      {"", "expected Borders, Buckets, BinarizedTargetMeanValue or Counter, found ''"},
      {"Borders,", "found ''"},
      {"borders", "found 'borders'"},
      {"FeatureFreq", "found 'FeatureFreq'"},
      {"FloatTargetMeanValue", "found 'FloatTargetMeanValue'"},
      {"Borders:Prior=a", "Borders: Prior: expected a number over 1, as 0.5/1, found 'a'"},
      {"Borders:Prior=1/2", "found '1/2': other denominators are for training on GPUs"},
      {"Borders:Prior=inf", "Prior: expected a number"},
      {"Borders:CtrBorderCount=0", "CtrBorderCount: expected a whole number from 1 to 255"},
      {"Borders:CtrBorderCount=256", "found '256'"},
      {"Borders:TargetBorderCount=1.5", "TargetBorderCount: expected a whole number"},
      {"Borders:CtrBorderType=Median", "CtrBorderType: expected Uniform, found 'Median'"},
      {"Borders:TargetBorderType=Best", "TargetBorderType: expected MinEntropy, MaxLogSum"},
      {"Borders:Weight=1", "expected the option Prior, CtrBorderCount"},
      {"Counter:TargetBorderCount=1", "TargetBorderCount has no effect on Counter: remove it"},
      {"Borders,Counter,Borders:TargetBorderCount=2",
       "Borders is given with different borders of the target"},
  };
  for (const auto& [text, message] : wrong) {
    const Status status = ParseCtrDescriptions(text).status();
    EXPECT_EQ(status.code(), StatusCode::kInvalid) << text;
    EXPECT_THAT(status.message(), HasSubstr(message)) << text;
  }
  EXPECT_THAT(ParsePerFeatureCtrs("Borders").status().message(),
              HasSubstr("expected the place of a feature and a colon"));
  EXPECT_THAT(ParsePerFeatureCtrs("0:Borders;0:Counter").status().message(),
              HasSubstr("feature 0 is given twice"));
  EXPECT_THAT(ParsePerFeatureCtrs("0:Other").status().message(), HasSubstr("found 'Other'"));
}

}  // namespace
}  // namespace strata
