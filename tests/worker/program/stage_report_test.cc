// The stages of several workers in one report.
#include "worker/tasks/stage_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <thread>
#include <vector>

#include "cluster/collective/memory_world.h"

namespace strata {
namespace {

// Seconds of each stage.
StageTimes TimesOf(const std::array<int, kStages>& seconds) {
  SimClock clock;
  StageTimes times(&clock);
  times.Start();
  for (size_t stage = 0; stage < kStages; ++stage) {
    clock.Advance(seconds[stage] * kSecond);
    times.End(static_cast<Stage>(stage));
  }
  return times;
}

// Of rank 0; every rank gets the same.
StageReport Gather(const std::vector<std::array<int, kStages>>& ranks) {
  MemoryWorld memory(static_cast<int>(ranks.size()));
  std::vector<StageReport> reports(ranks.size());
  std::vector<std::thread> threads;
  for (size_t r = 0; r < ranks.size(); ++r) {
    threads.emplace_back([&, r] {
      Group group(memory.rank(static_cast<int>(r)));
      const TimeNs reading = static_cast<TimeNs>(r + 1) * kSecond;
      const auto report = GatherStages(group, TimesOf(ranks[r]), reading);
      ASSERT_TRUE(report.ok());
      reports[r] = *report;
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const StageReport& report : reports) EXPECT_EQ(StagesJson(report), StagesJson(reports[0]));
  return reports[0];
}

TEST(StageReport, OfOneWorkerTheLongestStageLimits) {
  const StageReport report = Gather({{10, 20, 50, 0, 15, 5}});
  EXPECT_EQ(report.limit, Stage::kCompute);
  EXPECT_EQ(report.total.mean, 100);
  EXPECT_EQ(StageShares(report),
            "data 10 %, rows 20 %, compute 50 %, allreduce 0 %, updates 15 %, other 5 %");
  EXPECT_EQ(ReaderText(report), "busy 1 % of the time");
  EXPECT_EQ(Gather({{10, 20, 5, 0, 15, 500}}).limit, Stage::kOther) << "evaluations, too";
}

// The others wait for the slowest worker in the allreduce, which then limits nothing.
TEST(StageReport, OfSeveralTheSlowestWorkersStageLimits) {
  const StageReport report = Gather({{5, 5, 20, 70, 0, 0}, {60, 5, 20, 15, 0, 0}});
  EXPECT_EQ(report.limit, Stage::kData);
  EXPECT_EQ(report.stages[static_cast<size_t>(Stage::kAllreduce)].mean, 42.5);
  EXPECT_EQ(report.stages[static_cast<size_t>(Stage::kAllreduce)].max, 70);
  EXPECT_THAT(StageShares(report), testing::HasSubstr("data 32 % (at most 60 %), rows 5 %"));
  EXPECT_EQ(StagesJson(report)["data"]["mean_seconds"], 32.5);
  EXPECT_EQ(StagesJson(report)["reading"]["max_seconds"], 2);
  EXPECT_EQ(StagesJson(report)["limit"], "data");
  EXPECT_EQ(Gather({{5, 5, 20, 70, 0, 0}, {6, 5, 20, 69, 0, 0}}).limit, Stage::kAllreduce);
}

}  // namespace
}  // namespace strata
