#include "worker/job/job.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "storage/optimizer_fields.h"
#include "tests/worker/text_disk.h"

namespace strata {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* kJob = R"([job]
name = "clicks"
seed = 9
# a comment

[data]
train = "train.csv"
test = "/data/test.csv"
delimiter = "\t"
columns = ["age", "city", "w", "id", "y"]
missing = ["?", "NA"]
label = "y"
label_positive = ["yes"]
label_negative = ["no"]
weight = "w"
ignore = ["id"]

[[feature]]
kind = "numeric"
columns = ["age"]
transforms = ["log", "standardise"]

[[feature]]
kind = "bucketised"
columns = ["age"]
buckets = 16

[[feature]]
columns = ["city"]

[model]
kind = "deepfm"
embedding_dim = 4
hidden = [32, 16]
dropout = 0.25
l2 = 1e-5

[sparse]
optimizer = "adam"
learning_rate = 0.1
beta1 = 0.8
initializer = "uniform"
init_scale = 0.5
ack = "synced"
value_type = "bf16"
state_type = "fp16"

[dense]
optimizer = "sgd"
learning_rate = 1

[train]
batch_size = 64
epochs = 3
shuffle_rows = 0
eval_every = 2

[checkpoint]
every_steps = 40
folder = "kept"

[output]
model = "model"
)";

// kJob with the first `from` replaced.
std::string With(const std::string& from, const std::string& to) {
  std::string text = kJob;
  const size_t place = text.find(from);
  EXPECT_NE(place, std::string::npos) << from;
  return text.replace(place, from.size(), to);
}

Status ErrorOf(const std::string& text) { return ParseJob(text, "dir/job.toml", {}).status(); }

TEST(Job, ReadsEverything) {
  const Result<JobConfig> job = ParseJob(kJob, "dir/job.toml", {});
  ASSERT_TRUE(job.ok()) << job.status().ToString();
  EXPECT_EQ(job->file, "dir/job.toml");
  EXPECT_EQ(job->name, "clicks");
  EXPECT_EQ(job->seed, 9U);
  EXPECT_THAT(job->train_files, ElementsAre("dir/train.csv"));
  EXPECT_THAT(job->test_files, ElementsAre("/data/test.csv"));
  EXPECT_EQ(job->data.format.delimiter, '\t');
  EXPECT_FALSE(job->data.format.header);
  EXPECT_THAT(job->data.format.columns, ElementsAre("age", "city", "w", "id", "y"));
  EXPECT_THAT(job->data.format.missing, ElementsAre("?", "NA"));
  EXPECT_THAT(job->data.label_positive, ElementsAre("yes"));
  EXPECT_THAT(job->data.label_negative, ElementsAre("no"));
  EXPECT_EQ(job->data.weight, "w");
  EXPECT_THAT(job->data.features,
              ElementsAre(FeatureSpec{"age", FeatureKind::kNumeric, true, true, 0},
                          FeatureSpec{"age", FeatureKind::kBucketised, false, false, 16},
                          FeatureSpec{"city", FeatureKind::kCategorical, false, false, 0}));
  EXPECT_EQ(job->model, ModelKind::kDeepFm);
  EXPECT_EQ(job->embedding_dim, 4U);
  EXPECT_THAT(job->hidden, ElementsAre(32, 16));
  EXPECT_EQ(job->dropout, 0.25F);
  EXPECT_EQ(job->l2, 1e-5F);
  EXPECT_EQ(job->sparse_optimizer.kind, OptimizerKind::kAdam);
  EXPECT_EQ(job->sparse_optimizer.learning_rate, 0.1F);
  EXPECT_EQ(job->sparse_optimizer.beta1, 0.8F);
  EXPECT_EQ(job->sparse_optimizer.beta2, 0.999F);
  EXPECT_EQ(job->sparse_initializer.kind, InitializerKind::kUniform);
  EXPECT_EQ(job->sparse_initializer.scale, 0.5F);
  EXPECT_EQ(job->sparse_ack, AckLevel::kSynced);
  EXPECT_EQ(job->sparse_value_type, ElementType::kBf16);
  EXPECT_EQ(job->sparse_state_type, ElementType::kFp16);
  EXPECT_EQ(job->dense_optimizer.kind, OptimizerKind::kSgd);
  EXPECT_EQ(job->dense_optimizer.learning_rate, 1.0F);
  EXPECT_EQ(job->batch_size, 64U);
  EXPECT_EQ(job->epochs, 3U);
  EXPECT_EQ(job->shuffle_rows, 0U);
  EXPECT_EQ(job->eval_every, 2U);
  EXPECT_EQ(job->model_path, "dir/model");
  EXPECT_EQ(job->predictions_path, "");
  EXPECT_EQ(job->checkpoint.every_steps, 40U);
  EXPECT_EQ(job->checkpoint.folder, "dir/kept");
  EXPECT_EQ(job->checkpoint.keep, 3U);
  EXPECT_TRUE(job->checkpoint.resume);
}

