// Jobs whose features have their rows in several tables.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <set>
#include <string>
#include <vector>

#include "base/random.h"
#include "tests/support/temp_folder.h"
#include "tests/worker/program/run_job.h"
#include "worker/ctr/model_file.h"
#include "worker/tasks/job_data.h"
#include "worker/tasks/print_graph.h"

namespace strata {
namespace {

using testing::HasSubstr;

constexpr char kJob[] = R"([job]
name = "tables"
[data]
train = "rows.csv"
test = "rows.csv"
columns = ["user", "friend", "site", "age", "y"]
label = "y"
[[feature]]
columns = ["user"]
[[feature]]
columns = ["friend"]
keys_of = "user"
[[feature]]
columns = ["site"]
[[feature]]
kind = "numeric"
columns = ["age"]
[model]
embedding_dim = 4
hidden = [8, 4]
l2 = 0.001
[train]
batch_size = 50
epochs = 3
[output]
model = "model"
predictions = "predictions.csv"
)";

constexpr char kTables[] = R"([[table]]
name = "people"
features = ["user", "friend"]
)";

class TablesJob : public testing::Test {
 protected:
  TablesJob() {
    Random random(5);
    std::string rows;
    for (int row = 0; row < 300; ++row) {
      const uint64_t user = random.Below(20);
      const uint64_t other = 10 + random.Below(20);
      people_.insert({user, other});
      rows += fmt::format("u{},u{},s{},{:.3f},{}\n", user, other, random.Below(7), random.Uniform(),
                          (user + other) % 2);
    }
    WriteWholeFile(folder_.File("rows.csv"), rows);
  }

  Result<TaskResult> Run(Task task, const std::string& tables,
                         const std::vector<std::string>& overrides = {}) {
    STRATA_ASSIGN(const JobConfig job,
                  ParseJob(kJob + tables, folder_.File("job.toml"), overrides));
    return RunJobAlone(task, job);
  }

  // Trains and predicts; the predictions.
  std::string Predictions(const std::string& tables,
                          const std::vector<std::string>& overrides = {}) {
    const auto trained = Run(Task::kTrain, tables, overrides);
    EXPECT_TRUE(trained.ok()) << trained.status().ToString();
    const auto evaluated = Run(Task::kEvaluate, tables, overrides);
    EXPECT_TRUE(evaluated.ok()) << evaluated.status().ToString();
    if (trained.ok() && evaluated.ok()) {
      EXPECT_EQ(evaluated->metrics->auc, trained->metrics->auc);
    }
    EXPECT_TRUE(Run(Task::kPredict, tables, overrides).ok());
    return ReadWholeFile(folder_.File("predictions.csv"));
  }

  LoadedModel Model() {
    auto loaded = LoadModel(RealDisk(), folder_.File("model"));
    EXPECT_TRUE(loaded.ok()) << loaded.status().ToString();
    return loaded.ok() ? std::move(loaded).value() : LoadedModel{};
  }

  TempFolder folder_;
  std::set<uint64_t> people_;
};

// Where a row is does not matter to it: tables of one dimension give the bits that one table does.
TEST_F(TablesJob, EqualTablesAreOneTable) {
  for (const char* kind : {"fm", "deepfm", "dcn", "dcn_v2", "wide_deep"}) {
    SCOPED_TRACE(kind);
    const std::vector<std::string> overrides = {fmt::format("model.kind={}", kind)};
    const std::string expected = Predictions("", overrides);
    const LoadedModel one = Model();
    EXPECT_EQ(Predictions(kTables, overrides), expected);
    const LoadedModel several = Model();
    ASSERT_EQ(several.tables.size(), 2U);
    EXPECT_EQ(several.model.dense, one.model.dense);
    EXPECT_EQ(several.tables[0].keys.size() + several.tables[1].keys.size(),
              one.tables[0].keys.size());
  }
}

TEST_F(TablesJob, SharedKeysAreSharedRows) {
  Predictions(kTables);
  EXPECT_EQ(Model().tables[0].keys.size(), people_.size());
  EXPECT_EQ(Model().tables[1].keys.size(), 7U);
}

