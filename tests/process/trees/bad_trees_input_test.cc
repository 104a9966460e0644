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
      {"data = rows.csv\n", {"report_file=none/r"}, "report_file = none/r: expected a file in a"},
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

}  // namespace
}  // namespace strata
