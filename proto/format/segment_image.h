// The image of a segment of a collection (storage/itemset/segment.h): its documents, from which its
// index is built again. Little-endian; the digest is of all bytes but its own 16:
//
//   0   8  magic "STRASEGM"
//   8   4  version, 1
//   12  4  bytes w of a list number: 2, or 4 where there are more than 65,536 lists
//   16  8  number of the segment in its collection
//   24  8  number of its order of tokens (item_list.h)
//   32  4  documents n, at most 65,536
//   36  4  lengths r that documents have
//   40  4  lists d of tokens below d, which have the token's number
//   44  4  lists q of other tokens, which are d and up
//   48  8  tokens t of all documents
//   56  4  attributes a of each document, at most 64
//   60  4  0
//   64  16 digest, XXH3-128: high, low
//   80     r lengths, ascending: length 4, documents 4
//          n ids 8, by length, equally long ones by id
//          n a attributes 8, document by document
//          q tokens 4, ascending
//          t list numbers w, document by document, ascending in each
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/large_array.h"
#include "strata/status.h"

namespace strata::format {

constexpr size_t kSegmentImageHeaderBytes = 80;

struct SegmentImage {
  static constexpr uint32_t kMostDocuments = 65'536;
  static constexpr uint32_t kMostAttributes = 64;
  static constexpr uint64_t kShortLists = 65'536;

  struct Length {
    uint32_t length = 0;
    uint32_t documents = 0;
    friend bool operator==(const Length&, const Length&) = default;
  };

  uint64_t number = 0;
  uint64_t order = 0;
  std::vector<Length> lengths;
  std::vector<uint64_t> ids;
  uint32_t attributes_each = 0;
  std::vector<int64_t> attributes;
  uint32_t direct = 0;
  std::vector<uint32_t> rare;
  // One of the two: by the number of lists.
  LargeArray<uint16_t> short_lists;
  LargeArray<uint32_t> long_lists;

  bool is_short() const { return uint64_t{direct} + rare.size() <= kShortLists; }
  friend bool operator==(const SegmentImage&, const SegmentImage&) = default;
};

std::vector<std::byte> EncodeSegmentImage(const SegmentImage& image);

// Lengths, counts and the digest are right in what is returned; that lists exist and that numbers
// ascend is for whoever builds an index (SetBlock::Restore). kInvalid: other bytes, or a newer
// version; kCorrupt: damaged, with what was expected and found. `where` is for messages.
Result<SegmentImage> DecodeSegmentImage(std::span<const std::byte> bytes, const std::string& where);

// Makes the digest fit the bytes, of which there are at least kSegmentImageHeaderBytes.
void SealSegmentImage(std::span<std::byte> bytes);

}  // namespace strata::format
