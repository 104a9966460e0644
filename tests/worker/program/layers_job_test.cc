// Jobs whose network is layers of their own.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

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
name = "layers"
[data]
train = "rows.csv"
test = "rows.csv"
columns = ["user", "site", "age", "height", "y"]
label = "y"
[[feature]]
columns = ["user", "site"]
[[feature]]
kind = "numeric"
columns = ["age", "height"]
[model]
embedding_dim = 4
hidden = [8, 4]
bottom = [6, 4]
cross_layers = 2
cross_rank = 3
dropout = 0.2
[train]
batch_size = 50
epochs = 2
[output]
model = "model"
predictions = "predictions.csv"
)";

class LayersJob : public testing::Test {
 protected:
  LayersJob() {
    Random random(5);
    std::string rows;
    for (int row = 0; row < 300; ++row) {
      const uint64_t user = random.Below(20);
      rows += fmt::format("u{},s{},{:.3f},{:.3f},{}\n", user, random.Below(7), random.Uniform(),
                          random.Uniform(), user % 2);
    }
    WriteWholeFile(folder_.File("rows.csv"), rows);
  }

  Result<JobConfig> Job(const std::vector<std::string>& overrides,
                        const std::string& layers = "") const {
    return ParseJob(kJob + layers, folder_.File("job.toml"), overrides);
  }

  TempFolder folder_;
};

// The sections that --print-graph shows for a fixed kind are that kind: the same model to the bit.
// Logistic regression has no vectors, which layers always have.
TEST_F(LayersJob, AFixedKindIsItsLayers) {
  for (const char* kind : {"fm", "deepfm", "wide_deep", "dlrm", "dcn", "dcn_v2"}) {
    SCOPED_TRACE(kind);
    const auto fixed = Job({fmt::format("model.kind={}", kind)});
    ASSERT_TRUE(fixed.ok()) << fixed.status().ToString();
    ASSERT_TRUE(RunJobAlone(Task::kTrain, *fixed).ok());
    ASSERT_TRUE(RunJobAlone(Task::kPredict, *fixed).ok());
    const auto expected = LoadModel(RealDisk(), folder_.File("model"));
    ASSERT_TRUE(expected.ok()) << expected.status().ToString();
    const std::string predictions = ReadWholeFile(folder_.File("predictions.csv"));
    const auto shape = JobModelShape(*fixed, fixed->data.features);
    ASSERT_TRUE(shape.ok());

    const std::string text = kJob;
    const auto job =
        ParseJob(text.substr(0, text.find("[model]")) + GraphSections(*fixed, GraphOf(*shape)) +
                     text.substr(text.find("[train]")),
                 folder_.File("job.toml"), {});
    ASSERT_TRUE(job.ok()) << job.status().ToString();
    const auto trained = RunJobAlone(Task::kTrain, *job);
    ASSERT_TRUE(trained.ok()) << trained.status().ToString();
    const auto evaluated = RunJobAlone(Task::kEvaluate, *job);
    ASSERT_TRUE(evaluated.ok()) << evaluated.status().ToString();
    EXPECT_EQ(evaluated->metrics->auc, trained->metrics->auc);
    ASSERT_TRUE(RunJobAlone(Task::kPredict, *job).ok());
    const auto found = LoadModel(RealDisk(), folder_.File("model"));
    ASSERT_TRUE(found.ok()) << found.status().ToString();
    EXPECT_EQ(found->model.shape.layers, job->layers);
    EXPECT_EQ(found->model.dense, expected->model.dense);
    EXPECT_EQ(ReadWholeFile(folder_.File("predictions.csv")), predictions);
  }
}

