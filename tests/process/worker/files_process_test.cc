// The data files of click models, as strata-worker reads them: several files, patterns, and what
// is wrong with them.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cmath>
#include <csignal>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "tests/process/worker/run_worker.h"
#include "tests/support/temp_folder.h"
#include "tests/worker/compress.h"

namespace strata {
namespace {

using testing::HasSubstr;

constexpr const char* kJob = R"([data]
train = "all.csv"
test = "all.csv"
columns = ["label", "age", "user", "item"]
label = "label"
[[feature]]
kind = "bucketised"
columns = ["age"]
[[feature]]
columns = ["user", "item"]
[train]
batch_size = 64
epochs = 2
shuffle_rows = 0
[output]
model = "model"
predictions = "predictions.csv"
)";

constexpr const char* kTreeJob = R"([data]
columns = ["label", "age", "user", "item"]
label = "label"
[[feature]]
columns = ["user", "item"]
[[feature]]
kind = "numeric"
columns = ["age"]
[model]
kind = "gbdt"
)";

constexpr const char* kRawJob = R"([data]
format = "raw"
train = "ints.bin"
test = "ints.bin"
raw_dense = 1
raw_dense_type = "int"
raw_keys = [2, 1]
[train]
batch_size = 64
epochs = 3
shuffle_rows = 0
[output]
model = "model"
predictions = "predictions.csv"
)";

class DataFiles : public testing::Test {
 protected:
  DataFiles() {
    Random random(5);
    std::string all;
    for (int file = 1; file <= 3; ++file) {
      std::string text;
      for (int i = 0; i < 200 * file; ++i) {
        const uint64_t user = random.Below(50);
        text += fmt::format("{},{},u{},v{}\n", user % 2, random.Below(90), user, random.Below(40));
      }
      parts_.push_back(text);
      Write(fmt::format("day_{}.csv", file), text);
      all += text;
    }
    Write("all.csv", all);
    Write("job.toml", kJob);
    Write("trees.toml", kTreeJob);
  }

  void Write(const std::string& name, const std::string& text) const {
    WriteWholeFile(folder_.File(name), text);
  }

  ProcessResult Run(std::vector<std::string> arguments) const {
    if (!arguments[0].starts_with("--job")) arguments.insert(arguments.begin(), "--job=job.toml");
    return RunProcess(ProgramPath("strata-worker"),
                      {.arguments = std::move(arguments), .folder = folder_.path()});
  }
  // The same with bytes on standard input.
  ProcessResult RunOn(const std::string& input, std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), "--job=job.toml");
    return RunProcess(
        ProgramPath("strata-worker"),
        {.arguments = std::move(arguments), .folder = folder_.path(), .input = input});
  }
  // The bytes of the model that a run leaves.
  std::string ModelOf(const std::vector<std::string>& arguments) const {
    std::filesystem::remove_all(folder_.File("model"));  // each model is the first there
    const ProcessResult run = Run(arguments);
    EXPECT_EQ(run.end.code, 0) << run.errors;
    if (run.end.code != 0) return "";
    return ReadWholeFile(folder_.File("model/sparse-1.bin")) +
           ReadWholeFile(folder_.File("model/dense-1.bin")) +
           ReadWholeFile(folder_.File("model/features-1.bin"));
  }
  std::string PredictionsOf(std::vector<std::string> arguments) const {
    arguments.push_back("--task=predict");
    const ProcessResult run = Run(arguments);
    EXPECT_EQ(run.end.code, 0) << run.errors;
    return run.end.code == 0 ? ReadWholeFile(folder_.File("predictions.csv")) : "";
  }

  TempFolder folder_;
  std::vector<std::string> parts_;
};

TEST_F(DataFiles, SeveralFilesTrainThatModelAndPredictThoseRowsOfTheirTextsJoined) {
  const std::string joined = ModelOf({"train.epochs=1"});
  const std::string predictions = PredictionsOf({"data.test=all.csv"});
  for (const char* files : {"data.train=day_1.csv,day_2.csv,day_3.csv", "data.train=day_*.csv",
                            "data.train=day_1.csv,day_[23].csv"}) {
    EXPECT_TRUE(ModelOf({"train.epochs=1", files}) == joined) << files;
  }
  EXPECT_TRUE(PredictionsOf({"data.test=day_*.csv"}) == predictions);
  const std::string turned = PredictionsOf({"data.test=day_3.csv,day_2.csv,day_1.csv"});
  EXPECT_EQ(turned.size(), predictions.size());
  EXPECT_FALSE(turned == predictions);
  // In the job file, relative to it.
  std::string job = kJob;
  job.replace(job.find("\"all.csv\""), 9, "[\"day_1.csv\", \"day_[2-9]*\"]");
  Write("job.toml", job);
  EXPECT_TRUE(ModelOf({"train.epochs=1"}) == joined);
  // Who predicts does not need what was trained on.
  EXPECT_TRUE(PredictionsOf({"data.train=gone_*.csv"}) == predictions);
}

