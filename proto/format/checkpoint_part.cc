#include "proto/format/checkpoint_part.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string_view>

#include "base/little_endian.h"
#include "proto/wire/bytes.h"

namespace strata::format {
namespace {

constexpr std::string_view kMagic = "STRAPART";
constexpr size_t kZerosAt = 32;  // of the part header, up to its digest
constexpr size_t kTableNameBytesMax = 128;
constexpr uint32_t kRowElementsMax = 1U << 20;  // far beyond any table: a row fits a block

void PutDigest(const Digest& digest, std::byte* out) {
  StoreLittle(digest.high, out);
  StoreLittle(digest.low, out + 8);
}

Digest GetDigest(const std::byte* in) {
  return {LoadLittle<uint64_t>(in), LoadLittle<uint64_t>(in + 8)};
}

std::vector<std::byte> BytesOf(wire::ByteWriter& writer) {
  const auto frame = writer.Take();
  return {frame.bytes().begin(), frame.bytes().end()};
}

}  // namespace

std::string PartFileName(uint16_t server, uint16_t lane) {
  return fmt::format("server-{}-lane-{}.part", server, lane);
}

void EncodePartHeader(const PartName& name, std::span<std::byte, kPartHeaderBytes> out) {
  std::fill(out.begin(), out.end(), std::byte{0});
  std::memcpy(out.data(), kMagic.data(), kMagic.size());
  StoreLittle(kPartVersion, out.data() + 8);
  StoreLittle(name.number, out.data() + 12);
  StoreLittle(name.parent, out.data() + 16);
  StoreLittle(name.server, out.data() + 20);
  StoreLittle(name.lane, out.data() + 22);
  StoreLittle(name.cluster, out.data() + 24);
  PutDigest(DigestOf(out.first(kPartIdentityBytes)), out.data() + kPartIdentityBytes);
}

Result<PartName> DecodePartHeader(std::span<const std::byte> bytes, const std::string& file) {
  if (bytes.size() < kPartHeaderBytes) {
    return Corrupt(fmt::format("{}: a part of a checkpoint begins with {} bytes, found {}", file,
                               kPartHeaderBytes, bytes.size()));
  }
  if (std::memcmp(bytes.data(), kMagic.data(), kMagic.size()) != 0) {
    return Invalid(fmt::format("{}: not a part of a checkpoint: expected it to begin with \"{}\"",
                               file, kMagic));
  }
  const Digest expected = GetDigest(bytes.data() + kPartIdentityBytes);
  if (const Digest found = DigestOf(bytes.first(kPartIdentityBytes)); found != expected) {
    return Corrupt(fmt::format("{}: header (bytes 0 to {}): expected digest {}, found {}", file,
                               kPartIdentityBytes, DigestText(expected), DigestText(found)));
  }
  if (const auto version = LoadLittle<uint32_t>(bytes.data() + 8); version != kPartVersion) {
    return Invalid(fmt::format(
        "{}: format version {}; this build reads version {}: use the build that wrote it, or a "
        "newer one",
        file, version, kPartVersion));
  }
  const auto zeros = bytes.subspan(kZerosAt, kPartIdentityBytes - kZerosAt);
  if (std::any_of(zeros.begin(), zeros.end(), [](std::byte b) { return b != std::byte{0}; })) {
    return Corrupt(
        fmt::format("{}: header: bytes {} to {} are not zero", file, kZerosAt, kPartIdentityBytes));
  }
  return PartName{.number = LoadLittle<uint32_t>(bytes.data() + 12),
                  .parent = LoadLittle<uint32_t>(bytes.data() + 16),
                  .server = LoadLittle<uint16_t>(bytes.data() + 20),
                  .lane = LoadLittle<uint16_t>(bytes.data() + 22),
                  .cluster = LoadLittle<uint64_t>(bytes.data() + 24)};
}

void EncodeBlockHeader(const BlockHeader& header, std::span<std::byte, kBlockHeaderBytes> out) {
  StoreLittle(static_cast<uint32_t>(header.kind), out.data());
  StoreLittle(header.table, out.data() + 4);
  StoreLittle(header.offset, out.data() + 8);
  StoreLittle(header.count, out.data() + 16);
  StoreLittle(header.body_bytes, out.data() + 20);
  PutDigest(header.digest, out.data() + 24);
}

Result<BlockHeader> DecodeBlockHeader(std::span<const std::byte, kBlockHeaderBytes> bytes,
                                      uint64_t offset, uint64_t bytes_left,
                                      const std::string& file) {
  BlockHeader header{.kind = static_cast<BlockKind>(LoadLittle<uint32_t>(bytes.data())),
                     .table = LoadLittle<uint32_t>(bytes.data() + 4),
                     .offset = LoadLittle<uint64_t>(bytes.data() + 8),
                     .count = LoadLittle<uint32_t>(bytes.data() + 16),
                     .body_bytes = LoadLittle<uint32_t>(bytes.data() + 20),
                     .digest = GetDigest(bytes.data() + 24)};
  const auto kind = static_cast<uint32_t>(header.kind);
  if (kind < 1 || kind > static_cast<uint32_t>(BlockKind::kFooter)) {
    return Corrupt(fmt::format("{}: offset {}: expected a block of kind 1 to 5, found {}", file,
                               offset, kind));
  }
  if (header.offset != offset) {
    return Corrupt(fmt::format("{}: offset {}: the block there says that it lies at offset {}",
                               file, offset, header.offset));
  }
  if (header.body_bytes > kBlockBytesMax || header.body_bytes > bytes_left) {
    return Corrupt(fmt::format(
        "{}: offset {}: a block of {} bytes announced; expected at most {}, and {} bytes follow",
        file, offset, header.body_bytes, kBlockBytesMax, bytes_left));
  }
  return header;
}

BlockDigester::BlockDigester(std::span<const std::byte, kPartIdentityBytes> identity)
    : identity_(identity.begin(), identity.end()) {}

Digest BlockDigester::Of(std::span<const std::byte, kBlockHeaderBytes> header,
                         std::span<const std::span<const std::byte>> body) {
  digester_.Reset();
  digester_.Add(identity_);
  digester_.Add(header.first(kBlockHeaderBytes - 16));
  for (const auto piece : body) digester_.Add(piece);
  return digester_.Get();
}

std::vector<std::byte> EncodeTableRecord(const TableRecord& record) {
  STRATA_CHECK(record.name.size() <= kTableNameBytesMax);
  wire::ByteWriter writer;
  writer.Put(record.dim);
  writer.Put(record.state_width);
  writer.Put(record.since);
  writer.Put(record.seed);
  writer.Put(record.optimizer);
  writer.Put(record.initializer);
  writer.Put(record.ack);
  writer.Put(static_cast<uint8_t>(record.name.size()));
  for (const float value : {record.learning_rate, record.epsilon, record.beta1, record.beta2,
                            record.initial_accumulator, record.initializer_scale}) {
    writer.PutFloat(value);
  }
  writer.PutText(record.name);
  wire::AppendOptimizerExtension(record.extension, writer);
  wire::AppendElementTypes(record.types, writer);
  return BytesOf(writer);
}

Result<TableRecord> DecodeTableRecord(std::span<const std::byte> bytes, const std::string& where) {
  wire::ByteReader reader(bytes);
  TableRecord record;
  record.dim = reader.Get<uint32_t>();
  record.state_width = reader.Get<uint32_t>();
  record.since = reader.Get<uint32_t>();
  record.seed = reader.Get<uint64_t>();
  record.optimizer = reader.Get<uint8_t>();
  record.initializer = reader.Get<uint8_t>();
  record.ack = reader.Get<uint8_t>();
  const auto length = reader.Get<uint8_t>();
  for (float* value : {&record.learning_rate, &record.epsilon, &record.beta1, &record.beta2,
                       &record.initial_accumulator, &record.initializer_scale}) {
    *value = reader.GetFloat();
    if (!std::isfinite(*value)) return Corrupt(where + ": a number of the table is not finite");
  }
  record.name = reader.GetText(length);
  auto extension = wire::ReadOptimizerExtension(reader);
  if (!extension.ok()) return Corrupt(where + ": " + extension.status().message());
  record.extension = *extension;
  auto types = wire::ReadElementTypes(reader);
  if (!types.ok()) return Corrupt(where + ": " + types.status().message());
  record.types = *types;
  if (!reader.ok() || reader.left() != 0 || length > kTableNameBytesMax) {
    return Corrupt(fmt::format("{}: the table's record of {} bytes does not fit its name of {}",
                               where, bytes.size(), length));
  }
  if (record.dim == 0 || record.row_elements() > kRowElementsMax) {
    return Corrupt(fmt::format("{}: table '{}': dim {} and state width {} are out of range", where,
                               record.name, record.dim, record.state_width));
  }
  return record;
}

std::vector<std::byte> EncodePartFooter(const PartFooter& footer) {
  wire::ByteWriter writer;
  writer.Put(static_cast<uint32_t>(footer.tables.size()));
  for (const PartFooter::Table& table : footer.tables) {
    writer.Put(table.rows);
    writer.Put(table.erased);
  }
  writer.Put(footer.lane_bytes);
  writer.Put(footer.blocks);
  writer.Put(footer.headers.high);
  writer.Put(footer.headers.low);
  return BytesOf(writer);
}

Result<PartFooter> DecodePartFooter(std::span<const std::byte> bytes, const std::string& where) {
  wire::ByteReader reader(bytes);
  PartFooter footer;
  const auto tables = reader.Get<uint32_t>();
  if (!reader.ok() || tables > kPartTablesMax || reader.left() != tables * size_t{16} + 32) {
    return Corrupt(fmt::format("{}: a footer of {} bytes does not fit {} tables", where,
                               bytes.size(), tables));
  }
  for (uint32_t i = 0; i < tables; ++i) {
    const auto rows = reader.Get<uint64_t>();
    footer.tables.push_back({rows, reader.Get<uint64_t>()});
  }
  footer.lane_bytes = reader.Get<uint64_t>();
  footer.blocks = reader.Get<uint64_t>();
  footer.headers.high = reader.Get<uint64_t>();
  footer.headers.low = reader.Get<uint64_t>();
  return footer;
}

}  // namespace strata::format
