// Wrong confs and files given to strata-worker: it ends by itself with exit code 2, and its last
// line on stderr says what is wrong. tests/worker/gbdt/bad_inputs_test.cc has all the texts.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/support/process.h"
#include "tests/support/temp_folder.h"

namespace strata {
namespace {

struct Case {
  std::string conf;
  std::vector<std::string> more;  // arguments
  std::string error;
};

TEST(BadTreesInput, EndsWithExitCode2AndSaysWhy) {
  const TempFolder folder;
  WriteWholeFile(folder.File("rows.csv"), "1,2,3\n0,1,nan\n1,4\n");
  WriteWholeFile(folder.File("labels.csv"), "nan,2,3\n0,1,2\n");
  WriteWholeFile(folder.File("empty.csv"), "");
  const Case cases[] = {
      {"data = rows.csv\nobjective = binry\n", {}, "train.conf:2: objective: expected one of"},
      {"data = rows.csv\nnum_leavs = 3\n", {}, "did you mean num_leaves?"},
      {"data = rows.csv\n", {}, "rows.csv:3: expected 3 columns, found 2"},
      {"data = labels.csv\n", {}, "labels.csv:1: the label is missing or infinite"},
      {"data = empty.csv\n", {}, "empty.csv: no row: expected one row a line"},
      {"data = none.csv\n", {}, "cannot open none.csv: No such file or directory"},
      {"data = rows.csv\n", {"num_leaves=1"}, "num_leaves: expected a number from 2 to 131072"},
      {"data = rows.csv\n",
       {"output_model=none/m.txt"},
       "output_model = none/m.txt: expected a file"},
      {"data = rows.csv\n",
       {"report_file=none/r"},
       "report_file = none/r: none/r.json: expected a file in"},
      {"data = rows.csv\n", {"output_model=/dev/null"}, "output_model = /dev/null: is a device, "},
      {"data = rows.csv\n", {"gpu_device_id=1"}, "gpu_device_id is a parameter of LightGBM"},
      {"task = predict\ndata = rows.csv\n", {}, "input_model is missing"}};
  for (const Case& c : cases) {
    WriteWholeFile(folder.File("train.conf"), c.conf);
    ProcessOptions options{.arguments = {"--lightgbm_conf=train.conf"}, .folder = folder.path()};
    options.arguments.insert(options.arguments.end(), c.more.begin(), c.more.end());
    const ProcessResult result = RunProcess(ProgramPath("strata-worker"), std::move(options));
    EXPECT_EQ(result.end.code, 2) << c.conf << result.errors;
    EXPECT_NE(result.errors.find(c.error), std::string::npos) << c.error << "\n" << result.errors;
    EXPECT_EQ(result.output, "") << c.conf;
  }
}

ProcessResult RunTrees(const TempFolder& folder, std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "--lightgbm_conf=train.conf");
  return RunProcess(ProgramPath("strata-worker"),
                    {.arguments = std::move(arguments), .folder = folder.path()});
}

std::string GoodRows() {
  std::string rows;
  for (int i = 0; i < 60; ++i) {
    rows +=
        std::to_string(i % 2) + "," + std::to_string(i % 7) + "," + std::to_string(i % 3) + "\n";
  }
  return rows;
}

// What is accepted, but not as it may have been meant.
TEST(TreesInput, IsWarnedOfOnce) {
  const TempFolder folder;
  WriteWholeFile(folder.File("rows.csv"), GoodRows() + "1,2.7,1\n0,3.5,1\n");
  WriteWholeFile(folder.File("train.conf"),
                 "data = rows.csv\ncategorical_feature = 0\nnum_machines = 1\n"
                 "machine_list_file = mlist.txt\nnum_iterations = 2\n");
  const ProcessResult result = RunTrees(folder, {});
  EXPECT_EQ(result.end.code, 0) << result.errors;
  const std::string warning =
      "rows.csv: row 61: categorical_feature Column_0 is 2.7, which counts as 2, as do others";
  const size_t at = result.errors.find(warning);
  EXPECT_NE(at, std::string::npos) << result.errors;
  EXPECT_EQ(result.errors.find("categorical_feature", at + warning.size()), std::string::npos);
  EXPECT_NE(result.errors.find("num_machines = 1: this process trains alone"), std::string::npos)
      << result.errors;
}

// The files of save_binary, without a model, and the same model from them.
TEST(TreesInput, IsSavedAsBins) {
  const TempFolder folder;
  WriteWholeFile(folder.File("rows.csv"), GoodRows());
  WriteWholeFile(folder.File("train.conf"),
                 "task = train\ndata = rows.csv\nvalid = rows.csv\nnum_iterations = 3\n"
                 "num_threads = 1\n");
  EXPECT_EQ(RunTrees(folder, {"output_model=expected.txt"}).end.code, 0);
  const ProcessResult saved = RunTrees(folder, {"--task=save_binary", "output_model=none.txt"});
  EXPECT_EQ(saved.end.code, 0) << saved.errors;
  EXPECT_NE(saved.output.find("rows.csv.bin"), std::string::npos) << saved.output;
  const ProcessResult trained = RunTrees(folder, {"data=rows.csv.bin", "valid=rows.csv.bin"});
  EXPECT_EQ(trained.end.code, 0) << trained.errors;
  const std::string from_text = ReadWholeFile(folder.File("expected.txt"));
  const std::string from_bins = ReadWholeFile(folder.File("LightGBM_model.txt"));
  const std::string end = "end of trees";
  EXPECT_EQ(from_bins.substr(0, from_bins.find(end)), from_text.substr(0, from_text.find(end)));
  EXPECT_EQ(RunTrees(folder, {"task=predict", "input_model=none.txt"}).end.code,
            2);  // none was written
}

}  // namespace
}  // namespace strata
