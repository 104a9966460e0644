// Documents as a GPU is given them, put together again.
#include "kernels/setops/block_image.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "tests/kernels/setops/search_case.h"

namespace strata {
namespace {

using Sets = std::map<DocumentId, test::Tokens>;

struct Made {
  BlockShape shape;
  std::vector<DocumentId> ids;
  std::vector<uint32_t> tiles, offsets, sources;
  std::vector<Token> tokens;  // as they came
  Token largest = 0;

  test::Tokens SetOf(uint32_t place) const {
    const auto begin = tokens.begin() + sources[place];
    return {begin, begin + offsets[place + 1] - offsets[place]};
  }
};

Made Make(const BlockSource& source, size_t block, bool may_be_wide) {
  Made made;
  auto shape = source.ShapeOf(block, may_be_wide);
  EXPECT_TRUE(shape.ok()) << shape.status().ToString();
  made.shape = *shape;
  made.ids.resize(made.shape.size);
  made.tiles.resize(made.shape.tiles() + 1);
  made.offsets.resize(made.shape.size + 1);
  made.sources.resize(made.shape.size);
  source.WritePlaces(block,
                     {made.ids.data(), made.tiles.data(), made.offsets.data(), made.sources.data()},
                     made.shape);
  // From the last piece to the first: each is written by itself.
  made.tokens.resize(made.shape.tokens);
  for (uint32_t piece = BlockSource::PiecesOf(made.shape); piece-- > 0;) {
    const size_t begin = size_t{piece} * BlockSource::kPiece;
    const size_t count = std::min<size_t>(BlockSource::kPiece, made.shape.tokens - begin);
    std::vector<uint16_t> narrow(count);
    void* const to =
        made.shape.is_wide() ? static_cast<void*>(made.tokens.data() + begin) : narrow.data();
    const Token largest = source.WriteTokens(block, made.shape, piece, to);
    made.largest = std::max(made.largest, largest);
    if (!made.shape.is_wide()) {
      std::copy(narrow.begin(), narrow.end(), made.tokens.begin() + static_cast<ptrdiff_t>(begin));
    }
  }
  return made;
}

// That the block has the documents, in the order of SetBlock.
void ExpectBlock(const Made& made, const Sets& documents) {
  ASSERT_EQ(made.shape.size, documents.size());
  uint32_t groups = 0;
  Token largest = 0;
  for (uint32_t place = 0; place < made.shape.size; ++place) {
    const auto found = documents.find(made.ids[place]);
    ASSERT_NE(found, documents.end());
    ASSERT_EQ(made.SetOf(place), found->second) << place;
    if (!found->second.empty()) largest = std::max(largest, found->second.back());
    const auto length = static_cast<uint32_t>(found->second.size());
    if (place > 0) {
      const uint32_t before = made.offsets[place] - made.offsets[place - 1];
      ASSERT_TRUE(before < length || (before == length && made.ids[place - 1] < made.ids[place]));
    }
    if (place % BlockShape::kTile == 0) {
      ASSERT_EQ(made.tiles[place / BlockShape::kTile], groups);
    }
    if (place % BlockShape::kTile == BlockShape::kTile - 1 || place + 1 == made.shape.size) {
      groups += (length + BlockShape::kGroup - 1) / BlockShape::kGroup;
    }
    ASSERT_LE(length, made.shape.longest);
  }
  EXPECT_EQ(made.tiles.back(), groups);
  EXPECT_EQ(made.shape.groups, groups);
  EXPECT_EQ(made.offsets.back(), made.shape.tokens);
  EXPECT_EQ(made.largest, largest);
  if (documents.empty()) return;
  EXPECT_EQ(made.shape.least_id, documents.begin()->first);
  EXPECT_EQ(made.shape.largest_id, documents.rbegin()->first);
}

// The documents of one block from every kind of source.
void ExpectEverySourceHasThem(const std::vector<test::Tokens>& sets, bool may_be_wide) {
  const SetLists lists = test::Lists(sets);
  Sets numbered;
  Sets named;
  std::vector<DocumentId> ids;
  std::vector<std::vector<uint16_t>> nested;
  std::vector<uint16_t> narrow;
  for (size_t i = 0; i < sets.size(); ++i) {
    ids.push_back(i * 7919 % 65'537 << 33);
    numbered[i] = sets[i];
    named[ids[i]] = sets[i];
    nested.emplace_back(sets[i].begin(), sets[i].end());
    narrow.insert(narrow.end(), sets[i].begin(), sets[i].end());
  }
  const std::span<const uint64_t> offsets = lists.view().offsets;
  const auto flat = SourceOf(FlatSets{.offsets = offsets, .tokens = lists.view().tokens});
  ExpectBlock(Make(**flat, 0, may_be_wide), numbered);
  const auto with_ids =
      SourceOf(FlatSets{.ids = ids, .offsets = offsets, .tokens = lists.view().tokens});
  ExpectBlock(Make(**with_ids, 0, may_be_wide), named);
  std::vector<SetBlock> blocks;
  blocks.push_back(SetBlock::Build(ids, lists.view()));
  ExpectBlock(Make(**SourceOf(std::span<const SetBlock>(blocks)), 0, may_be_wide), named);
  if (may_be_wide) return;
  const auto short_flat = SourceOf(FlatSets{.offsets = offsets, .short_tokens = narrow});
  ExpectBlock(Make(**short_flat, 0, false), numbered);
  const auto vectors = SourceOf(std::span<const std::vector<uint16_t>>(nested));
  ExpectBlock(Make(**vectors, 0, false), numbered);
}

TEST(BlockImage, OfShortAndEmptyDocuments) {
  test::RandomSets random(1, test::Spread::kUniform, 60'000);
  for (const size_t count : {1, 31, 32, 33, 2'000}) {
    std::vector<test::Tokens> sets;
    for (size_t i = 0; i < count; ++i) sets.push_back(random.Draw(i * 5 % 23));
    ExpectEverySourceHasThem(sets, false);
  }
}

// Pieces begin and end within documents.
TEST(BlockImage, OfSeveralPieces) {
  test::RandomSets random(2, test::Spread::kUniform, 65'536);
  std::vector<test::Tokens> sets;
  for (size_t i = 0; i < 300; ++i) sets.push_back(random.Draw(i % 9 * 1'000 + i % 2));
  ExpectEverySourceHasThem(sets, false);
}

TEST(BlockImage, OfTokensOf32Bits) {
  test::RandomSets random(3, test::Spread::kUniform, 1'000'000);
  std::vector<test::Tokens> sets;
  for (size_t i = 0; i < 300; ++i) sets.push_back(random.Draw(i % 9 * 1'000 + i % 2));
  ExpectEverySourceHasThem(sets, true);
}

// One is in three pieces, and longer than places are counted by.
TEST(BlockImage, OfADocumentOfSeveralPieces) {
  std::vector<test::Tokens> sets{{5}, {}, {}, {7, 9}};
  for (Token token = 0; token < 3 * BlockSource::kPiece - 100; ++token) {
    sets[1].push_back(token * 3);
  }
  ExpectEverySourceHasThem(sets, true);
}

TEST(BlockImage, TokensThatDoNotFitAreFound) {
  const std::vector<Token> tokens{1, 2, 65'535, 3, 65'536};
  const auto source = [&](size_t count) {
    static std::vector<uint64_t> offsets;
    offsets = {0, count};
    return SourceOf(FlatSets{.offsets = offsets, .tokens = tokens});
  };
  EXPECT_EQ(Make(**source(3), 0, false).largest, 65'535U);
  EXPECT_EQ(Make(**source(5), 0, false).largest, 65'536U);
}

}  // namespace
}  // namespace strata