TEST(Job, OverridesWinAndAreRelativeToTheWorkingDirectory) {
  const std::vector<std::string> overrides = {"model.kind=logistic", "data.train=mine.csv",
                                              "train.epochs=7", "job.name=a=b"};
  EXPECT_THAT(ParseJob(kJob, "dir/job.toml", overrides).status().message(),
              HasSubstr("command line: job.name must be"));
  const Result<JobConfig> job = ParseJob(kJob, "dir/job.toml", std::span(overrides).first(3));
  ASSERT_TRUE(job.ok()) << job.status().ToString();
  EXPECT_EQ(job->model, ModelKind::kLogistic);
  EXPECT_EQ(job->embedding_dim, 0U);
  EXPECT_TRUE(job->hidden.empty());
  EXPECT_THAT(job->train_files, ElementsAre("mine.csv"));
  EXPECT_EQ(job->epochs, 7U);
  for (const char* bad : {"train.epochs", "train.epoch=1", "train.epochs=x"}) {
    EXPECT_EQ(ParseJob(kJob, "j", std::vector<std::string>{bad}).status().code(),
              StatusCode::kInvalid)
        << bad;
  }
}

// LightGBM's other keys are no unknown ones.
TEST(Job, KeysOfLightGbmThatAreNoneOfGbdtSayWhereTheyBelong) {
  const std::pair<const char*, const char*> cases[] = {
      {"linear_tree = true",
       "j:2:1: gbdt.linear_tree is a parameter of LightGBM that Strata does not support"},
      {"eta = 0.1", "j:2:1: gbdt.eta is gbdt.learning_rate in a job file"},
      {"valid = \"x\"", "j:2:1: gbdt.valid has another place: data.test (LightGBM's valid)"},
      {"force_col_wise = true", "j:2:1: gbdt.force_col_wise has no effect here: remove it"},
      {"save_binary = true", "gbdt.save_binary is for a train.conf alone"},
      {"num_leafs = 3", "j:2:1: unknown key 'gbdt.num_leafs'"}};
  for (const auto& [line, message] : cases) {
    const Status status = ParseJob(fmt::format("[gbdt]\n{}\n", line), "j", {}).status();
    EXPECT_EQ(status.code(), StatusCode::kInvalid);
    EXPECT_NE(status.message().find(message), std::string::npos) << status.message();
  }
  const Status flag =
      ParseJob(kJob, "j", std::vector<std::string>{"gbdt.linear_tree=true"}).status();
  EXPECT_NE(flag.message().find("command line: gbdt.linear_tree is a parameter"), std::string::npos)
      << flag.message();
}

TEST(Job, TheTabHasNamesThatACommandLineCanSay) {
  for (const char* name : {"\\t", "tab", "\t"}) {
    const std::vector<std::string> overrides = {fmt::format("data.delimiter={}", name)};
    const Result<JobConfig> job = ParseJob(With("\"\\t\"", "\";\""), "j", overrides);
    ASSERT_TRUE(job.ok()) << job.status().ToString();
    EXPECT_EQ(job->data.format.delimiter, '\t') << name;
    const Result<JobConfig> in_file = ParseJob(With("\"\\t\"", "'\\t'"), "j", {});
    ASSERT_TRUE(in_file.ok()) << in_file.status().ToString();
    EXPECT_EQ(in_file->data.format.delimiter, '\t');
  }
}