TEST_F(TablesJob, TablesHaveDimensionsOfTheirOwn) {
  const std::string tables =
      std::string(kTables) + "dim = 7\noptimizer = \"adam\"\nlearning_rate = 0.01\n";
  const std::string predictions = Predictions(tables, {"model.kind=dcn"});
  const LoadedModel loaded = Model();
  ASSERT_EQ(loaded.tables.size(), 2U);
  EXPECT_EQ(loaded.tables[0].values.size(), loaded.tables[0].keys.size() * 7);
  EXPECT_EQ(loaded.tables[1].values.size(), loaded.tables[1].keys.size() * 4);
  // A second save replaces the files of all tables.
  EXPECT_EQ(Predictions(tables, {"model.kind=dcn"}), predictions);
  EXPECT_EQ(ModelFiles(RealDisk(), folder_.File("model")).size(), 5U);
  EXPECT_THAT(
      Run(Task::kEvaluate, std::string(kTables) + "dim = 6\n", {"model.kind=dcn"})
          .status()
          .ToString(),
      HasSubstr("job.toml:28:1: table 1 of the job is 'people' of 2 slots, dim 6 and combiner "
                "sum, and that of the model in"));
  EXPECT_THAT(
      Run(Task::kTrain, tables).status().ToString(),
      HasSubstr("job.toml:28:1: table 'people': dim is 7: expected model.embedding_dim, 4, as "
                "a deepfm"));
}

TEST_F(TablesJob, LayersTakeAllTables) {
  const std::string sites = "[[table]]\nname = \"sites\"\nfeatures = [\"site\"]\n";
  const auto train = [&](const std::string& tables, const std::string& layers) {
    return Run(Task::kTrain, tables + layers, {"model.kind=layers", "train.epochs=1"}).status();
  };
  const auto logit_of = [](const std::string& input) {
    return fmt::format("[[layer]]\nname = \"logit\"\ninputs = [\"{}\"]\nwidths = [1]\n", input);
  };
  const Status unused = train(kTables + sites, logit_of("people"));
  EXPECT_EQ(unused.code(), StatusCode::kInvalid);
  EXPECT_THAT(unused.ToString(),
              HasSubstr("job.toml:31:1: table 'sites': no layer takes it: name it in the inputs"));
  // Features without a section have a table as well.
  EXPECT_THAT(train(kTables, logit_of("people")).ToString(),
              HasSubstr("job.toml: table 'embedding', of the features that no [[table]] names: no "
                        "layer takes it"));
  // A name that is misspelt is the fault, not the table that nobody takes for it.
  EXPECT_THAT(train(kTables, logit_of("peple")).ToString(), HasSubstr("did you mean 'people'?"));
  EXPECT_TRUE(train(kTables + sites, logit_of("embeddings")).ok());
  const std::string both =
      "[[layer]]\nname = \"both\"\ntype = \"concat\"\n"
      "inputs = [\"people\", \"embedding\"]\n";
  EXPECT_TRUE(train(kTables, both + logit_of("both")).ok());
  EXPECT_TRUE(train(kTables, "[[layer]]\nname = \"logit\"\ntype = \"wide\"\n").ok())
      << "which takes the single weights of all keys";
}