TEST_F(DataFiles, ARowThatCannotBeReadHasItsPlaceAmongAllRows) {
  ModelOf({"train.epochs=1"});
  Write("bad.csv", "1,3,u1,v1\nnonsense\n0,4,u2,v2\n");
  const ProcessResult run =
      Run({"--task=predict", "data.test=day_1.csv,bad.csv,day_2.csv", "data.bad_share_max=0.5"});
  EXPECT_EQ(run.end.code, 0);
  EXPECT_THAT(run.errors, HasSubstr("row 201, counted from 0, has no prediction: bad.csv:2: "));
  const auto lines = Lines(ReadWholeFile(folder_.File("predictions.csv")));
  ASSERT_EQ(lines.size(), 603U);
  EXPECT_EQ(lines[201], "201,nan");
}

TEST_F(DataFiles, CompressedFilesTrainThatModelAndPredictThoseRows) {
  for (int file = 1; file <= 3; ++file) {
    const std::string& text = parts_[static_cast<size_t>(file) - 1];
    const size_t half = text.size() / 2;
    Write(fmt::format("pack_{}", file),
          file == 2 ? text : Gzip(text.substr(0, half)) + Gzip(text.substr(half)));
  }
  Write("all.zst", Zstd(ReadWholeFile(folder_.File("all.csv"))));
  const std::string plain = ModelOf({"data.train=day_*.csv", "train.shuffle_rows=100"});
  EXPECT_TRUE(ModelOf({"data.train=pack_*", "train.shuffle_rows=100"}) == plain);
  const std::string one = ModelOf({"data.train=all.csv", "train.shuffle_rows=100"});
  EXPECT_TRUE(ModelOf({"data.train=all.zst", "train.shuffle_rows=100"}) == one);
  const std::string predictions = PredictionsOf({"data.test=all.csv"});
  EXPECT_TRUE(PredictionsOf({"data.test=all.zst"}) == predictions);
  EXPECT_TRUE(PredictionsOf({"data.test=pack_*"}) == predictions);
  // Trees of one worker read them, too.
  const auto trees = [&](const std::string& file) {
    const ProcessResult run = Run({"--job=trees.toml", "data.train=" + file,
                                   "gbdt.num_iterations=3", "output.model=trees.txt"});
    EXPECT_EQ(run.end.code, 0) << run.errors;
    return run.end.code == 0 ? ReadWholeFile(folder_.File("trees.txt")) : "";
  };
  const std::string grown = trees("all.csv");
  EXPECT_FALSE(grown.empty());
  EXPECT_EQ(trees("all.zst"), grown);
}

void PutWord(const void* word, std::string* bytes) {
  bytes->append(static_cast<const char*>(word), 4);
}

