// Where strata-worker's models, predictions and words go: files, standard output, and places that
// take nothing.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "tests/process/worker/run_worker.h"
#include "tests/support/process.h"
#include "tests/support/small_disk.h"
#include "tests/support/temp_folder.h"

namespace strata {
namespace {

using testing::HasSubstr;
using testing::Not;

class WorkerOutputs : public testing::Test {
 protected:
  WorkerOutputs() {
    std::string trees;
    std::string clicks;
    for (int i = 0; i < 600; ++i) {
      const int a = i * 37 % 101;
      const int b = i * 53 % 97;
      trees += fmt::format("{},{},{}\n", a > b ? 1 : 0, a, b);
      clicks += fmt::format("{},u{},v{}\n", a > b ? 1 : 0, a, b);
    }
    WriteWholeFile(folder_.File("rows.csv"), trees);
    WriteWholeFile(folder_.File("clicks.csv"), clicks);
    WriteWholeFile(folder_.File("train.conf"),
                   "data = rows.csv\nobjective = binary\nis_provide_training_metric = true\n"
                   "num_iterations = 3\nnum_threads = 1\noutput_model = m.txt\n");
    WriteWholeFile(folder_.File("job.toml"), R"([data]
train = "clicks.csv"
test = "clicks.csv"
columns = ["label", "user", "item"]
label = "label"
[[feature]]
columns = ["user", "item"]
[train]
epochs = 1
[output]
model = "model"
predictions = "-"
)");
  }

  ProcessResult Run(std::vector<std::string> arguments) const {
    return RunProcess(ProgramPath("strata-worker"),
                      {.arguments = std::move(arguments), .folder = folder_.path()});
  }
  ProcessResult RunTrees(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), "--lightgbm-conf=train.conf");
    return Run(std::move(arguments));
  }
  // With `end` behind the worker's words in a shell; the exit code is the worker's.
  ProcessResult RunInShell(std::vector<std::string> arguments, const std::string& end) const {
    arguments.insert(arguments.begin(),
                     {"-c", "set -o pipefail; \"$0\" \"$@\" " + end, ProgramPath("strata-worker")});
    return RunProcess("/bin/bash", {.arguments = std::move(arguments), .folder = folder_.path()});
  }
  bool Exists(const std::string& name) const { return std::filesystem::exists(folder_.File(name)); }

  TempFolder folder_;
};

TEST_F(WorkerOutputs, TheConfIsNamedAsLightGbmHasIt) {
  for (const char* key : {"config", "config_file"}) {
    const ProcessResult run = Run({std::string(key) + "=train.conf", "num_iterations=2"});
    EXPECT_EQ(run.end, ProcessEnd{}) << run.errors;
    EXPECT_THAT(run.output, HasSubstr("rounds        2")) << key;
  }
  const std::pair<std::vector<std::string>, std::string> mistakes[] = {
      {{"config=train.conf", "config_file=other.conf"}, "exclude each other"},
      {{"config=train.conf", "--lightgbm-conf=train.conf"}, "exclude each other"},
      {{"config=train.conf", "--job=job.toml"}, "--job and config=train.conf exclude each other"},
      {{}, "config=FILE"},
      {{"config="}, "expected config=FILE"},
      {{"config=none.conf"}, "cannot open none.conf"}};
  for (const auto& [arguments, message] : mistakes) {
    const ProcessResult run = Run(arguments);
    EXPECT_EQ(run.end, (ProcessEnd{2, 0})) << message;
    EXPECT_THAT(run.errors, HasSubstr(message));
  }
}

TEST_F(WorkerOutputs, AFileInThePlaceOfAnotherKindIsNamedWithTheWayToGiveIt) {
  WriteWholeFile(folder_.File("wide.conf"), std::string("d\0a\0t\0a\0=\0x\0", 12));
  const std::pair<std::vector<std::string>, std::string> mistakes[] = {
      {{"--job=train.conf"}, "as a train.conf begins: give it by config=FILE"},
      {{"--config=train.conf"}, "as a train.conf begins: give it by config=FILE"},
      {{"--config=job.toml"}, "as a job file begins: give it by --job=FILE"},
      {{"config=job.toml"}, "as a job file begins: give it by --job=FILE"},
      {{"config=wide.conf"}, "wide.conf: expected text in UTF-8, found UTF-16"}};
  for (const auto& [arguments, message] : mistakes) {
    const ProcessResult run = Run(arguments);
    EXPECT_EQ(run.end, (ProcessEnd{2, 0})) << message;
    EXPECT_THAT(run.errors, HasSubstr(message));
  }
}

