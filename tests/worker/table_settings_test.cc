// [[table]]s and shared keys of a job file.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "worker/job/job.h"

namespace strata {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Line 15 is the first one of `sections`.
std::string TablesJobText(const std::string& sections) {
  return R"([data]
train = "train.csv"
columns = ["user", "age", "friend", "site", "y"]
label = "y"
[[feature]]
columns = ["user", "site"]
[[feature]]
kind = "numeric"
columns = ["age"]
[[feature]]
kind = "bucketised"
columns = ["age"]
[model]
embedding_dim = 4
)" + sections;
}

Result<JobConfig> Parse(const std::string& sections,
                        const std::vector<std::string>& overrides = {}) {
  return ParseJob(TablesJobText(sections), "job.toml", overrides);
}

constexpr char kFriend[] = "[[feature]]\ncolumns = [\"friend\"]\nkeys_of = \"user\"\n";

std::vector<std::string> ColumnsOf(const JobConfig& job) {
  std::vector<std::string> columns;
  for (const FeatureSpec& feature : job.data.features) columns.push_back(feature.column);
  return columns;
}

TEST(TableSettings, WithoutASectionThereIsOneTable) {
  const auto job = Parse(kFriend);
  ASSERT_TRUE(job.ok()) << job.status().ToString();
  EXPECT_TRUE(job->tables.empty());
  EXPECT_EQ(job->data.features.back().keys_of, "user");
}

TEST(TableSettings, FeaturesOfATableStandSideBySide) {
  const auto job = Parse(std::string(kFriend) + R"([[table]]
name = "ages"
features = ["age"]
dim = 2
[[table]]
name = "people"
features = ["friend", "user"]
)",
                         {"model.kind=dcn"});
  ASSERT_TRUE(job.ok()) << job.status().ToString();
  // "age" as a number, then as a bucket, which has a row.
  EXPECT_THAT(ColumnsOf(*job), ElementsAre("age", "age", "user", "friend", "site"));
  EXPECT_THAT(job->tables, ElementsAre(GraphTable{.name = "ages", .slots = 1, .dim = 2},
                                       GraphTable{.name = "people", .slots = 2, .dim = 4},
                                       GraphTable{.name = "embedding", .slots = 1, .dim = 4}));
}

TEST(TableSettings, WhatASectionCannotSay) {
  const auto table = [](const std::string& name, const std::string& features) {
    return fmt::format("[[table]]\nname = \"{}\"\nfeatures = {}\n", name, features);
  };
  const std::string friend_feature = kFriend;
  const std::pair<std::string, const char*> wrong[] = {
      {friend_feature + table("", "[\"user\"]"), "table.name is empty"},
      {friend_feature + table("embedding", "[\"user\"]"),
       "table.name is 'embedding', which is taken"},
      {friend_feature + table("dense", "[\"user\"]"), "which is taken"},
      {friend_feature + table("a", "[\"site\"]") + table("a", "[\"user\"]"), "which is taken"},
      {friend_feature + table("a", "[]"), "table.features is empty"},
      {friend_feature + table("a", "[\"nobody\"]"),
       "job.toml:20:1: table.features names 'nobody': expected a column with a categorical"},
      {friend_feature + table("a", "[\"site\"]") + table("b", "[\"site\"]"),
       "names 'site', which is in a table already"},
      {friend_feature + table("a", "[\"user\"]"),
       "feature 'friend' has the keys of 'user' (keys_of), but another table"},
      {"[[feature]]\ncolumns = [\"friend\"]\nkeys_of = \"nobody\"\n",
       "job.toml:17:1: feature.keys_of is 'nobody': expected another categorical column"},
      {"[[feature]]\ncolumns = [\"friend\"]\nkeys_of = \"friend\"\n",
       "is 'friend': expected another"},
      {"[[feature]]\nkind = \"numeric\"\ncolumns = [\"friend\"]\nkeys_of = \"user\"\n",
       "feature.keys_of is for kind = \"categorical\""},
      {friend_feature + table("a", "[\"site\"]") + "dim = -1\n", "dim"}};
  for (const auto& [text, message] : wrong) {
    const Status status = Parse(text).status();
    EXPECT_EQ(status.code(), StatusCode::kInvalid) << text;
    EXPECT_THAT(status.ToString(), HasSubstr(message)) << text;
  }
  const std::string right = friend_feature + table("a", "[\"site\"]");
  EXPECT_TRUE(Parse(right).ok());
  EXPECT_THAT(Parse(right, {"model.kind=logistic"}).status().ToString(),
              HasSubstr("job.toml:18:1: [[table]] has no effect on model.kind = \"logistic\""));
  EXPECT_THAT(Parse(right, {"compute.device=cuda"}).status().ToString(),
              HasSubstr("[[table]] is for compute.device = \"cpu\""));
}

}  // namespace
}  // namespace strata
