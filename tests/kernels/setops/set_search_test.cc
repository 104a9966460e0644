// Both engines beside a plain search, over random cases: every metric, few and many answers,
// thresholds, filters, queries of mixed lengths together, tokens that nobody has, ties everywhere.
#include <gtest/gtest.h>

#include <numeric>
#include <set>

#include "kernels/setops/count_search.h"
#include "kernels/setops/scan_search.h"
#include "kernels/setops/strangers.h"
#include "tests/kernels/setops/search_case.h"
#include "tests/kernels/setops/shared_cut.h"
#include "tests/support/sanitizers.h"

namespace strata {
namespace {

using test::Blocks;
using test::SearchCase;

// Of each query, by the scanning engine.
std::vector<TopHits> Scan(const Blocks& blocks, const SearchCase& of, InstructionSet set) {
  std::vector<TopHits> hits;
  for (const auto& query : of.queries)
    hits.emplace_back(of.goal, static_cast<uint32_t>(query.size()));
  ScanSearch scan(std::vector<std::span<const Token>>(of.queries.begin(), of.queries.end()), set);
  for (const AllowedBlock& block : blocks.all()) scan.Search(*block.block, block.allowed, hits);
  return hits;
}

// By both engines, scanning with each instruction set that the processor has.
void ExpectPlainAnswers(const SearchCase& of) {
  const Blocks blocks(of);
  std::vector<std::vector<TopHits>> scanned;
  for (const InstructionSet set : InstructionSets()) scanned.push_back(Scan(blocks, of, set));
  CountSearch count;
  for (size_t q = 0; q < of.queries.size(); ++q) {
    const test::Tokens& query = of.queries[q];
    const auto expected = test::PlainSearch(of.documents, of.allowed, query, of.goal);
    TopHits counted(of.goal, static_cast<uint32_t>(query.size()));
    for (const AllowedBlock& block : blocks.all()) {
      count.Search(*block.block, query, block.allowed, counted);
    }
    ASSERT_EQ(TakeAnswer(blocks.all(), counted), expected) << "query " << q;
    for (size_t set = 0; set < scanned.size(); ++set) {
      ASSERT_EQ(TakeAnswer(blocks.all(), scanned[set][q]), expected)
          << "query " << q << ", scanned with instruction set " << set;
    }
  }
}

class SetSearch : public testing::TestWithParam<uint64_t> {};

TEST_P(SetSearch, ByBothEnginesFindsWhatAPlainSearchFinds) {
  constexpr uint64_t kCases = 100;
  for (uint64_t seed = GetParam() * kCases; seed < (GetParam() + 1) * kCases; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    ASSERT_NO_FATAL_FAILURE(ExpectPlainAnswers(test::DrawCase(seed)));
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, SetSearch, testing::Range<uint64_t>(0, kSanitized ? 5 : 20));

TEST(SetSearchOfMixedLengths, FindsWhatASharedCutLoses) {
  const SearchCase of = test::MixedLengths();
  ASSERT_EQ(test::LostToSharedCut(of), (std::vector<Hit>{{of.documents.ids.back(), 4, 30}}));
  ExpectPlainAnswers(of);
}

// So many lists that their numbers take more than 16 bits.
TEST(SetSearchOfManyTokens, FindsThem) {
  std::mt19937_64 draw(5);
  SearchCase of;
  for (DocumentId id = 0; id < 2500; ++id) {
    test::Tokens tokens;
    for (int i = 0; i < 40; ++i) tokens.push_back(static_cast<Token>(draw()));
    std::sort(tokens.begin(), tokens.end());
    tokens.erase(std::unique(tokens.begin(), tokens.end()), tokens.end());
    of.documents.ids.push_back(id);
    of.documents.sets.push_back(tokens);
  }
  of.block_size = of.documents.sets.size();
  ASSERT_GT(Blocks(of).blocks[0].lists(), 65'536U);
  test::Tokens query = of.documents.sets[7];
  query.insert(query.end(), of.documents.sets[1900].begin(), of.documents.sets[1900].end());
  std::sort(query.begin(), query.end());
  of.queries = {query};
  of.goal = {.metric = SetMetric::kCosine, .k = 2};
  ExpectPlainAnswers(of);
}

// Thresholds that leave out the shortest and the longest documents, or all of them: what is left is
// cut out of lists and bits at other places each time.
TEST(SetSearchOfLengthsInReach, FindsThem) {
  constexpr Token kLongest = 60;
  std::mt19937_64 draw(8);
  test::Documents documents;
  for (DocumentId id = 0; id < 3000; ++id) {
    std::set<Token> tokens;
    const size_t length = 1 + draw() % kLongest;
    while (tokens.size() < length) {
      // Half of them frequent ones, whose documents are bits.
      tokens.insert(static_cast<Token>(draw() % (draw() % 2 == 0 ? 40 : 2000)));
    }
    documents.ids.push_back(id);
    documents.sets.emplace_back(tokens.begin(), tokens.end());
  }
  const SetBlock block = SetBlock::Build(documents.ids, test::Lists(documents.sets).view());
  ASSERT_FALSE(block.frequent().empty());
  CountSearch count;
  for (uint64_t tenths = 1; tenths <= 10; ++tenths) {
    for (const SetMetric metric : {SetMetric::kOverlapMax, SetMetric::kJaccard}) {
      const SearchGoal goal{metric, SearchGoal::kAll, {tenths, 10}};
      for (size_t of = 0; of < (kSanitized ? 8 : 40); ++of) {
        const auto& query = documents.sets[of];
        TopHits hits(goal, static_cast<uint32_t>(query.size()));
        count.Search(block, query, {}, hits);
        ASSERT_EQ(hits.Take(), test::PlainSearch(documents, {}, query, goal))
            << NameOf(metric) << ", " << tenths << " tenths, document " << of;
      }
    }
  }
  // Longer than all documents, by more than the threshold allows.
  test::Tokens query(3 * kLongest);
  std::iota(query.begin(), query.end(), Token{0});
  TopHits hits({SetMetric::kOverlapMax, SearchGoal::kAll, {1, 2}}, 3 * kLongest);
  count.Search(block, query, {}, hits);
  EXPECT_EQ(hits.offered(), 0U);
}

// More than a byte, and more than 16 bits, of common tokens.
TEST(SetSearchOfLongSets, CountsThemAll) {
  for (const Token length : {255U, 256U, 300U, 65'535U, 65'537U, 70'000U}) {
    SearchCase of;
    for (DocumentId id = 0; id < (kSanitized ? 10 : 40); ++id) {
      test::Tokens tokens;
      for (Token token = 0; token < length; ++token) {
        if (token % (id + 2) != 1) tokens.push_back(token);
      }
      of.documents.ids.push_back(id);
      of.documents.sets.push_back(tokens);
    }
    of.block_size = of.documents.sets.size();
    of.queries.emplace_back(length);
    std::iota(of.queries[0].begin(), of.queries[0].end(), Token{0});
    of.goal = {.metric = SetMetric::kJaccard, .k = 7};
    SCOPED_TRACE(length);
    ASSERT_NO_FATAL_FAILURE(ExpectPlainAnswers(of));
  }
}

}  // namespace
}  // namespace strata
