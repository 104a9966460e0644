// Documents as the GPU is given them: block by block, from wherever they lie in the memory of the
// host. Where they stand in the order of SetBlock is told apart from their tokens, which come as
// they lie there, a piece at a time: to put them in order is the GPU's work.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "kernels/setops/set_block.h"
#include "strata/set_list.h"
#include "strata/status.h"

namespace strata {

// A view of documents, one behind another. Document i has the tokens from offsets[i] to
// offsets[i + 1] - 1, ascending and without repeats, of one of the two arrays.
struct FlatSets {
  std::span<const DocumentId> ids = {};  // each once; empty: a document's number is its id
  std::span<const uint64_t> offsets = {};
  std::span<const Token> tokens = {};
  std::span<const uint16_t> short_tokens = {};  // if `tokens` is empty

  size_t size() const { return offsets.empty() ? 0 : offsets.size() - 1; }
};

// What a block's image says of it.
struct BlockShape {
  static constexpr uint32_t kTile = 32;  // documents whose tokens lie side by side
  static constexpr uint32_t kGroup = 8;  // tokens of a document that lie together

  uint32_t size = 0;        // documents
  uint32_t tokens = 0;      // of all of them
  uint32_t longest = 0;     // document
  uint32_t direct = 0;      // SetBlock::direct(), or a bound of it
  uint32_t rare = 0;        // of the tokens, those of SetBlock::kDirectTokens and more
  uint32_t groups = 0;      // tiles' groups of tokens, the last ones of shorter documents included
  DocumentId least_id = 0;  // known when places are written
  DocumentId largest_id = 0;
  // Of sources that have no other way to find them: by piece, whose its first token is, as they
  // come, and how many of that document's tokens are before it.
  struct Cut {
    uint32_t document;
    uint32_t token;
  };
  std::vector<Cut> cuts = {};

  uint32_t tiles() const { return (size + kTile - 1) / kTile; }
  bool is_wide() const { return rare > 0; }
};

// Where a block's order is written to.
struct BlockPlaces {
  DocumentId* ids;    // `size`, by place
  uint32_t* tiles;    // tiles() + 1: how many groups are before a tile
  uint32_t* offsets;  // size + 1: how many tokens are before a place
  uint32_t* sources;  // size: where a place's tokens begin among the block's, as they come
};

// Where the documents of an index come from. Thread-safe.
class BlockSource {
 public:
  static constexpr uint32_t kPiece = 1U << 19;  // tokens that are written at a time

  virtual ~BlockSource() = default;
  virtual size_t blocks() const = 0;
  // Looks at lengths; at tokens only if there may be some of SetBlock::kDirectTokens and more.
  // kInvalid, naming the documents: SourceOf.
  virtual Result<BlockShape> ShapeOf(size_t block, bool may_be_wide) const = 0;
  // With room for what the shape says; sets its ids.
  virtual void WritePlaces(size_t block, const BlockPlaces& places, BlockShape& shape) const = 0;
  // Tokens kPiece * piece and up to kPiece - 1 more of the block, to `to`: Token if the shape is
  // wide, uint16_t if it is not. Returns the largest of them: it is no token of 16 bits, and what
  // was written is worth nothing, where the shape was said to have none like it.
  virtual Token WriteTokens(size_t block, const BlockShape& shape, uint32_t piece,
                            void* to) const = 0;

  static uint32_t PiecesOf(const BlockShape& shape) { return (shape.tokens + kPiece - 1) / kPiece; }
};

// What they come from is not copied. Documents that are no blocks yet become blocks of
// SetBlock::kMostDocuments, as they come.
//
// kInvalid: ids that are not as many, offsets that reach past the tokens. Of a source's shapes,
// naming the documents: offsets that fall, and more than 2^31 - 1 tokens in a block. That tokens
// ascend is not looked at.
Result<std::unique_ptr<BlockSource>> SourceOf(const FlatSets& documents);
// A vector for each document, its tokens ascending and without repeats; ids are numbers.
Result<std::unique_ptr<BlockSource>> SourceOf(std::span<const std::vector<uint16_t>> documents);
Result<std::unique_ptr<BlockSource>> SourceOf(std::span<const SetBlock> blocks);
Result<std::unique_ptr<BlockSource>> SourceOf(std::span<const SetBlock* const> blocks);

}  // namespace strata
