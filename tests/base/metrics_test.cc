#include "base/metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

namespace strata {
namespace {

using testing::HasSubstr;

TEST(MetricsTest, CounterSumsOverThreads) {
  Counter counter;
  constexpr int kThreads = 12;  // more than slots
  constexpr uint64_t kAdds = 1000;
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&] {
        for (uint64_t i = 0; i < kAdds; ++i) counter.Add(i % 3);
      });
    }
  }
  EXPECT_EQ(counter.Value(), kThreads * 999u);
}

TEST(MetricsTest, BucketsHoldWhatTheirBoundsSay) {
  for (int bucket = 0; bucket + 2 < LatencyHistogram::kBuckets; ++bucket) {
    EXPECT_LT(LatencyHistogram::BucketUpperSeconds(bucket),
              LatencyHistogram::BucketUpperSeconds(bucket + 1));
  }
  EXPECT_TRUE(std::isinf(LatencyHistogram::BucketUpperSeconds(LatencyHistogram::kBuckets - 1)));
  for (int bucket = 0; bucket + 1 < LatencyHistogram::kBuckets; ++bucket) {
    const int64_t upper = std::llround(LatencyHistogram::BucketUpperSeconds(bucket) * 1e9);
    LatencyHistogram at;
    at.Observe(upper);
    EXPECT_EQ(at.BucketCount(bucket), 1u) << bucket;
    LatencyHistogram above;
    above.Observe(upper + 1);
    EXPECT_EQ(above.BucketCount(bucket + 1), 1u) << bucket;
  }
}

TEST(MetricsTest, ExtremesStayInRange) {
  LatencyHistogram latency;
  for (int64_t ns : {int64_t{-5}, int64_t{0}, int64_t{1}, INT64_MAX}) latency.Observe(ns);
  EXPECT_EQ(latency.BucketCount(0), 3u);
  EXPECT_EQ(latency.BucketCount(LatencyHistogram::kBuckets - 1), 1u);
  EXPECT_EQ(latency.Count(), 4u);
}

TEST(MetricsTest, TextIsPrometheus) {
  MetricsRegistry registry;
  registry.AddCounter("strata_pulls_total", "Pulls served.", {{"table", "a\"b"}}).Add(3);
  registry.AddCounter("strata_pulls_total", "Pulls served.", {{"table", "c"}}).Add(4);
  registry.AddGauge("strata_rows", "Rows.").Set(2.5);
  LatencyHistogram& latency = registry.AddLatency("strata_pull_seconds", "Time of a pull.");
  latency.Observe(1000);
  latency.Observe(INT64_C(60'000'000'000));
  const std::string text = registry.PrometheusText();
  EXPECT_THAT(text, HasSubstr("# HELP strata_pulls_total Pulls served.\n"
                              "# TYPE strata_pulls_total counter\n"
                              "strata_pulls_total{table=\"a\\\"b\"} 3\n"
                              "strata_pulls_total{table=\"c\"} 4\n"));
  EXPECT_THAT(text, HasSubstr("# TYPE strata_rows gauge\nstrata_rows 2.5\n"));
  EXPECT_THAT(text, HasSubstr("# TYPE strata_pull_seconds histogram\n"));
  EXPECT_THAT(text, HasSubstr("strata_pull_seconds_count 2\n"));
  EXPECT_THAT(text, HasSubstr("strata_pull_seconds_bucket{le=\"+Inf\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("strata_pull_seconds_sum 60.00000"));
}

TEST(MetricsTest, LabelledMetricsHaveTheirLabels) {
  MetricsRegistry registry;
  const LabelledMetrics lane(registry, {{"lane", "3"}});
  lane.AddCounter("strata_pulls_total", "Pulls served.").Add(2);
  const LabelledMetrics hot = lane.With("tier", "hot");
  hot.Set("strata_rows", "Rows.", uint64_t{5});
  hot.Raise("strata_hits_total", "Hits.", 7);
  const std::string text = registry.PrometheusText();
  EXPECT_THAT(text, HasSubstr("strata_pulls_total{lane=\"3\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("strata_rows{lane=\"3\",tier=\"hot\"} 5\n"));
  EXPECT_THAT(text, HasSubstr("strata_hits_total{lane=\"3\",tier=\"hot\"} 7\n"));
}

// Bounds grow and are short, counts are cumulative, the last of them is the count.
TEST(MetricsTest, AHistogramsTextIsCumulativeWithRoundBounds) {
  MetricsRegistry registry;
  LatencyHistogram& latency = registry.AddLatency("strata_x_seconds", "X.");
  for (const int64_t ns : {1'000, 9'000, 11'000, 40'000}) latency.Observe(ns);
  std::istringstream lines(registry.PrometheusText());
  const std::string bucket = "strata_x_seconds_bucket{le=\"";
  std::vector<std::string> bounds;
  std::vector<uint64_t> counts;
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(bucket)) continue;
    const size_t end = line.find("\"} ");
    ASSERT_NE(end, std::string::npos) << line;
    bounds.push_back(line.substr(bucket.size(), end - bucket.size()));
    counts.push_back(std::stoull(line.substr(end + 3)));
    EXPECT_LE(bounds.back().size(), 12U) << line;
  }
  ASSERT_EQ(bounds.size(), size_t{LatencyHistogram::kBuckets});
  EXPECT_EQ(bounds[0], "8e-06");
  EXPECT_EQ(bounds.back(), "+Inf");
  EXPECT_EQ(std::vector(counts.begin(), counts.begin() + 6),
            (std::vector<uint64_t>{1, 3, 3, 3, 3, 4}));
  EXPECT_TRUE(std::ranges::is_sorted(counts));
  EXPECT_EQ(counts.back(), 4U);
}

TEST(MetricsTest, TheSameNameAndLabelsAreTheSameSeries) {
  MetricsRegistry registry;
  Counter& a = registry.AddCounter("strata_x_total", "X.", {{"k", "1"}});
  EXPECT_EQ(&a, &registry.AddCounter("strata_x_total", "X.", {{"k", "1"}}));
  EXPECT_NE(&a, &registry.AddCounter("strata_x_total", "X.", {{"k", "2"}}));
}

TEST(MetricsTest, ACounterOfWhatIsCountedElsewhereNeverFalls) {
  MetricsRegistry registry;
  Counter& counter = registry.AddCounter("strata_x_total", "X.");
  for (const uint64_t total : {7U, 3U, 9U, 9U}) counter.RaiseTo(total);
  EXPECT_EQ(counter.Value(), 9U);
}

TEST(MetricsDeathTest, OnlyCountersEndInTotal) {
  EXPECT_DEATH(MetricsRegistry().AddCounter("strata_x", "X."), "end in _total");
  EXPECT_DEATH(MetricsRegistry().AddGauge("strata_x_total", "X."), "end in _total");
  EXPECT_DEATH(MetricsRegistry().AddLatency("strata_x_total", "X."), "end in _total");
}

TEST(MetricsTest, CollectsWhileOthersAdd) {
  MetricsRegistry registry;
  Counter& counter = registry.AddCounter("strata_x_total", "X.");
  LatencyHistogram& latency = registry.AddLatency("strata_x_seconds", "X.");
  std::jthread adder([&](std::stop_token stop) {
    while (!stop.stop_requested()) {
      counter.Add();
      latency.Observe(1'000'000);
    }
  });
  for (int i = 0; i < 50; ++i) {
    EXPECT_THAT(registry.PrometheusText(), HasSubstr("strata_x_total "));
    registry.AddGauge("strata_gauge" + std::to_string(i), "G.").Set(i);
  }
}

}  // namespace
}  // namespace strata