// A table with a rule of its own is trained as one whose job has that rule, and no other one is
// changed: the model of each table is that of a job of one step, where no table sees another.
TEST_F(TablesJob, EachTableHasItsOwnRule) {
  const std::vector<std::string> one_step = {"model.kind=wide_deep", "train.batch_size=300",
                                             "train.epochs=1", "sparse.learning_rate=0.5"};
  const auto tables_of = [&](const std::string& tables, const std::string& sparse) {
    std::vector<std::string> overrides = one_step;
    overrides.push_back("sparse.optimizer=" + sparse);
    EXPECT_TRUE(Run(Task::kTrain, tables, overrides).ok());
    return Model().tables;
  };
  const auto of_sgd = tables_of(kTables, "sgd");
  const auto of_ftrl = tables_of(kTables, "ftrl");
  ASSERT_EQ(of_sgd.size(), 2U);
  EXPECT_NE(of_sgd[0].values, of_ftrl[0].values);
  EXPECT_NE(of_sgd[1].values, of_ftrl[1].values);
  const auto mixed = tables_of(std::string(kTables) + "optimizer = \"ftrl\"\n", "sgd");
  EXPECT_EQ(mixed[0].keys, of_ftrl[0].keys);
  EXPECT_EQ(mixed[0].values, of_ftrl[0].values);
  EXPECT_EQ(mixed[1].values, of_sgd[1].values);
  const auto slower = tables_of(std::string(kTables) + "learning_rate = 0.25\n", "sgd");
  EXPECT_NE(slower[0].values, of_sgd[0].values);
  EXPECT_EQ(slower[1].values, of_sgd[1].values);
}

TEST_F(TablesJob, AnotherRuleOfATableIsAnotherJob) {
  const auto train = [&](const std::string& more, const std::string& epochs) {
    return Run(Task::kTrain, kTables + more,
               {"checkpoint.every_steps=4", "checkpoint.folder=" + folder_.File("checkpoints"),
                "train.epochs=" + epochs});
  };
  const std::string adam = "optimizer = \"adam\"\nlearning_rate = 0.01\n";
  ASSERT_TRUE(train(adam, "2").ok());
  EXPECT_THAT(train("optimizer = \"adam\"\nlearning_rate = 0.02\n", "3").status().ToString(),
              HasSubstr("has 'table[1].learning_rate = 0.01', the job now "
                        "'table[1].learning_rate = 0.02'"));
  EXPECT_THAT(train("", "3").status().ToString(),
              HasSubstr("has 'table[1].optimizer = \"adam\"', the job now "));
  const auto resumed = train(adam, "3");
  ASSERT_TRUE(resumed.ok()) << resumed.status().ToString();
  EXPECT_TRUE(resumed->resumed_from.has_value());
}

// What --print-graph shows in the place of the job's own sections is the same job.
TEST_F(TablesJob, TheSectionsThatAreShownAreTheJob) {
  const std::string tables = std::string(kTables) + "dim = 7\n";
  for (const char* kind : {"dcn", "wide_deep"}) {
    SCOPED_TRACE(kind);
    const std::vector<std::string> overrides = {fmt::format("model.kind={}", kind)};
    const std::string expected = Predictions(tables, overrides);
    const auto job = ParseJob(kJob + tables, folder_.File("job.toml"), overrides);
    ASSERT_TRUE(job.ok()) << job.status().ToString();
    const auto shape = JobModelShape(*job, job->data.features);
    ASSERT_TRUE(shape.ok()) << shape.status().ToString();
    const std::string text = kJob;
    const size_t model = text.find("[model]");
    const std::string shown = text.substr(0, model) + GraphSections(*job, GraphOf(*shape)) +
                              text.substr(text.find("[train]"));
    const auto again = ParseJob(shown, folder_.File("job.toml"), {});
    ASSERT_TRUE(again.ok()) << again.status().ToString();
    EXPECT_EQ(again->tables, job->tables);
    EXPECT_EQ(again->table_optimizers, job->table_optimizers);
    ASSERT_TRUE(RunJobAlone(Task::kTrain, *again).ok());
    ASSERT_TRUE(RunJobAlone(Task::kPredict, *again).ok());
    EXPECT_EQ(ReadWholeFile(folder_.File("predictions.csv")), expected);
  }
}

TEST_F(TablesJob, ResumesAllItsTables) {
  const std::string tables = std::string(kTables) + "dim = 7\n";
  const std::vector<std::string> unbroken = {"model.kind=dcn", "train.shuffle_rows=0"};
  const std::string expected = Predictions(tables, unbroken);
  std::vector<std::string> broken = unbroken;
  broken.insert(broken.end(),
                {"checkpoint.every_steps=4", "checkpoint.folder=" + folder_.File("checkpoints"),
                 "train.epochs=2"});
  ASSERT_TRUE(Run(Task::kTrain, tables, broken).ok());
  broken.back() = "train.epochs=3";
  const auto resumed = Run(Task::kTrain, tables, broken);
  ASSERT_TRUE(resumed.ok()) << resumed.status().ToString();
  EXPECT_TRUE(resumed->resumed_from.has_value());
  ASSERT_TRUE(Run(Task::kPredict, tables, unbroken).ok());
  EXPECT_EQ(ReadWholeFile(folder_.File("predictions.csv")), expected);
}

