// Both engines beside a plain search, over random cases: every metric, few and many answers,
// thresholds, filters, queries of mixed lengths together, tokens that nobody has, ties everywhere.
#include <gtest/gtest.h>

#include <array>
#include <map>
#include <numeric>

#include "kernels/setops/count_search.h"
#include "kernels/setops/scan_search.h"
#include "kernels/setops/strangers.h"
#include "tests/kernels/setops/random_sets.h"

namespace strata {
namespace {

struct SearchCase {
  test::Documents documents;
  std::vector<bool> allowed;  // empty: all
  std::vector<test::Tokens> queries;
  SearchGoal goal;
  size_t block_size = 0;
};

SearchCase DrawCase(uint64_t seed) {
  std::mt19937_64 draw(seed);
  const auto below = [&](uint64_t bound) { return draw() % bound; };
  const auto spread = static_cast<test::Spread>(below(4));
  constexpr std::array<Token, 4> kVocabularies = {3, 50, 1000, 50'000};
  constexpr std::array<size_t, 5> kLengths = {2, 12, 40, 128, 400};
  const Token vocabulary = kVocabularies.at(below(4));
  const size_t longest = kLengths.at(below(5));
  test::RandomSets random(seed, spread, vocabulary);

  SearchCase made;
  const size_t count = below(4) == 0 ? below(4) : below(1500 / (1 + longest / 40));
  for (size_t i = 0; i < count; ++i) {
    made.documents.ids.push_back((i * 2'654'435'761ULL + seed) % 4'294'967'291ULL);
    made.documents.sets.push_back(random.Draw(random.Below(longest + 1)));
  }
  if (below(3) == 0) {
    const uint64_t one_in = 1 + below(10);
    for (size_t i = 0; i < count; ++i) made.allowed.push_back(random.Below(one_in) == 0);
  }
  const size_t queries = 1 + below(ScanSearch::kMostQueries);
  for (size_t i = 0; i < queries; ++i) {
    if (count > 0 && below(3) == 0) {
      made.queries.push_back(made.documents.sets[below(count)]);  // a document's own tokens
    } else {
      made.queries.push_back(random.Draw(below(longest + 1)));
    }
  }
  made.goal.metric = static_cast<SetMetric>(below(kSetMetrics));
  constexpr std::array<size_t, 5> kCounts = {1, 10, 100, 1000, SearchGoal::kAll};
  made.goal.k = kCounts.at(below(5));
  if (below(2) == 0 || made.goal.k == SearchGoal::kAll) {
    const double score = static_cast<double>(below(8)) / 8;
    made.goal.at_least =
        SimilarityOf(made.goal.metric, score * (made.goal.metric == SetMetric::kOverlap ? 10 : 1));
  }
  made.block_size = 1 + below(below(2) == 0 ? 20 : 2000);
  return made;
}

// The documents in blocks, each with the bits of its places that are allowed.
struct Blocks {
  std::vector<SetBlock> blocks;
  std::vector<std::vector<uint64_t>> allowed;

  explicit Blocks(const SearchCase& of) {
    std::map<DocumentId, bool> is_allowed;
    for (size_t i = 0; i < of.allowed.size(); ++i) is_allowed[of.documents.ids[i]] = of.allowed[i];
    for (size_t begin = 0; begin < of.documents.ids.size(); begin += of.block_size) {
      const size_t count = std::min(of.block_size, of.documents.ids.size() - begin);
      const auto sets = test::Lists(std::span(of.documents.sets).subspan(begin, count));
      blocks.push_back(
          SetBlock::Build(std::span(of.documents.ids).subspan(begin, count), sets.view()));
      auto& bits = allowed.emplace_back();
      if (of.allowed.empty()) continue;
      bits.resize(blocks.back().words());
      for (size_t place = 0; place < count; ++place) {
        if (is_allowed.at(blocks.back().ids()[place]))
          bits[place / 64] |= uint64_t{1} << place % 64;
      }
    }
  }
  std::vector<AllowedBlock> all() const {
    std::vector<AllowedBlock> of;
    for (size_t i = 0; i < blocks.size(); ++i) of.push_back({&blocks[i], allowed[i]});
    return of;
  }
};

std::vector<Hit> Answer(const Blocks& blocks, TopHits& hits) {
  const size_t strangers = hits.StrangersWanted();
  std::vector<Hit> answer = hits.Take();
  AppendStrangers(blocks.all(), strangers, answer);
  return answer;
}

class SetSearch : public testing::TestWithParam<uint64_t> {};

TEST_P(SetSearch, ByBothEnginesFindsWhatAPlainSearchFinds) {
  constexpr uint64_t kCases = 100;
  for (uint64_t seed = GetParam() * kCases; seed < (GetParam() + 1) * kCases; ++seed) {
    const SearchCase of = DrawCase(seed);
    const Blocks blocks(of);
    std::vector<std::span<const Token>> queries(of.queries.begin(), of.queries.end());
    std::vector<TopHits> scanned;
    for (const auto query : queries)
      scanned.emplace_back(of.goal, static_cast<uint32_t>(query.size()));
    ScanSearch scan(queries);
    for (const AllowedBlock& block : blocks.all())
      scan.Search(*block.block, block.allowed, scanned);
    CountSearch count;
    for (size_t q = 0; q < queries.size(); ++q) {
      const auto expected = test::PlainSearch(of.documents, of.allowed, of.queries[q], of.goal);
      TopHits counted(of.goal, static_cast<uint32_t>(queries[q].size()));
      for (const AllowedBlock& block : blocks.all()) {
        count.Search(*block.block, queries[q], block.allowed, counted);
      }
      ASSERT_EQ(Answer(blocks, counted), expected) << "seed " << seed << ", query " << q;
      ASSERT_EQ(Answer(blocks, scanned[q]), expected) << "seed " << seed << ", query " << q;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, SetSearch, testing::Range<uint64_t>(0, 20));

// So many lists that their numbers take more than 16 bits.
TEST(SetSearchOfManyTokens, FindsThem) {
  std::mt19937_64 draw(5);
  test::Documents documents;
  for (DocumentId id = 0; id < 2500; ++id) {
    test::Tokens tokens;
    for (int i = 0; i < 40; ++i) tokens.push_back(static_cast<Token>(draw()));
    std::sort(tokens.begin(), tokens.end());
    tokens.erase(std::unique(tokens.begin(), tokens.end()), tokens.end());
    documents.ids.push_back(id);
    documents.sets.push_back(tokens);
  }
  const SetBlock block = SetBlock::Build(documents.ids, test::Lists(documents.sets).view());
  ASSERT_GT(block.lists(), 65'536U);
  test::Tokens query = documents.sets[7];
  query.insert(query.end(), documents.sets[1900].begin(), documents.sets[1900].end());
  std::sort(query.begin(), query.end());
  const SearchGoal goal{.metric = SetMetric::kCosine, .k = 2};
  std::vector<TopHits> hits(2, TopHits(goal, static_cast<uint32_t>(query.size())));
  CountSearch().Search(block, query, {}, hits[0]);
  ScanSearch(std::vector<std::span<const Token>>{query}).Search(block, {}, std::span(hits).last(1));
  const auto expected = test::PlainSearch(documents, {}, query, goal);
  EXPECT_EQ(hits[0].Take(), expected);
  EXPECT_EQ(hits[1].Take(), expected);
}

// More than a byte, and more than 16 bits, of common tokens.
TEST(SetSearchOfLongSets, CountsThemAll) {
  for (const Token length : {255U, 256U, 300U, 65'535U, 65'537U, 70'000U}) {
    test::Documents documents;
    for (DocumentId id = 0; id < 40; ++id) {
      test::Tokens tokens;
      for (Token token = 0; token < length; ++token) {
        if (token % (id + 2) != 1) tokens.push_back(token);
      }
      documents.ids.push_back(id);
      documents.sets.push_back(tokens);
    }
    const SetBlock block = SetBlock::Build(documents.ids, test::Lists(documents.sets).view());
    test::Tokens query(length);
    std::iota(query.begin(), query.end(), Token{0});
    const SearchGoal goal{.metric = SetMetric::kJaccard, .k = 7};
    const auto expected = test::PlainSearch(documents, {}, query, goal);
    TopHits counted(goal, length);
    CountSearch().Search(block, query, {}, counted);
    EXPECT_EQ(counted.Take(), expected) << length;
    std::vector<TopHits> scanned{TopHits(goal, length)};
    ScanSearch(std::vector<std::span<const Token>>{query}).Search(block, {}, scanned);
    EXPECT_EQ(scanned[0].Take(), expected) << length;
  }
}

}  // namespace
}  // namespace strata
