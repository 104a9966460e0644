// Searches on a GPU beside a plain search.
#include <gtest/gtest.h>

#include <numeric>

#include "kernels/setops/gpu_sets.h"
#include "tests/kernels/setops/search_case.h"
#include "tests/kernels/setops/shared_cut.h"
#include "tests/support/device_memory.cuh"

namespace strata {
namespace {

WorkPool& Pool() {
  static const auto pool = WorkPool::Start("documents", 2);
  return **pool;
}

Result<std::unique_ptr<GpuSets>> Open(std::span<const SetBlock> blocks) {
  STRATA_ASSIGN(const auto source, SourceOf(blocks));
  return GpuSets::Open(0, *source, Pool());
}

class GpuSetsOf : public testing::TestWithParam<uint64_t> {};

TEST_P(GpuSetsOf, RandomDocumentsFindsWhatAPlainSearchFinds) {
  STRATA_SKIP_BELOW_GPUS(1);
  constexpr uint64_t kCases = 10;
  for (uint64_t seed = GetParam() * kCases; seed < (GetParam() + 1) * kCases; ++seed) {
    test::SearchCase of = test::DrawCase(seed);
    // Half of the time blocks have larger and larger ids.
    if (seed % 2 == 1) std::iota(of.documents.ids.begin(), of.documents.ids.end(), DocumentId{5});
    for (auto& query : of.queries) query.resize(std::min(query.size(), GpuSets::kLongestQuery));
    of.block_size = std::max<size_t>(of.block_size, of.documents.ids.size() / 6 + 1);
    const test::Blocks blocks(of);
    auto opened = Open(blocks.blocks);
    ASSERT_TRUE(opened.ok()) << opened.status().ToString();
    const SetLists queries = test::Lists(of.queries);
    GpuSearchMeans means;
    std::vector<std::span<const uint64_t>> allowed(blocks.allowed.begin(), blocks.allowed.end());
    if (!of.allowed.empty()) means.allowed = allowed;
    for (const GpuEngine engine : {GpuEngine::kCounting, GpuEngine::kScanning}) {
      means.engine = engine;
      const auto answers = (*opened)->Search(queries.view(), of.goal, means);
      ASSERT_TRUE(answers.ok()) << answers.status().ToString();
      for (size_t q = 0; q < of.queries.size(); ++q) {
        const auto expected = test::PlainSearch(of.documents, of.allowed, of.queries[q], of.goal);
        ASSERT_EQ((*answers)[q], expected)
            << "seed " << seed << ", query " << q << ", " << NameOf(of.goal.metric) << ", engine "
            << static_cast<int>(engine);
      }
    }
  }
}

constexpr uint64_t kRuns = kGpuIsEmulated ? 8 : 200;
INSTANTIATE_TEST_SUITE_P(Cases, GpuSetsOf, testing::Range<uint64_t>(0, kRuns));

// More equally alike documents than are sorted, or than there is room for.
TEST(GpuSets, OfEqualDocumentsTheSmallestIdsAreFound) {
  STRATA_SKIP_BELOW_GPUS(1);
  for (const DocumentId count : {9'000, 20'000}) {
    test::Documents documents;
    for (DocumentId id = 0; id < count; ++id) {
      documents.ids.push_back((id * 7919) % count << 40 | id % 3);
      documents.sets.push_back({1, 2, static_cast<Token>(3 + id % 5)});
    }
    std::vector<SetBlock> blocks;
    blocks.push_back(SetBlock::Build(documents.ids, test::Lists(documents.sets).view()));
    auto opened = Open(blocks);
    ASSERT_TRUE(opened.ok()) << opened.status().ToString();
    std::vector<test::Tokens> queries{{1, 2}, {1, 2, 5}, {5, 9}};
    const SearchGoal goal{.metric = SetMetric::kDice, .k = 12};
    for (const bool are_few : {true, false}) {
      if (!are_few) queries.resize(GpuSets::kFew + 1, {1, 3});
      const auto answers = (*opened)->Search(test::Lists(queries).view(), goal);
      ASSERT_TRUE(answers.ok()) << answers.status().ToString();
      for (size_t q = 0; q < queries.size(); ++q) {
        EXPECT_EQ((*answers)[q], test::PlainSearch(documents, {}, queries[q], goal)) << q;
      }
      EXPECT_EQ((*opened)->counts().asked_again > 0, are_few || count > 16'384);
    }
  }
}

void ExpectPlainAnswers(GpuSets& sets, const test::Documents& documents,
                        const std::vector<test::Tokens>& queries, const SearchGoal& goal) {
  for (const GpuEngine engine : {GpuEngine::kCounting, GpuEngine::kScanning}) {
    const auto answers = sets.Search(test::Lists(queries).view(), goal, {.engine = engine});
    ASSERT_TRUE(answers.ok()) << answers.status().ToString();
    for (size_t q = 0; q < queries.size(); ++q) {
      ASSERT_EQ((*answers)[q], test::PlainSearch(documents, {}, queries[q], goal))
          << q << ", engine " << static_cast<int>(engine);
    }
  }
}

TEST(GpuSets, OfMixedLengthsFindsWhatASharedCutLoses) {
  STRATA_SKIP_BELOW_GPUS(1);
  test::SearchCase of = test::MixedLengths();
  ASSERT_EQ(test::LostToSharedCut(of), (std::vector<Hit>{{of.documents.ids.back(), 4, 30}}));
  const test::Blocks blocks(of);
  auto opened = Open(blocks.blocks);
  ASSERT_TRUE(opened.ok()) << opened.status().ToString();
  ExpectPlainAnswers(**opened, of.documents, of.queries, of.goal);
  // More than are counted each by itself.
  of.queries.resize(GpuSets::kFew + 1, of.queries.front());
  ExpectPlainAnswers(**opened, of.documents, of.queries, of.goal);
}

// Thresholds come from the first blocks; equally alike documents of later ones are answers if their
// ids are smaller.
TEST(GpuSets, OfManyBlocksEqualDocumentsOfAnyIdsAreFound) {
  STRATA_SKIP_BELOW_GPUS(1);
  for (const bool ascend : {false, true}) {
    test::SearchCase of;
    for (DocumentId i = 0; i < 600; ++i) {
      of.documents.ids.push_back(ascend ? i : 1'000 - i);
      of.documents.sets.push_back({1, 2, static_cast<Token>(3 + i % 3)});
    }
    of.block_size = 60;
    const test::Blocks blocks(of);
    auto opened = Open(blocks.blocks);
    ASSERT_TRUE(opened.ok()) << opened.status().ToString();
    const std::vector<test::Tokens> queries(20, {1, 2, 4});
    ExpectPlainAnswers(**opened, of.documents, queries, {.metric = SetMetric::kJaccard, .k = 7});
  }
}

// More tokens than a scan has room for, so that some are found by their bits.
TEST(GpuSets, OfManyTokensScansThemAll) {
  STRATA_SKIP_BELOW_GPUS(1);
  test::RandomSets random(8, test::Spread::kUniform, 60'000);
  test::Documents documents;
  for (DocumentId id = 0; id < 1'500; ++id) {
    documents.ids.push_back(id);
    documents.sets.push_back(random.Draw(120));
  }
  std::vector<SetBlock> blocks;
  blocks.push_back(SetBlock::Build(documents.ids, test::Lists(documents.sets).view()));
  auto opened = Open(blocks);
  ASSERT_TRUE(opened.ok()) << opened.status().ToString();
  ASSERT_TRUE((*opened)->scans());
  std::vector<test::Tokens> queries;
  // More than a pass.
  for (size_t i = 0; i < 140; ++i) queries.push_back(documents.sets[i * 10]);
  ExpectPlainAnswers(**opened, documents, queries, {.metric = SetMetric::kOverlapMax, .k = 5});
}

TEST(GpuSets, IndexedForCountingAloneCounts) {
  STRATA_SKIP_BELOW_GPUS(1);
  test::RandomSets random(9, test::Spread::kZipf, 3'000);
  test::SearchCase of;
  for (DocumentId id = 0; id < 500; ++id) {
    of.documents.ids.push_back(id);
    of.documents.sets.push_back(random.Draw(1 + id % 60));
  }
  of.block_size = 400;
  const test::Blocks blocks(of);
  const auto source = SourceOf(std::span(blocks.blocks));
  ASSERT_TRUE(source.ok());
  const auto opened = GpuSets::Open(0, **source, Pool(), GpuEngines::kCounting);
  ASSERT_TRUE(opened.ok()) << opened.status().ToString();
  EXPECT_FALSE((*opened)->scans());
  const auto with_tiles = Open(blocks.blocks);
  ASSERT_TRUE(with_tiles.ok());
  EXPECT_LT((*opened)->bytes(), (*with_tiles)->bytes());
  const std::vector<test::Tokens> queries(of.documents.sets.begin(),
                                          of.documents.sets.begin() + 20);
  ExpectPlainAnswers(**opened, of.documents, queries, {.metric = SetMetric::kDice, .k = 10});
}

TEST(GpuSets, OfLongDocumentsCountsShortQueries) {
  STRATA_SKIP_BELOW_GPUS(1);
  test::Documents documents;
  for (DocumentId id = 0; id < 60; ++id) {
    test::Tokens tokens(200 + id * 7);
    std::iota(tokens.begin(), tokens.end(), static_cast<Token>(id));
    documents.ids.push_back(id);
    documents.sets.push_back(tokens);
  }
  std::vector<SetBlock> blocks;
  blocks.push_back(SetBlock::Build(documents.ids, test::Lists(documents.sets).view()));
  auto opened = Open(blocks);
  ASSERT_TRUE(opened.ok()) << opened.status().ToString();
  test::Tokens query(GpuSets::kLongestQuery);
  std::iota(query.begin(), query.end(), Token{20});
  for (int metric = 0; metric < kSetMetrics; ++metric) {
    const SearchGoal goal{.metric = static_cast<SetMetric>(metric), .k = 9};
    const std::vector<test::Tokens> queries{query, {}};
    const auto answers = (*opened)->Search(test::Lists(queries).view(), goal);
    ASSERT_TRUE(answers.ok()) << answers.status().ToString();
    for (size_t q = 0; q < queries.size(); ++q) {
      EXPECT_EQ((*answers)[q], test::PlainSearch(documents, {}, queries[q], goal)) << metric;
    }
  }
  query.push_back(9999);
  const auto refused = (*opened)->Search(test::Lists(std::vector<test::Tokens>{query}).view(), {});
  EXPECT_EQ(refused.status().code(), StatusCode::kInvalid);
}

}  // namespace
}  // namespace strata
