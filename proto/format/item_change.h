// Changes of a collection of item sets, as its log holds them: the body of a record is one or more
// of these, little-endian, one behind the other.
//
//   0   4  kind: 1 the document is put in, 2 it goes
//   4   4  number of tokens      (0 of a document that goes)
//   8   4  number of attributes  (likewise)
//   12  4  0
//   16  8  id of the document
//   24  8  each attribute, two's complement
//       4  each token
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "strata/status.h"

namespace strata::format {

constexpr size_t kItemChangeHeaderBytes = 24;

struct ItemChange {
  bool is_upsert = false;
  uint64_t id = 0;
  std::vector<uint32_t> tokens;
  std::vector<int64_t> attributes;

  friend bool operator==(const ItemChange&, const ItemChange&) = default;
};

// Puts the change behind what `out` holds. Fewer than 2^32 tokens.
void AppendItemChange(const ItemChange& change, std::vector<std::byte>* out);

// kCorrupt, with the offset, when the bytes are anything else than whole changes.
Result<std::vector<ItemChange>> DecodeItemChanges(std::span<const std::byte> bytes);

}  // namespace strata::format
