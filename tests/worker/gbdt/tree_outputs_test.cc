// What tree tasks write is tried before the work, and kept elsewhere when that fails after it.
#include "worker/tasks/trees/tree_outputs.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/support/closed_folders.h"
#include "worker/gbdt/lightgbm/train_conf.h"
#include "worker/tasks/trees/tree_task.h"

namespace strata {
namespace {

using testing::HasSubstr;

std::string Rows() {
  std::string rows;
  for (int i = 0; i < 60; ++i) rows += fmt::format("{},{},{}\n", i % 2, i % 7, i * 37 % 11);
  return rows;
}

class TreeOutputs : public testing::Test {
 protected:
  TreeOutputs() {
    EXPECT_TRUE(disk_.MakeFolder("out").ok());
    for (const char* path : {"rows.csv", "out/rows.csv"}) {
      EXPECT_TRUE(WriteFileAtomically(disk_, path, Rows()).ok());
    }
  }

  Result<TreeTaskResult> Run(const std::string& conf) {
    STRATA_ASSIGN(const TreeParameters parameters,
                  ParseLightGbmConf(conf, "conf", std::vector<std::string>{"num_threads=1"}));
    const TreeTaskContext context = {.disk = disk_,
                                     .clock = RealClock(),
                                     .progress =
                                         [this](const TreeProgress& at) {
                                           rounds_ = at.round;
                                           if (on_round_) on_round_(at.round);
                                         },
                                     .check = [] { return Status::Ok(); },
                                     .is_unread = [this] { return rounds_ >= unread_from_; }};
    return RunTreeTask(parameters, context);
  }

  bool Exists(const std::string& path) { return disk_.OpenToRead(path).ok(); }

