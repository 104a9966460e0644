// The parts of a collection, each by itself.
#include <gtest/gtest.h>

#include <map>

#include "base/random.h"
#include "storage/itemset/locations.h"
#include "storage/itemset/segment.h"
#include "tests/kernels/setops/random_sets.h"
#include "tests/support/chosen_keys.h"

namespace strata {
namespace {

TEST(TokenNumbers, AreABijectionWithTheFrequentTokensFirst) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    test::RandomSets random(seed, seed % 2 == 0 ? test::Spread::kWide : test::Spread::kZipf, 3'000);
    std::vector<Token> occurrences{0, 0, UINT32_MAX};
    std::map<Token, size_t> counts;
    for (int i = 0; i < 300; ++i) {
      const auto set = random.Draw(30);
      occurrences.insert(occurrences.end(), set.begin(), set.end());
    }
    for (const Token token : occurrences) ++counts[token];
    const TokenNumbers numbers = TokenNumbers::ByFrequency(occurrences);
    size_t last = SIZE_MAX;
    for (Token i = 0; i < counts.size(); ++i) {
      const Token token = numbers.TokenOf(i);
      ASSERT_TRUE(counts.contains(token));
      EXPECT_LE(counts[token], last);
      last = counts[token];
      EXPECT_EQ(numbers.NumberOf(token), i);
    }
    Random any(seed);
    for (int i = 0; i < 3'000; ++i) {
      const auto token = static_cast<Token>(i % 2 == 0 ? any.Next() : any.Below(5'000));
      EXPECT_EQ(numbers.TokenOf(numbers.NumberOf(token)), token);
      EXPECT_EQ(numbers.NumberOf(numbers.TokenOf(token)), token);
    }
  }
  EXPECT_EQ(TokenNumbers().NumberOf(7), 7U);
}

// More tokens than are numbered.
TEST(TokenNumbers, OfManyTokensTheMostFrequentFit) {
  std::vector<Token> occurrences;
  for (Token i = 0; i < 100'000; ++i) occurrences.push_back(i * 7'919);
  for (int i = 0; i < 3; ++i) occurrences.push_back(99'999U * 7'919);
  const TokenNumbers numbers = TokenNumbers::ByFrequency(occurrences);
  EXPECT_EQ(numbers.NumberOf(99'999U * 7'919), 0U);
  for (const Token token : occurrences) ASSERT_EQ(numbers.TokenOf(numbers.NumberOf(token)), token);
}

TEST(Locations, AreThoseOfAMap) {
  for (uint64_t seed = 0; seed < 30; ++seed) {
    Random random(seed);
    Locations locations;
    std::vector<std::vector<DocumentId>> slots(3, std::vector<DocumentId>(2'000));
    for (uint16_t slot = 0; slot < 3; ++slot) locations.SetIds(slot, slots[slot].data());
    std::map<DocumentId, Location> model;
    std::vector<uint16_t> used(3);
    for (int i = 0; i < 6'000; ++i) {
      const DocumentId id = random.Below(2) == 0 ? random.Below(500) : Mix64(random.Below(2'000));
      if (random.Below(3) == 0) {
        locations.Erase(id);
        model.erase(id);
      } else if (const auto slot = static_cast<uint16_t>(random.Below(3)); used[slot] < 2'000) {
        const Location at{slot, used[slot]++};
        slots[slot][at.place] = id;
        locations.Put(id, at);
        model[id] = at;
      }
      const DocumentId asked = random.Below(2) == 0 ? id : random.Below(500);
      const auto found = locations.Find(asked);
      const auto expected = model.find(asked);
      ASSERT_EQ(found.has_value(), expected != model.end()) << "seed " << seed;
      if (found) {
        ASSERT_EQ(*found, expected->second) << "seed " << seed;
      }
      ASSERT_EQ(locations.size(), model.size());
    }
    for (const auto& [id, at] : model) ASSERT_EQ(locations.Find(id), at);
  }
}

// Some hashes lie close together.
TEST(Locations, ComeInTheOrderOfTheirHashesFromAnyOn) {
  size_t at_the_ends = 0;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    Random random(seed);
    const size_t count = random.Below(400);
    std::vector<DocumentId> ids(count + 2);
    std::map<uint64_t, Location> model;  // by hash
    Locations locations;
    locations.SetIds(0, ids.data());
    const auto put = [&](uint64_t hash) {
      const Location at{0, static_cast<uint16_t>(model.size())};
      if (!model.emplace(hash, at).second) return;
      ids[at.place] = Unmix64(hash);
      locations.Put(ids[at.place], at);
    };
    if (seed % 2 == 0) put(0);
    if (seed % 3 == 0) put(UINT64_MAX);
    for (size_t i = 0; i < count; ++i) {
      const uint64_t end = random.Below(64) << 58 | ((uint64_t{1} << 58) - 1);
      const bool is_at_end = random.Below(2) == 0;
      at_the_ends += is_at_end ? 1 : 0;
      put(is_at_end ? end - random.Below(100) : random.Next());
    }
    for (size_t i = 0; i < 40; ++i) {
      uint64_t from = i == 0 ? 0 : random.Next();
      if (const auto next = model.lower_bound(from); i % 2 == 1 && next != model.end()) {
        from = next->first;  // just there
      }
      const size_t most = 1 + random.Below(i % 3 == 0 ? 5 : 500);
      std::vector<std::pair<uint64_t, Location>> expected;
      for (auto it = model.lower_bound(from); it != model.end() && expected.size() < most; ++it) {
        expected.emplace_back(*it);
      }
      const auto found = locations.From(from, most);
      ASSERT_EQ(found.size(), expected.size()) << "seed " << seed << " from " << from;
      for (size_t j = 0; j < found.size(); ++j) {
        ASSERT_EQ(found[j].hash, expected[j].first);
        ASSERT_EQ(found[j].location, expected[j].second);
      }
    }
  }
  EXPECT_GT(at_the_ends, 1'000U);
}

// Locations of ids in one slot, by place.
struct Placed {
  explicit Placed(const std::vector<DocumentId>& of) : ids(of) {
    locations.SetIds(0, ids.data());
    for (size_t i = 0; i < ids.size(); ++i) locations.Put(ids[i], {0, static_cast<uint16_t>(i)});
  }
  std::vector<DocumentId> ids;
  Locations locations;
};

TEST(Locations, ChosenIdsCostNoMoreThanOthers) {
  for (const std::vector<DocumentId>& ids : test::ChosenKeys(40'000)) {
    const Placed placed(ids);
    size_t read = 0, most = 0;
    for (const DocumentId id : ids) {
      read += placed.locations.PlacesRead(id);
      most = std::max(most, placed.locations.PlacesRead(id));
    }
    // Four fifths are taken at most: 3 on average then (Knuth 3, 6.4).
    EXPECT_LT(read, 4 * ids.size());
    EXPECT_LT(most, 400U);
  }
}

// Their hashes lie close together: the parts that hold them are many, and narrow.
TEST(Locations, ChosenIdsAreScannedInTheOrderOfTheirHashes) {
  for (std::vector<DocumentId>& ids : test::ChosenKeys(10'000)) {
    const Placed placed(ids);
    std::ranges::sort(ids, {}, Mix64);
    uint64_t cursor = 0;
    size_t seen = 0;
    while (seen < ids.size()) {
      const auto page = placed.locations.From(cursor, 700);
      ASSERT_EQ(page.size(), std::min<size_t>(700, ids.size() - seen));
      for (const auto& found : page) ASSERT_EQ(found.hash, Mix64(ids[seen++]));
      cursor = page.back().hash + 1;
    }
    EXPECT_TRUE(placed.locations.From(cursor, 1).empty());
  }
}

TEST(Locations, GiveRoomBackWhereverIdsWere) {
  Locations empty;
  empty.SetIds(0, nullptr);
  for (const std::vector<DocumentId>& ids : test::ChosenKeys(40'000)) {
    Placed placed(ids);
    for (size_t i = 0; i < ids.size(); ++i) {
      placed.locations.Erase(ids[i]);
      if (i % 5'000 != 0) continue;
      for (size_t j = i + 1; j < ids.size(); j += 500) {
        const auto found = placed.locations.Find(ids[j]);
        ASSERT_TRUE(found.has_value());
        ASSERT_EQ(found->place, j);
      }
    }
    EXPECT_EQ(placed.locations.size(), 0U);
    EXPECT_LT(placed.locations.bytes(), 2 * empty.bytes() + 1024);
  }
}

TEST(Segment, GivesBackItsDocuments) {
  for (const auto spread : {test::Spread::kUniform, test::Spread::kWide}) {
    test::RandomSets random(2, spread, 500);
    std::vector<std::shared_ptr<const Document>> documents;
    std::vector<Token> occurrences;
    for (DocumentId id = 0; id < 700; ++id) {
      const auto tokens = random.Draw(random.Below(40));
      occurrences.insert(occurrences.end(), tokens.begin(), tokens.end());
      documents.push_back(std::make_shared<Document>(
          Document{Mix64(id), tokens, {static_cast<int64_t>(id), -1 - static_cast<int64_t>(id)}}));
    }
    const auto numbers =
        std::make_shared<const TokenNumbers>(TokenNumbers::ByFrequency(occurrences));
    const auto segment = Segment::Build(documents, numbers);
    ASSERT_EQ(segment->size(), documents.size());
    std::map<DocumentId, const Document*> expected;
    for (const auto& document : documents) expected[document->id] = document.get();
    for (uint32_t place = 0; place < segment->size(); ++place) {
      const Document document = segment->At(place);
      EXPECT_EQ(document, *expected.at(document.id));
      EXPECT_EQ(segment->AttributeAt(place, 1), document.attributes[1]);
    }
  }
}

}  // namespace
}  // namespace strata