// Statistics of training are saved with the model, and go on from a checkpoint.
TEST_F(LayersJob, BatchNormIsScoredByWhatTrainingKept) {
  const std::string layers = R"([[layer]]
name = "features"
type = "batch_norm"
inputs = ["dense"]
[[layer]]
name = "inputs"
type = "concat"
inputs = ["embeddings", "features"]
[[layer]]
name = "hidden"
inputs = ["inputs"]
widths = [6]
[[layer]]
name = "normal"
type = "batch_norm"
inputs = ["hidden"]
[[layer]]
name = "active"
type = "activation"
inputs = ["normal"]
activation = "relu"
[[layer]]
name = "logit"
inputs = ["active"]
widths = [1]
)";
  const std::vector<std::string> overrides = {"model.kind=layers", "model.dropout=0"};
  const auto job = Job(overrides, layers);
  ASSERT_TRUE(job.ok()) << job.status().ToString();
  const LayerGraph graph = GraphOf(JobModelShape(*job, job->data.features).value());
  EXPECT_THAT(graph.ToText(), HasSubstr("normal           batch_norm             6           24"));
  EXPECT_THAT(GraphSections(*job, graph), HasSubstr("type = \"batch_norm\"\ninputs"));

  const auto trained = RunJobAlone(Task::kTrain, *job);
  ASSERT_TRUE(trained.ok()) << trained.status().ToString();
  const auto evaluated = RunJobAlone(Task::kEvaluate, *job);
  ASSERT_TRUE(evaluated.ok()) << evaluated.status().ToString();
  EXPECT_EQ(evaluated->metrics->logloss, trained->metrics->logloss);
  const auto unbroken = LoadModel(RealDisk(), folder_.File("model"));
  ASSERT_TRUE(unbroken.ok()) << unbroken.status().ToString();
  ASSERT_EQ(unbroken->model.dense.size(), graph.parameters());
  // Uniform in [0, 1): after 12 steps 0.28 of the beginning is left.
  const ParameterRange& statistics = graph.layers()[0].parameters.statistics;
  EXPECT_NEAR(unbroken->model.dense[statistics.at], 0.72 * 0.5, 0.03);
  EXPECT_NEAR(unbroken->model.dense[statistics.end() - 1], 0.28 + 0.72 / 12, 0.03);

  std::vector<std::string> resumed = overrides;
  resumed.insert(resumed.end(),
                 {"checkpoint.every_steps=4", "checkpoint.folder=" + folder_.File("checkpoints")});
  const auto again = Job(resumed, layers);
  ASSERT_TRUE(again.ok()) << again.status().ToString();
  int steps = 0;
  const auto dies = [&] { return ++steps == 7 ? Cancelled("dead") : Status::Ok(); };
  EXPECT_EQ(RunJobAlone(Task::kTrain, *again, {.check = dies}).status().code(),
            StatusCode::kCancelled);
  const auto last = RunJobAlone(Task::kTrain, *again);
  ASSERT_TRUE(last.ok()) << last.status().ToString();
  EXPECT_TRUE(last->resumed_from.has_value());
  EXPECT_EQ(LoadModel(RealDisk(), folder_.File("model"))->model.dense, unbroken->model.dense);
}

TEST_F(LayersJob, AModelOfOtherLayersIsRefused) {
  const auto layers = [](int width) {
    return fmt::format(
        "[[layer]]\nname = \"h\"\ninputs = [\"embeddings\"]\nwidths = [{}]\n"
        "activation = \"tanh\"\n"
        "[[layer]]\nname = \"logit\"\ninputs = [\"h\"]\nwidths = [1]\n",
        width);
  };
  const std::vector<std::string> overrides = {"model.kind=layers", "model.dropout=0"};
  const auto job = Job(overrides, layers(5));
  ASSERT_TRUE(job.ok()) << job.status().ToString();
  ASSERT_TRUE(RunJobAlone(Task::kTrain, *job).ok());
  ASSERT_TRUE(RunJobAlone(Task::kEvaluate, *job).ok());
  EXPECT_THAT(
      RunJobAlone(Task::kEvaluate, *Job(overrides, layers(6))).status().ToString(),
      HasSubstr("layer 1 of the job is 'h' of type linear, inputs [\"embeddings\"], width 6 "
                "and activation tanh, and that of the model in"));
}

TEST_F(LayersJob, FeaturesThatNoLayerTakesAreToldOf) {
  const auto graph = [&](const std::string& layers) {
    const auto job = Job({"model.kind=layers", "model.dropout=0"}, layers);
    EXPECT_TRUE(job.ok()) << job.status().ToString();
    return GraphOf(JobModelShape(*job, job->data.features).value());
  };
  const auto logit_of = [](const std::string& inputs) {
    return "[[layer]]\nname = \"logit\"\ninputs = [" + inputs + "]\nwidths = [1]\n";
  };
  const LayerGraph dense = graph(logit_of("\"dense\""));
  EXPECT_THAT(UnusedFeatures(dense),
              testing::ElementsAre(HasSubstr("no layer takes 'embeddings', the 2 categorical or "
                                             "bucketised features, so that nothing is learned")));
  EXPECT_THAT(dense.ToText(), HasSubstr("no layer takes it"));
  EXPECT_THAT(UnusedFeatures(graph(logit_of("\"embeddings\""))),
              testing::ElementsAre(HasSubstr("no layer takes 'dense', the 2 numeric features")));
  const LayerGraph both = graph(
      "[[layer]]\nname = \"all\"\ntype = \"concat\"\ninputs = [\"dense\", "
      "\"embeddings\"]\n" +
      logit_of("\"all\""));
  EXPECT_THAT(UnusedFeatures(both), testing::IsEmpty());
  EXPECT_THAT(both.ToText(), testing::Not(HasSubstr("takes it")));
  const LayerGraph wide = graph("[[layer]]\nname = \"logit\"\ntype = \"wide\"\n");
  EXPECT_THAT(UnusedFeatures(wide), testing::IsEmpty());
  EXPECT_THAT(wide.ToText(), HasSubstr("only wide takes it"));
}

