// The index that is made on a GPU beside SetBlock, bit by bit.
#include <gtest/gtest.h>

#include "kernels/setops/gpu_index.cuh"
#include "tests/kernels/setops/search_case.h"
#include "tests/support/device_memory.cuh"

namespace strata {
namespace {

using gpu_sets::Block;
using gpu_sets::GpuIndex;
using gpu_sets::TileInfo;

template <typename T>
std::vector<T> Fetch(const T* from, size_t count) {
  std::vector<T> values(count);
  EXPECT_EQ(cudaMemcpy(values.data(), from, count * sizeof(T), cudaMemcpyDeviceToHost),
            cudaSuccess);
  return values;
}

template <typename T>
std::vector<T> Copy(std::span<const T> values) {
  return {values.begin(), values.end()};
}

void ExpectSame(const Block& made, const SetBlock& block) {
  ASSERT_EQ(made.size, block.size());
  ASSERT_EQ(made.words, block.words() * 2);
  ASSERT_EQ(made.direct, block.direct());
  ASSERT_EQ(made.rare_count, block.rare().size());
  ASSERT_EQ(made.frequent_count, block.frequent().size());
  EXPECT_EQ(Fetch(made.ids, block.size()), Copy(block.ids()));
  EXPECT_EQ(Fetch(made.rare, block.rare().size()), Copy(block.rare()));
  const auto starts = Fetch(made.starts, block.lists() + 1);
  for (size_t list = 0; list <= block.lists(); ++list)
    ASSERT_EQ(starts[list], block.starts()[list]);
  EXPECT_EQ(Fetch(made.frequent, block.frequent().size()), Copy(block.frequent()));
  EXPECT_EQ(Fetch(made.postings, block.postings().size()), Copy(block.postings()));
  const auto* const bits = reinterpret_cast<const uint64_t*>(made.bits);
  EXPECT_EQ(Fetch(bits, block.bits().size()), Copy(block.bits()));
  std::vector<uint32_t> lengths;
  for (const auto& run : block.runs())
    lengths.insert(lengths.end(), run.end - run.begin, run.length);
  EXPECT_EQ(Fetch(made.lengths, block.size()), lengths);
}

// Each document's tokens, by the tiles.
std::vector<test::Tokens> FromTiles(const GpuIndex& index, size_t documents) {
  const auto ranks = Fetch(index.ranks(), SetBlock::kDirectTokens);
  std::vector<Token> of_rank(SetBlock::kDirectTokens);
  for (Token token = 0; token < ranks.size(); ++token) of_rank[ranks[token]] = token;
  std::vector<test::Tokens> sets(documents);
  const auto tiles = Fetch(index.tiles(), index.first_tile(index.blocks()));
  size_t before = 0;
  for (size_t b = 0; b < index.blocks(); ++b) {
    for (uint32_t t = index.first_tile(b); t < index.first_tile(b + 1); ++t) {
      const TileInfo& tile = tiles[t];
      EXPECT_EQ(tile.document >> 16, b);
      const auto groups = Fetch(index.forward() + size_t{tile.group} * gpu_sets::kTile,
                                size_t{tile.groups} * gpu_sets::kTile);
      for (size_t i = 0; i < groups.size(); ++i) {
        const uint32_t words[4] = {groups[i].x, groups[i].y, groups[i].z, groups[i].w};
        const size_t lane = i % gpu_sets::kTile;
        for (unsigned j = 0; j < gpu_sets::kGroup; ++j) {
          const auto rank = static_cast<uint16_t>(words[j / 2] >> j % 2 * 16);
          if (rank == gpu_sets::kNoRank) continue;
          EXPECT_LT(lane, tile.count);
          sets.at(before + (tile.document & 0xFFFF) + lane).push_back(of_rank[rank]);
        }
      }
    }
    before += index.shape(b).size;
  }
  for (auto& set : sets) std::sort(set.begin(), set.end());
  return sets;
}

void Compare(const test::SearchCase& of, const test::Blocks& blocks, const BlockSource& source) {
  auto pool = WorkPool::Start("documents", 2);
  ASSERT_TRUE(pool.ok());
  GpuIndex index;
  ASSERT_TRUE(index.Look(source, **pool).ok());
  ASSERT_TRUE(index.Make(source, **pool, 0).ok());
  ASSERT_EQ(index.blocks(), blocks.blocks.size());
  ASSERT_EQ(index.documents(), of.documents.ids.size());
  bool is_wide = false;
  for (size_t b = 0; b < blocks.blocks.size(); ++b) {
    SCOPED_TRACE(b);
    ExpectSame(Fetch(index.of_blocks() + b, 1)[0], blocks.blocks[b]);
    is_wide |= !blocks.blocks[b].rare().empty();
  }
  if (is_wide) EXPECT_FALSE(index.has_tiles());
  if (!index.has_tiles()) return;
  std::vector<test::Tokens> expected;
  for (const SetBlock& block : blocks.blocks) {
    for (const DocumentId id : block.ids()) {
      const auto at = std::find(of.documents.ids.begin(), of.documents.ids.end(), id);
      expected.push_back(of.documents.sets[static_cast<size_t>(at - of.documents.ids.begin())]);
    }
  }
  EXPECT_EQ(FromTiles(index, expected.size()), expected);
}

class GpuIndexOf : public testing::TestWithParam<uint64_t> {};

TEST_P(GpuIndexOf, RandomDocumentsIsThatOfTheCpu) {
  STRATA_SKIP_BELOW_GPUS(1);
  constexpr uint64_t kCases = 8;
  for (uint64_t seed = GetParam() * kCases; seed < (GetParam() + 1) * kCases; ++seed) {
    SCOPED_TRACE(seed);
    test::SearchCase of = test::DrawCase(seed);
    of.block_size = std::max<size_t>(of.block_size, of.documents.ids.size() / 6 + 1);
    const test::Blocks blocks(of);
    const auto source = SourceOf(std::span(blocks.blocks));
    ASSERT_TRUE(source.ok());
    Compare(of, blocks, **source);
    // The same documents as they came, in one block.
    of.block_size = SetBlock::kMostDocuments;
    const test::Blocks whole(of);
    const SetLists sets = test::Lists(of.documents.sets);
    const auto flat = SourceOf(FlatSets{
        .ids = of.documents.ids, .offsets = sets.view().offsets, .tokens = sets.view().tokens});
    ASSERT_TRUE(flat.ok()) << flat.status().ToString();
    Compare(of, whole, **flat);
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, GpuIndexOf, testing::Range<uint64_t>(0, 5));

// Several blocks, of tokens of 16 bits in one array and in a vector each.
TEST(GpuIndex, OfShortTokensIsThatOfTheCpu) {
  STRATA_SKIP_BELOW_GPUS(1);
  test::SearchCase of;
  std::vector<std::vector<uint16_t>> nested;
  std::vector<uint64_t> offsets{0};
  std::vector<uint16_t> tokens;
  test::RandomSets random(5, test::Spread::kZipf, 60'000);
  for (DocumentId id = 0; id < SetBlock::kMostDocuments + 500; ++id) {
    of.documents.ids.push_back(id);
    of.documents.sets.push_back(random.Draw(id % 7));
    const test::Tokens& set = of.documents.sets.back();
    nested.emplace_back(set.begin(), set.end());
    tokens.insert(tokens.end(), nested.back().begin(), nested.back().end());
    offsets.push_back(tokens.size());
  }
  of.block_size = SetBlock::kMostDocuments;
  const test::Blocks blocks(of);
  ASSERT_EQ(blocks.blocks.size(), 2U);
  const auto check = [&](const BlockSource& source) {
    auto pool = WorkPool::Start("documents", 2);
    ASSERT_TRUE(pool.ok());
    GpuIndex index;
    ASSERT_TRUE(index.Look(source, **pool).ok());
    TimeNs alone = 0;
    ASSERT_TRUE(index.Make(source, **pool, 0, &alone).ok());
    EXPECT_GT(alone, 0);
    EXPECT_TRUE(index.ids_ascend());
    for (size_t b = 0; b < 2; ++b) {
      ExpectSame(Fetch(index.of_blocks() + b, 1)[0], blocks.blocks[b]);
    }
  };
  check(**SourceOf(FlatSets{.offsets = offsets, .short_tokens = tokens}));
  check(**SourceOf(std::span<const std::vector<uint16_t>>(nested)));
}

// More than is copied at a time, and documents that are no tiles of short ones.
TEST(GpuIndex, OfManyTokensIsThatOfTheCpu) {
  STRATA_SKIP_BELOW_GPUS(1);
  test::SearchCase of;
  test::RandomSets random(6, test::Spread::kUniform, 50'000);
  for (DocumentId id = 0; id < 400; ++id) {
    of.documents.ids.push_back(id ^ 5);
    of.documents.sets.push_back(random.Draw(id % 4 == 0 ? 9'000 : 100));
  }
  of.block_size = SetBlock::kMostDocuments;
  const test::Blocks blocks(of);
  const SetLists sets = test::Lists(of.documents.sets);
  Compare(
      of, blocks,
      **SourceOf(FlatSets{
          .ids = of.documents.ids, .offsets = sets.view().offsets, .tokens = sets.view().tokens}));
  Compare(of, blocks, **SourceOf(std::span(blocks.blocks)));
}

TEST(GpuIndex, SaysWhatIsWrongWithArrays) {
  const std::vector<Token> tokens{1, 2, 3};
  const std::vector<DocumentId> ids{7};
  std::vector<uint64_t> offsets{0, 2, 3};
  EXPECT_EQ(SourceOf(FlatSets{.ids = ids, .offsets = offsets, .tokens = tokens}).status().message(),
            "1 ids for 2 documents; as many are needed, or none");
  offsets.back() = 4;
  EXPECT_EQ(SourceOf(FlatSets{.offsets = offsets, .tokens = tokens}).status().message(),
            "the last document ends before token 4; there are 3");
  offsets = {2, 1, 3};
  const auto source = SourceOf(FlatSets{.offsets = offsets, .tokens = tokens});
  ASSERT_TRUE(source.ok());
  const auto shape = (*source)->ShapeOf(0, false);
  EXPECT_EQ(shape.status().code(), StatusCode::kInvalid);
  EXPECT_NE(shape.status().message().find("document 0 has"), std::string::npos);
}

}  // namespace
}  // namespace strata