  ClosedFolders disk_;
  size_t rounds_ = 0;  // that were shown
  size_t unread_from_ = SIZE_MAX;
  std::function<void(size_t)> on_round_;
};

TEST_F(TreeOutputs, FoldersThatCannotBeWrittenAreFoundBeforeTheDataAreRead) {
  const std::string none = "data = none.csv\ninput_model = none.txt\n";
  const std::pair<std::string, std::string> cases[] = {
      {none + "output_model = out/m\n", "output_model = out/m: "},
      {none + "task = refit\noutput_model = out/m\n", "output_model = out/m: "},
      {none + "task = predict\noutput_result = out/p\n", "output_result = out/p: "},
      {none + "task = convert\nconvert_model = out/c\n", "convert_model = out/c: "},
      {none + "report_file = out/r\n", "report_file = out/r: "},
      {"data = out/rows.csv\ntask = save_binary\n", "data = out/rows.csv: "},
      {"data = rows.csv\nvalid = out/rows.csv\nsave_binary = true\n", "valid = out/rows.csv: "}};
  disk_.closed = {"out"};
  for (const auto& [conf, message] : cases) {
    const Status status = Run(conf).status();
    EXPECT_EQ(status.code(), StatusCode::kInvalid) << conf << status.ToString();
    EXPECT_THAT(status.message(), HasSubstr(message));
    EXPECT_THAT(status.message(), HasSubstr("Permission denied")) << conf;
    EXPECT_EQ(rounds_, 0U);
  }
}

TEST_F(TreeOutputs, AModelThatFindsNoPlaceInTheEndIsKept) {
  ASSERT_TRUE(Run("data = rows.csv\nnum_iterations = 3\noutput_model = out/m\n").ok());
  on_round_ = [this](size_t) { disk_.closed = {"out"}; };
  const std::string conf = "data = rows.csv\nnum_iterations = 3\n";
  const Status status = Run(conf + "output_model = out/m\n").status();
  EXPECT_EQ(status.code(), StatusCode::kFailed);
  EXPECT_THAT(status.message(), HasSubstr("is in ./m.kept:"));
  EXPECT_EQ(*ReadFile(disk_, "m.kept", 1 << 20), *ReadFile(disk_, "out/m", 1 << 20));
}

TEST_F(TreeOutputs, ASnapshotThatFindsNoPlaceDoesNotEndTraining) {
  on_round_ = [this](size_t round) {
    disk_.closed = round == 2 ? std::set<std::string>{"out"} : std::set<std::string>{};
  };
  const Result<TreeTaskResult> result =
      Run("data = rows.csv\nnum_iterations = 3\noutput_model = out/m\nsnapshot_freq = 1\n");
  ASSERT_TRUE(result.ok()) << result.status().ToString();
  EXPECT_TRUE(Exists("out/m.snapshot_iter_1"));
  EXPECT_FALSE(Exists("out/m.snapshot_iter_2"));
  EXPECT_TRUE(Exists("out/m.snapshot_iter_3"));
  EXPECT_TRUE(Exists("out/m"));
}

TEST_F(TreeOutputs, TrainingThatNobodyReadsEndsWithTheModelOfItsRounds) {
  const std::string conf = "data = rows.csv\noutput_model = out/m\n";
  ASSERT_TRUE(Run(conf + "num_iterations = 4\n").ok());
  const std::string four = *ReadFile(disk_, "out/m", 1 << 20);
  rounds_ = 0;
  unread_from_ = 4;
  const Status status = Run(conf + "num_iterations = 1000000\n").status();
  EXPECT_EQ(status.code(), StatusCode::kCancelled);
  EXPECT_EQ(rounds_, 4U);
  EXPECT_THAT(status.message(), HasSubstr("stopped after round 4, which is in out/m"));
  const std::string end = "end of trees";
  const std::string kept = *ReadFile(disk_, "out/m", 1 << 20);
  EXPECT_EQ(kept.substr(0, kept.find(end)), four.substr(0, four.find(end)));
}

TEST_F(TreeOutputs, CopiesOfAModelOnStandardOutputHaveNoPlace) {
  const Status status = Run("data = rows.csv\noutput_model = -\nsnapshot_freq = 1\n").status();
  EXPECT_EQ(status.code(), StatusCode::kInvalid);
  EXPECT_THAT(status.message(), HasSubstr("snapshot_freq = 1 writes copies"));
}

TEST_F(TreeOutputs, AnOutputWithoutANameIsAnError) {
  const Status status =
      Run("task = predict\ndata = rows.csv\ninput_model = m\noutput_result =\n").status();
  EXPECT_EQ(status.code(), StatusCode::kInvalid);
  EXPECT_THAT(status.message(), HasSubstr("output_result is empty"));
}

// It is put in place once training data are read, before the validation data are.
TEST_F(TreeOutputs, ABinaryFileTakesThePlaceOfNoOtherData) {
  ASSERT_TRUE(Run("task = save_binary\ndata = rows.csv\n").ok());
  const Status status =
      Run("data = rows.csv\nvalid = rows.csv.bin\nsave_binary = true\noutput_model = out/m\n")
          .status();
  EXPECT_EQ(status.code(), StatusCode::kInvalid);
  EXPECT_THAT(status.message(), HasSubstr("would take the place of rows.csv.bin"));
}

TEST_F(TreeOutputs, TwoOutputsOnOnePathAreAnError) {
  const std::pair<std::string, std::string> cases[] = {
      {"output_model = r.json\nreport_file = r\n",
       "output_model = r.json and report_file = r: r.json are one file"},
      {"output_model = rows.csv.bin\nsave_binary = true\n",
       "output_model = rows.csv.bin and data = rows.csv: rows.csv.bin are one file"}};
  for (const auto& [conf, message] : cases) {
    const Status status = Run("data = rows.csv\n" + conf).status();
    EXPECT_EQ(status.code(), StatusCode::kInvalid) << conf;
    EXPECT_THAT(status.message(), HasSubstr(message));
  }
}

TEST_F(TreeOutputs, AFolderInTheWayIsNamed) {
  for (const char* folder : {"rows.csv.bin", "r.html"}) {
    ASSERT_TRUE(disk_.MakeFolder(folder).ok());
  }
  for (const auto& [conf, message] :
       {std::pair("save_binary = true\n", "data = rows.csv: rows.csv.bin: is a folder"),
        std::pair("report_file = r\n", "report_file = r: r.html: is a folder")}) {
    const Status status = Run(std::string("data = rows.csv\noutput_model = m\n") + conf).status();
    EXPECT_THAT(status.message(), HasSubstr(message));
  }
}

TEST_F(TreeOutputs, AReportTakesThePlaceOfNoModelToGoOnFrom) {
  ASSERT_TRUE(Run("data = rows.csv\nnum_iterations = 2\noutput_model = r.json\n").ok());
  const std::string conf = "data = rows.csv\nnum_iterations = 2\ninput_model = r.json\n";
  EXPECT_THAT(Run(conf + "output_model = m\nreport_file = r\n").status().message(),
              HasSubstr("would take the place of r.json, a file of input_model"));
  EXPECT_TRUE(Run(conf + "output_model = r.json\n").ok());
}

TEST_F(TreeOutputs, ACopyOfTheModelTakesThePlaceOfNoData) {
  ASSERT_TRUE(WriteFileAtomically(disk_, "m.snapshot_iter_2", Rows()).ok());
  const Status status =
      Run("data = m.snapshot_iter_2\noutput_model = m\nsnapshot_freq = 1\n").status();
  EXPECT_THAT(status.message(),
              HasSubstr("would take the place of m.snapshot_iter_2, a file of data"));
}

TEST_F(TreeOutputs, TrainingGoesOnFromACopyOfItsModel) {
  const std::string conf =
      "data = rows.csv\noutput_model = m\nsnapshot_freq = 1\nnum_iterations = 2\n";
  ASSERT_TRUE(Run(conf).ok());
  EXPECT_TRUE(Run(conf + "input_model = m.snapshot_iter_2\n").ok());
  EXPECT_TRUE(Exists("m.snapshot_iter_4"));
}

TEST_F(TreeOutputs, AModelForAReaderWhoHasGoneIsNotKept) {
  unread_from_ = 2;
  for (const char* path : {"-", ""}) {
    rounds_ = 0;
    const Status status =
        Run(std::string("data = rows.csv\nnum_iterations = 9\noutput_model = ") + path + "\n")
            .status();
    EXPECT_EQ(status.code(), StatusCode::kCancelled);
    EXPECT_THAT(status.message(), HasSubstr("stopped after round 2, which is lost"));
  }
  EXPECT_EQ(disk_.List(".")->size(), 2U);  // out and rows.csv
}

}  // namespace
}  // namespace strata
