// What goes with the images of a collection's segments: a list of numbers of 4 or 8 bytes.
// Little-endian; the digest is of all bytes but its own 16:
//
//   0   8  magic "STRALIST"
//   8   4  version, 1
//   12  4  kind: 1 which documents of a segment are there, a bit each, 64 of them in a number of
//          8 bytes; 2 an order of tokens, the most frequent first, 4 bytes each
//   16  8  whose: the number of the segment, or of the order
//   24  8  how many numbers
//   32  16 digest, XXH3-128: high, low
//   48     the numbers
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "strata/status.h"

namespace strata::format {

constexpr size_t kItemListHeaderBytes = 48;

std::vector<std::byte> EncodeLiveBits(uint64_t segment, std::span<const uint64_t> words);
std::vector<std::byte> EncodeTokenOrder(uint64_t order, std::span<const uint32_t> tokens);

// kInvalid: other bytes, or a newer version; kCorrupt: damaged, or of another segment or order than
// was asked for. `where` is for messages.
Result<std::vector<uint64_t>> DecodeLiveBits(std::span<const std::byte> bytes, uint64_t segment,
                                             const std::string& where);
Result<std::vector<uint32_t>> DecodeTokenOrder(std::span<const std::byte> bytes, uint64_t order,
                                               const std::string& where);

}  // namespace strata::format
