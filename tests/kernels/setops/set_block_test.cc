#include "kernels/setops/set_block.h"

#include <gtest/gtest.h>

#include <map>

#include "tests/kernels/setops/random_sets.h"

namespace strata {
namespace {

// The places with a token, of either form.
std::vector<uint32_t> PlacesOf(const SetBlock& block, Token token) {
  const auto places = block.With(token);
  std::vector<uint32_t> all(places.list.begin(), places.list.end());
  for (size_t i = 0; i < places.bits.size() * 64; ++i) {
    if ((places.bits[i / 64] >> i % 64 & 1) != 0) all.push_back(static_cast<uint32_t>(i));
  }
  return all;
}

test::Tokens TokensAt(const SetBlock& block, const SetBlock::Run& run, uint32_t place) {
  test::Tokens tokens;
  block.VisitForward([&](const auto* forward) {
    const size_t begin = run.first_token + size_t{run.length} * (place - run.begin);
    for (size_t i = begin; i < begin + run.length; ++i) tokens.push_back(block.TokenOf(forward[i]));
  });
  return tokens;
}

class SetBlockOf : public testing::TestWithParam<test::Spread> {};

TEST_P(SetBlockOf, RandomDocumentsHasEachTokenOfEachBothWays) {
  for (const size_t documents : {0, 1, 15, 16, 17, 511, 512, 513, 3000}) {
    test::RandomSets random(documents, GetParam(), 400);
    test::Documents of;
    for (size_t i = 0; i < documents; ++i) {
      of.ids.push_back(1'000'000'007ULL * (i + 1) % 10'007);
      of.sets.push_back(random.Draw(random.Below(40)));
    }
    const SetBlock block = SetBlock::Build(of.ids, test::Lists(of.sets).view());
    ASSERT_EQ(block.size(), documents);

    std::map<DocumentId, test::Tokens> by_id;
    for (size_t i = 0; i < documents; ++i) by_id[of.ids[i]] = of.sets[i];
    std::map<Token, std::vector<uint32_t>> places;
    uint32_t place = 0;
    uint32_t last_length = 0;
    for (const auto& run : block.runs()) {
      ASSERT_EQ(run.begin, place);
      ASSERT_TRUE(place == 0 || run.length > last_length);
      last_length = run.length;
      for (; place < run.end; ++place) {
        const test::Tokens tokens = TokensAt(block, run, place);
        ASSERT_EQ(tokens, by_id.at(block.ids()[place]));
        if (place > run.begin) {
          ASSERT_LT(block.ids()[place - 1], block.ids()[place]);
        }
        for (const Token token : tokens) places[token].push_back(place);
      }
    }
    ASSERT_EQ(place, documents);
    for (const auto& [token, expected] : places) {
      ASSERT_EQ(PlacesOf(block, token), expected);
      const auto found = block.With(token);
      EXPECT_EQ(found.list.empty(), expected.size() * 16 >= documents);
    }
    for (const Token token : {401U, 65'535U, 65'536U, 70'001U, UINT32_MAX - 5}) {
      if (!places.contains(token)) {
        EXPECT_TRUE(PlacesOf(block, token).empty()) << token;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Spreads, SetBlockOf,
                         testing::Values(test::Spread::kUniform, test::Spread::kZipf,
                                         test::Spread::kNearDuplicates, test::Spread::kWide));

TEST(SetBlock, OfTheMostDocumentsHasThemAll) {
  std::vector<DocumentId> ids;
  SetLists sets;
  for (DocumentId id = 0; id < SetBlock::kMostDocuments; ++id) {
    ids.push_back(id);
    sets.Add(std::vector<Token>{7, static_cast<Token>(id % 20 + 10), static_cast<Token>(id)});
  }
  const SetBlock block = SetBlock::Build(ids, sets.view());
  EXPECT_EQ(PlacesOf(block, 7).size(), SetBlock::kMostDocuments);
  EXPECT_EQ(block.With(7).bits.size(), 1024U);
  EXPECT_EQ(PlacesOf(block, 11).size(), 3277U + 1U);  // of those with 1 in 20, and itself
}

}  // namespace
}  // namespace strata
