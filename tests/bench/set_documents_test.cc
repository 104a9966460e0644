// What sets searches are measured on, as their comments say.
#include "bench/suites/search/set_documents.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <set>
#include <vector>

namespace strata::bench {
namespace {

constexpr size_t kDocuments = 50'000;

std::array<double, SetDocuments::kLongest + 1> SharesOf(const SetShape& shape) {
  const auto made = SetDocuments::Make(7, shape, kDocuments, 10);
  std::array<double, SetDocuments::kLongest + 1> shares = {};
  EXPECT_TRUE(made.ok()) << made.status().ToString();
  EXPECT_EQ(made->size(), kDocuments);
  EXPECT_EQ(made->queries().size(), 10U);
  for (const SetLists& part : made->parts()) {
    const SetList sets = part.view();
    for (size_t i = 0; i < sets.size(); ++i) {
      shares.at(sets[i].size()) += 1.0 / kDocuments;
      const std::set<Token> distinct(sets[i].begin(), sets[i].end());
      EXPECT_EQ(distinct.size(), sets[i].size());
      EXPECT_LT(*distinct.rbegin(), SetDocuments::kVocabulary);
    }
  }
  return shares;
}

TEST(SetDocumentsTest, UniformLengths) {
  const auto shares = SharesOf({});
  EXPECT_EQ(shares[0], 0);
  for (size_t length = 1; length < shares.size(); ++length) {
    EXPECT_NEAR(shares.at(length), 1.0 / 128, 0.002) << length;
  }
}

// Rises to the peak at 88, where there are 158 of 9,242 (thousands), and falls.
TEST(SetDocumentsTest, TheContestsLengths) {
  const auto shares = SharesOf({.lengths = SetLengths::kContest});
  EXPECT_EQ(shares[0] + shares[1] + shares[128], 0);
  EXPECT_NEAR(shares[2], 33.0 / 9242, 0.001);
  EXPECT_NEAR(shares[56], 60.0 / 9242, 0.0015);
  EXPECT_NEAR(shares[88], 158.0 / 9242, 0.002);
  EXPECT_NEAR(shares[108], 79.0 / 9242, 0.0015);
}

TEST(SetDocumentsTest, CollectionsAndPartsHaveTheSameSets) {
  const auto made = SetDocuments::Make(7, {}, 70'000, 9);  // two parts
  ASSERT_TRUE(made.ok()) << made.status().ToString();
  ASSERT_EQ(made->parts().size(), 2U);
  const std::vector<Document> documents = made->ForCollections();
  ASSERT_EQ(documents.size(), 70'000U);
  for (const DocumentId id : {0, 65'535, 65'536, 69'999}) {
    EXPECT_EQ(documents[id].id, id);
    const auto set = made->parts()[id / 65'536].view()[id % 65'536];
    EXPECT_TRUE(std::ranges::equal(documents[id].tokens, set)) << id;
  }
  const SetList some = Some(made->queries(), 3, 4);
  ASSERT_EQ(some.size(), 4U);
  for (size_t i = 0; i < some.size(); ++i) {
    EXPECT_TRUE(std::ranges::equal(some[i], made->queries()[3 + i])) << i;
  }
}

TEST(SetDocumentsTest, NamesOfCases) {
  EXPECT_EQ(SetShape{}.Name(), "tokens=uniform");
  EXPECT_EQ((SetShape{TokenSpread::kZipf, SetLengths::kContest}.Name()),
            "tokens=Zipf lengths=contest");
}

}  // namespace
}  // namespace strata::bench