// The same rows with numbers as integers, as floats of their logarithm, and with other labels.
TEST_F(DataFiles, RawRecordsTrainEvaluateAndPredict) {
  Random random(2);
  std::string ints;
  std::string floats;
  std::string unlabelled;
  for (int i = 0; i < 1000; ++i) {
    const auto age = static_cast<int32_t>(random.Below(90));
    const float log_age = std::log(static_cast<float>(age) + 1);
    const auto user = static_cast<uint32_t>(random.Below(50));
    const auto label = static_cast<int32_t>(user % 2);
    const auto float_label = static_cast<float>(label);
    PutWord(&label, &ints);
    PutWord(&age, &ints);
    PutWord(&float_label, &floats);
    PutWord(&log_age, &floats);
    unlabelled += std::string(4, '\x7f');
    PutWord(&age, &unlabelled);
    for (const uint32_t key : {user, static_cast<uint32_t>(random.Below(40)), user}) {
      for (std::string* bytes : {&ints, &floats, &unlabelled}) PutWord(&key, bytes);
    }
  }
  Write("ints.bin", ints);
  Write("floats.bin", floats);
  Write("part_1.bin", ints.substr(0, 300 * 20));
  Write("part_2.bin", ints.substr(300 * 20));
  Write("unlabelled.bin", unlabelled);
  Write("raw.toml", kRawJob);
  const std::string job = "--job=raw.toml";
  const std::string model = ModelOf({job});
  EXPECT_TRUE(
      ModelOf({job, "data.train=floats.bin", "data.test=floats.bin", "data.raw_dense_type=float"})
          .substr(0, 1000) == model.substr(0, 1000));
  EXPECT_TRUE(ModelOf({job, "data.train=part_*.bin"}) == model);
  EXPECT_TRUE(ModelOf({job, "checkpoint.every_steps=5", "checkpoint.folder=checkpoints"}) == model);
  const ProcessResult evaluated = Run({job, "--task=evaluate", "--json"});
  ASSERT_EQ(evaluated.end.code, 0) << evaluated.errors;
  const auto result = nlohmann::json::parse(Lines(evaluated.output).back());
  EXPECT_EQ(result["samples"], 1000);
  EXPECT_GT(result["metrics"]["auc"].get<double>(), 0.95) << "a user says the label";
  const std::string predictions = PredictionsOf({job});
  EXPECT_EQ(Lines(predictions).size(), 1000U);
  EXPECT_TRUE(PredictionsOf({job, "data.test=part_*.bin"}) == predictions);
  EXPECT_TRUE(PredictionsOf({job, "data.test=unlabelled.bin"}) == predictions);

  const std::pair<std::vector<std::string>, std::string> cases[] = {
      {{job, "--task=predict", "data.raw_keys=1,2"},
       "but the model was trained with an int label, 1 int number and 3 keys in 2 slots (keys 2, "
       "1)"},
      {{job, "--task=evaluate", "data.raw_dense=2", "data.raw_keys=1,1"},
       "but the model was trained with"},
      {{job, "--task=evaluate", "data.raw_dense_type=float", "data.raw_label_type=int",
        "data.test=ints.bin"},
       "but the model was trained with"},
      {{job, "--task=evaluate", "data.test=unlabelled.bin"},
       "data.test: unlabelled.bin: byte 0: expected a label that is the whole number 0 or 1"},
      {{job, "--task=predict", "data.test=day_1.csv"}, "day_1.csv: has "},
      {{job, "data.train=none.bin"}, "data.train: cannot open none.bin"},
      {{"--job=job.toml", "--task=predict"}, "the model was trained with data.format = \"raw\""},
  };
  for (const auto& [arguments, text] : cases) {
    const ProcessResult run = Run(arguments);
    EXPECT_EQ(run.end.code, 2) << text << "\n" << run.errors;
    EXPECT_THAT(run.errors, HasSubstr(text));
  }
}

TEST_F(DataFiles, StandardInputIsEvaluatedAndPredicted) {
  ModelOf({"train.epochs=1"});
  const std::string rows = ReadWholeFile(folder_.File("all.csv"));
  const std::string expected = PredictionsOf({"data.test=all.csv"});
  std::string many;  // more than what is kept of the beginning
  while (many.size() < (9 << 20)) many += rows;
  Write("many.csv", many);
  const std::string of_many = PredictionsOf({"data.test=many.csv"});
  const auto predict = [&](const std::string& input) {
    const ProcessResult run =
        RunOn(input, {"--task=predict", "data.test=-", "output.predictions=-"});
    EXPECT_EQ(run.end.code, 0) << run.errors;
    return run.output;
  };
  EXPECT_TRUE(predict(rows) == expected);
  EXPECT_TRUE(predict(Gzip(rows)) == expected);
  EXPECT_TRUE(predict(Zstd(rows.substr(0, 1000)) + Zstd(rows.substr(1000))) == expected);
  EXPECT_TRUE(predict(many) == of_many);
  EXPECT_TRUE(predict(Gzip(many)) == of_many);
  const auto metrics = [&](const ProcessResult& run) {
    EXPECT_EQ(run.end.code, 0) << run.errors;
    return nlohmann::json::parse(Lines(run.output).back())["metrics"];
  };
  EXPECT_EQ(metrics(RunOn(rows, {"--task=evaluate", "data.test=-", "--json"})),
            metrics(Run({"--job=job.toml", "--task=evaluate", "--json"})));

  const std::pair<std::vector<std::string>, std::string> cases[] = {
      {{"data.train=-"}, "data.train is -, standard input, which can be read once"},
      {{"data.test=-"}, "data.test is -, standard input, which can be read once: training"},
      {{"--task=predict", "data.test=all.csv,-"}, "- is standard input: expected it alone"},
      {{"--job=trees.toml", "--task=predict", "data.test=-"}, "not for boosted trees: name a file"},
  };
  for (const auto& [arguments, text] : cases) {
    const ProcessResult run = RunOn(rows, arguments);
    EXPECT_EQ(run.end.code, 2) << text << "\n" << run.errors;
    EXPECT_THAT(run.errors, HasSubstr(text));
  }
  const std::pair<std::string, std::string> inputs[] = {
      {"", "data.test: standard input: the file is empty"},
      {"1,2\n", "standard input:1: 2 columns, expected 4"},
      {"\n", "data.test: standard input: has no rows to evaluate on"},
      {Gzip(rows).substr(0, 500), "standard input: byte 500 of the file, which is compressed"},
      {std::string(5000, '\x01'), "data.test: standard input: expected rows as text"},
  };
  for (const auto& [input, text] : inputs) {
    const ProcessResult run = RunOn(input, {"--task=evaluate", "data.test=-"});
    EXPECT_EQ(run.end.code, 2) << text << "\n" << run.errors;
    EXPECT_THAT(run.errors, HasSubstr(text));
  }
}