TEST_F(LayersJob, WhatIsWrongWithAGraphNamesItsLine) {
  const std::vector<std::string> overrides = {"model.kind=layers", "model.dropout=0"};
  const auto why = [&](const std::string& layers) {
    const auto job = Job(overrides, layers);
    EXPECT_TRUE(job.ok()) << job.status().ToString();
    return job.ok() ? RunJobAlone(Task::kTrain, *job).status().ToString() : "";
  };
  const std::string logit = "[[layer]]\nname = \"logit\"\ninputs = [\"h\"]\nwidths = [1]\n";
  const std::string hidden = "[[layer]]\nname = \"h\"\ninputs = [\"dense\"]\nwidths = [3]\n";
  EXPECT_THAT(why("[[layer]]\nname = \"hide\"\ninputs = [\"dense\"]\nwidths = [3]\n"
                  "[[layer]]\nname = \"logit\"\ninputs = [\"hid\"]\nwidths = [1]\n"),
              HasSubstr("job.toml:30:1: layer 'logit' (linear): input 'hid' is neither dense, "
                        "embeddings, a table nor an earlier layer; did you mean 'hide'?"));
  EXPECT_THAT(why(logit + hidden),
              HasSubstr("job.toml:26:1: layer 'logit' (linear): input 'h' is neither dense, "
                        "embeddings, a table nor an earlier layer: it comes later"));
  EXPECT_THAT(why(hidden + "[[layer]]\nname = \"logit\"\ntype = \"add\"\ninputs = [\"h\"]\n"),
              HasSubstr("job.toml:30:1: layer 'logit' (add): the last layer gives 3 numbers"));
  EXPECT_THAT(why(hidden + hidden + logit),
              HasSubstr("job.toml:30:1: layer 'h' (linear): its name is that of an earlier layer "
                        "("));
  EXPECT_THAT(why("[[layer]]\nname = \"s\"\ntype = \"slice\"\ninputs = [\"dense\"]\n"
                  "columns = [1, 2]\n" +
                  hidden + logit),
              HasSubstr("layer 's' (slice): it takes 2 columns from 1 on of the 2 of 'dense'"));
  EXPECT_THAT(why(hidden +
                  "[[layer]]\nname = \"m\"\ntype = \"multiply\"\n"
                  "inputs = [\"h\", \"embeddings\"]\n" +
                  logit),
              HasSubstr("layer 'm' (multiply): its inputs have 3 and 8 elements"));
  EXPECT_THAT(why(hidden + "[[layer]]\nname = \"logit\"\ninputs = [\"h\"]\nwidths = [1]\n"
                           "activation = \"sigmoid\"\n"),
              HasSubstr("of which training takes the sigmoid itself"));
  // A section with several widths is one layer to people, whatever its parts are called.
  const auto deep = [](const std::string& name, const std::string& input) {
    return fmt::format("[[layer]]\nname = \"{}\"\ninputs = [\"{}\"]\nwidths = [3, 2]\n", name,
                       input);
  };
  const auto logit_of = [](const std::string& input) {
    return fmt::format("[[layer]]\nname = \"logit\"\ninputs = [\"{}\"]\nwidths = [1]\n", input);
  };
  EXPECT_THAT(why(deep("deep", "deep") + logit_of("deep")),
              HasSubstr("layer 'deep' (linear): input 'deep' is neither dense, embeddings, a table "
                        "nor an earlier layer, but the layer itself: name an earlier one"));
  EXPECT_THAT(why(deep("a.10", "dense") + logit_of("a.1.1")), HasSubstr("did you mean 'a.10'?"));
  EXPECT_THAT(why(deep("tower", "dense") + logit_of("towre.1")),
              testing::Not(HasSubstr("did you mean 'tower.1'?")));
  EXPECT_THAT(why(deep("tower", "dense") + logit_of("zzzzzzzz")),
              HasSubstr("earlier layer: name one of dense, embeddings, tower"));
}

}  // namespace
}  // namespace strata
