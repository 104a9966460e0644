// Searches as planned find what a plain search finds, whatever the plan is.
#include "storage/itemset/planned_search.h"

#include <gtest/gtest.h>

#include <cmath>

#include "storage/itemset/measure_rates.h"
#include "tests/kernels/setops/search_case.h"
#include "tests/storage/itemset/fake_gpu.h"
#include "tests/support/sanitizers.h"

namespace strata {
namespace {

using test::Blocks;
using test::SearchCase;
using test::Tokens;

class PlannedSearch : public testing::TestWithParam<uint64_t> {
 protected:
  void SetUp() override {
    for (const int more : {0, 2}) {
      auto pool = WorkPool::Start("search", more);
      ASSERT_TRUE(pool.ok());
      pools_.push_back(std::move(*pool));
    }
  }
  std::vector<std::unique_ptr<WorkPool>> pools_;
};

TEST_P(PlannedSearch, FindsWhatAPlainSearchFindsWithAnyRates) {
  constexpr uint64_t kCases = 100;
  bool counted = false, scanned = false, on_gpu = false, scanned_on_gpu = false;
  bool passed_along = false;
  for (uint64_t seed = GetParam() * kCases; seed < (GetParam() + 1) * kCases; ++seed) {
    const SearchCase of = test::DrawCase(seed);
    const Blocks blocks(of);
    const SetLists queries = test::Lists(of.queries);
    std::mt19937_64 draw(seed);
    const auto any = [&] { return std::exp(static_cast<double>(draw() % 12) - 6); };
    SearchMeans means;
    means.rates.count = {any(), any(), any(), any()};
    means.rates.scan = {any(), any(), any()};
    means.rates.gpu.call_ns = any() * 1e5;
    means.rates.gpu.count = {any(), any(), any(), any()};
    means.rates.gpu.scan = {any(), any(), any()};
    means.rates.gpu.scan_call_ns = any() * 1e3;
    const size_t which = draw() % 2;
    means.pool = pools_[which].get();
    means.threads = which == 0 ? 1 : 3;
    means.clock = &RealClock();
    test::FakeGpuState state;
    const auto gpu = test::FakeSets::Open(state, *SourceOf(blocks.blocks).value());
    ASSERT_TRUE(gpu.ok()) << gpu.status().ToString();
    means.gpu = draw() % 3 == 0 ? gpu->get() : nullptr;
    SearchReport report;
    const auto answers =
        SearchAsPlanned(blocks.all(), of.allowed.empty(), queries.view(), of.goal, means, &report);
    ASSERT_TRUE(answers.ok()) << answers.status().ToString();
    ASSERT_EQ(answers->size(), of.queries.size());
    for (size_t q = 0; q < of.queries.size(); ++q) {
      ASSERT_EQ((*answers)[q], test::PlainSearch(of.documents, of.allowed, of.queries[q], of.goal))
          << "seed " << seed << ", query " << q;
    }
    for (const auto& group : report.plan.groups) {
      counted |= group.engine == SearchEngine::kCounting;
      scanned |= group.engine == SearchEngine::kScanning;
      on_gpu |= group.engine == SearchEngine::kGpuCounting;
    }
    scanned_on_gpu |= state.scanned > 0;
    passed_along |= report.passed_along > 0;
  }
  EXPECT_TRUE(counted && scanned && on_gpu && scanned_on_gpu && passed_along);
}

// Ties at every threshold, over blocks that threads take in any order.
TEST_P(PlannedSearch, ThresholdsPassedAlongLeaveTiesToIds) {
  size_t passed_along = 0;
  for (uint64_t seed = GetParam() * 50; seed < (GetParam() + 1) * 50; ++seed) {
    std::mt19937_64 draw(seed);
    SearchCase of;
    test::RandomSets random(seed, test::Spread::kUniform, 8);
    for (size_t i = 0; i < 400; ++i) {
      of.documents.ids.push_back((i * 2'654'435'761ULL + seed) % 4'294'967'291ULL);
      of.documents.sets.push_back(random.Draw(1 + random.Below(4)));
    }
    for (size_t i = 0; i < 5; ++i) of.queries.push_back(random.Draw(1 + random.Below(4)));
    of.goal = {.metric = static_cast<SetMetric>(draw() % kSetMetrics), .k = 1 + draw() % 12};
    of.block_size = 25;
    const Blocks blocks(of);
    const SetLists queries = test::Lists(of.queries);
    SearchMeans means;
    means.rates.scan.token_ns = draw() % 2 == 0 ? 1e-6 : 1e6;
    means.pool = pools_[1].get();
    means.threads = 3;
    means.clock = &RealClock();
    SearchReport report;
    const auto answers =
        SearchAsPlanned(blocks.all(), true, queries.view(), of.goal, means, &report);
    ASSERT_TRUE(answers.ok()) << answers.status().ToString();
    for (size_t q = 0; q < of.queries.size(); ++q) {
      ASSERT_EQ((*answers)[q], test::PlainSearch(of.documents, {}, of.queries[q], of.goal))
          << "seed " << seed << ", query " << q;
    }
    EXPECT_GT(report.pieces, report.plan.groups.size());
    passed_along += report.passed_along;
  }
  EXPECT_GT(passed_along, 100U);
}

INSTANTIATE_TEST_SUITE_P(Cases, PlannedSearch, testing::Range<uint64_t>(0, kSanitized ? 1 : 4));

TEST(SearchReportTest, ExplainsTheChoiceBesideWhatHappened) {
  SearchReport report{.queries = 40, .blocks = 2, .documents = 1000, .threads = 2};
  report.plan.groups = {{SearchEngine::kScanning, std::vector<uint32_t>(32), 2.5e6, 320.25},
                        {SearchEngine::kCounting, std::vector<uint32_t>(8), 0.5e6, 80}};
  report.plan.estimate_ns = 1.5e6;
  report.plan.counting_ns = 9e6;
  report.plan.scanning_ns = 2.5e6;
  report.ratios.of_engines = {0.5, 1.25, 1, 1};
  report.ratios.waiting = 2;
  report.took_ns = {3e6, 0.25e6};
  report.candidates = {300, 95};
  report.threads_ns = 3.25e6;
  report.passed_ns = 4.875e6;
  report.pieces = 4;
  report.passed_along = 37;
  report.planning_ns = 1e4;
  report.total_ns = 1.75e6;
  EXPECT_EQ(Explain(report),
            "40 queries, 1000 documents in 2 blocks, 2 threads\n"
            "counting: 8 queries in 1 groups, expected 0.500 ms of a processor, took 0.250 ms "
            "(its rates say 1.000 ms, and it took 0.50 times that of late), candidates: expected "
            "80, found 95\n"
            "scanning: 32 queries in 1 groups, expected 2.500 ms of a processor, took 3.000 ms "
            "(its rates say 2.000 ms, and it took 1.25 times that of late), candidates: expected "
            "320, found 300\n"
            "together: expected 3.000 ms, took 1.750 ms with 0.010 ms of planning\n"
            "in 4 parts, where 37 of the queries began with a threshold passed along\n"
            "threads waited for processors: a millisecond took 2.00 ms of late, 1.50 now\n"
            "one engine alone would be expected to take: counting 9.000 ms, scanning 2.500 ms\n");
}

// A search by one engine that took so many times what its rates say.
SearchReport Took(SearchEngine engine, double times, const SearchPace::Ratios& ratios,
                  double waiting) {
  constexpr double kByRates = 2e6;
  SearchReport report;
  report.ratios = ratios;
  const double ratio = ratios.of_engines.at(static_cast<size_t>(engine));
  report.plan.groups = {{engine, {0}, kByRates * ratio}};
  report.took_ns = {kByRates * times};
  report.threads_ns = kByRates * times;
  report.passed_ns = report.threads_ns * waiting;
  return report;
}

TEST(SearchPaceTest, FollowsWhatEnginesTakeWithinBounds) {
  SearchPace pace;
  EXPECT_EQ(pace.Look().of_engines, (std::array<double, kSearchEngines>{1, 1, 1, 1}));
  for (int i = 0; i < 60; ++i) pace.Note(Took(SearchEngine::kScanning, 2.5, pace.Look(), 3));
  SearchPace::Ratios ratios = pace.Look();
  EXPECT_NEAR(ratios.of_engines[1], 2.5, 0.01);
  EXPECT_NEAR(ratios.of_engines[0], std::exp(-60.0 / 256), 1e-9);  // not chosen, so in doubt
  EXPECT_NEAR(ratios.waiting, 3, 0.01);

  for (int i = 0; i < 60; ++i) pace.Note(Took(SearchEngine::kCounting, 1e-3, pace.Look(), 0.5));
  ratios = pace.Look();
  EXPECT_NEAR(ratios.of_engines[0], 1 / SearchPace::kMost, 0.01);
  EXPECT_NEAR(ratios.waiting, 1, 0.01);
  for (int i = 0; i < 2000; ++i) pace.Note(Took(SearchEngine::kCounting, 1e3, pace.Look(), 1e3));
  ratios = pace.Look();
  EXPECT_NEAR(ratios.of_engines[1], 2.5 / 3, 0.01);
  EXPECT_NEAR(ratios.of_engines[0], SearchPace::kMost, 0.01);
  EXPECT_NEAR(ratios.waiting, SearchPace::kMost, 0.01);
  // Tried again, it counts for more than one of many.
  pace.Note(Took(SearchEngine::kScanning, 10, ratios, 1));
  EXPECT_NEAR(pace.Look().of_engines[1], std::sqrt(2.5 * SearchPace::kMost), 0.01);
}

// Searches of one batch, planned by rates that are wrong for counting by a factor, and by what the
// searches before took: that is what other rates say. How many of the last ten are counted.
int CountedAtLast(double wrong, int searches) {
  test::RandomSets random(5, test::Spread::kUniform, 50'000);
  std::vector<Tokens> sets, drawn;
  std::vector<DocumentId> ids;
  for (DocumentId id = 0; id < 2'000; ++id) {
    sets.push_back(random.Draw(60));
    ids.push_back(id);
  }
  for (size_t i = 0; i < 32; ++i) drawn.push_back(random.Draw(60));
  std::vector<SetBlock> blocks;
  blocks.push_back(SetBlock::Build(ids, test::Lists(sets).view()));
  const std::vector<AllowedBlock> allowed = AllowAll(blocks);
  const SetLists queries = test::Lists(drawn);
  const SearchGoal goal{.metric = SetMetric::kOverlapMax, .k = 10};
  const auto plan = [&](const SearchRates& rates) {
    return PlanSearch({allowed}, queries.view(), goal, rates, 1);
  };
  SearchRates truth;
  truth.candidate_ns = 0;
  const SearchPlan times = plan(truth);
  SearchRates rates = truth;
  const double factor = wrong * times.scanning_ns / times.counting_ns;
  for (double* const rate : {&rates.count.lookup_ns, &rates.count.posting_ns, &rates.count.word_ns,
                             &rates.count.document_ns}) {
    *rate *= factor;
  }
  SearchPace pace;
  int counted = 0;
  for (int i = 0; i < searches; ++i) {
    SearchReport report;
    report.ratios = pace.Look();
    rates.ratios = report.ratios.of_engines;
    report.plan = plan(rates);
    const bool counts = report.plan.groups[0].engine == SearchEngine::kCounting;
    report.took_ns = {counts ? times.counting_ns : times.scanning_ns};
    pace.Note(report);
    if (i >= searches - 10 && counts) ++counted;
  }
  return counted;
}

// Counting is the faster one of the two here, by far.
TEST(SearchPaceTest, TheFasterEngineIsFoundWhereRatesAreWrong) {
  EXPECT_EQ(CountedAtLast(2, 20), 0);    // its rates say that it takes twice as long as scanning,
  EXPECT_EQ(CountedAtLast(2, 250), 10);  // until it was tried
  EXPECT_EQ(CountedAtLast(0.01, 250), 10);
}

TEST(MeasureSearchRates, GivesRatesThatAreAboveZero) {
  const SearchRates rates = MeasureSearchRates(RealClock());
  for (const double rate :
       {rates.count.lookup_ns, rates.count.posting_ns, rates.count.word_ns, rates.count.document_ns,
        rates.scan.list_ns, rates.scan.token_ns, rates.scan.document_ns, rates.candidate_ns}) {
    EXPECT_GT(rate, 0);
    EXPECT_LT(rate, 1e6);
  }
  printf("lookup %.3f posting %.3f word %.3f document %.3f | list %.3f token %.3f document %.3f\n",
         rates.count.lookup_ns, rates.count.posting_ns, rates.count.word_ns,
         rates.count.document_ns, rates.scan.list_ns, rates.scan.token_ns, rates.scan.document_ns);
}

TEST(MeasureGpuRates, NeedsMemoryForItsDocuments) {
  const auto pool = WorkPool::Start("search", 1);
  ASSERT_TRUE(pool.ok());
  test::FakeGpuState state;
  const auto small = test::FakeItemGpu(state, 0, 1'000'000);
  EXPECT_EQ(MeasureGpuRates(*small, **pool, RealClock()).status().code(), StatusCode::kRefused);
  state.has_no_memory = true;
  const auto large = test::FakeItemGpu(state);
  EXPECT_EQ(MeasureGpuRates(*large, **pool, RealClock()).status().code(), StatusCode::kRefused);
}

TEST(SearchReportTest, ExplainsWhatPassedThroughTheGpu) {
  SearchReport report{.queries = 2, .blocks = 2, .documents = 1000, .threads = 2};
  report.plan.groups = {{SearchEngine::kGpuCounting, {0, 1}, 2.5e6}};
  report.plan.estimate_ns = 2.5e6;
  report.plan.gpu_ns = 2.5e6;
  report.plan.load_pieces = 3;
  report.plan.load_ns = 2e6;
  report.plan.counting_ns = 9e6;
  report.plan.scanning_ns = 8e6;
  report.took_ns = {3e6};
  report.candidates = {0};
  report.load_ns = 1e6;
  report.total_ns = 3e6;
  EXPECT_EQ(Explain(report),
            "2 queries, 1000 documents in 2 blocks, 2 threads\n"
            "counting on a GPU: 2 queries in 1 groups, expected 2.500 ms of the GPU, took 3.000 ms "
            "(its rates say 2.500 ms, and it took 1.00 times that of late)\n"
            "of that, to bring the documents to the GPU in 3 pieces: expected 2.000 ms, took "
            "1.000 ms\n"
            "together: expected 2.500 ms, took 3.000 ms with 0.000 ms of planning\n"
            "one engine alone would be expected to take: counting 9.000 ms, scanning 8.000 ms, a "
            "GPU 2.500 ms\n");
}

}  // namespace
}  // namespace strata