TEST(Job, MistakesAreNamedWithFileAndLine) {
  const std::pair<std::string, const char*> cases[] = {
      {With("seed = 9", "sead = 9"), "dir/job.toml:3:1: unknown key 'job.sead'"},
      {With("epochs = 3", "epochs = \"x\""), "dir/job.toml:54:1: train.epochs must be"},
      {With("name = \"clicks\"", "name = \"a b\""), "dir/job.toml:2:1: job.name must be"},
      {With("\"\\t\"", "\";;\""), "dir/job.toml:9:1: data.delimiter must be one character"},
      {With("\"\\t\"", "'\"'"), "dir/job.toml:9:1: data.delimiter must be one character"},
      {With("\"id\", \"y\"]", "\"id\", \"y\", \"z\"]"),
       "dir/job.toml:10:1: column 'z' is used nowhere: make it a feature, or list it in "
       "data.ignore"},
      {With("columns = [\"city\"]", "columns = [\"town\"]"), "dir/job.toml:10:1: no column 'town'"},
      {With("label = \"y\"", ""), "job.toml: data.label is empty"},
      {With("label_negative = [\"no\"]", ""),
       "dir/job.toml:13:1: data.label_positive needs data.label_negative too"},
      {With("label_positive = [\"yes\"]", ""), "data.label_negative needs data.label_positive too"},
      {With("[\"no\"]", "[\"no\", \"yes\"]"), "both hold 'yes'"},
      {With("columns = [\"age\", \"city\", \"w\", \"id\", \"y\"]", ""),
       "data.columns is empty: name the columns in order, or set data.header = true"},
      {With("missing =", "header = true\nmissing ="),
       "dir/job.toml:10:1: data.columns is for files without a header"},
      {With("buckets = 16", "transforms = [\"log\"]"),
       "dir/job.toml:26:1: feature.transforms are for kind = \"numeric\""},
      {With("[\"log\", \"standardise\"]", "[\"standardise\", \"log\"]"), "found 'log'"},
      {With("[\"log\", \"standardise\"]", "[\"sqrt\"]"), "found 'sqrt'"},
      {With("columns = [\"city\"]", "columns = [\"city\"]\nbuckets = 3"),
       "feature.buckets is for kind = \"bucketised\""},
      {With("columns = [\"city\"]", ""), "dir/job.toml:28:1: feature.columns is empty"},
      {With("columns = [\"city\"]", "columns = [\"city\", \"city\"]"),
       "names 'city' a second time as categorical"},
      {With("hidden = [32, 16]", "hidden = []"), "dir/job.toml:34:1: model.hidden is empty"},
      {With("learning_rate = 0.1", "learning_rate = 0"),
       "job.toml:40:1: sparse.learning_rate: expected a number above 0"},
      {With("beta1 = 0.8", "momentum = 0.8"),
       "dir/job.toml:41:1: sparse.momentum has no effect on optimizer adam (it is for momentum "
       "and nesterov): remove it"},
      {With("optimizer = \"adam\"\nlearning_rate = 0.1\nbeta1 = 0.8",
            "optimizer = \"sgd\"\nlearning_rate = 0.1\n"),
       "dir/job.toml:46:1: sparse.state_type has no effect on optimizer sgd (it is for momentum, "
       "nesterov, adagrad, rowwise_adagrad, rmsprop, adam, lazy_adam and ftrl): remove it"},
      {With("learning_rate = 1\n", "learning_rate = 1\nbeta1 = 0.9\n"),
       "dir/job.toml:51:1: dense.beta1 has no effect on optimizer sgd (it is for adam and "
       "lazy_adam): remove it"},
      {With("learning_rate = 1\n", "learning_rate = 1\ndecay_power = 2\n"),
       "dense.decay_power has no effect without decay_steps: remove it"},
      {With("learning_rate = 1\n", "learning_rate = 1\ndecay_steps = 2\nwarmup_steps = 3\n"),
       "dir/job.toml: dense.decay_start: expected at least warmup_steps, 3, found 0"},
      {With("optimizer = \"sgd\"", "optimizer = \"rowwise_adagrad\""), "dense.optimizer"},
      {With("optimizer = \"sgd\"", "optimizer = \"lazy_adam\""), "dense.optimizer"},
      {With("test = \"/data/test.csv\"\n", ""),
       "dir/job.toml:55:1: train.eval_every needs data.test, which is empty"},
      {With("eval_every = 2", "best_by = \"logloss\""),
       "dir/job.toml:56:1: train.best_by has no effect without train.early_stopping"},
      {With("eval_every = 2", "early_stopping = 2"),
       "dir/job.toml:56:1: train.early_stopping has no effect where the only evaluation is after "
       "the last epoch"},
      {With("ignore = [\"id\"]", "ignore = [\"id\", \"age\"]"),
       "column 'age' is both ignored and a feature"},
      {"[data]\nheader = true\nlabel = \"y\"\n", "dir/job.toml: there is no [[feature]]"},
  };
  for (const auto& [text, message] : cases) {
    const Status status = ErrorOf(text);
    EXPECT_EQ(status.code(), StatusCode::kInvalid) << message;
    EXPECT_THAT(status.message(), HasSubstr(message));
  }
}

