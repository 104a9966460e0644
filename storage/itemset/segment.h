// Segment: documents of a collection that never change, indexed for searches.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "kernels/setops/set_block.h"
#include "proto/format/segment_image.h"
#include "storage/itemset/token_numbers.h"
#include "strata/document.h"
#include "strata/status.h"

namespace strata {

class Segment {
 public:
  static constexpr size_t kMostDocuments = SetBlock::kMostDocuments;

  // At most kMostDocuments, each id once, all with as many attributes.
  static std::shared_ptr<const Segment> Build(std::span<const std::shared_ptr<const Document>> of,
                                              std::shared_ptr<const TokenNumbers> numbers);

  // Its image, under the numbers that it and the order of its tokens have in their collection, and
  // the segment of an image. kCorrupt: no segment has such an image.
  format::SegmentImage Image(uint64_t number, uint64_t order) const;
  static Result<std::shared_ptr<const Segment>> Restore(
      format::SegmentImage image, std::shared_ptr<const TokenNumbers> numbers);

  // Of token numbers, not of tokens.
  const SetBlock& block() const { return block_; }
  const std::shared_ptr<const TokenNumbers>& numbers() const { return numbers_; }
  size_t size() const { return block_.size(); }
  size_t attributes_each() const { return attributes_each_; }
  // Attributes of a document stand together.
  int64_t AttributeAt(uint32_t place, size_t attribute) const {
    return attributes_[place * attributes_each_ + attribute];
  }
  Document At(uint32_t place) const;
  size_t bytes() const { return block_.bytes() + attributes_.size() * sizeof(int64_t); }

 private:
  SetBlock block_;
  std::shared_ptr<const TokenNumbers> numbers_;
  size_t attributes_each_ = 0;
  std::vector<int64_t> attributes_;
};

// A bit for each place of a segment, words() of its block.
using PlaceBits = std::vector<uint64_t>;
PlaceBits AllBits(const SetBlock& block);
inline bool HasBit(const PlaceBits& bits, uint32_t place) {
  return (bits[place / 64] >> place % 64 & 1) != 0;
}

}  // namespace strata