TEST_F(WorkerOutputs, AConfThatAConfNamesIsNotReadAndWarnedOf) {
  WriteWholeFile(folder_.File("outer.conf"),
                 ReadWholeFile(folder_.File("train.conf")) + "config = none.conf\n");
  const ProcessResult run = Run({"config=outer.conf"});
  EXPECT_EQ(run.end, ProcessEnd{}) << run.errors;
  EXPECT_THAT(run.errors, HasSubstr("warning"));
  EXPECT_THAT(run.errors, HasSubstr("outer.conf:7: config = none.conf has no effect in a file"));
}

TEST_F(WorkerOutputs, VerbosityBoundsWhatIsSaid) {
  WriteWholeFile(folder_.File("outer.conf"),
                 ReadWholeFile(folder_.File("train.conf")) + "config = none.conf\n");
  const auto run = [&](int verbosity, std::vector<std::string> more) {
    more.insert(more.begin(),
                {"config=outer.conf", "valid=rows.csv", fmt::format("verbosity={}", verbosity),
                 "early_stopping_round=1", "input_model="});
    return Run(std::move(more));
  };
  EXPECT_THAT(run(1, {}).errors, HasSubstr(" info "));
  const std::vector<std::string> tasks[] = {{},
                                            {"task=refit", "input_model=m.txt"},
                                            {"task=predict", "input_model=m.txt"},
                                            {"task=convert", "input_model=m.txt"},
                                            {"task=evaluate", "input_model=m.txt"},
                                            {"task=save_binary"}};
  for (const std::vector<std::string>& task : tasks) {
    const std::string name = task.empty() ? "train" : task[0];
    const ProcessResult warnings = run(0, task);
    EXPECT_EQ(warnings.end, ProcessEnd{}) << name << warnings.errors;
    EXPECT_EQ(Lines(warnings.errors).size(), 1U) << name << warnings.errors;
    EXPECT_THAT(warnings.errors, HasSubstr(" warning ")) << name;
    const ProcessResult errors = run(-1, task);
    EXPECT_EQ(errors.end, ProcessEnd{}) << name << errors.errors;
    EXPECT_EQ(errors.errors, "") << name;
    EXPECT_EQ(errors.output.empty(), name != "task=evaluate") << name << errors.output;
  }
  EXPECT_THAT(run(-1, {"task=predict", "input_model=none.txt"}).errors, HasSubstr("none.txt"));
}

TEST_F(WorkerOutputs, StandardOutputGetsThePredictionsAndNothingElse) {
  ASSERT_EQ(RunTrees({}).end, ProcessEnd{});
  ASSERT_EQ(RunTrees({"task=predict", "input_model=m.txt", "output_result=p.txt"}).end,
            ProcessEnd{});
  for (const char* name : {"-", "/dev/stdout"}) {
    const ProcessResult run =
        RunTrees({"task=predict", "input_model=m.txt", std::string("output_result=") + name});
    EXPECT_EQ(run.end, ProcessEnd{}) << run.errors;
    EXPECT_EQ(run.output, ReadWholeFile(folder_.File("p.txt"))) << name;
    EXPECT_THAT(run.errors, HasSubstr("task          predict")) << name;
  }
  EXPECT_FALSE(Exists("-"));
  EXPECT_FALSE(Exists("-.tmp"));
}

TEST_F(WorkerOutputs, StandardOutputGetsTheModelAndNothingElse) {
  ASSERT_EQ(RunTrees({}).end, ProcessEnd{});
  const std::string model = ReadWholeFile(folder_.File("m.txt"));
  const std::string trees = model.substr(0, model.find("end of trees"));
  for (const std::vector<std::string>& task :
       {std::vector<std::string>{"output_model=-"},
        {"task=convert", "input_model=m.txt", "model_format=lightgbm", "convert_model=-"}}) {
    const ProcessResult run = RunTrees(task);
    EXPECT_EQ(run.end, ProcessEnd{}) << run.errors;
    EXPECT_EQ(run.output.substr(0, trees.size()), trees) << task[0];
    EXPECT_THAT(run.output, Not(HasSubstr("task   "))) << task[0];
  }
}

