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

// What a section says is its table's, and the rest is that of [sparse].
TEST(TableSettings, ATableMayHaveAnOptimizerOfItsOwn) {
  const auto job = Parse(std::string(kFriend) + R"([[table]]
name = "ages"
features = ["age"]
optimizer = "sgd"
learning_rate = 0.5
[[table]]
name = "sites"
features = ["site"]
learning_rate = 0.25
warmup_steps = 7
)",
                         {"sparse.optimizer=adam", "sparse.beta1=0.75", "sparse.clip_norm=2",
                          "sparse.state_type=fp16"});
  ASSERT_TRUE(job.ok()) << job.status().ToString();
  const OptimizerSpec ages{
      .kind = OptimizerKind::kSgd, .learning_rate = 0.5F, .clip_norm = 2.0F};  // and no beta1
  const OptimizerSpec sites{.kind = OptimizerKind::kAdam,
                            .learning_rate = 0.25F,
                            .beta1 = 0.75F,
                            .clip_norm = 2.0F,
                            .warmup_steps = 7};
  EXPECT_THAT(job->table_optimizers, ElementsAre(ages, sites, job->sparse_optimizer));
  EXPECT_EQ(job->sparse_optimizer.beta1, 0.75F);

  std::vector<std::string> listed;
  for (const JobSetting& setting : job->settings) {
    if (!setting.name.starts_with("table[")) continue;
    listed.push_back(setting.name + " = " + setting.value);
  }
  EXPECT_THAT(listed, ElementsAre("table[1].name = \"ages\"", "table[1].features = [\"age\"]",
                                  "table[1].dim = 0", "table[1].optimizer = \"sgd\"",
                                  "table[1].learning_rate = 0.5", "table[2].name = \"sites\"",
                                  "table[2].features = [\"site\"]", "table[2].dim = 0",
                                  "table[2].learning_rate = 0.25", "table[2].warmup_steps = 7"))
      << "what is not set is not told, so that jobs without it stay what they were";
}

TEST(TableSettings, WhatAnOptimizerCannotBe) {
  const auto why = [](const std::string& line, const std::vector<std::string>& overrides = {}) {
    return Parse("[[table]]\nname = \"a\"\nfeatures = [\"site\"]\n" + line + "\n" + kFriend,
                 overrides)
        .status()
        .ToString();
  };
  EXPECT_THAT(why("optimizer = \"adagra\""), HasSubstr("job.toml:18:1: table.optimizer must be one "
                                                       "of sgd, momentum, "));
  EXPECT_THAT(why("beta1 = 0.5"), HasSubstr("job.toml:18:1: table.beta1 has no effect on optimizer "
                                            "adagrad (it is for adam and lazy_adam): remove it"));
  EXPECT_THAT(why("decay_power = 3"),
              HasSubstr("job.toml:18:1: table.decay_power has no effect without decay_steps"));
  EXPECT_THAT(why("learning_rate = 0"),
              HasSubstr("job.toml:18:1: table.learning_rate: expected a number above 0"));
  EXPECT_THAT(why("learning_rate = -1"), HasSubstr("table.learning_rate must be a number from 0"));
  EXPECT_THAT(
      why("learning_rate = 0.01", {"sparse.decay_steps=5", "sparse.end_learning_rate=0.02"}),
      HasSubstr("job.toml:15:1: table.end_learning_rate: expected at most learning_rate"));
  EXPECT_THAT(why("learning_rat = 1"), HasSubstr("did you mean 'table.learning_rate'?"));
  EXPECT_THAT(why("combiner = \"mean\""),
              HasSubstr("job.toml:18:1: table.combiner is \"mean\", but each feature of table 'a' "
                        "has one key a row: remove it"));
  EXPECT_THAT(why("placement = \"gpu\""),
              HasSubstr("job.toml:18:1: placement is one of all tables: remove it and set "
                        "sparse.placement"));
  for (const char* key : {"initializer", "init_scale", "value_type", "state_type", "ack"}) {
    EXPECT_THAT(why(fmt::format("{} = 1", key)),
                HasSubstr(fmt::format("job.toml:18:1: {0} is one of all tables: remove it and set "
                                      "sparse.{0}",
                                      key)));
  }
  EXPECT_THAT(why("optimizer = \"sgd\"", {"sparse.optimizer=sgd", "sparse.state_type=fp16"}),
              HasSubstr("sparse.state_type has no effect on optimizer sgd"));
  EXPECT_EQ(why("optimizer = \"adam\"", {"sparse.optimizer=sgd", "sparse.state_type=fp16"}), "OK");
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
  EXPECT_TRUE(Parse(right, {"compute.device=cuda", "sparse.placement=gpu"}).ok());
}

TEST(TableSettings, TablesOfRawRecordsFollowTheirSlots) {
  const auto parse = [](const std::string& sections) {
    return ParseJob(R"([data]
train = "records"
format = "raw"
raw_keys = [3, 1, 2]
[model]
combiner = "mean"
)" + sections,
                    "job.toml", {});
  };
  const auto table = [](const std::string& name, const std::string& slots) {
    return fmt::format("[[table]]\nname = \"{}\"\nfeatures = [{}]\n", name, slots);
  };
  const auto job = parse(table("a", "\"slot 0\"") + "combiner = \"sum\"\n" +
                         table("b", "\"slot 1\"") + "dim = 4\n");
  ASSERT_TRUE(job.ok()) << job.status().ToString();
  const uint32_t dim = job->embedding_dim;
  EXPECT_THAT(
      job->tables,
      ElementsAre(
          GraphTable{.name = "a", .slots = 1, .dim = dim, .combiner = Combiner::kSum},
          GraphTable{.name = "b", .slots = 1, .dim = 4, .combiner = Combiner::kSum},
          GraphTable{.name = "embedding", .slots = 1, .dim = dim, .combiner = Combiner::kMean}));
  const auto why = [&](const std::string& sections) { return parse(sections).status().ToString(); };
  EXPECT_THAT(why(table("a", "\"slot 1\", \"slot 2\"")),
              HasSubstr("job.toml:7:1: 'slot 1' is in table 'a' (job.toml:7:1), but 'slot 0' "
                        "before it is in no [[table]]: expected the tables of raw records"));
  EXPECT_THAT(why(table("a", "\"slot 0\", \"slot 2\"") + table("b", "\"slot 1\"")),
              HasSubstr("'slot 2' is in table 'a' (job.toml:7:1), but 'slot 1' before it is in "
                        "table 'b' (job.toml:10:1)"));
  EXPECT_THAT(why(table("a", "\"slot 0\"") + table("b", "\"slot 1\"") + "combiner = \"mean\"\n"),
              HasSubstr("job.toml:13:1: table.combiner is \"mean\", but each feature of table 'b' "
                        "has one key a record"));
  EXPECT_THAT(why(table("a", "\"slot 3\"")),
              HasSubstr("names 'slot 3': expected 'slot 0' to 'slot 2'"));
}

}  // namespace
}  // namespace strata