TEST(Job, EvaluationsOfTrainingNeedDataToEvaluateOn) {
  const auto status = [](std::vector<std::string> overrides) {
    overrides.push_back("train.eval_every=0");
    return ParseJob(kJob, "job.toml", overrides).status();
  };
  for (const std::string key : {"train.eval_every_steps", "train.early_stopping"}) {
    EXPECT_THAT(status({"data.test=", key + "=5"}).message(),
                HasSubstr("command line: " + key + " needs data.test, which is empty"));
  }
  EXPECT_TRUE(status({"train.eval_every_steps=5"}).ok());
  EXPECT_TRUE(
      status({"train.eval_every_steps=5", "train.early_stopping=1", "train.best_by=logloss"}).ok());
  EXPECT_FALSE(status({"train.eval_every_steps=5", "train.best_by=recall"}).ok());
  EXPECT_THAT(status({"train.eval_every_steps=5", "train.early_stopping=1", "train.best_by=gauc"})
                  .message(),
              HasSubstr("train.best_by is \"gauc\", which needs data.group"));
  EXPECT_THAT(status({"data.test=", "data.group=city"}).message(),
              HasSubstr("data.group has no effect without data.test"));
  EXPECT_TRUE(status({"data.group=city"}).ok());
  EXPECT_TRUE(status({"data.group=id"}).ok()) << "which is ignored otherwise";
}

TEST(Job, OptimizersTakeAllThatTheyUse) {
  const std::string sparse = With("beta1 = 0.8",
                                  "l1 = 0.5\nl2 = 0.25\nbeta = 2\nclip_value = 3\nclip_norm = 4\n"
                                  "weight_decay = 0.125\nwarmup_steps = 5\ndecay_start = 6\n"
                                  "decay_steps = 7\ndecay_power = 1\nend_learning_rate = 0.0625");
  const Result<JobConfig> job =
      ParseJob(sparse, "job.toml",
               std::vector<std::string>{"sparse.optimizer=ftrl", "dense.optimizer=nesterov",
                                        "dense.momentum=0.75"});
  ASSERT_TRUE(job.ok()) << job.status().ToString();
  EXPECT_EQ(job->sparse_optimizer, (OptimizerSpec{.kind = OptimizerKind::kFtrl,
                                                  .learning_rate = 0.1F,
                                                  .l1 = 0.5F,
                                                  .l2 = 0.25F,
                                                  .beta = 2.0F,
                                                  .clip_value = 3.0F,
                                                  .clip_norm = 4.0F,
                                                  .weight_decay = 0.125F,
                                                  .warmup_steps = 5,
                                                  .decay_start = 6,
                                                  .decay_steps = 7,
                                                  .decay_power = 1.0F,
                                                  .end_learning_rate = 0.0625F}));
  EXPECT_EQ(
      job->dense_optimizer,
      (OptimizerSpec{.kind = OptimizerKind::kNesterov, .learning_rate = 1.0F, .momentum = 0.75F}));
}

TEST(Job, EveryOptimizerCanUpdateRows) {
  std::string text = With("beta1 = 0.8", "");
  const std::string state = "state_type = \"fp16\"";  // sgd has none
  text.erase(text.find(state), state.size());
  for (const OptimizerName& optimizer : Optimizers()) {
    const Result<JobConfig> job =
        ParseJob(text, "job.toml",
                 std::vector<std::string>{fmt::format("sparse.optimizer={}", optimizer.name)});
    ASSERT_TRUE(job.ok()) << job.status().ToString();
    EXPECT_EQ(job->sparse_optimizer.kind, optimizer.kind);
  }
}

