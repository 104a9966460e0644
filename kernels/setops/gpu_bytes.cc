#include "kernels/setops/gpu_bytes.h"

#include <algorithm>

#include "kernels/setops/block_image.h"

namespace strata {
namespace {

constexpr size_t kAlignment = 256;            // of each array
constexpr size_t kOfRanks = size_t{1} << 19;  // of tokens, and how many documents have them
constexpr size_t kOfIndex = size_t{3} << 19;  // what ranks are made with
constexpr size_t kOfSort = size_t{1} << 20;   // of a block, beside half a byte a token
constexpr size_t kOfLengths = SetBlock::kMostDocuments / 8;  // of a block, 2 bytes for 16 documents
constexpr size_t kOfTile = 16;
constexpr size_t kOfBlock = 128;

// What the block's image would say, or more. Tiles have the groups of their longest documents, and
// those of the next one are no shorter, but the last may have few: together these are as long as a
// 32nd of all tokens, and twice the longest of all.
BlockShape BoundOf(const SetBlock& block) {
  BlockShape shape;
  shape.size = static_cast<uint32_t>(block.size());
  shape.tokens = static_cast<uint32_t>(block.tokens());
  shape.longest = block.longest();
  shape.direct = block.direct();
  shape.rare = block.starts()[block.lists()] - block.starts()[block.direct()];
  for (const uint32_t list : block.frequent()) {
    if (list >= block.direct()) shape.rare += shape.size;
  }
  shape.rare = std::min(shape.rare, shape.tokens);
  const uint32_t lengths = shape.tokens / BlockShape::kTile + 2 * shape.longest;
  shape.groups = lengths / BlockShape::kGroup + shape.tiles() + 1;
  return shape;
}

}  // namespace

// As GpuIndex lays it out.
GpuBytes GpuBytesOf(std::span<const SetBlock* const> blocks) {
  GpuBytes bytes{.kept = kOfRanks, .passing = kOfIndex};
  const bool is_wide =
      std::ranges::any_of(blocks, [](const SetBlock* block) { return !block->rare().empty(); });
  size_t work = 0;  // of a block, at the most
  for (const SetBlock* block : blocks) {
    const BlockShape shape = BoundOf(*block);
    const size_t lists = size_t{shape.direct} + shape.rare + 1;
    const size_t many = std::max<size_t>((shape.size + 15) / 16, 1);
    const size_t words = (size_t{shape.size} + 511) / 512 * 16;
    const size_t of_lists =
        std::max<size_t>(size_t{shape.tokens} * 2, shape.tokens / many * words * 4) +
        shape.tokens % many * 2 + 64;
    const size_t frequent = std::min<size_t>(shape.tokens / many, lists);
    bytes.kept += size_t{shape.size} * (sizeof(DocumentId) + sizeof(uint32_t)) +
                  (size_t{shape.tiles()} + 1 + lists + shape.rare + frequent) * sizeof(uint32_t) +
                  of_lists + shape.tiles() * kOfTile + kOfBlock + kOfLengths + 7 * kAlignment;
    if (!is_wide) bytes.kept += size_t{shape.groups} * BlockShape::kTile * BlockShape::kGroup * 2;
    const size_t token = shape.is_wide() ? sizeof(Token) : sizeof(uint16_t);
    bytes.passing +=
        (2 * size_t{shape.size} + 1) * sizeof(uint32_t) + shape.tokens * token + 3 * kAlignment;
    const size_t pair = shape.is_wide() ? sizeof(uint64_t) : sizeof(uint32_t);
    work = std::max(work, shape.tokens * 2 * pair + shape.tokens / 2 +
                              (lists + 2 * size_t{shape.rare}) * sizeof(uint32_t) + kOfSort);
  }
  bytes.passing += work * std::min(kBlocksSortedAtOnce, blocks.size());
  return bytes;
}

}  // namespace strata