TEST_F(WorkerOutputs, StandardOutputGetsProbabilitiesAndNothingElse) {
  ASSERT_EQ(Run({"--job=job.toml"}).end, ProcessEnd{});
  ASSERT_EQ(Run({"--job=job.toml", "--task=predict", "output.predictions=p.csv"}).end,
            ProcessEnd{});
  const ProcessResult run = Run({"--job=job.toml", "--task=predict"});
  EXPECT_EQ(run.end, ProcessEnd{}) << run.errors;
  EXPECT_EQ(run.output, ReadWholeFile(folder_.File("p.csv")));
  EXPECT_THAT(run.errors, HasSubstr("predictions   -"));
}

TEST_F(WorkerOutputs, JsonAndAnOutputExcludeEachOtherOnStandardOutput) {
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"--lightgbm-conf=train.conf", "output_model=-"},
        {"--lightgbm-conf=train.conf", "task=predict", "input_model=m.txt", "output_result=-"},
        {"--job=job.toml", "--task=predict"}}) {
    std::vector<std::string> words = arguments;
    words.emplace_back("--json");
    const ProcessResult run = Run(words);
    EXPECT_EQ(run.end, (ProcessEnd{2, 0})) << arguments[1];
    EXPECT_EQ(run.output, "") << arguments[1];
    EXPECT_THAT(run.errors, HasSubstr("exclude each other"));
  }
}

TEST_F(WorkerOutputs, ATreeTrainingWhoseReaderHasGoneEndsWithItsModel) {
  for (const std::string end : {"--json | head -n 1", "2>&1 | true", ">&-"}) {
    std::filesystem::remove(folder_.File("m.txt"));
    const ProcessResult run = RunInShell({"config=train.conf", "num_iterations=10000000"}, end);
    EXPECT_EQ(run.end, (ProcessEnd{1, 0})) << end << run.errors;
    if (end != "2>&1 | true") {
      EXPECT_THAT(run.errors, HasSubstr("nobody reads standard output any more: stopped after "
                                        "round "))
          << end;
      EXPECT_THAT(run.errors, HasSubstr("which is in m.txt")) << end;
    }
    EXPECT_EQ(RunTrees({"task=evaluate", "input_model=m.txt"}).end, ProcessEnd{}) << end;
  }
}

TEST_F(WorkerOutputs, ATrainingOfClicksWhoseReaderHasGoneEndsWithItsModel) {
  const ProcessResult run =
      RunInShell({"--job=job.toml", "train.epochs=1000000"}, "--json | head -n 1");
  EXPECT_EQ(run.end, (ProcessEnd{1, 0})) << run.errors;
  EXPECT_THAT(run.errors, HasSubstr("nobody reads standard output any more: stopped after step "));
  EXPECT_THAT(run.errors, HasSubstr("whose model is in model"));
  EXPECT_EQ(Run({"--job=job.toml", "--task=evaluate"}).end, ProcessEnd{});
}

TEST_F(WorkerOutputs, AFullDiskIsFoundBeforeTheWork) {
  const SmallDisk disk(folder_.File("small"), "size=64k");
  if (!disk.mounted()) GTEST_SKIP() << "needs the right to mount a tmpfs";
  FillUp(folder_.File("small/filler"));
  const std::pair<std::vector<std::string>, std::string> cases[] = {
      {{"config=train.conf", "output_model=small/m"}, "output_model = small/m: cannot write"},
      {{"config=train.conf", "report_file=small/r"},
       "report_file = small/r: small/r.json: cannot write"},
      {{"--job=job.toml", "output.model=small/m"}, "output.model = small/m: cannot "},
      {{"--job=job.toml", "checkpoint.every_steps=1", "checkpoint.folder=small/c"},
       "checkpoint.folder: cannot "},
      {{"--job=job.toml", "--task=predict", "output.model=none", "output.predictions=small/p"},
       "output.predictions = small/p: cannot write"}};
  for (const auto& [arguments, message] : cases) {
    std::vector<std::string> words = arguments;
    words.emplace_back(words[0] == "--job=job.toml" ? "train.epochs=1000000"
                                                    : "num_iterations=10000000");
    const ProcessResult run = Run(words);
    EXPECT_EQ(run.end, (ProcessEnd{1, 0})) << run.errors;
    EXPECT_THAT(run.errors, HasSubstr(message));
    EXPECT_THAT(run.errors, HasSubstr("No space left on device"));
  }
}