TEST(Job, SettingsWithoutEffectAreWarnedOf) {
  const Result<JobConfig> network = ParseJob(kJob, "job.toml", {});
  ASSERT_TRUE(network.ok());
  EXPECT_TRUE(network->warnings.empty());
  const Result<JobConfig> fm =
      ParseJob(kJob, "job.toml", std::vector<std::string>{"model.kind=fm"});
  ASSERT_TRUE(fm.ok()) << fm.status().ToString();
  EXPECT_THAT(
      fm->warnings,
      ElementsAre(HasSubstr("job.toml:34:1: model.hidden has no effect on model.kind = \"fm"),
                  HasSubstr("job.toml:35:1: model.dropout has no effect")));
}

TEST(Job, EachKindOfModelHasItsWidths) {
  const auto parse = [](std::vector<std::string> overrides) {
    return ParseJob(kJob, "job.toml", overrides);
  };
  const Result<JobConfig> dlrm = parse({"model.kind=dlrm", "model.embedding_dim=6"});
  ASSERT_TRUE(dlrm.ok()) << dlrm.status().ToString();
  EXPECT_THAT(dlrm->bottom, ElementsAre(6));
  EXPECT_EQ(dlrm->cross_layers, 0U);
  const Result<JobConfig> wrong =
      parse({"model.kind=dlrm", "model.embedding_dim=6", "model.bottom=8,4"});
  EXPECT_THAT(wrong.status().message(),
              HasSubstr("model.bottom ends with 4: expected model.embedding_dim, 6"));
  const Result<JobConfig> dcn_v2 = parse({"model.kind=dcn_v2", "model.cross_rank=5"});
  ASSERT_TRUE(dcn_v2.ok()) << dcn_v2.status().ToString();
  EXPECT_EQ(dcn_v2->cross_layers, 3U);
  EXPECT_EQ(dcn_v2->cross_rank, 5U);
  EXPECT_TRUE(dcn_v2->bottom.empty());
  const Result<JobConfig> wide =
      parse({"model.kind=wide_deep", "model.bottom=8", "model.cross_layers=2"});
  ASSERT_TRUE(wide.ok()) << wide.status().ToString();
  EXPECT_THAT(wide->warnings,
              ElementsAre(HasSubstr("model.bottom has no effect on model.kind = \"wide_deep\""),
                          HasSubstr("model.cross_layers has no effect on model.kind")));
}

TEST(Job, ADictionaryWithoutTextsIsWarnedOf) {
  const std::vector<std::string> dictionary = {"output.dictionary=true", "output.model=m"};
  const std::string numbers =
      With("columns = [\"city\"]", "kind = \"numeric\"\ncolumns = [\"city\"]");
  const Result<JobConfig> job = ParseJob(numbers, "job.toml", dictionary);
  ASSERT_TRUE(job.ok()) << job.status().ToString();
  EXPECT_THAT(job->warnings,
              ElementsAre(HasSubstr("output.dictionary: no [[feature]] is of kind categorical")));
  EXPECT_THAT(ParseJob(kJob, "job.toml", dictionary)->warnings, testing::IsEmpty());
}

TEST(Job, HeaderLeavesColumnsToTheData) {
  std::string text = With("columns = [\"age\", \"city\", \"w\", \"id\", \"y\"]", "header = true");
  const Result<JobConfig> job = ParseJob(text, "job.toml", {});
  ASSERT_TRUE(job.ok()) << job.status().ToString();
  EXPECT_TRUE(job->data.format.header);
  EXPECT_THAT(job->train_files, ElementsAre("train.csv"));
}

TEST(Job, EmptyJobSaysWhatIsMissing) {
  EXPECT_THAT(ErrorOf("").message(), HasSubstr("data.columns is empty"));
}

TEST(Job, MissingFileIsNotFound) {
  TextDisk disk;
  disk.files["job.toml"] = kJob;
  EXPECT_EQ(LoadJob(disk, "none.toml", {}).status().code(), StatusCode::kNotFound);
  EXPECT_TRUE(LoadJob(disk, "job.toml", {}).ok());
  disk.files["job.toml"] = "\xef\xbb\xbf" + disk.files["job.toml"];
  EXPECT_TRUE(LoadJob(disk, "job.toml", {}).ok()) << "with a byte order mark";
  disk.files["train.conf"] = "# a conf\n\nobjective = binary\ndata = a.csv\n";
  EXPECT_THAT(LoadJob(disk, "train.conf", {}).status().message(),
              HasSubstr("train.conf: expected a job file, found 'objective = binary', as a "
                        "train.conf begins: give it by config=FILE"));
  disk.files["job.toml"] = "[job]\nsead = 3\n";
  EXPECT_THAT(LoadJob(disk, "job.toml", {}).status().message(), HasSubstr("job.toml:2:1"));
}

