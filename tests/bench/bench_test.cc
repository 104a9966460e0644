// What strata-bench reports rests on these: medians, ratios, drawn keys, and the line's fields.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "bench/harness/figure.h"
#include "bench/harness/measure.h"
#include "bench/harness/report.h"
#include "bench/harness/workload.h"

namespace strata::bench {
namespace {

TEST(BenchTest, QuantilesAreNearestRanks) {
  EXPECT_EQ(Median({3, 1, 2}), 2);
  EXPECT_EQ(Median({7}), 7);
  std::vector<double> hundred;
  for (int i = 100; i >= 1; --i) hundred.push_back(i);
  EXPECT_EQ(Quantile(hundred, 0.5), 50);
  EXPECT_EQ(Quantile(hundred, 0.99), 99);
  EXPECT_EQ(Quantile(hundred, 1.0), 100);
}

TEST(BenchTest, ARatioAboveOneIsAheadWhateverTheUnit) {
  Figure rate{.name = "r", .unit = "M rows/s", .ours = 30, .peer = "p", .peer_value = 10};
  EXPECT_DOUBLE_EQ(*Ratio(rate), 3);
  Figure time{.name = "t",
              .unit = "us",
              .more_is_better = false,
              .ours = 30,
              .peer = "p",
              .peer_value = 10};
  EXPECT_DOUBLE_EQ(*Ratio(time), 1.0 / 3);
  time.peer_value.reset();
  EXPECT_FALSE(Ratio(time).has_value());
}

TEST(BenchTest, AJsonLineHasEveryFieldOnce) {
  const Figure figure{.name = "pull",
                      .unit = "us",
                      .more_is_better = false,
                      .ours = 12.34567,
                      .peer = "redis",
                      .peer_value = 24.69134,
                      .limit = 6,
                      .bytes = 123'456'789};
  const std::string text = JsonLine("service", figure, "cpu: x");
  EXPECT_EQ(text.find('\n'), text.size() - 1);
  const auto line = nlohmann::json::parse(text);
  std::set<std::string> fields;
  for (const auto& [name, value] : line.items()) fields.insert(name);
  EXPECT_EQ(fields,
            (std::set<std::string>{"suite", "case", "unit", "ours", "peer", "peer_value", "source",
                                   "limit", "ratio", "share", "bytes", "device"}));
  EXPECT_EQ(line["ours"], 12.35);
  EXPECT_EQ(line["ratio"], 2.0);
  EXPECT_EQ(line["source"], "run");
  EXPECT_EQ(line["limit"], 6.0);
  EXPECT_EQ(line["share"], 0.486);
  EXPECT_EQ(line["bytes"], 123'456'789);
  const auto alone = nlohmann::json::parse(JsonLine("table", {.name = "n", .unit = "x"}, "d"));
  EXPECT_TRUE(alone["peer"].is_null() && alone["source"].is_null() && alone["ratio"].is_null());
  EXPECT_TRUE(alone["limit"].is_null() && alone["share"].is_null() && alone["bytes"].is_null());
}

TEST(BenchTest, LargeNumbersOfATableAreWrittenOut) {
  const std::string row = TableRow({.name = "push", .unit = "us", .ours = 754'312, .limit = 12});
  EXPECT_NE(row.find(" 754300 "), std::string::npos) << row;
}

TEST(BenchTest, WorkIsCountedByTheTimeItTakes) {
  SimClock clock;
  uint64_t done = 0;
  const Work slow = [&](uint64_t count) {
    done += count;
    clock.Advance(static_cast<TimeNs>(count) * kMillisecond);
    return Status();
  };
  const auto count = CountFor(slow, 20 * kMillisecond, clock);
  ASSERT_TRUE(count.ok());
  EXPECT_EQ(*count, 20U);
  EXPECT_EQ(done, 2U * (1U + 2U) + 20U);  // a tenth of the time, by doubling, twice; and all of it
}

TEST(BenchTest, WhatWorkTakesTheFirstTimeDoesNotCount) {
  SimClock clock;
  TimeNs first = 50 * kMillisecond;
  const Work work = [&](uint64_t count) {
    clock.Advance(std::exchange(first, 0) + static_cast<TimeNs>(count) * 10 * kMicrosecond);
    return Status();
  };
  const auto count = CountFor(work, 20 * kMillisecond, clock);
  ASSERT_TRUE(count.ok());
  EXPECT_EQ(*count, 2000U);
}

// As when a kernel is loaded, or pinned memory taken, long after the first batch.
TEST(BenchTest, WhatWorkTakesALaterTimeDoesNotCount) {
  SimClock clock;
  uint64_t done = 0;
  bool late = false;
  const Work work = [&](uint64_t count) {
    done += count;
    const bool hiccup = done > 12 && !late;
    late = late || hiccup;
    clock.Advance(static_cast<TimeNs>(count) * 10 * kMicrosecond + (hiccup ? 5 * kMillisecond : 0));
    return Status();
  };
  const auto count = CountFor(work, 20 * kMillisecond, clock);
  ASSERT_TRUE(count.ok());
  EXPECT_TRUE(late);
  EXPECT_EQ(*count, 2000U);
}

// Of a server on a GPU and of one without: rates and latencies of large batches of four clients.
TEST(BenchTest, BothServiceSuitesHaveFourClients) {
  for (const Suite& suite : {ServiceSuite(), GpuServiceSuite(std::nullopt)}) {
    std::set<std::string> names;
    for (const Case& one : suite.cases(false)) EXPECT_TRUE(names.insert(one.name).second);
    for (const char* op : {"pull", "push"}) {
      const std::string name = std::string(op) + " batch=65536 dim=16 uniform clients=4";
      EXPECT_TRUE(names.contains(name)) << suite.about;
      EXPECT_TRUE(names.contains(name + " latency")) << suite.about;
    }
  }
}

TEST(BenchTest, EveryContenderRunsInEveryRoundAndAnErrorNamesIt) {
  uint64_t fast = 0;
  const Work work = [&](uint64_t count) {
    fast += count;
    return Status();
  };
  const auto rates = MeasureRates({{"fast", work}, {"absent", nullptr}}, 3, kMillisecond);
  ASSERT_TRUE(rates.ok());
  EXPECT_GT((*rates)[0], 0);
  EXPECT_EQ((*rates)[1], 0);
  const auto failed =
      MeasureRates({{"broken", [](uint64_t) { return Failed("no luck"); }}}, 3, kMillisecond);
  EXPECT_NE(failed.status().message().find("broken: no luck"), std::string::npos);
}

TEST(BenchTest, ZipfDrawsRanksInProportion) {
  constexpr uint64_t kRows = 1000;
  constexpr size_t kDraws = 200'000;
  std::map<Key, int> counts;
  for (const Key key : DrawKeys(Distribution::kZipf, kRows, kDraws, 1)) ++counts[key];
  double sum = 0;
  for (uint64_t rank = 1; rank <= kRows; ++rank) {
    sum += std::pow(static_cast<double>(rank), -kZipfExponent);
  }
  for (const uint64_t rank : {1U, 2U, 10U}) {
    const double expected = kDraws * std::pow(static_cast<double>(rank), -kZipfExponent) / sum;
    EXPECT_NEAR(counts[KeyAt(rank - 1)], expected, 5 * std::sqrt(expected)) << rank;
  }
}

TEST(BenchTest, AKeyTellsItsNumber) {
  for (uint64_t n = 0; n < 1000; ++n) EXPECT_EQ(NumberOf(KeyAt(n)), n);
}

TEST(BenchTest, UniformDrawsOnlyRowsThatExistAndRepeatsForASeed) {
  const auto keys = DrawKeys(Distribution::kUniform, 100, 10'000, 7);
  EXPECT_EQ(keys, DrawKeys(Distribution::kUniform, 100, 10'000, 7));
  std::set<Key> all;
  for (uint64_t n = 0; n < 100; ++n) all.insert(KeyAt(n));
  EXPECT_EQ(all.size(), 100U);
  EXPECT_EQ(std::set<Key>(keys.begin(), keys.end()), all);
}

}  // namespace
}  // namespace strata::bench
