// Collections on a GPU: random changes and searches beside the model, and what documents take there
// beside what it was said to be.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <string>
#include <thread>

#include "kernels/setops/gpu_bytes.h"
#include "storage/itemset/item_gpu.h"
#include "storage/itemset/measure_rates.h"
#include "tests/kernels/setops/search_case.h"
#include "tests/storage/itemset/item_set_pair.h"
#include "tests/support/device_memory.cuh"

namespace strata {
namespace {

constexpr uint64_t kSeeds = kGpuIsEmulated ? 6 : 60;
constexpr size_t kSteps = kGpuIsEmulated ? 300 : 3'000;
constexpr uint64_t kCases = kGpuIsEmulated ? 12 : 40;
constexpr uint64_t kMiB = uint64_t{1} << 20;
constexpr uint64_t kDriverPiece = 2 * kMiB;  // what a driver takes memory in

WorkPool& Pool() {
  static const auto pool = WorkPool::Start("search", 1);
  return **pool;
}

size_t TakenBytes() {
  size_t free = 0, total = 0;
  EXPECT_EQ(cudaMemGetInfo(&free, &total), cudaSuccess);
  return total - free;
}

// Whose GPU costs nothing.
ItemSetOptions OptionsOn(ItemGpu& gpu) {
  ItemSetOptions options;
  options.tail = 2;
  options.means.pool = &Pool();
  options.means.threads = 2;
  options.means.clock = &RealClock();
  options.means.items = &gpu;
  options.means.rates.gpu = {.call_ns = 0, .query_ns = 0, .count = {}, .scan_call_ns = 0};
  options.means.rates.gpu.load_call_ns = 0;
  options.means.rates.gpu.load_token_ns = 0;
  return options;
}

TEST(ItemSetOnGpu, RandomChangesAndSearchesAreThoseOfTheModel) {
  STRATA_SKIP_BELOW_GPUS(1);
  std::array<uint64_t, kSearchEngines> queries_by{};
  uint64_t streamed = 0;
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random draw(seed);
    constexpr std::array<uint64_t, 3> kSegments = {0, 8, 1'000};
    auto gpu = ItemGpu::Start({.device = 0,
                               .segments_bytes_max = kSegments.at(seed % 3) * kMiB,
                               .passing_bytes_max = (4 + draw.Below(20)) * kMiB});
    ASSERT_TRUE(gpu.ok());
    ItemSetOptions options = OptionsOn(**gpu);
    const bool scans = seed / 2 % 2 == 0;
    (scans ? options.means.rates.gpu.count.lookup_ns : options.means.rates.gpu.scan.token_ns) = 1;
    auto set = ItemSet::Make(options);
    ASSERT_TRUE(set.ok());
    const Token vocabulary = seed % 2 == 0 ? 200 : 100'000;
    test::ItemSetPair pair(seed, std::move(*set), static_cast<test::Spread>(draw.Below(4)),
                           vocabulary, 1 + draw.Below(20));
    for (size_t i = 0; i < kSteps && !HasFatalFailure(); ++i) {
      pair.Change();
      if (draw.Below(60) == 0) pair.Search();
      if (draw.Below(200) == 0) pair.set().WaitForGpu();
    }
    pair.set().WaitForGpu();
    pair.Search();
    const ItemSetStats stats = pair.set().Stats();
    for (size_t i = 0; i < kSearchEngines; ++i) queries_by.at(i) += stats.queries_by.at(i);
    streamed += stats.streamed;
    if (HasFailure()) return;
  }
  EXPECT_GT(queries_by.at(2), 0U);
  EXPECT_GT(queries_by.at(3), 0U);
  EXPECT_GT(streamed, 0U);
}

// From each call for memory on there is none, or one time none: answers are right.
TEST(ItemSetOnGpu, WithoutMemoryAnswersAreThoseOfTheModel) {
  const FailCalls fail = CallsThatFail();
  if (fail == nullptr) GTEST_SKIP() << "needs a driver whose calls fail when they are told to";
  uint64_t refusals = 0, on_gpu = 0;
  for (unsigned after = 0; after < 60; ++after) {
    SCOPED_TRACE("after " + std::to_string(after));
    auto gpu = ItemGpu::Start(
        {.device = 0, .segments_bytes_max = 1'000 * kMiB, .passing_bytes_max = 1'000 * kMiB});
    ASSERT_TRUE(gpu.ok());
    ItemSetOptions options = OptionsOn(**gpu);
    auto set = ItemSet::Make(options);
    ASSERT_TRUE(set.ok());
    test::ItemSetPair pair(after, std::move(*set), test::Spread::kZipf, 200, 10);
    fail("cudaMalloc", after, after % 2 == 0 ? 1'000'000 : 1);
    for (size_t i = 0; i < 150 && !HasFatalFailure(); ++i) {
      pair.Change();
      if (i % 30 != 29) continue;
      pair.set().WaitForGpu();
      pair.Search();
    }
    fail("cudaMalloc", 0, 0);
    pair.Search();
    refusals += (*gpu)->refusals();
    const ItemSetStats stats = pair.set().Stats();
    on_gpu += stats.queries_by.at(2) + stats.queries_by.at(3);
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(refusals, 50U);
  EXPECT_GT(on_gpu, 50U);
}

TEST(GpuBytes, AreNoLessThanWhatDocumentsTake) {
  STRATA_SKIP_BELOW_GPUS(1);
  const auto room = GpuSearchRoom::Make(0);
  ASSERT_TRUE(room.ok());
  for (uint64_t seed = 0; seed < kCases; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const test::SearchCase of = test::DrawCase(seed);
    const test::Blocks blocks(of);
    std::vector<const SetBlock*> pointers;
    for (const SetBlock& block : blocks.blocks) pointers.push_back(&block);
    const GpuBytes bytes = GpuBytesOf(pointers);
    // The least of a few: others on the GPU take memory, too.
    uint64_t taken = ~uint64_t{0};
    for (int i = 0; i < 3; ++i) {
      const size_t before = TakenBytes();
      const auto sets = GpuSets::Open(*room, *SourceOf(pointers).value(), Pool());
      ASSERT_TRUE(sets.ok()) << sets.status().ToString();
      EXPECT_LE((*sets)->bytes(), bytes.kept);
      const size_t after = TakenBytes();
      taken = std::min<uint64_t>(taken, after - std::min(before, after));
    }
    EXPECT_LE(taken, bytes.kept + kDriverPiece);
  }
}

TEST(MeasureGpuRates, GivesRatesThatAreAboveZero) {
  STRATA_SKIP_BELOW_GPUS(1);
  const auto gpu = ItemGpu::Start(ItemGpuOptions::Divide(0, uint64_t{2} << 30));
  ASSERT_TRUE(gpu.ok());
  const auto rates = MeasureGpuRates(**gpu, Pool(), RealClock());
  ASSERT_TRUE(rates.ok()) << rates.status().ToString();
  for (const double rate :
       {rates->call_ns, rates->query_ns, rates->count.lookup_ns, rates->count.posting_ns,
        rates->count.word_ns, rates->count.document_ns, rates->scan_call_ns, rates->scan.token_ns,
        rates->load_call_ns, rates->load_token_ns}) {
    EXPECT_GT(rate, 0);
    EXPECT_LT(rate, 1e12);
  }
  printf(
      "call %.0f query %.0f | lookup %.4f posting %.5f word %.5f document %.5f | scan: call %.0f "
      "token %.5f | load: call %.0f token %.3f\n",
      rates->call_ns, rates->query_ns, rates->count.lookup_ns, rates->count.posting_ns,
      rates->count.word_ns, rates->count.document_ns, rates->scan_call_ns, rates->scan.token_ns,
      rates->load_call_ns, rates->load_token_ns);
}

// Two collections' documents, in one room, searched in turns from two threads.
TEST(GpuSearchRoom, IsSharedBySetsThatAreSearchedAtOnce) {
  STRATA_SKIP_BELOW_GPUS(1);
  const auto room = GpuSearchRoom::Make(0);
  ASSERT_TRUE(room.ok());
  std::vector<std::jthread> threads;
  std::atomic<int> wrong{0};
  for (uint64_t seed = 100; seed < 103; ++seed) {
    threads.emplace_back([&, seed] {
      test::SearchCase of = test::DrawCase(seed);
      for (auto& query : of.queries) query.resize(std::min(query.size(), GpuSets::kLongestQuery));
      of.block_size = std::max<size_t>(of.block_size, of.documents.ids.size() / 6 + 1);
      const test::Blocks blocks(of);
      const auto sets = GpuSets::Open(*room, *SourceOf(blocks.blocks).value(), Pool());
      if (!sets.ok()) {
        ++wrong;
        return;
      }
      std::vector<std::span<const uint64_t>> allowed(blocks.allowed.begin(), blocks.allowed.end());
      for (const size_t k : {1, 40, 300, 40, 1}) {  // room for answers grows, then graphs are new
        GpuSearchMeans means;
        if (!of.allowed.empty()) means.allowed = allowed;
        const SearchGoal goal{.metric = of.goal.metric, .k = k};
        const auto found = (*sets)->Search(test::Lists(of.queries).view(), goal, means);
        for (size_t q = 0; q < of.queries.size(); ++q) {
          const auto plain = test::PlainSearch(of.documents, of.allowed, of.queries[q], goal);
          if (!found.ok() || (*found)[q] != plain) ++wrong;
        }
      }
    });
  }
  threads.clear();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace strata