constexpr const char* kTreesJob = R"([job]
seed = 9
[data]
train = "train.csv"
test = "/data/test.csv"
columns = ["age", "city", "q", "y"]
label = "y"
query = "q"
[[feature]]
kind = "numeric"
columns = ["age"]
[[feature]]
columns = ["city"]
[model]
kind = "gbdt"
[gbdt]
objective = "mse"
num_leaves = 63
learning_rate = 0.05
metric = ["l1", "rmse"]
eval_at = [1, 10]
input_model = "before.txt"
[output]
model = "trees.txt"
)";

TEST(TreesJob, ParametersAreLightGbms) {
  const Result<JobConfig> job = ParseJob(kTreesJob, "jobs/trees.toml", {});
  ASSERT_TRUE(job.ok()) << job.status().ToString();
  ASSERT_TRUE(job->trees.has_value());
  const TreeParameters& p = *job->trees;
  EXPECT_EQ(p.task.name, "train");
  EXPECT_EQ(p.objective.name, "regression");
  EXPECT_EQ(p.growth.num_leaves, 63);
  EXPECT_EQ(p.boosting.learning_rate, 0.05);
  EXPECT_EQ(p.boosting.num_iterations, 100);
  EXPECT_THAT(p.metric.names, ElementsAre("l1", "rmse"));
  EXPECT_THAT(p.metric.eval_at, ElementsAre(1, 10));
  EXPECT_THAT(p.data.categorical_feature, ElementsAre("1"));
  EXPECT_EQ(p.data.path, "jobs/train.csv");
  EXPECT_THAT(p.data.valid, ElementsAre("/data/test.csv"));
  EXPECT_EQ(p.task.input_model, "jobs/before.txt");
  EXPECT_EQ(p.task.output_model, "jobs/trees.txt");
  EXPECT_EQ(p.seed, 9);
  EXPECT_TRUE(p.data.columns->label_is_number);
  EXPECT_EQ(p.data.columns->query, "q");
}

TEST(TreesJob, TheTaskDecidesWhatIsReadAndWritten) {
  const std::string overrides[] = {"output.predictions=out.txt",
                                   "gbdt.input_model=", "gbdt.num_leaves=7"};
  const Result<JobConfig> job = ParseJob(kTreesJob, "trees.toml", overrides, "predict");
  ASSERT_TRUE(job.ok()) << job.status().ToString();
  EXPECT_EQ(job->trees->data.path, "/data/test.csv");
  EXPECT_EQ(job->trees->task.input_model, "trees.txt");
  EXPECT_EQ(job->trees->task.output_result, "out.txt");
  EXPECT_EQ(job->trees->growth.num_leaves, 7);
}

TEST(TreesJob, WhatDoesNotFitIsSaid) {
  const auto error = [](const std::string& override_text, const std::string& task) {
    const std::string overrides[] = {override_text};
    return ParseJob(kTreesJob, "t.toml", overrides, task).status().message();
  };
  EXPECT_THAT(error("gbdt.num_leafs=3", "train"), HasSubstr("did you mean 'gbdt.num_leaves'?"));
  EXPECT_THAT(error("gbdt.num_leaves=1", "train"), HasSubstr("from 2 to 131072"));
  EXPECT_THAT(error("gbdt.objective=rocket", "train"), HasSubstr("expected one of regression|"));
  EXPECT_THAT(error("dense.optimizer=sgd", "train"), HasSubstr("dense.optimizer has no effect on"));
  EXPECT_THAT(
      error("output.predictions=", "predict"),
      HasSubstr(
          "t.toml: output.predictions is empty: expected the file to write: name it there, or "
          "give output.predictions=PATH"));
  EXPECT_THAT(error("model.kind=fm", "train"), HasSubstr("has no effect on model.kind"));
  EXPECT_THAT(
      error("data.train=", "train"),
      HasSubstr("data.train is empty: expected the file of rows to train: name it there, or give "
                "data.train=PATH"));
  EXPECT_THAT(ParseJob(kJob, "job.toml", {}, "refit").status().message(),
              HasSubstr("is for model.kind = \"gbdt\""));
}

