// A collection beside its model, under random changes, merges and searches.
#include "storage/itemset/item_set.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <numeric>
#include <set>
#include <thread>

#include "base/random.h"
#include "tests/storage/itemset/fake_gpu.h"
#include "tests/storage/itemset/item_set_pair.h"
#include "tests/support/sanitizers.h"

namespace strata {
namespace {

using test::ItemSetModel;
using test::ItemSetPair;
using test::Tokens;

class ItemSetTest : public testing::Test {
 protected:
  void SetUp() override {
    auto pool = WorkPool::Start("search", 1);
    ASSERT_TRUE(pool.ok());
    pool_ = std::move(*pool);
  }
  SearchMeans Means() const {
    SearchMeans means;
    means.pool = pool_.get();
    means.threads = 2;
    means.clock = &RealClock();
    return means;
  }
  std::unique_ptr<ItemSet> Make(size_t tail, std::vector<std::string> attributes = {}) {
    return Make(tail, std::move(attributes), Means());
  }
  static std::unique_ptr<ItemSet> Make(size_t tail, std::vector<std::string> attributes,
                                       const SearchMeans& means) {
    ItemSetOptions options;
    options.spec.attributes = std::move(attributes);
    options.means = means;
    options.tail = tail;
    auto made = ItemSet::Make(options);
    EXPECT_TRUE(made.ok()) << made.status().ToString();
    return std::move(*made);
  }
  std::unique_ptr<WorkPool> pool_;
};

// Without a GPU, and with one.
class ItemSetOn : public ItemSetTest, public testing::WithParamInterface<bool> {
 protected:
  void TearDown() override {
    if (gpu_ == nullptr) return;
    EXPECT_EQ(gpu_->segments_bytes(), 0U);
    EXPECT_EQ(state_.bytes, 0U);
  }
  // Any rates, so that any engine is chosen, and a GPU that has room for all of it or not.
  SearchMeans DrawMeans(Random& draw) {
    SearchMeans means = Means();
    if (!GetParam()) return means;
    const auto any = [&] { return std::exp(static_cast<double>(draw.Below(12)) - 6); };
    means.rates.count = {any(), any(), any(), any()};
    means.rates.scan = {any(), any(), any()};
    means.rates.gpu.call_ns = any() * 1e3;
    means.rates.gpu.query_ns = any() * 1e2;
    means.rates.gpu.scan_call_ns = any() * 1e2;
    means.rates.gpu.load_call_ns = any() * 1e3;
    means.rates.gpu.load_token_ns = any();
    constexpr std::array<uint64_t, 4> kMiB = {0, 6, 12, 1'000};
    gpu_ = test::FakeItemGpu(state_, kMiB.at(draw.Below(4)) << 20, kMiB.at(draw.Below(4)) << 20);
    means.items = gpu_.get();
    return means;
  }
  test::FakeGpuState state_;
  std::unique_ptr<ItemGpu> gpu_;
};
INSTANTIATE_TEST_SUITE_P(WithoutAndWithAGpu, ItemSetOn, testing::Bool());

TEST_P(ItemSetOn, RandomChangesAndSearchesAreThoseOfTheModel) {
  uint64_t merges = 0, streamed = 0, lacking = 0;
  std::array<uint64_t, kSearchEngines> queries_by{};
  constexpr uint64_t kSeeds = kSanitized ? 12 : 40;
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Random draw(seed);
    std::vector<std::string> attributes;
    if (draw.Below(2) == 0) attributes = {"price", "year"};
    const size_t tail = 1 + draw.Below(4);
    const auto spread = static_cast<test::Spread>(draw.Below(4));
    const Token vocabulary = draw.Below(2) == 0 ? 40 : 5'000;
    const size_t longest = 1 + draw.Below(30);
    ItemSetPair pair(seed, Make(tail, attributes, DrawMeans(draw)), spread, vocabulary, longest);
    const size_t steps = 300 + draw.Below(3'000);
    for (size_t i = 0; i < steps && !HasFatalFailure(); ++i) {
      pair.Change();
      if (draw.Below(25) == 0) pair.Search();
      if (draw.Below(10) == 0) pair.Get();
      if (draw.Below(400) == 0) pair.Scan();
      if (draw.Below(500) == 0) pair.set().WaitForMerges();
    }
    pair.set().WaitForGpu();
    pair.Search();
    const ItemSetStats stats = pair.set().Stats();
    EXPECT_EQ(stats.documents, pair.model().documents().size());
    merges += stats.merges;
    streamed += stats.streamed;
    lacking += stats.on_gpu.lacking;
    for (size_t i = 0; i < kSearchEngines; ++i) queries_by.at(i) += stats.queries_by.at(i);
    if (HasFailure()) return;
  }
  EXPECT_GT(merges, 15 * kSeeds);
  for (size_t i = 0; i < kSearchEngines; ++i) {
    EXPECT_EQ(queries_by.at(i) > 0, i < 2 || GetParam()) << NameOf(static_cast<SearchEngine>(i));
  }
  EXPECT_EQ(streamed > 0, GetParam());
  EXPECT_EQ(lacking > 0, GetParam());
}

TEST_F(ItemSetTest, ThinSegmentsGoAwayWithTheirDocuments) {
  const auto set = Make(2);
  constexpr DocumentId kCount = 512 * 4;
  for (DocumentId id = 0; id < kCount; ++id) {
    ASSERT_TRUE(set->Upsert({id, {static_cast<Token>(id), 7}, {}}).ok());
  }
  set->WaitForMerges();
  const ItemSetStats full = set->Stats();
  EXPECT_LE(full.segments, 3U + 15 + 15);
  for (DocumentId id = 0; id < kCount; ++id) {
    ASSERT_EQ(id % 8 == 0 || set->Delete(id), true);
    ASSERT_FALSE(set->Delete(kCount + id));
  }
  set->WaitForMerges();
  const ItemSetStats thin = set->Stats();
  EXPECT_EQ(thin.documents, kCount / 8);
  EXPECT_LE(thin.dead, kCount / 16);
  for (DocumentId id = 0; id < kCount; id += 8) ASSERT_TRUE(set->Delete(id));
  EXPECT_EQ(set->Stats().documents, 0U);
  const std::vector<Tokens> query{{7}};
  const auto none = set->Search(test::Lists(query).view(), {.k = 5}, {});
  ASSERT_TRUE(none.ok());
  EXPECT_TRUE((*none)[0].empty());
}

TEST_F(ItemSetTest, WhatIsGoneFromSmallSegmentsIsNeverMoreThanWhatIsThere) {
  const auto set = Make(4);
  constexpr DocumentId kCount = 1'000;  // a large segment would have 1,024
  const auto put = [&](DocumentId id) {
    ASSERT_TRUE(set->Upsert({id, {static_cast<Token>(id), 7}, {}}).ok());
    set->WaitForMerges();
  };
  const auto expect_few_dead = [&] {
    const ItemSetStats stats = set->Stats();
    EXPECT_LE(stats.dead, stats.documents);
  };
  std::vector<DocumentId> ids(kCount);
  std::iota(ids.begin(), ids.end(), 0);
  for (const bool in_order : {true, false}) {
    SCOPED_TRACE(in_order);
    for (const DocumentId id : ids) put(id);
    EXPECT_GT(set->Stats().segments, 20U);
    if (!in_order) std::ranges::sort(ids, {}, Mix64);
    for (const DocumentId id : ids) {
      ASSERT_TRUE(set->Delete(id));
      set->WaitForMerges();
      expect_few_dead();
    }
    EXPECT_EQ(set->Stats().segments, 0U);
    EXPECT_EQ(set->Stats().dead, 0U);
  }
}

// What becomes few is merged with others like it, and large segments, which are saved, are made as
// often as without.
TEST_F(ItemSetTest, DocumentsThatAreReplacedAgainAndAgainStayInFewSegments) {
  const auto set = Make(4);
  constexpr size_t kChanges = 6 * 1'024;
  Random random(3);
  size_t most = 0;
  for (size_t i = 0; i < kChanges; ++i) {
    ASSERT_TRUE(set->Upsert({random.Below(150), {static_cast<Token>(i), 7}, {}}).ok());
    set->WaitForMerges();
    const ItemSetStats stats = set->Stats();
    EXPECT_LE(stats.dead, stats.documents);
    most = std::max(most, stats.segments);
  }
  EXPECT_LE(most, 20U);
  EXPECT_GE(set->large_made(), kChanges / 1'024);
}

// Searches on other threads see what was there at one moment while they ran. Versions: change n of
// one writer has begun, change n has returned.
TEST_P(ItemSetOn, ASearchBesideChangesSeesOneMoment) {
  Random draw(1);
  SearchMeans means = DrawMeans(draw);
  means.rates.gpu.call_ns = 0;  // what is there is searched there
  const auto set = Make(3, {}, means);
  struct Change {
    DocumentId id;
    Tokens tokens;
    bool is_delete;
  };
  std::vector<Change> changes;
  Random random(5);
  test::RandomSets sets(5, test::Spread::kZipf, 60);
  for (int i = 0; i < 6'000; ++i) {
    changes.push_back({Mix64(random.Below(300)), sets.Draw(8), random.Below(3) == 0});
  }
  std::atomic<size_t> begun{0}, done{0};
  std::atomic<int> searched{0}, wrong{0};
  const Tokens query = sets.Draw(10);
  const SearchGoal goal{.metric = SetMetric::kJaccard, .k = 12};
  std::jthread writer([&] {
    for (size_t i = 0; i < changes.size(); ++i) {
      // So that no search is beside too many changes, one of which its answer must fit.
      while (searched.load() < static_cast<int>(i / 100)) std::this_thread::yield();
      const Change& change = changes[i];
      begun.fetch_add(1);
      if (change.is_delete) {
        set->Delete(change.id);
      } else if (!set->Upsert({change.id, change.tokens, {}}).ok()) {
        ++wrong;
      }
      done.fetch_add(1);
    }
  });
  const auto search = [&] {
    while (done.load() < changes.size()) {
      const size_t first = done.load();
      const auto answers = set->Search(test::Lists(std::vector<Tokens>{query}).view(), goal, {});
      const size_t last = begun.load();
      ItemSetModel model;
      bool found = false;
      for (size_t i = 0; i <= last && !found; ++i) {
        found = i >= first && answers.ok() && (*answers)[0] == model.Search(query, goal, {});
        if (i == changes.size()) break;
        const Change& change = changes[i];
        if (change.is_delete) {
          model.Delete(change.id);
        } else {
          model.Upsert({change.id, change.tokens, {}});
        }
      }
      if (!found) ++wrong;
      ++searched;
    }
  };
  { std::jthread a(search), b(search); }
  writer.join();
  EXPECT_EQ(wrong.load(), 0);
  EXPECT_GE(searched.load(), 59);
}

// Documents that stay, among others that come, go and are merged meanwhile.
TEST_F(ItemSetTest, AScanBesideChangesFindsWhatStaysOnce) {
  const auto set = Make(3, {"number"});
  const auto stays = [](uint64_t id) { return id % 3 == 0; };
  for (DocumentId id = 0; id < 900; id += 3) {
    ASSERT_TRUE(set->Upsert({id, {static_cast<Token>(id)}, {7}}).ok());
  }
  std::atomic<bool> is_over{false};
  std::jthread writer([&] {
    Random random(9);
    while (!is_over) {
      const DocumentId id = random.Below(300) * 3 + 1 + random.Below(2);
      if (random.Below(3) == 0) {
        set->Delete(id);
      } else {
        static_cast<void>(set->Upsert({id, {1, 2}, {static_cast<int64_t>(id)}}));
      }
    }
  });
  for (size_t scan = 0; scan < 60; ++scan) {
    std::set<DocumentId> found;
    DocumentPage page;
    while (!page.done) {
      page = set->Scan(page.cursor, 1 + scan * 7, size_t{1} << 20);
      for (const Document& document : page.documents) {
        EXPECT_TRUE(found.insert(document.id).second) << document.id;
        const bool is_right =
            stays(document.id)
                ? document.tokens == std::vector<Token>{static_cast<Token>(document.id)} &&
                      document.attributes == std::vector<int64_t>{7}
                : document.attributes[0] == static_cast<int64_t>(document.id);
        EXPECT_TRUE(is_right) << document.id;
      }
    }
    EXPECT_EQ(std::ranges::count_if(found, stays), 300) << "scan " << scan;
  }
  is_over = true;
}

TEST_F(ItemSetTest, WhatIsWrongIsRefusedAndChangesNothing) {
  const auto set = Make(2, {"price"});
  EXPECT_EQ(set->Upsert({1, {1}, {}}).message(),
            "document 1 has 0 attributes; the collection has 1");
  EXPECT_EQ(set->Upsert({1, Tokens(ItemSetSpec::kMostTokens + 1), {5}}).message(),
            "document 1 has 1048577 tokens; at most 1048576 are taken");
  ItemFilter filter;
  filter.ranges.push_back({1, 0, 1});
  const auto refused = set->Search(test::Lists(std::vector<Tokens>{{1}}).view(), {}, filter);
  EXPECT_EQ(refused.status().code(), StatusCode::kInvalid);
  EXPECT_EQ(set->Stats().documents, 0U);
  ItemSetOptions options;
  options.means = Means();
  options.spec.attributes = {"a", "a"};
  EXPECT_EQ(ItemSet::Make(options).status().message(),
            "there are two attributes 'a'; give one another name");
  options.spec.attributes = {""};
  EXPECT_EQ(ItemSet::Make(options).status().message(), "an attribute has no name");
  options.spec.attributes = std::vector<std::string>(65, "x");
  EXPECT_EQ(ItemSet::Make(options).status().message(),
            "a collection has at most 64 attributes; found 65");
}

// 65 tokens each, of 50,000.
// Overlaps of thousands: e to the power of minus one of them is 0.
TEST_F(ItemSetTest, DocumentsOfThousandsOfTokensAreFound) {
  const auto set = Make(256);
  SetLists queries;
  for (Token i = 0; i < 300; ++i) {
    Document document{.id = i, .tokens = {}, .attributes = {}};
    for (Token token = 0; token < 3'000; ++token) document.tokens.push_back(token + 5 * i);
    if (i % 50 == 7) queries.Add(document.tokens);
    ASSERT_TRUE(set->Upsert(std::move(document)).ok());
  }
  for (const Fraction at_least : {Fraction{}, Fraction{3, 4}}) {
    const auto found = set->Search(
        queries.view(), {.metric = SetMetric::kOverlapMax, .k = 2, .at_least = at_least}, {});
    ASSERT_TRUE(found.ok());
    for (uint32_t i = 0; i < found->size(); ++i) {
      const DocumentId own = 50 * i + 7;
      EXPECT_EQ((*found)[i], (std::vector<Hit>{{own, 3'000, 3'000}, {own - 1, 2'995, 3'000}}));
    }
  }
}

TEST_F(ItemSetTest, ADocumentOf65TokensTakesAtMost300Bytes) {
  if (kSanitized)
    GTEST_SKIP() << "it counts the set's own bytes, which sanitizers do not change, in 9 minutes";
  const auto set = Make(256);
  constexpr size_t kCount = 4 * Segment::kMostDocuments;
  constexpr Token kTokens = 65;
  constexpr Token kStep = 50'000 / kTokens;
  Random random(1);
  double most = 0;
  const auto bytes_each = [&] {
    const ItemSetStats stats = set->Stats();
    return static_cast<double>(stats.bytes) / static_cast<double>(stats.documents);
  };
  for (size_t i = 0; i < kCount; ++i) {
    Document document{.id = random.Next(), .tokens = {}, .attributes = {}};
    for (Token t = 0; t < kTokens; ++t) {
      document.tokens.push_back(t * kStep + static_cast<Token>(random.Below(kStep)));
    }
    ASSERT_TRUE(set->Upsert(std::move(document)).ok());
    if (i >= kCount / 2 && i % 256 == 0) most = std::max(most, bytes_each());
  }
  EXPECT_LE(most, 320);  // up to half of them are in small segments, however late merges are
  set->WaitForMerges();
  ASSERT_EQ(set->Stats().documents, kCount);
  const double each = bytes_each();
  EXPECT_LE(each, 285);
  EXPECT_GE(each, 270);  // it does count
  RecordProperty("most_bytes_a_document", std::to_string(most));
  RecordProperty("bytes_a_document", std::to_string(each));
}

// Sets that are searched together answer as one that has all of their documents.
TEST_P(ItemSetOn, SeveralSetsAnswerAsOne) {
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    Random draw(seed);
    const size_t tail = size_t{1} << draw.Below(5);
    std::vector<std::unique_ptr<ItemSet>> sets;
    const SearchMeans means = DrawMeans(draw);
    for (size_t i = 0; i < draw.Below(3) + 1; ++i) sets.push_back(Make(tail, {"a"}, means));
    ItemSetModel model;
    test::RandomSets random_sets(seed, test::Spread::kUniform, draw.Chance(0.5) ? 60 : 300'000);
    for (size_t i = 0; i < 600; ++i) {
      const DocumentId id = Mix64(draw.Below(300));
      ItemSet& set = *sets[id % sets.size()];
      if (draw.Below(4) == 0) {
        ASSERT_EQ(set.Delete(id), model.Delete(id));
        continue;
      }
      const Document document{.id = id,
                              .tokens = random_sets.Draw(draw.Below(20)),
                              .attributes = {static_cast<int64_t>(draw.Below(10))}};
      model.Upsert(document);
      ASSERT_TRUE(set.Upsert(document).ok());
    }
    std::vector<const ItemSet*> all;
    for (const auto& set : sets) all.push_back(set.get());
    for (int round = 0; round < 10; ++round) {
      std::vector<Tokens> queries;
      for (size_t i = 0; i < draw.Below(5) + 1; ++i) {
        queries.push_back(random_sets.Draw(draw.Below(20)));
      }
      constexpr std::array<size_t, 4> kCounts = {1, 10, 1'000, SearchGoal::kAll};
      SearchGoal goal{.metric = static_cast<SetMetric>(draw.Below(kSetMetrics)),
                      .k = kCounts.at(draw.Below(kCounts.size()))};
      if (draw.Below(3) == 0) goal.at_least = SimilarityOf(goal.metric, 0.25);
      ItemFilter filter;
      if (draw.Below(3) == 0) filter.ranges.push_back({0, 2, 7});
      const auto answers = ItemSet::SearchTogether(all, test::Lists(queries).view(), goal, filter);
      ASSERT_TRUE(answers.ok()) << answers.status().ToString();
      for (size_t i = 0; i < queries.size(); ++i) {
        ASSERT_EQ((*answers)[i], model.Search(queries[i], goal, filter)) << "seed " << seed;
      }
    }
    sets.clear();
    gpu_ = nullptr;
  }
}

}  // namespace
}  // namespace strata
