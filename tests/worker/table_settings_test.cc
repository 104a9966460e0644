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

// Each mistake has words of its own.
TEST(TableSettings, WhatKeysOfCannotName) {
  const auto why = [](const std::string& source, const std::vector<std::string>& overrides = {},
                      const std::string& more = "") {
    return Parse(more + "[[feature]]\ncolumns = [\"friend\"]\nkeys_of = \"" + source + "\"\n",
                 overrides)
        .status()
        .ToString();
  };
  EXPECT_THAT(why("nobody"), HasSubstr("job.toml:17:1: feature.keys_of is 'nobody', but no "
                                       "[[feature]] has this column: name a categorical"));
  EXPECT_THAT(why("usr"), HasSubstr("is 'usr', but no [[feature]] has this column; did you mean "
                                    "'user'?"));
  EXPECT_THAT(why("friend"), HasSubstr("is 'friend', a column of the same section"));
  EXPECT_THAT(why("age"), HasSubstr("is 'age', which is a numeric feature"));
  EXPECT_THAT(why("y"), HasSubstr("is 'y', which is data.label and no feature"));
  EXPECT_THAT(why("shop", {"data.columns=user,age,friend,site,y,shop", "data.ignore=shop"}),
              HasSubstr("is 'shop', which data.ignore leaves out"));
  EXPECT_THAT(why("shop", {"data.columns=user,age,friend,site,y,shop"},
                  "[[feature]]\ncolumns = [\"shop\"]\nkeys_of = \"user\"\n"),
              HasSubstr("job.toml:20:1: feature.keys_of is 'shop', which itself has the keys of "
                        "'user': name a column that has its own"));
}

TEST(TableSettings, WhatASectionCannotSay) {
  const auto table = [](const std::string& name, const std::string& features) {
    return fmt::format("[[table]]\nname = \"{}\"\nfeatures = {}\n", name, features);
  };
  const std::string friend_feature = kFriend;
  const std::pair<std::string, const char*> wrong[] = {
      {friend_feature + table("", "[\"user\"]"), "table.name is empty"},
      {friend_feature + table("embedding", "[\"user\"]"),
       "table.name is 'embedding', the table of the features that no [[table]] names"},
      {friend_feature + table("dense", "[\"user\"]"), "is 'dense', by which layers take all"},
      {friend_feature + table("a", "[\"site\"]") + table("a", "[\"user\"]"),
       "job.toml:22:1: table.name is 'a', the name of the [[table]] at job.toml:18:1: name"},
      {friend_feature + table("a", "[]"), "table.features is empty"},
      {friend_feature + table("a", "[\"nobody\"]"),
       "job.toml:20:1: table.features names 'nobody': expected a column with a categorical or "
       "bucketised feature ([[feature]])"},
      {friend_feature + table("a", "[\"site\", \"usr\"]"),
       "expected a column with a categorical or bucketised feature ([[feature]]); did you mean "
       "'user'?"},
      {friend_feature + table("a", "[\"site\"]") + table("b", "[\"site\"]"),
       "job.toml:23:1: table.features names 'site', which is in table 'a' (job.toml:18:1) too"},
      {friend_feature + table("a", "[\"site\", \"site\"]"),
       "job.toml:20:1: table.features names 'site' twice"},
      {friend_feature + table("a", "[\"user\"]"),
       "job.toml:18:1: feature 'friend' has the keys of 'user' (keys_of), but 'friend' is in no "
       "[[table]] and 'user' in table 'a' (job.toml:18:1): put both into one [[table]]"},
      {friend_feature + table("a", "[\"user\"]") + table("b", "[\"friend\"]"),
       "job.toml:18:1: feature 'friend' has the keys of 'user' (keys_of), but 'friend' is in "
       "table 'b' (job.toml:21:1) and 'user' in table 'a' (job.toml:18:1)"},
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