constexpr const char* kCatBoostJob = R"([job]
seed = 9
[data]
train = "train.csv"
test = "/data/test.csv"
columns = ["age", "city", "y"]
label = "y"
[[feature]]
kind = "numeric"
columns = ["age"]
[[feature]]
columns = ["city"]
[model]
kind = "gbdt"
[gbdt]
algorithm = "catboost"
depth = 4
monotone_constraints = [1, 0]
class_weights = {no = 1, yes = 2.5}
[compute]
device = "auto"
[output]
model = "m.json"
)";

TEST(CatBoostJob, ParametersAreWhatTheSectionSays) {
  const std::string overrides[] = {"gbdt.eta=0.5", "gbdt.depth=7"};
  const Result<JobConfig> job = ParseJob(kCatBoostJob, "jobs/c.toml", overrides);
  ASSERT_TRUE(job.ok()) << job.status().ToString();
  EXPECT_FALSE(job->trees.has_value());
  ASSERT_TRUE(job->catboost.has_value());
  std::map<std::string, std::string> found;
  for (const OpenValue& value : *job->catboost) {
    std::string json = value.json;
    std::erase_if(json, [](char c) { return c == ' ' || c == '\n'; });
    found[value.key] = value.origin + " " + json;
  }
  const std::map<std::string, std::string> expected = {
      {"depth", "command line \"7\""},
      {"eta", "command line \"0.5\""},
      {"monotone_constraints", "jobs/c.toml:18:1 [1,0]"},
      {"class_weights", "jobs/c.toml:19:1 {\"no\":1,\"yes\":2.5}"},
      {"device", "jobs/c.toml:21:1 \"auto\""},
      {"random_seed", "jobs/c.toml:2:1 9"}};
  EXPECT_EQ(found, expected);
  EXPECT_THAT(job->train_files, ElementsAre("jobs/train.csv"));
  EXPECT_THAT(job->test_files, ElementsAre("/data/test.csv"));
  EXPECT_EQ(job->model_path, "jobs/m.json");
}

TEST(CatBoostJob, WhatDoesNotFitIsSaid) {
  const auto error = [](const std::string& override_text, const std::string& task) {
    const std::string overrides[] = {override_text};
    return ParseJob(kCatBoostJob, "c.toml", overrides, task).status().message();
  };
  const std::string query[] = {"data.columns=age,city,y,q", "data.query=q"};
  EXPECT_THAT(ParseJob(kCatBoostJob, "c.toml", query).status().message(),
              HasSubstr("data.query has no effect on gbdt.algorithm = \"catboost\""));
  std::string with_keys = kCatBoostJob;
  with_keys.insert(with_keys.find("[model]"), "keys_of = \"street\"\n");
  EXPECT_THAT(ParseJob(with_keys, "c.toml", {}).status().message(), HasSubstr("feature.keys_of"));
  const std::tuple<const char*, const char*, const char*> cases[] = {
      {"data.trains=x", "train", "unknown key 'data.trains'; did you mean 'data.train'?"},
      {"gbdt.algorithm=xgboost", "train", "gbdt.algorithm must be one of lightgbm, catboost"},
      {"train.epochs=2", "train", "train.epochs has no effect on model.kind = \"gbdt\""},
      {"compute.precision=fp32", "train", "compute.precision has no effect on model.kind"},
      {"compute.device=gpu", "train", "command line: compute.device must be auto, cpu, cuda"},
      {"gbdt.test_set=x", "train", "gbdt.test_set has another place: data.test"},
      {"data.train=", "train", "c.toml: data.train is empty: expected the file of rows to train"},
      {"data.train=a,b", "train", "data.train names 2 files: expected one"},
      {"data.test=", "evaluate", "data.test is empty: expected the file of rows to evaluate"},
      {"output.model=", "train", "output.model is empty: expected the file to write"},
      {"output.model=", "evaluate", "output.model is empty: expected the file of a trained model"},
      {"gbdt.depth=3", "predict", "output.predictions is empty: expected the file to write"},
      {"gbdt.depth=3", "refit", "--task=refit: c.toml: CatBoost's trees know no such task"},
      {"gbdt.depth=3", "convert", "--task=convert model_file=FILE, without a job,"},
      {"model.kind=fm", "train", "gbdt.algorithm has no effect on model.kind = \"fm\""}};
  for (const auto& [word, task, expected] : cases) {
    EXPECT_THAT(error(word, task), HasSubstr(expected)) << word << " " << task;
  }
}

}  // namespace
}  // namespace strata