// A signal ends the wait for a pipe that gives nothing.
TEST_F(DataFiles, ASignalEndsAWorkerThatWaitsForStandardInput) {
  ModelOf({"train.epochs=1"});
  ASSERT_EQ(mkfifo(folder_.File("fifo").c_str(), 0600), 0);
  Process worker("/bin/bash", {.arguments = {"-c", "exec 3<>fifo; exec \"$0\" \"$@\" <&3",
                                             ProgramPath("strata-worker"), "--job=job.toml",
                                             "--task=predict", "data.test=-"},
                               .folder = folder_.path()});
  ASSERT_TRUE(worker.WaitForErrors("data.test is standard input"));
  worker.Signal(SIGTERM);
  const auto end = worker.Wait(20 * kSecond);
  ASSERT_TRUE(end.has_value());
  EXPECT_NE(end->code, 0);
  EXPECT_THAT(worker.Errors(), HasSubstr("stopped by"));
}

TEST_F(DataFiles, MistakesEndWithExitCode2AndSayWhatToDo) {
  Write("empty.csv", "");
  Write("head.csv", "label,age,user,item\n1,2,u1,v1\n");
  Write("other.csv", "label,user,age,item\n1,u1,2,v1\n");
  Write("cut.gz", Gzip(parts_[0]).substr(0, 300));
  Write("tail.zst", Zstd(parts_[0]) + "x");
  const std::string header = "data.header=true";
  const struct {
    std::vector<std::string> arguments;
    std::vector<std::string> texts;
  } cases[] = {
      {{"data.train="}, {"data.train is empty: expected the file of rows: name it there, or "}},
      {{"data.train=week_*.csv"},
       {"command line: data.train: no file matches the pattern week_*.csv", "at least one"}},
      {{"data.train=day_1.csv,day_2.csv,day_1.csv"},
       {"command line: data.train: day_1.csv is named twice: expected each file once"}},
      {{"data.train=day_1.csv,all*.csv,./all.csv"},
       {"data.train: ./all.csv is named twice, also as all.csv"}},
      {{"data.train=day_1.csv,none.csv"}, {"command line: data.train: ", "none.csv"}},
      {{"data.train=day_1.csv,"}, {"data.train: an empty name: expected the path of a file"}},
      {{"data.test=day_1.csv,."}, {"command line: data.test: "}},
      {{"data.train=day_1.csv,empty.csv"}, {"data.train: empty.csv: the file is empty"}},
      {{"data.train=head.csv,other.csv", "data.test=", header, "data.columns="},
       {"data.train: other.csv:1: column 2 of the header is 'user', expected 'age', as head.csv:1",
        "all files of a job must have the same header"}},
      {{"data.train=cut.gz"}, {"data.train: cut.gz: byte 300 of the file", "it was cut short"}},
      {{"data.train=tail.zst"}, {"tail.zst: byte ", "the file goes on with 'x'"}},
      {{"--job=trees.toml", "data.train=day_1.csv,day_2.csv"},
       {"data.train names 2 files: expected one, as boosted trees read one file"}},
      {{"--job=trees.toml", "data.train=day_*.csv"},
       {"data.train: the pattern stands for 3 files: expected one"}},
  };
  for (const auto& c : cases) {
    const ProcessResult run = Run(c.arguments);
    EXPECT_EQ(run.end.code, 2) << c.texts[0] << "\n" << run.errors;
    for (const std::string& text : c.texts) EXPECT_THAT(run.errors, HasSubstr(text));
  }
}

}  // namespace
}  // namespace strata
