// Forced splits that cannot be made: training says so.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/clock.h"
#include "base/log.h"
#include "tests/support/sim_disk.h"
#include "tests/support/temp_folder.h"
#include "worker/gbdt/lightgbm/train_conf.h"
#include "worker/tasks/trees/tree_task.h"

namespace strata {
namespace {

class ForcedSplits : public testing::Test {
 protected:
  // Two features: 0 or 1, on which the label does not depend, and 0 to 9, of which it is half.
  ForcedSplits() {
    std::string text;
    for (int row = 0; row < 200; ++row) {
      const int value = row / 2 % 10;
      text += fmt::format("{},{},{}\n", value / 2.0, row % 2, value);
    }
    Put("d", text);
  }
  ~ForcedSplits() override { STRATA_CHECK(StartLogging(LogLevel::kWarning, "test", "").ok()); }

  void Put(const std::string& path, const std::string& text) {
    STRATA_CHECK(WriteFileAtomically(disk_, path, text).ok());
  }

  // The warnings of a training over five rounds.
  std::string Warnings(const std::string& forced) {
    Put("forced.json", forced);
    const Result<TreeParameters> p = ParseLightGbmConf(
        "objective = regression\nnum_iterations = 5\nnum_leaves = 4\ndata = d\noutput_model = m\n"
        "forcedsplits_filename = forced.json\n",
        "conf", {});
    STRATA_CHECK(p.ok());
    const TempFolder folder;
    STRATA_CHECK(StartLogging(LogLevel::kWarning, "test", folder.File("log")).ok());
    const Result<TreeTaskResult> result = RunTreeTask(*p, {.disk = disk_,
                                                           .clock = RealClock(),
                                                           .progress = [](const TreeProgress&) {},
                                                           .check = [] { return Status(); }});
    EXPECT_TRUE(result.ok()) << result.status().ToString();
    FlushLog();
    return ReadWholeFile(folder.File("log"));
  }

  static void ExpectOnce(const std::string& text, const std::string& part) {
    const size_t first = text.find(part);
    EXPECT_NE(first, std::string::npos) << part << " in " << text;
    EXPECT_EQ(text.find(part, first + 1), std::string::npos) << text;
  }

  SimDisk disk_;
};

TEST_F(ForcedSplits, ThatAreMadeAreNoWarning) {
  EXPECT_EQ(Warnings(R"({"feature": 1, "threshold": 4})"), "");
}

TEST_F(ForcedSplits, OneWithoutAGainIsNamedOnce) {
  ExpectOnce(Warnings(R"({"feature": 0, "threshold": 0})"),
             "forced.json: the root: feature 0 (Column_0), threshold 0: the split is not made: it "
             "gains nothing");
}

TEST_F(ForcedSplits, AThresholdInTheLastBinIsNamedOnce) {
  ExpectOnce(Warnings(R"({"feature": 0, "threshold": 0.5})"),
             "forced.json: the root: feature 0 (Column_0), threshold 0.5, which is in the last bin "
             "(forcedbins_filename can end a bin there): the split is not made: no row of its leaf "
             "is on the right side");
}

TEST_F(ForcedSplits, AChildWithoutRowsOnTheRightIsNamedOnce) {
  ExpectOnce(Warnings(R"({"feature": 1, "threshold": 4, "left": {"feature": 1, "threshold": 6}})"),
             "the root.left: feature 1 (Column_1), threshold 6: the split is not made: no row of "
             "its leaf is on the right side");
}

TEST_F(ForcedSplits, AChildWithoutRowsOnTheLeftIsNamedOnce) {
  ExpectOnce(Warnings(R"({"feature": 1, "threshold": 4, "right": {"feature": 1, "threshold": 2}})"),
             "the root.right: feature 1 (Column_1), threshold 2: the split is not made: no row of "
             "its leaf is on the left side");
}

}  // namespace
}  // namespace strata
