#include "kernels/setops/set_block.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

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

TEST(VisitFromLength, NearLengthsComeFirst) {
  const std::vector<SetBlock::Run> runs = {
      {.length = 2}, {.length = 5}, {.length = 6}, {.length = 9}, {.length = 10}};
  const auto order = [&](std::span<const SetBlock::Run> of, uint32_t length) {
    std::vector<uint32_t> lengths;
    VisitFromLength(of, length, [&](const SetBlock::Run& run) { lengths.push_back(run.length); });
    return lengths;
  };
  EXPECT_EQ(order(runs, 6), (std::vector<uint32_t>{6, 5, 9, 10, 2}));
  EXPECT_EQ(order(runs, 7), (std::vector<uint32_t>{6, 9, 5, 10, 2}));
  EXPECT_EQ(order(runs, 0), (std::vector<uint32_t>{2, 5, 6, 9, 10}));
  EXPECT_EQ(order(runs, 20), (std::vector<uint32_t>{10, 9, 6, 5, 2}));
  EXPECT_TRUE(order({}, 3).empty());
}

class SetBlockOf : public testing::TestWithParam<test::Spread> {};

// Pages of 65,536 lists, of short, longer and very long documents; put together again, it is the
// same.
TEST(SetBlockOfManyTokens, HasThemInAllPages) {
  for (const size_t longest : {40U, 300U, 70'000U}) {
    std::mt19937_64 random(longest);
    test::Documents of;
    for (DocumentId id = 0; id < 12'000'000 / longest / 10 || id < 40; ++id) {
      const size_t length = id == 0 ? longest : random() % (longest + 1);
      test::Tokens tokens;
      for (size_t i = 0; i < length && i < 3'000'000; ++i) {
        tokens.push_back(static_cast<Token>(random() % 400'000));
      }
      std::sort(tokens.begin(), tokens.end());
      tokens.erase(std::unique(tokens.begin(), tokens.end()), tokens.end());
      of.ids.push_back(id);
      of.sets.push_back(tokens);
    }
    const SetBlock block = SetBlock::Build(of.ids, test::Lists(of.sets).view());
    ASSERT_GT(block.lists(), 131'072U);
    SetBlock::Parts parts{.ids = {block.ids().begin(), block.ids().end()},
                          .runs = {block.runs().begin(), block.runs().end()},
                          .direct = block.direct(),
                          .rare = {block.rare().begin(), block.rare().end()},
                          .short_lists = {},
                          .long_lists = {}};
    for (const auto& run : block.runs()) {
      for (uint32_t place = run.begin; place < run.end; ++place) {
        const test::Tokens& expected = of.sets[block.ids()[place]];
        std::vector<uint32_t> lists(run.length);
        block.ListsOf(run, place, 1, lists.data());
        test::Tokens tokens;
        for (const uint32_t list : lists) tokens.push_back(block.TokenOf(list));
        ASSERT_EQ(tokens, expected);
        parts.long_lists.insert(parts.long_lists.end(), lists.begin(), lists.end());
      }
      if (run.length == 0) continue;
      ASSERT_EQ(TokensAt(block, run, run.end - 1), of.sets[block.ids()[run.end - 1]]);
    }
    const auto again = SetBlock::Restore(std::move(parts));
    ASSERT_TRUE(again.ok()) << again.status().ToString();
    ASSERT_EQ(again->bytes(), block.bytes());
    ASSERT_TRUE(std::ranges::equal(again->postings(), block.postings()));
    for (size_t list = 0; list <= block.lists(); ++list) {
      ASSERT_EQ(again->starts()[list], block.starts()[list]);
    }
  }
}

TEST(SetBlockOfParts, WhatIsNoBlockIsNamed) {
  const auto parts = [] {
    return SetBlock::Parts{.ids = {9, 4, 5},
                           .runs = {{1, 0, 1, 0}, {2, 1, 3, 1}},
                           .direct = 3,
                           .rare = {65'536},
                           .short_lists = {0, 0, 2, 1, 3},
                           .long_lists = {}};
  };
  const auto error_of = [](SetBlock::Parts of) {
    return SetBlock::Restore(std::move(of)).status().message();
  };
  EXPECT_EQ(error_of(parts()), "");
  auto of = parts();
  of.ids = {9, 5, 4};
  EXPECT_EQ(error_of(of), "ids of places 1 to 3 do not ascend");
  of = parts();
  of.short_lists[2] = 0;
  EXPECT_EQ(error_of(of), "place 1: expected rising numbers of 4 lists, found others, the last 0");
  of = parts();
  of.short_lists[4] = 4;
  EXPECT_EQ(error_of(of), "place 2: expected rising numbers of 4 lists, found others, the last 4");
  of = parts();
  of.rare = {65'535};
  EXPECT_NE(error_of(of), "");
  of = parts();
  of.runs[1].length = 1;
  EXPECT_NE(error_of(of), "");
  of = parts();
  of.runs[1].end = 4;
  EXPECT_NE(error_of(of), "");
  of = parts();
  of.direct = 65'537;
  EXPECT_NE(error_of(of), "");
  of = parts();
  of.long_lists = {1};
  EXPECT_EQ(error_of(of), "the numbers of 4 lists have another width");
}

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
