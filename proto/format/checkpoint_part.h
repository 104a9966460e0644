// A part of a checkpoint: what one lane saved, the file server-S-lane-L.part. Little-endian.
//
//   part header   64 bytes: magic "STRAPART", version u32, number u32, parent u32, server u16,
//                 lane u16, cluster u64, zeros, digest of the 48 bytes before it
//   blocks        each: | kind u32 | table u32 | offset u64 | count u32 | body bytes u32 | digest |
//                 and the body. The digest covers the first 48 bytes of the part header, the 24
//                 bytes before it and the body: a block that lies elsewhere, or comes from another
//                 file, is not believed.
//   the last 8    offset of the last block, the footer
//
// kind 1 TABLE     body: a TableRecord. Tables are numbered from 0 in the order of these blocks.
//      2 ERASED    count keys u64 of `table`, to be erased before its rows are put in
//      3 ROWS      count rows of `table`: keys u64, then counters (frequency u32, checkpoint epoch
//                  u32, last step u64), then values and optimizer states f32, row by row
//      4 LANE      the next bytes of the lane's image: its dedup window and step barrier
//      5 FOOTER    counts of the tables, bytes of the lane image, count of blocks, and a digest
//      over
//                  the part header and the headers of all blocks before. Its own digest names the
//                  whole part.
// The blocks of a table come in the order 1, 2, 3; those of several tables may mix.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "proto/format/digest.h"
#include "proto/wire/element_types.h"
#include "proto/wire/optimizer_extension.h"
#include "strata/status.h"

namespace strata::format {

constexpr uint32_t kPartVersion = 1;
constexpr size_t kPartHeaderBytes = 64;
constexpr size_t kPartIdentityBytes = 48;
constexpr size_t kBlockHeaderBytes = 40;
constexpr size_t kBlockBytesMax = size_t{16} << 20;  // of a body
constexpr size_t kPartTrailerBytes = 8;
constexpr uint32_t kPartTablesMax = 65'536;

// Whose part of which checkpoint.
struct PartName {
  uint32_t number = 0;
  uint32_t parent = 0;  // what its incremental tables build on; 0: none
  uint16_t server = 0;
  uint16_t lane = 0;
  uint64_t cluster = 0;  // as in messages: parts of another cluster are refused
  friend bool operator==(const PartName&, const PartName&) = default;
};

// "server-0-lane-1.part"
std::string PartFileName(uint16_t server, uint16_t lane);

void EncodePartHeader(const PartName& name, std::span<std::byte, kPartHeaderBytes> out);
// `file` is the name for messages. kInvalid: no part, or of a newer version; kCorrupt: damaged.
Result<PartName> DecodePartHeader(std::span<const std::byte> bytes, const std::string& file);

enum class BlockKind : uint32_t { kTable = 1, kErased = 2, kRows = 3, kLane = 4, kFooter = 5 };

struct BlockHeader {
  BlockKind kind{};
  uint32_t table = 0;
  uint64_t offset = 0;  // in the file
  uint32_t count = 0;
  uint32_t body_bytes = 0;
  Digest digest;
  friend bool operator==(const BlockHeader&, const BlockHeader&) = default;
};

void EncodeBlockHeader(const BlockHeader& header, std::span<std::byte, kBlockHeaderBytes> out);
// Checks what can be known before the body is there: kind, offset, and that the body fits
// kBlockBytesMax and `bytes_left`, the bytes of the file behind the header. kCorrupt otherwise.
Result<BlockHeader> DecodeBlockHeader(std::span<const std::byte, kBlockHeaderBytes> bytes,
                                      uint64_t offset, uint64_t bytes_left,
                                      const std::string& file);

// Computes the digests of blocks: each gets the same bytes before it.
class BlockDigester {
 public:
  explicit BlockDigester(std::span<const std::byte, kPartIdentityBytes> identity);
  // `header` as encoded; its digest is not read. The body may come in pieces.
  Digest Of(std::span<const std::byte, kBlockHeaderBytes> header,
            std::span<const std::span<const std::byte>> body);

 private:
  std::vector<std::byte> identity_;
  Digester digester_;
};

// A table as a part holds it. Numbers of kinds are those of storage/table_spec.h. The record is
//
//   | dim u32 | state width u32 | since u32 | seed u64 | optimizer u8 | initializer u8 | ack u8 |
//   | name length u8 | learning_rate f32 | epsilon f32 | beta1 f32 | beta2 f32 |
//   | initial_accumulator f32 | initializer_scale f32 | name | extension, or nothing |
//   | element types, or nothing |
struct TableRecord {
  std::string name;
  uint32_t dim = 0;
  uint32_t state_width = 0;  // elements of optimizer state a row
  uint32_t since = 0;        // rows and erased keys since that checkpoint's cut; 0: all rows
  uint64_t seed = 0;
  uint8_t optimizer = 0;
  uint8_t initializer = 0;
  uint8_t ack = 0;
  float learning_rate = 0, epsilon = 0, beta1 = 0, beta2 = 0, initial_accumulator = 0;
  float initializer_scale = 0;
  std::optional<wire::OptimizerExtension> extension = {};
  wire::ElementTypes types = {};
  friend bool operator==(const TableRecord&, const TableRecord&) = default;

  size_t row_elements() const { return size_t{dim} + state_width; }
  size_t row_bytes() const { return 8 + 16 + 4 * row_elements(); }  // in a ROWS block
};

std::vector<std::byte> EncodeTableRecord(const TableRecord& record);
Result<TableRecord> DecodeTableRecord(std::span<const std::byte> bytes, const std::string& where);

struct PartFooter {
  struct Table {
    uint64_t rows = 0;
    uint64_t erased = 0;
    friend bool operator==(const Table&, const Table&) = default;
  };
  std::vector<Table> tables;
  uint64_t lane_bytes = 0;
  uint64_t blocks = 0;  // before the footer
  Digest headers;
  friend bool operator==(const PartFooter&, const PartFooter&) = default;
};

std::vector<std::byte> EncodePartFooter(const PartFooter& footer);
Result<PartFooter> DecodePartFooter(std::span<const std::byte> bytes, const std::string& where);

}  // namespace strata::format
