#include "storage/checkpoint/part_reader.h"

#include <fmt/format.h>

#include <array>
#include <cstring>
#include <utility>

#include "base/little_endian.h"
#include "storage/checkpoint/part_writer.h"
#include "storage/checkpoint/table_record.h"

namespace strata {
namespace {

using format::BlockHeader;
using format::BlockKind;

constexpr uint64_t kAheadBytes = uint64_t{8} << 20;  // asked of the disk before their use

template <typename T>
std::span<const std::byte> Copy(std::span<const std::byte> from, size_t count, std::vector<T>* to) {
  to->resize(count);
  if (count != 0) std::memcpy(to->data(), from.data(), count * sizeof(T));
  return from.subspan(count * sizeof(T));
}

}  // namespace

PartReader::PartReader(std::unique_ptr<File> file, std::string path)
    : file_(std::move(file)), path_(std::move(path)) {}

Result<std::unique_ptr<PartReader>> PartReader::Open(Disk& disk, const std::string& path,
                                                     const format::PartName& name,
                                                     const format::PartEntry* expected) {
  STRATA_ASSIGN(std::unique_ptr<File> file, disk.OpenToRead(path));
  std::unique_ptr<PartReader> reader(new PartReader(std::move(file), path));
  STRATA_TRY(reader->Begin(name, expected));
  return reader;
}

Status PartReader::ReadExactly(uint64_t offset, std::span<std::byte> out) const {
  STRATA_ASSIGN(const size_t got, file_->ReadAt(offset, out));
  if (got == out.size()) return {};
  return Corrupt(
      fmt::format("{}: offset {}: expected {} bytes, found {}", path_, offset, out.size(), got));
}

Status PartReader::Begin(const format::PartName& name, const format::PartEntry* expected) {
  STRATA_ASSIGN(entry_.bytes, file_->Size());
  std::array<std::byte, format::kPartHeaderBytes> header{};
  STRATA_ASSIGN(const size_t got, file_->ReadAt(0, header));
  STRATA_ASSIGN(name_, format::DecodePartHeader(std::span(header).first(got), path_));
  if (name_.number != name.number || name_.server != name.server || name_.lane != name.lane ||
      name_.cluster != name.cluster) {
    return Corrupt(fmt::format(
        "{}: expected the part of checkpoint {}, server {}, lane {}, cluster {:016x}, found that "
        "of checkpoint {}, server {}, lane {}, cluster {:016x}",
        path_, name.number, name.server, name.lane, name.cluster, name_.number, name_.server,
        name_.lane, name_.cluster));
  }
  if (expected != nullptr && entry_.bytes != expected->bytes) {
    return Corrupt(
        fmt::format("{}: expected {} bytes, found {}", path_, expected->bytes, entry_.bytes));
  }
  entry_.server = name_.server;
  entry_.lane = name_.lane;
  digester_ = std::make_unique<format::BlockDigester>(
      std::span(header).first<format::kPartIdentityBytes>());
  headers_.Add(header);
  STRATA_TRY(ReadFooter());
  if (expected != nullptr && entry_.digest != expected->digest) {
    return Corrupt(fmt::format("{}: offset {}: expected the footer with digest {}, found {}", path_,
                               footer_offset_, format::DigestText(expected->digest),
                               format::DigestText(entry_.digest)));
  }
  offset_ = format::kPartHeaderBytes;
  return {};
}

Status PartReader::ReadFooter() {
  constexpr uint64_t kBytesMin =
      format::kPartHeaderBytes + format::kBlockHeaderBytes + format::kPartTrailerBytes;
  if (entry_.bytes < kBytesMin) {
    return Corrupt(
        fmt::format("{}: expected at least {} bytes, found {}", path_, kBytesMin, entry_.bytes));
  }
  const uint64_t trailer_offset = entry_.bytes - format::kPartTrailerBytes;
  std::array<std::byte, format::kPartTrailerBytes> trailer;
  STRATA_TRY(ReadExactly(trailer_offset, trailer));
  footer_offset_ = LoadLittle<uint64_t>(trailer.data());
  if (footer_offset_ < format::kPartHeaderBytes ||
      footer_offset_ > trailer_offset - format::kBlockHeaderBytes) {
    return Corrupt(fmt::format("{}: offset {}: the footer's offset {} is not in the file", path_,
                               trailer_offset, footer_offset_));
  }
  STRATA_ASSIGN(const BlockHeader header, ReadBlock(footer_offset_, trailer_offset));
  if (header.kind != BlockKind::kFooter || header.table != 0 || header.count != 0 ||
      footer_offset_ + format::kBlockHeaderBytes + header.body_bytes != trailer_offset) {
    return Corrupt(At(header) + ": expected the footer, up to the last 8 bytes");
  }
  STRATA_ASSIGN(footer_, format::DecodePartFooter(body_, At(header)));
  entry_.digest = header.digest;
  return {};
}

std::string PartReader::At(const BlockHeader& header) const {
  return fmt::format("{}: block at offset {}", path_, header.offset);
}

Result<BlockHeader> PartReader::ReadBlock(uint64_t offset, uint64_t end) {
  if (end - offset < format::kBlockHeaderBytes) {
    return Corrupt(fmt::format("{}: offset {}: expected a block, found {} bytes before the next",
                               path_, offset, end - offset));
  }
  std::array<std::byte, format::kBlockHeaderBytes> bytes;
  STRATA_TRY(ReadExactly(offset, bytes));
  const uint64_t body_offset = offset + format::kBlockHeaderBytes;
  STRATA_ASSIGN(const BlockHeader header,
                format::DecodeBlockHeader(bytes, offset, end - body_offset, path_));
  body_.resize(header.body_bytes);
  STRATA_TRY(ReadExactly(body_offset, body_));
  const std::span<const std::byte> body(body_);
  if (const format::Digest found = digester_->Of(bytes, {&body, 1}); found != header.digest) {
    return Corrupt(fmt::format("{}, {} bytes: expected digest {}, found {}", At(header),
                               format::kBlockHeaderBytes + body_.size(),
                               format::DigestText(header.digest), format::DigestText(found)));
  }
  if (header.kind != BlockKind::kFooter) headers_.Add(bytes);
  return header;
}

Result<bool> PartReader::Next(PartBlock* block) {
  if (offset_ == footer_offset_) {
    STRATA_TRY(CheckEnd());
    return false;
  }
  if (asked_ < entry_.bytes && asked_ < offset_ + kAheadBytes) {
    file_->WillRead(asked_, kAheadBytes);
    asked_ += kAheadBytes;
  }
  STRATA_ASSIGN(const BlockHeader header, ReadBlock(offset_, footer_offset_));
  offset_ += format::kBlockHeaderBytes + header.body_bytes;
  ++blocks_;
  STRATA_TRY(Take(header, block));
  return true;
}

Status PartReader::Take(const BlockHeader& header, PartBlock* block) {
  block->kind = header.kind;
  block->table = header.table;
  const bool of_table = header.kind == BlockKind::kErased || header.kind == BlockKind::kRows;
  const bool fits = header.kind == BlockKind::kTable ? header.table == tables_.size()
                    : of_table                       ? header.table < tables_.size()
                                                     : header.table == 0;
  if (!fits) {
    return Corrupt(fmt::format("{}: of table {}, and {} came before", At(header), header.table,
                               tables_.size()));
  }
  if (!of_table && header.count != 0) return Corrupt(At(header) + ": a count where none belongs");
  switch (header.kind) {
    case BlockKind::kTable:
      return TakeTable(header);
    case BlockKind::kErased:
    case BlockKind::kRows:
      return TakeKeys(header, block);
    case BlockKind::kLane:
      block->lane_image.assign(body_.begin(), body_.end());
      entry_.lane_bytes += body_.size();
      return {};
    case BlockKind::kFooter:
      break;
  }
  return Corrupt(At(header) + ": a footer before the last block");
}

Status PartReader::TakeTable(const BlockHeader& header) {
  STRATA_ASSIGN(const format::TableRecord record, format::DecodeTableRecord(body_, At(header)));
  STRATA_ASSIGN(TableSpec spec, FromRecord(record, At(header)));
  if (record.since != 0 && record.since != name_.parent) {
    return Corrupt(fmt::format("{}: table '{}' builds on checkpoint {}, expected {}", At(header),
                               spec.name, record.since, name_.parent));
  }
  for (const Table& table : tables_) {
    if (table.spec.id() != spec.id()) continue;
    return Corrupt(fmt::format("{}: table '{}' comes twice", At(header), spec.name));
  }
  entry_.tables.push_back({.name = spec.name, .since = record.since, .rows = 0, .erased = 0});
  tables_.push_back({std::move(spec), record.since});
  rows_begun_.push_back(false);
  return {};
}

Status PartReader::TakeKeys(const BlockHeader& header, PartBlock* block) {
  const bool rows = header.kind == BlockKind::kRows;
  const RowSchema schema = SchemaOf(tables_[header.table].spec);
  const size_t width = size_t{schema.dim} + schema.state_width;
  const size_t bytes =
      sizeof(Key) + (rows ? sizeof(RowCounters) + width * sizeof(float) : 0);  // of one
  if (uint64_t{header.count} * bytes != body_.size()) {
    return Corrupt(fmt::format("{}: {} of {} bytes each: expected {} bytes, found {}", At(header),
                               header.count, bytes, uint64_t{header.count} * bytes, body_.size()));
  }
  if (!rows && rows_begun_[header.table]) return Corrupt(At(header) + ": erased keys behind rows");
  std::span<const std::byte> left = Copy(body_, header.count, &block->page.keys);
  if (rows) {
    left = Copy(left, header.count, &block->page.counters);
    Copy(left, header.count * width, &block->page.rows);
    rows_begun_[header.table] = true;
  }
  (rows ? entry_.tables[header.table].rows : entry_.tables[header.table].erased) += header.count;
  return {};
}

Status PartReader::CheckEnd() const {
  format::PartFooter found{
      .tables = {}, .lane_bytes = entry_.lane_bytes, .blocks = blocks_, .headers = headers_.Get()};
  for (const auto& table : entry_.tables) found.tables.push_back({table.rows, table.erased});
  if (found == footer_) return {};
  return Corrupt(
      fmt::format("{}: the footer at offset {} tells of {} blocks with digest {}, found {} with {}",
                  path_, footer_offset_, footer_.blocks, format::DigestText(footer_.headers),
                  found.blocks, format::DigestText(found.headers)));
}

Result<format::PartEntry> DescribePart(Disk& disk, const std::string& root,
                                       const format::PartName& name) {
  const std::string folder = CheckpointFolder(root, name.number);
  const std::string path = folder + "/" + format::PartFileName(name.server, name.lane);
  STRATA_ASSIGN(const auto reader, PartReader::Open(disk, path, name, nullptr));
  PartBlock block;
  for (bool more = true; more;) {
    STRATA_ASSIGN(more, reader->Next(&block));
  }
  // Whoever wrote it may have died before its name was durable.
  STRATA_TRY(disk.SyncFolder(folder));
  return reader->entry();
}

}  // namespace strata