// Records of a user's words, a site and two tags.
class RawTables : public testing::Test {
 protected:
  RawTables() {
    Random random(6);
    std::string bytes;
    for (int record = 0; record < 400; ++record) {
      const auto user = static_cast<uint32_t>(random.Below(30));
      const auto tag = static_cast<uint32_t>(random.Below(9));
      const auto word = static_cast<uint32_t>(random.Below(5));
      const std::array<uint32_t, 7> words = {(user + tag) & 1, user, word, user % 3,
                                             tag % 4,          tag,  word};
      bytes.append(reinterpret_cast<const char*>(words.data()), sizeof(words));
    }
    WriteWholeFile(folder_.File("records"), bytes);
  }

  // Trains and evaluates; the model's predictions.
  std::string Predictions(const std::string& sections) {
    const Result<JobConfig> job = ParseJob(kJobOfRecords + sections, folder_.File("job.toml"), {});
    EXPECT_TRUE(job.ok()) << job.status().ToString();
    if (!job.ok()) return "";
    const auto trained = RunJobAlone(Task::kTrain, *job);
    const auto evaluated = RunJobAlone(Task::kEvaluate, *job);
    EXPECT_TRUE(trained.ok()) << trained.status().ToString();
    EXPECT_TRUE(evaluated.ok()) << evaluated.status().ToString();
    if (!trained.ok() || !evaluated.ok()) return "";
    EXPECT_EQ(evaluated->metrics->auc, trained->metrics->auc);
    EXPECT_TRUE(RunJobAlone(Task::kPredict, *job).ok());
    return ReadWholeFile(folder_.File("predictions.csv"));
  }

  static constexpr char kJobOfRecords[] = R"([job]
name = "records"
[data]
train = "records"
test = "records"
format = "raw"
raw_keys = [3, 1, 2]
raw_label_type = "int"
[train]
batch_size = 50
epochs = 2
[output]
model = "model"
predictions = "predictions.csv"
[model]
kind = "deepfm"
embedding_dim = 4
hidden = [8]
)";
  TempFolder folder_;
};

TEST_F(RawTables, EqualTablesAreOneTable) {
  const std::string words = "[[table]]\nname = \"words\"\nfeatures = [\"slot 0\"]\n";
  const std::string tags = "[[table]]\nname = \"tags\"\nfeatures = [\"slot 1\", \"slot 2\"]\n";
  const std::string sums = Predictions("");
  const std::string means = Predictions("combiner = \"mean\"\n");
  EXPECT_EQ(Predictions(words + tags), sums);
  EXPECT_EQ(Predictions("combiner = \"mean\"\n" + words + tags), means);
  EXPECT_EQ(Predictions(words + "combiner = \"mean\"\n" + tags + "combiner = \"mean\"\n"), means);
  EXPECT_EQ(Predictions("combiner = \"mean\"\n" + words + "combiner = \"sum\"\n" + tags +
                        "combiner = \"sum\"\n"),
            sums);
  const std::string both = Predictions(words + "combiner = \"mean\"\n" + tags);
  EXPECT_THAT(both, testing::AllOf(testing::Ne(sums), testing::Ne(means)));
  const auto model = LoadModel(RealDisk(), folder_.File("model"));
  ASSERT_TRUE(model.ok()) << model.status().ToString();
  EXPECT_EQ(model->model.shape.tables[0].combiner, Combiner::kMean);
  EXPECT_EQ(model->model.shape.tables[1].combiner, Combiner::kSum);
}

}  // namespace
}  // namespace strata
