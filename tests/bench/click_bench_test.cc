// Suite "ctr" trains the samples that were drawn, its steps learn, and a job reads all of its text.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "base/file/disk.h"
#include "bench/harness/peer_script.h"
#include "bench/suites/ctr/click_parse.h"
#include "bench/suites/ctr/click_shapes.h"
#include "bench/suites/ctr/click_steps.h"
#include "bench/suites/ctr/click_text.h"
#include "tests/support/temp_folder.h"

namespace strata::bench {
namespace {

using testing::HasSubstr;

TEST(ClickBench, BatchesHoldTheRowsThatTheyAreGiven) {
  const Batch batch = MakeClickBatch(100, 3, [](size_t i, uint64_t slot) { return i + slot; });
  EXPECT_EQ(batch.samples, 100U);
  ASSERT_EQ(batch.keys.size(), 100 * kClickSlots);
  EXPECT_EQ(batch.offsets.size(), batch.keys.size() + 1);
  EXPECT_EQ(batch.offsets.back(), batch.keys.size());
  EXPECT_EQ(batch.dense.size(), 100 * kClickDense);
  EXPECT_EQ(batch.keys[7 * kClickSlots + 5], ClickKey(5, 12));
  EXPECT_NE(ClickKey(5, 12), ClickKey(6, 12));
  const auto clicks = std::ranges::count(batch.labels, 1.0F);
  EXPECT_GT(clicks, 10);
  EXPECT_LT(clicks, 45);
}

// Each row r below n is drawn about log((r + 2) / (r + 1)) / log(n) times of all.
TEST(ClickBench, RowsAreDrawnByZipfsLaw) {
  std::set<uint64_t> drawn;
  int first = 0;
  for (uint64_t n = 0; n < 10'000; ++n) {
    const uint64_t row = DrawRow(n, 1000);
    ASSERT_LT(row, 1000U);
    drawn.insert(row);
    first += row == 0 ? 1 : 0;
  }
  EXPECT_NEAR(first, 10'000 * std::log(2.0) / std::log(1000.0), 100);
  EXPECT_GT(drawn.size(), 600U);
}

// A graph whose products are counted by hand: 13 x 5 from dense features alone, 5 x 1 behind it.
TEST(ClickBench, FlopsAreThoseOfBothWays) {
  const auto graph =
      LayerGraph::Make({.dense_width = 13,
                        .layers = {{.name = "one", .inputs = {kDenseInput}, .width = 5},
                                   {.name = "two", .inputs = {"one"}, .width = 1}}});
  ASSERT_TRUE(graph.ok()) << graph.status().ToString();
  EXPECT_EQ(FlopsOf(*graph), 2.0 * (13 * 5 * 2 + 5 * 3));
}

TEST(ClickBench, StepsTrainAndRepeat) {
  for (const char* model : {"dlrm", "deepfm", "dcn_v2"}) {
    auto shape = ClickShape(model, 16);
    ASSERT_TRUE(shape.ok()) << shape.status().ToString();
    shape->hidden = {8};
    if (!shape->bottom.empty()) shape->bottom = {16};
    const auto steps = ClickSteps::Make({.shape = *shape,
                                         .batch_size = 64,
                                         .optimizer = OptimizerKind::kAdaGrad,
                                         .rows = 50,
                                         .threads = 1});
    ASSERT_TRUE(steps.ok()) << steps.status().ToString();
    EXPECT_TRUE((*steps)->Run(3).ok());
    EXPECT_TRUE((*steps)->Run(5).ok());
    EXPECT_EQ((*steps)->steps(), 8U) << model;
  }
}

TEST(ClickBench, TextIsReadWholeByAJob) {
  TempFolder folder;
  for (const std::string format : {"criteo", "csv"}) {
    const std::string path = folder.File(format);
    ASSERT_TRUE(WriteClickText(path, format, 3000).ok());
    const std::string text = ReadWholeFile(path);
    EXPECT_EQ(std::ranges::count(text, '\n'), 3000);
    EXPECT_EQ(std::ranges::count(text, format == "criteo" ? '\t' : ','), 3000 * 39);
    const auto rate = TrainFromText(path, format, "fm", 4, 512, 1);
    ASSERT_TRUE(rate.ok()) << rate.status().ToString();
    EXPECT_GT(*rate, 0);
  }
}

TEST(ClickBench, TextIsParsedWholeEpochAfterEpoch) {
  TempFolder folder;
  for (const std::string format : {"criteo", "csv", "libffm", "libsvm"}) {
    const std::string path = folder.File(format);
    ASSERT_TRUE(WriteClickText(path, format, 2000).ok());
    const auto parse = ClickParse::Make(path, format, /*shuffles=*/true, /*threads=*/2);
    ASSERT_TRUE(parse.ok()) << parse.status().ToString();
    EXPECT_TRUE((*parse)->Run(1).ok());
    EXPECT_TRUE((*parse)->Run(2).ok());
    EXPECT_EQ((*parse)->samples(), 3 * 2000U) << format;
  }
}

TEST(ClickBench, AScriptThatFailsIsNoPeerThatIsNotInstalled) {
  const auto wrong = RunPeerScript("there-is-none.py", "nothing", {});
  EXPECT_FALSE(wrong.ok());
  EXPECT_THAT(wrong.status().message(), HasSubstr("nothing"));
}

}  // namespace
}  // namespace strata::bench
