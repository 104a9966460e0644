// Searches as planned find what a plain search finds, whatever the plan is.
#include "storage/itemset/planned_search.h"

#include <gtest/gtest.h>

#include <cmath>

#include "storage/itemset/measure_rates.h"
#include "tests/kernels/setops/search_case.h"
#include "tests/storage/itemset/fake_gpu.h"

namespace strata {
namespace {

using test::Blocks;
using test::SearchCase;

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
  }
  EXPECT_TRUE(counted && scanned && on_gpu && scanned_on_gpu);
}

INSTANTIATE_TEST_SUITE_P(Cases, PlannedSearch, testing::Range<uint64_t>(0, 4));

TEST(SearchReportTest, ExplainsTheChoiceBesideWhatHappened) {
  SearchReport report{.queries = 40, .blocks = 2, .documents = 1000, .threads = 2};
  report.plan.groups = {{SearchEngine::kScanning, std::vector<uint32_t>(32), 2.5e6},
                        {SearchEngine::kCounting, std::vector<uint32_t>(8), 0.5e6}};
  report.plan.estimate_ns = 1.5e6;
  report.plan.counting_ns = 9e6;
  report.plan.scanning_ns = 2.5e6;
  report.took_ns = {3e6, 0.25e6};
  report.planning_ns = 1e4;
  report.total_ns = 1.75e6;
  EXPECT_EQ(Explain(report),
            "40 queries, 1000 documents in 2 blocks, 2 threads\n"
            "counting: 8 queries in 1 groups, expected 0.500 ms of one thread, took 0.250 ms\n"
            "scanning: 32 queries in 1 groups, expected 2.500 ms of one thread, took 3.000 ms\n"
            "together: expected 1.500 ms, took 1.750 ms with 0.010 ms of planning\n"
            "one engine alone would be expected to take: counting 9.000 ms, scanning 2.500 ms\n");
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
  report.load_ns = 1e6;
  report.total_ns = 3e6;
  EXPECT_EQ(
      Explain(report),
      "2 queries, 1000 documents in 2 blocks, 2 threads\n"
      "counting on a GPU: 2 queries in 1 groups, expected 2.500 ms of the GPU, took 3.000 ms\n"
      "of that, to bring the documents to the GPU in 3 pieces: expected 2.000 ms, took "
      "1.000 ms\n"
      "together: expected 2.500 ms, took 3.000 ms with 0.000 ms of planning\n"
      "one engine alone would be expected to take: counting 9.000 ms, scanning 8.000 ms, a "
      "GPU 2.500 ms\n");
}

}  // namespace
}  // namespace strata