TEST_F(WorkerOutputs, AModelForWhichADiskHasNoRoomIsKeptInTheWorkingFolder) {
  const SmallDisk disk(folder_.File("small"), "size=16k");
  if (!disk.mounted()) GTEST_SKIP() << "needs the right to mount a tmpfs";
  const ProcessResult trees =
      RunTrees({"output_model=small/m.txt", "num_iterations=100", "min_data_in_leaf=1"});
  EXPECT_EQ(trees.end, (ProcessEnd{1, 0}));
  EXPECT_THAT(trees.errors, HasSubstr("No space left on device"));
  EXPECT_THAT(trees.errors, HasSubstr("is in ./m.txt.kept:"));
  const ProcessResult clicks = Run(
      {"--job=job.toml", "output.model=small/model", "model.kind=fm", "model.embedding_dim=64"});
  EXPECT_EQ(clicks.end, (ProcessEnd{1, 0}));
  EXPECT_THAT(clicks.errors, HasSubstr("is in ./model.kept:"));
  EXPECT_EQ(RunTrees({"task=evaluate", "input_model=m.txt.kept"}).end, ProcessEnd{});
  EXPECT_EQ(Run({"--job=job.toml", "--task=evaluate", "output.model=model.kept"}).end,
            ProcessEnd{});
}

TEST_F(WorkerOutputs, NoOutputTakesThePlaceOfWhatIsRead) {
  ASSERT_EQ(RunTrees({}).end, ProcessEnd{});
  ASSERT_EQ(Run({"--job=job.toml"}).end, ProcessEnd{});
  WriteWholeFile(folder_.File("trees.toml"), R"([data]
train = "rows.csv"
test = "rows.csv"
columns = ["y", "a", "b"]
label = "y"
[[feature]]
columns = ["a", "b"]
kind = "numeric"
[model]
kind = "gbdt"
[output]
model = "m.txt"
)");
  const std::pair<std::vector<std::string>, std::string> cases[] = {
      {{"--job=job.toml", "--task=predict", "output.predictions=clicks.csv"}, "data.train"},
      {{"--job=job.toml", "--task=predict", "output.predictions=./job.toml"}, "--job"},
      {{"--job=job.toml", "--task=predict", "output.predictions=model/manifest"}, "output.model"},
      {{"--job=job.toml", "data.train=model/dictionary.csv"}, "data.train"},
      {{"--job=trees.toml", "output.model=trees.toml"}, "--job"},
      {{"--job=trees.toml", "--task=predict", "output.predictions=trees.toml"}, "--job"},
      {{"--job=trees.toml", "--task=predict", "output.predictions=rows.csv"}, "data.t"},
      {{"config=train.conf", "output_model=train.conf"}, "config"},
      {{"--lightgbm-conf=train.conf", "output_model=train.conf"}, "--lightgbm-conf"}};
  WriteWholeFile(folder_.File("model/dictionary.csv"), ReadWholeFile(folder_.File("clicks.csv")));
  for (const auto& [arguments, key] : cases) {
    const ProcessResult run = Run(arguments);
    EXPECT_EQ(run.end, (ProcessEnd{2, 0})) << arguments.back() << run.errors;
    EXPECT_THAT(run.errors, HasSubstr("would take the place of")) << arguments.back();
    EXPECT_THAT(run.errors, HasSubstr("a file of " + key)) << arguments.back();
  }
  EXPECT_EQ(Run({"--job=job.toml", "--task=evaluate"}).end, ProcessEnd{});
}

