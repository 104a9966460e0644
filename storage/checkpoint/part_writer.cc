#include "storage/checkpoint/part_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <utility>

#include "base/failpoint.h"
#include "base/little_endian.h"
#include "storage/checkpoint/table_record.h"

namespace strata {
namespace {

using format::BlockKind;

static_assert(std::endian::native == std::endian::little, "blocks are copied as they lie");

constexpr size_t kBufferBytes = size_t{4} << 20;
constexpr size_t kBodyBytes = size_t{1} << 20;  // about, of a block that holds several rows

template <typename T>
std::span<const std::byte> BytesOf(const std::vector<T>& values, size_t first, size_t count) {
  return std::as_bytes(std::span(values).subspan(first, count));
}

}  // namespace

std::string CheckpointFolder(const std::string& root, uint32_t number) {
  return root + "/" + format::CheckpointFolderName(number);
}

PartWriter::PartWriter(Disk& disk, std::string folder, const format::PartName& name)
    : disk_(disk), folder_(std::move(folder)), name_(name) {}

PartWriter::~PartWriter() {
  if (finished_ || !file_) return;
  file_.reset();
  (void)disk_.Remove(folder_ + "/" + entry_.file_name() + ".tmp");
}

Result<std::unique_ptr<PartWriter>> PartWriter::Create(Disk& disk, const std::string& root,
                                                       const format::PartName& name) {
  STRATA_CHECK(name.number > name.parent);
  const std::string folder = CheckpointFolder(root, name.number);
  // Logs are trimmed because of what will be here.
  STRATA_TRY(MakeDurableFolder(disk, root));
  STRATA_TRY(disk.MakeFolder(folder));
  STRATA_TRY(disk.SyncFolder(root));
  std::unique_ptr<PartWriter> writer(new PartWriter(disk, folder, name));
  STRATA_TRY(writer->Begin());
  return writer;
}

Status PartWriter::Begin() {
  entry_.server = name_.server;
  entry_.lane = name_.lane;
  STRATA_ASSIGN(file_, disk_.Create(folder_ + "/" + entry_.file_name() + ".tmp"));
  for (PageBuffer* buffer : {&buffer_, &written_}) {
    *buffer = MakePageBuffer(kBufferBytes);
  }
  if (!buffer_ || !written_) return Refused("the machine has no memory for a checkpoint's buffer");
  std::array<std::byte, format::kPartHeaderBytes> header;
  format::EncodePartHeader(name_, header);
  blocks_ = std::make_unique<format::BlockDigester>(
      std::span(header).first<format::kPartIdentityBytes>());
  headers_.Add(header);
  return Put(header);
}

Status PartWriter::Flush() {
  STRATA_FAILPOINT("checkpoint.write");
  STRATA_TRY(broken_ = file_->FinishAppend());
  buffer_.swap(written_);
  broken_ = file_->BeginAppend({written_.get(), buffered_});
  buffered_ = 0;
  return broken_;
}

Status PartWriter::Put(std::span<const std::byte> bytes) {
  STRATA_TRY(broken_);
  offset_ += bytes.size();
  while (!bytes.empty()) {
    const size_t taken = std::min(bytes.size(), kBufferBytes - buffered_);
    std::memcpy(buffer_.get() + buffered_, bytes.data(), taken);
    buffered_ += taken;
    bytes = bytes.subspan(taken);
    if (buffered_ == kBufferBytes) STRATA_TRY(Flush());
  }
  return {};
}

Status PartWriter::AddBlock(BlockKind kind, uint32_t table, uint32_t count,
                            std::span<const std::span<const std::byte>> body) {
  size_t body_bytes = 0;
  for (const auto piece : body) body_bytes += piece.size();
  STRATA_CHECK(body_bytes <= format::kBlockBytesMax);
  format::BlockHeader header{.kind = kind,
                             .table = table,
                             .offset = offset_,
                             .count = count,
                             .body_bytes = static_cast<uint32_t>(body_bytes),
                             .digest = {}};
  std::array<std::byte, format::kBlockHeaderBytes> bytes;
  format::EncodeBlockHeader(header, bytes);
  header.digest = blocks_->Of(bytes, body);
  format::EncodeBlockHeader(header, bytes);
  entry_.digest = header.digest;
  headers_.Add(bytes);
  ++footer_.blocks;
  STRATA_TRY(Put(bytes));
  for (const auto piece : body) STRATA_TRY(Put(piece));
  return {};
}

Status PartWriter::AddTable(const TableSpec& spec, uint32_t since) {
  STRATA_CHECK(since == 0 || since == name_.parent);
  Table table{.index = static_cast<uint32_t>(tables_.size()), .spec = spec, .rows_begun = false};
  const uint32_t index = table.index;
  STRATA_CHECK(index < format::kPartTablesMax && tables_.emplace(spec.id(), table).second);
  entry_.tables.push_back({.name = spec.name, .since = since, .rows = 0, .erased = 0});
  const auto record = format::EncodeTableRecord(ToRecord(spec, since));
  const std::span<const std::byte> body(record);
  return AddBlock(BlockKind::kTable, index, 0, {&body, 1});
}

PartWriter::Table& PartWriter::Find(TableId table) {
  const auto found = tables_.find(table);
  STRATA_CHECK(found != tables_.end());
  return found->second;
}

Status PartWriter::AddErased(TableId table, std::span<const Key> keys) {
  const Table& to = Find(table);
  STRATA_CHECK(!to.rows_begun && (keys.empty() || entry_.tables[to.index].since != 0));
  entry_.tables[to.index].erased += keys.size();
  constexpr size_t kKeysMax = kBodyBytes / sizeof(Key);
  for (; !keys.empty(); keys = keys.subspan(std::min(keys.size(), kKeysMax))) {
    const auto some = keys.first(std::min(keys.size(), kKeysMax));
    const std::span<const std::byte> body = std::as_bytes(some);
    STRATA_TRY(
        AddBlock(BlockKind::kErased, to.index, static_cast<uint32_t>(some.size()), {&body, 1}));
  }
  return broken_;
}

Status PartWriter::AddRows(TableId table, const ScanPage& page) {
  Table& to = Find(table);
  const RowSchema schema = SchemaOf(to.spec);
  const size_t width = size_t{schema.dim} + schema.state_width;
  const size_t rows = page.keys.size();
  STRATA_CHECK(page.rows.size() == rows * width && page.counters.size() == rows);
  const size_t rows_max =
      std::max<size_t>(1, kBodyBytes / (sizeof(Key) + sizeof(RowCounters) + width * sizeof(float)));
  for (size_t first = 0; first < rows; first += rows_max) {
    const size_t count = std::min(rows_max, rows - first);
    const std::array body{BytesOf(page.keys, first, count), BytesOf(page.counters, first, count),
                          BytesOf(page.rows, first * width, count * width)};
    STRATA_TRY(AddBlock(BlockKind::kRows, to.index, static_cast<uint32_t>(count), body));
  }
  to.rows_begun = to.rows_begun || rows != 0;
  entry_.tables[to.index].rows += rows;
  return broken_;
}

Status PartWriter::AddLaneImage(std::span<const std::byte> bytes) {
  entry_.lane_bytes += bytes.size();
  while (!bytes.empty()) {
    const auto some = bytes.first(std::min(bytes.size(), kBodyBytes));
    STRATA_TRY(AddBlock(BlockKind::kLane, 0, 0, {&some, 1}));
    bytes = bytes.subspan(some.size());
  }
  return broken_;
}

Result<format::PartEntry> PartWriter::WriteFooter() {
  for (const auto& table : entry_.tables) footer_.tables.push_back({table.rows, table.erased});
  footer_.lane_bytes = entry_.lane_bytes;
  footer_.headers = headers_.Get();
  const uint64_t footer_offset = offset_;
  const auto body = format::EncodePartFooter(footer_);
  const std::span<const std::byte> body_bytes(body);
  STRATA_TRY(AddBlock(BlockKind::kFooter, 0, 0, {&body_bytes, 1}));
  std::array<std::byte, format::kPartTrailerBytes> trailer;
  StoreLittle(footer_offset, trailer.data());
  STRATA_TRY(Put(trailer));
  entry_.bytes = offset_;
  return entry_;
}

Result<format::PartEntry> PartWriter::Finish() {
  STRATA_CHECK(!finished_);
  STRATA_ASSIGN(format::PartEntry entry, WriteFooter());
  STRATA_TRY(Flush());
  STRATA_TRY(broken_ = file_->FinishAppend());
  STRATA_FAILPOINT("checkpoint.sync");
  STRATA_TRY(broken_ = file_->Sync());
  const std::string path = folder_ + "/" + entry.file_name();
  STRATA_FAILPOINT("checkpoint.rename");
  STRATA_TRY(broken_ = disk_.Rename(path + ".tmp", path));
  finished_ = true;
  STRATA_FAILPOINT("checkpoint.sync_folder");
  STRATA_TRY(broken_ = disk_.SyncFolder(folder_));
  return entry;
}

}  // namespace strata
