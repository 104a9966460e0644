// What a plan chooses, by work that is known: no time is measured here.
#include "kernels/setops/search_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <random>
#include <utility>

#include "kernels/setops/count_search.h"
#include "tests/kernels/setops/random_sets.h"

namespace strata {
namespace {

using test::Tokens;

constexpr SearchGoal kGoal{.metric = SetMetric::kOverlapMax, .k = 100};

// Of engines alone: candidates are as many with each.
SearchRates EngineRates() {
  SearchRates rates;
  rates.candidate_ns = 0;
  return rates;
}

// Documents of `length` tokens each out of a vocabulary.
std::vector<SetBlock> MakeBlocks(size_t blocks, size_t documents, size_t length, Token vocabulary) {
  test::RandomSets random(3, test::Spread::kUniform, vocabulary);
  std::vector<SetBlock> made;
  for (size_t b = 0; b < blocks; ++b) {
    std::vector<Tokens> sets;
    std::vector<DocumentId> ids;
    for (size_t i = 0; i < documents; ++i) {
      sets.push_back(random.Draw(length));
      ids.push_back(b * documents + i);
    }
    made.push_back(SetBlock::Build(ids, test::Lists(sets).view()));
  }
  return made;
}

SetLists Queries(size_t count, size_t length, Token vocabulary) {
  test::RandomSets random(4, test::Spread::kUniform, vocabulary);
  std::vector<Tokens> queries;
  for (size_t i = 0; i < count; ++i) queries.push_back(random.Draw(length));
  return test::Lists(queries);
}

size_t QueriesBy(const SearchPlan& plan, SearchEngine engine) {
  size_t queries = 0;
  for (const auto& group : plan.groups)
    queries += group.engine == engine ? group.queries.size() : 0;
  return queries;
}

std::vector<uint32_t> AllQueries(const SearchPlan& plan) {
  std::vector<uint32_t> all;
  for (const auto& group : plan.groups) {
    all.insert(all.end(), group.queries.begin(), group.queries.end());
  }
  std::sort(all.begin(), all.end());
  return all;
}

std::vector<uint32_t> UpTo(size_t count) {
  std::vector<uint32_t> all;
  for (uint32_t i = 0; i < count; ++i) all.push_back(i);
  return all;
}

TEST(SearchPlan, CountsWhatAQueryHasToDo) {
  const std::vector<Tokens> sets{{1, 2, 3}, {1, 5}, {1}, {}};
  const SetBlock block =
      SetBlock::Build(std::vector<DocumentId>{1, 2, 3, 4}, test::Lists(sets).view());
  // With so few documents each token is frequent: a line of bits.
  const CountWork some = CountWorkOf(block, Tokens{1, 2, 9});
  EXPECT_EQ(some.lookups, 3);
  EXPECT_EQ(some.postings, 0);
  EXPECT_EQ(some.words, 2.0 * static_cast<double>(block.words()));
  EXPECT_EQ(some.documents, 64.0 * static_cast<double>(block.words()));
  EXPECT_EQ(CountWorkOf(block, Tokens{9}).documents, 0);
  const ScanWork scan = ScanWorkOf(block);
  EXPECT_EQ(scan.lists, 6);
  EXPECT_EQ(scan.tokens, 6);
  EXPECT_EQ(scan.documents, 3);
}

TEST(SearchPlan, RareTokensAreCounted) {
  const auto blocks = MakeBlocks(3, 4'000, 60, 50'000);
  const auto queries = Queries(40, 60, 50'000);
  const auto allowed = AllowAll(blocks);
  const SearchPlan plan = PlanSearch({allowed}, queries.view(), kGoal, EngineRates(), 1);
  EXPECT_EQ(QueriesBy(plan, SearchEngine::kCounting), 40U);
  EXPECT_LT(plan.counting_ns, plan.scanning_ns / 2);
  EXPECT_EQ(AllQueries(plan), UpTo(40));
  ASSERT_EQ(plan.groups.size(), 2U);
  EXPECT_EQ(plan.groups[0].queries.size(), SearchPlan::kBatch);
}

// Each token is in about an eighth of the documents, and documents are short.
TEST(SearchPlan, ManyQueriesOfFrequentTokensAreScannedAndASingleOneIsCounted) {
  const auto blocks = MakeBlocks(3, 4'000, 8, 100);
  const auto queries = Queries(64, 400, 100);
  const auto allowed = AllowAll(blocks);
  const SearchPlan many = PlanSearch({allowed}, queries.view(), kGoal, EngineRates(), 1);
  EXPECT_EQ(QueriesBy(many, SearchEngine::kScanning), 64U);
  EXPECT_LT(many.scanning_ns, many.counting_ns / 2);
  const SetList all = queries.view();
  const SetList one{all.offsets.first(2), all.tokens};
  const SearchPlan single = PlanSearch({allowed}, one, kGoal, EngineRates(), 1);
  EXPECT_EQ(QueriesBy(single, SearchEngine::kCounting), 1U);
}

// The estimate is the least of all ways to scan the n dearest queries and count the others.
TEST(SearchPlan, TakesTheBestOfAllDivisions) {
  for (uint64_t seed = 0; seed < 30; ++seed) {
    test::RandomSets random(seed, test::Spread::kZipf, 2'000);
    std::vector<Tokens> sets;
    std::vector<DocumentId> ids;
    for (DocumentId id = 0; id < 1'500; ++id) {
      sets.push_back(random.Draw(random.Below(40)));
      ids.push_back(id);
    }
    std::vector<SetBlock> blocks;
    blocks.push_back(SetBlock::Build(ids, test::Lists(sets).view()));
    std::vector<Tokens> drawn;
    for (size_t i = 0; i < 1 + random.Below(150); ++i)
      drawn.push_back(random.Draw(random.Below(60)));
    const SetLists queries = test::Lists(drawn);
    SearchRates rates = EngineRates();
    rates.scan.token_ns = 0.01 + static_cast<double>(random.Below(100)) / 50;
    const auto allowed = AllowAll(blocks);
    const SearchPlan plan = PlanSearch({allowed}, queries.view(), kGoal, rates, 1);
    EXPECT_EQ(AllQueries(plan), UpTo(drawn.size()));

    std::vector<double> each;
    for (const Tokens& query : drawn)
      each.push_back(rates.count.Time(CountWorkOf(blocks[0], query)));
    std::sort(each.begin(), each.end(), std::greater<>());
    const double scan = rates.scan.Time(ScanWorkOf(blocks[0]));
    double best = std::numeric_limits<double>::max();
    for (size_t scanned = 0; scanned <= each.size(); ++scanned) {
      double time = static_cast<double>((scanned + 31) / 32) * scan;
      for (size_t i = scanned; i < each.size(); ++i) time += each[i];
      best = std::min(best, time);
    }
    EXPECT_NEAR(plan.estimate_ns, best, best * 1e-9) << "seed " << seed;
  }
}

TEST(SearchPlan, AGpuIsTakenWhereItIsFasterAndCanAnswer) {
  const auto blocks = MakeBlocks(3, 4'000, 60, 50'000);
  const auto allowed = AllowAll(blocks);
  SearchRates slow_call;
  slow_call.gpu.call_ns = 1e12;
  SearchRates fast_call;
  fast_call.gpu.call_ns = 1;
  const auto queries = Queries(40, 60, 50'000);
  const auto by_gpu = [&](const SetLists& of, const SearchRates& rates, bool gpu_has_all) {
    const SearchPlan plan = PlanSearch({allowed, gpu_has_all}, of.view(), kGoal, rates, 1);
    EXPECT_EQ(AllQueries(plan), UpTo(of.size()));
    return QueriesBy(plan, SearchEngine::kGpuCounting) > 0;
  };
  EXPECT_TRUE(by_gpu(queries, fast_call, true));
  EXPECT_FALSE(by_gpu(queries, slow_call, true));
  EXPECT_FALSE(by_gpu(queries, fast_call, false));
  // Longer than it counts.
  EXPECT_FALSE(by_gpu(Queries(2, 300, 50'000), fast_call, true));
}

// Each token is in an eighth of the documents: beyond some queries a GPU scans, too.
TEST(SearchPlan, AGpuScansManyQueriesOfFrequentTokensIfItCan) {
  const auto blocks = MakeBlocks(3, 4'000, 8, 100);
  const auto allowed = AllowAll(blocks);
  SearchRates rates;
  rates.gpu.call_ns = 1;
  rates.gpu.scan_call_ns = 1;
  const auto queries = Queries(300, 60, 100);
  const auto plan_for = [&](bool scans, const SetList& of) {
    const SearchPlan plan = PlanSearch({.blocks = allowed, .gpu_has_all = true, .gpu_scans = scans},
                                       of, kGoal, rates, 1);
    EXPECT_EQ(AllQueries(plan), UpTo(of.size()));
    return plan;
  };
  EXPECT_EQ(QueriesBy(plan_for(true, queries.view()), SearchEngine::kGpuScanning), 300U);
  EXPECT_EQ(QueriesBy(plan_for(false, queries.view()), SearchEngine::kGpuCounting), 300U);
  rates.gpu.scan_call_ns = 1e12;
  EXPECT_EQ(QueriesBy(plan_for(true, queries.view()), SearchEngine::kGpuCounting), 300U);
}

// Offered to TopHits one by one, by counts that are drawn.
TEST(SearchPlan, CandidatesAreAboutAsManyAsAreOffered) {
  for (const double overlap : {0.08, 0.7, 5.0}) {
    std::mt19937_64 draw(4);
    std::poisson_distribution<uint32_t> overlaps(overlap);
    const SearchGoal goal{.metric = SetMetric::kOverlap, .k = 100};
    TopHits hits(goal, 64);
    size_t offered = 0;
    constexpr size_t kDocuments = 200'000;
    for (DocumentId id = 0; id < kDocuments; ++id) {
      const uint32_t found = overlaps(draw);
      if (found < hits.LeastOverlap(64)) continue;
      hits.Offer({id, found, 64});
      ++offered;
    }
    const double expected = CandidatesOf(kDocuments, overlap, goal.k);
    EXPECT_GT(static_cast<double>(offered), expected / 2) << overlap;
    EXPECT_LT(static_cast<double>(offered), expected * 2) << overlap;
  }
  EXPECT_EQ(CandidatesOf(1000, 0, 100), 0);
  EXPECT_EQ(CandidatesOf(0, 1, 100), 0);
  EXPECT_NEAR(CandidatesOf(1000, 1, SearchGoal::kAll), 1000 * (1 - std::exp(-1)), 1e-6);
}

TEST(SearchPlan, CandidatesOfLongDocumentsAreFinite) {
  for (const double overlap : {60.0, 70.0, 740.0, 746.0, 3'000.0, 1e6}) {
    for (const double documents : {1.0, 300.0, 1e6}) {
      for (const size_t k : {size_t{1}, size_t{100}}) {
        const double candidates = CandidatesOf(documents, overlap, k);
        EXPECT_GE(candidates, std::min(documents, static_cast<double>(k))) << overlap;
        EXPECT_LE(candidates, documents) << overlap;
      }
    }
  }
  // One that is about as long as its neighbour has about as many.
  EXPECT_NEAR(CandidatesOf(1e6, 746, 100) / CandidatesOf(1e6, 740, 100), 1, 0.05);
}

// As they are where every document has most of a query's thousands of tokens.
TEST(SearchPlan, LongQueriesArePlannedWithAndWithoutAThreshold) {
  const auto blocks = MakeBlocks(2, 300, 3'000, 10'000);
  const auto queries = Queries(3, 3'000, 10'000);
  for (const Fraction at_least : {Fraction{}, Fraction{1, 2}}) {
    const SearchPlan plan =
        PlanSearch({.blocks = AllowAll(blocks)}, queries.view(),
                   {.metric = SetMetric::kOverlapMax, .k = 10, .at_least = at_least}, {}, 2);
    size_t planned = 0;
    for (const auto& group : plan.groups) planned += group.queries.size();
    EXPECT_EQ(planned, queries.size());
    EXPECT_GT(plan.estimate_ns, 0);
  }
}

// Counted, and offered to TopHits, in several blocks of documents of many lengths.
TEST(SearchPlan, CandidatesAreThoseOfTheThresholdThatFiltersAllow) {
  std::vector<SetBlock> blocks;
  for (const size_t length : {6, 20, 60}) {
    auto some = MakeBlocks(2, 5'000, length, 300);
    std::move(some.begin(), some.end(), std::back_inserter(blocks));
  }
  std::vector<std::vector<uint64_t>> bits;
  std::vector<AllowedBlock> eighth;
  for (const SetBlock& block : blocks) bits.emplace_back(block.words(), 0x0101'0101'0101'0101);
  for (size_t b = 0; b < blocks.size(); ++b) {
    for (size_t place = blocks[b].size(); place < blocks[b].words() * 64; ++place) {
      bits[b][place / 64] &= ~(uint64_t{1} << place % 64);
    }
    eighth.push_back({&blocks[b], bits[b]});
  }
  const auto queries = Queries(20, 40, 300);
  const auto counts = [&](std::span<const AllowedBlock> allowed, const SearchGoal& goal) {
    double offered = 0;
    CountSearch count;
    for (size_t i = 0; i < queries.size(); ++i) {
      TopHits hits(goal, static_cast<uint32_t>(queries.view()[i].size()));
      for (const AllowedBlock& block : allowed) {
        count.Search(*block.block, queries.view()[i], block.allowed, hits);
      }
      offered += static_cast<double>(hits.offered());
    }
    double expected = 0;
    for (const auto& group : PlanSearch({allowed}, queries.view(), goal, SearchRates(), 1).groups) {
      expected += group.candidates;
    }
    return std::pair(offered, expected);
  };
  const auto all = AllowAll(blocks);
  for (const SearchGoal& goal :
       {SearchGoal{SetMetric::kJaccard, SearchGoal::kAll, SimilarityOf(SetMetric::kJaccard, 0.1)},
        SearchGoal{SetMetric::kOverlap, SearchGoal::kAll, {6, 1}},
        SearchGoal{SetMetric::kOverlap, 1'000, {9, 1}},
        SearchGoal{SetMetric::kContainmentDocument, SearchGoal::kAll,
                   SimilarityOf(SetMetric::kContainmentDocument, 0.3)},
        SearchGoal{SetMetric::kOverlapMax, SearchGoal::kAll, {}}}) {
    for (const auto& [offered, expected] : {counts(all, goal), counts(eighth, goal)}) {
      EXPECT_GT(offered, 100);
      EXPECT_GT(offered, expected / 2);
      EXPECT_LT(offered, expected * 2);
    }
  }
  const auto [offered, expected] =
      counts(all, {SetMetric::kJaccard, SearchGoal::kAll, SimilarityOf(SetMetric::kJaccard, 0.9)});
  EXPECT_EQ(offered, 0);
  EXPECT_LT(expected, 1);
}

TEST(SearchPlan, ThreadsShareAndSamplesStandForAll) {
  const auto blocks = MakeBlocks(24, 500, 30, 1'000);
  const auto queries = Queries(10, 30, 1'000);
  const auto allowed = AllowAll(blocks);
  const SearchPlan one = PlanSearch({allowed}, queries.view(), kGoal, SearchRates(), 1);
  const SearchPlan four = PlanSearch({allowed}, queries.view(), kGoal, SearchRates(), 4);
  EXPECT_NEAR(four.estimate_ns, one.estimate_ns / 4, 1e-6 * one.estimate_ns);
  CountWork exact;
  for (const SetBlock& block : blocks) {
    for (size_t i = 0; i < queries.size(); ++i) exact += CountWorkOf(block, queries.view()[i]);
  }
  const SearchRates rates = EngineRates();
  const double ns = rates.count.Time(exact);
  EXPECT_NEAR(PlanSearch({allowed}, queries.view(), kGoal, rates, 1).counting_ns, ns, 0.1 * ns);
  EXPECT_GT(one.counting_ns, ns);
}

// As a collection has them: one large segment, and more small ones than are looked at.
TEST(SearchPlan, BlocksOfEachSizeStandForThoseOfTheirSize) {
  std::vector<SetBlock> blocks;
  for (const auto& [count, documents] : {std::pair{5, 64}, {1, 20'000}, {7, 1'500}, {4, 64}}) {
    auto some = MakeBlocks(static_cast<size_t>(count), static_cast<size_t>(documents), 30, 5'000);
    std::move(some.begin(), some.end(), std::back_inserter(blocks));
  }
  const auto queries = Queries(32, 30, 5'000);
  CountWork counting;
  ScanWork scanning;
  for (const SetBlock& block : blocks) {
    scanning += ScanWorkOf(block);
    for (size_t i = 0; i < queries.size(); ++i) counting += CountWorkOf(block, queries.view()[i]);
  }
  const SearchRates rates = EngineRates();
  const auto allowed = AllowAll(blocks);
  const SearchPlan plan = PlanSearch({allowed}, queries.view(), kGoal, rates, 1);
  const double count_ns = rates.count.Time(counting);
  const double scan_ns = rates.scan.Time(scanning);
  EXPECT_NEAR(plan.counting_ns, count_ns, 0.1 * count_ns);
  EXPECT_NEAR(plan.scanning_ns, scan_ns, 0.1 * scan_ns);
}

TEST(SearchPlan, GoesByWhatAnEngineTookOfLate) {
  const auto blocks = MakeBlocks(3, 4'000, 60, 50'000);
  const auto queries = Queries(32, 60, 50'000);
  const auto allowed = AllowAll(blocks);
  SearchRates rates;
  const SearchPlan plain = PlanSearch({allowed}, queries.view(), kGoal, rates, 1);
  ASSERT_EQ(QueriesBy(plain, SearchEngine::kCounting), 32U);
  const double slower = 1.5 * plain.scanning_ns / plain.counting_ns;
  rates.ratios[static_cast<size_t>(SearchEngine::kCounting)] = slower;
  const SearchPlan other = PlanSearch({allowed}, queries.view(), kGoal, rates, 1);
  EXPECT_EQ(QueriesBy(other, SearchEngine::kScanning), 32U);
  EXPECT_NEAR(other.counting_ns, slower * plain.counting_ns, 1e-6 * other.counting_ns);
  EXPECT_NEAR(other.estimate_ns, plain.scanning_ns, 1e-6 * plain.scanning_ns);
}

TEST(SearchPlan, OfNothingIsNothing) {
  EXPECT_TRUE(PlanSearch({}, SetList(), kGoal, SearchRates(), 1).groups.empty());
  const SearchPlan no_documents = PlanSearch({}, Queries(3, 5, 10).view(), kGoal, SearchRates(), 2);
  EXPECT_EQ(AllQueries(no_documents), UpTo(3));
}

}  // namespace
}  // namespace strata