TEST_F(WorkerOutputs, TheLogIsNoFileThatIsRead) {
  const std::string data = ReadWholeFile(folder_.File("rows.csv"));
  for (const char* file : {"rows.csv", "train.conf"}) {
    const ProcessResult run = RunTrees({std::string("--log_file=") + file});
    EXPECT_EQ(run.end, (ProcessEnd{2, 0})) << run.errors;
    EXPECT_THAT(run.errors, HasSubstr("name another")) << file;
  }
  EXPECT_EQ(ReadWholeFile(folder_.File("rows.csv")), data);
}

TEST_F(WorkerOutputs, AFileBeyondTheLimitOfSizesIsAnError) {
  const ProcessResult run = RunProcess(
      "/bin/bash",
      {.arguments = {"-c", "ulimit -f 8; exec \"$0\" \"$@\"", ProgramPath("strata-worker"),
                     "config=train.conf", "num_iterations=100", "min_data_in_leaf=1"},
       .folder = folder_.path()});
  EXPECT_EQ(run.end, (ProcessEnd{1, 0})) << run.errors;
  EXPECT_THAT(run.errors, HasSubstr("File too large"));
  EXPECT_THAT(run.errors, HasSubstr("what was to be written is lost"));
}

TEST_F(WorkerOutputs, NothingIsKeptForAReaderWhoHasGone) {
  ASSERT_EQ(RunTrees({}).end, ProcessEnd{});
  ASSERT_EQ(Run({"--job=job.toml"}).end, ProcessEnd{});
  const std::string unread = "mkfifo p; exec 3<>p 4>p 3<&-; rm p; \"$0\" \"$@\" >&4";
  for (const std::vector<std::string>& task :
       {std::vector<std::string>{"--job=job.toml", "--task=predict"},
        {"config=train.conf", "num_iterations=1", "output_model=-"},
        {"config=train.conf", "task=convert", "input_model=m.txt", "convert_model=-"}}) {
    std::vector<std::string> arguments = {"-c", unread, ProgramPath("strata-worker")};
    arguments.insert(arguments.end(), task.begin(), task.end());
    const ProcessResult run =
        RunProcess("/bin/bash", {.arguments = arguments, .folder = folder_.path()});
    EXPECT_EQ(run.end, (ProcessEnd{1, 0})) << task.back() << run.errors;
    EXPECT_THAT(run.errors, HasSubstr("cannot write to stdout: Broken pipe")) << task.back();
    EXPECT_FALSE(Exists("output.kept")) << task.back();
  }
}

TEST_F(WorkerOutputs, WhatStandsInTheWayOfAModelOfClicksIsFoundBeforeTheWork) {
  for (const char* name : {"manifest", "dictionary.csv"}) {
    std::filesystem::create_directories(folder_.File(std::string("model/") + name + "/below"));
    const ProcessResult run = Run({"--job=job.toml", "train.epochs=1000000"});
    EXPECT_EQ(run.end, (ProcessEnd{2, 0})) << run.errors;
    EXPECT_THAT(run.errors, HasSubstr(fmt::format("output.model = model: model/{}: is a folder; "
                                                  "expected a file",
                                                  name)));
    std::filesystem::remove_all(folder_.File("model"));
  }
  const ProcessResult file = Run({"--job=job.toml", "output.model=clicks.csv"});
  EXPECT_EQ(file.end, (ProcessEnd{2, 0}));
  EXPECT_THAT(file.errors, HasSubstr("output.model = clicks.csv: expected a folder: "));
}

TEST_F(WorkerOutputs, ACopyOfTheModelTakesThePlaceOfNoLink) {
  std::filesystem::create_symlink("rows.csv", folder_.File("m.txt.snapshot_iter_1"));
  const ProcessResult run = RunTrees({"snapshot_freq=1"});
  EXPECT_EQ(run.end, ProcessEnd{}) << run.errors;
  EXPECT_THAT(run.errors, HasSubstr("m.txt.snapshot_iter_1: is a link"));
  EXPECT_TRUE(std::filesystem::is_symlink(folder_.File("m.txt.snapshot_iter_1")));
  EXPECT_TRUE(Exists("m.txt.snapshot_iter_2"));
}

}  // namespace
}  // namespace strata
