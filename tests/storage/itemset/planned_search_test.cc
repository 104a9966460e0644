// Searches as planned find what a plain search finds, whatever the plan is.
#include "storage/itemset/planned_search.h"

#include <gtest/gtest.h>

#include <cmath>

#include "kernels/setops/count_search.h"
#include "storage/itemset/measure_rates.h"
#include "tests/kernels/setops/search_case.h"

namespace strata {
namespace {

using test::Blocks;
using test::SearchCase;

// Answers as a GPU would.
class FakeGpu : public GpuSets {
 public:
  explicit FakeGpu(std::span<const SetBlock> blocks) : blocks_(blocks) {}
  Result<std::vector<std::vector<Hit>>> Search(const SetList& queries, const SearchGoal& goal,
                                               const GpuSearchMeans& means) override {
    ++searches;
    scanned |= means.engine == GpuEngine::kScanning;
    std::vector<AllowedBlock> blocks = AllowAll(blocks_);
    for (size_t i = 0; i < means.allowed.size(); ++i) blocks[i].allowed = means.allowed[i];
    std::vector<std::vector<Hit>> answers;
    CountSearch search;
    for (size_t i = 0; i < queries.size(); ++i) {
      TopHits hits(goal, static_cast<uint32_t>(queries[i].size()));
      for (const AllowedBlock& of : blocks) search.Search(*of.block, queries[i], of.allowed, hits);
      answers.push_back(TakeAnswer(blocks, hits));
    }
    return answers;
  }
  bool scans() const override { return true; }
  Counts counts() const override { return {}; }
  size_t bytes() const override { return 0; }

  int searches = 0;
  bool scanned = false;

 private:
  std::span<const SetBlock> blocks_;
};

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
    FakeGpu gpu(blocks.blocks);
    means.gpu = draw() % 3 == 0 ? &gpu : nullptr;
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
    scanned_on_gpu |= gpu.scanned;
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

}  // namespace
}  // namespace strata
