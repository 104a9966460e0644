// PartWriter: writes what one lane saves of a checkpoint, its part
// (proto/format/checkpoint_part.h).
//
//   STRATA_ASSIGN(auto writer, PartWriter::Create(disk, root, name));
//   on the lane's thread:       table.BeginSnapshot, SnapshotErased, SnapshotPage
//   on a background thread:     AddTable, then AddErased, then AddRows a page, AddLaneImage, Finish
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/file/disk.h"
#include "base/file/page_buffer.h"
#include "proto/format/checkpoint_manifest.h"
#include "proto/format/checkpoint_part.h"
#include "storage/table.h"
#include "strata/status.h"

namespace strata {

// "<root>/0000000012"
std::string CheckpointFolder(const std::string& root, uint32_t number);

// One thread at a time, any. An error is final: every later call returns it. Without Finish nothing
// of the part is left.
class PartWriter {
 public:
  // Makes the checkpoint's folder under `root` if need be. A part of the same name is replaced by
  // Finish, and stays as it is until then.
  static Result<std::unique_ptr<PartWriter>> Create(Disk& disk, const std::string& root,
                                                    const format::PartName& name);
  ~PartWriter();
  PartWriter(const PartWriter&) = delete;
  PartWriter& operator=(const PartWriter&) = delete;

  // `since` is what LocalTable::BeginSnapshot returned: 0 or the checkpoint's parent. Comes before
  // the table's keys and rows; a table without rows is named too.
  Status AddTable(const TableSpec& spec, uint32_t since);
  // All of a table's before any of its rows.
  Status AddErased(TableId table, std::span<const Key> keys);
  // A page as SnapshotPage gave it.
  Status AddRows(TableId table, const ScanPage& page);
  // The next bytes of what the lane wants back beside the tables.
  Status AddLaneImage(std::span<const std::byte> bytes);

  // The part is on stable storage under its name when this returns. Called once.
  Result<format::PartEntry> Finish();

  uint64_t bytes_written() const { return offset_; }

 private:
  struct Table {
    uint32_t index = 0;
    TableSpec spec;
    bool rows_begun = false;
  };

  PartWriter(Disk& disk, std::string folder, const format::PartName& name);
  Status Begin();
  Table& Find(TableId table);
  Status Put(std::span<const std::byte> bytes);
  // Hands the buffer to the disk, which writes it while the other one is filled.
  Status Flush();
  Status AddBlock(format::BlockKind kind, uint32_t table, uint32_t count,
                  std::span<const std::span<const std::byte>> body);
  Result<format::PartEntry> WriteFooter();

  Disk& disk_;
  const std::string folder_;
  const format::PartName name_;
  std::unique_ptr<File> file_;
  Status broken_;
  bool finished_ = false;
  PageBuffer buffer_;
  PageBuffer written_;  // belongs to the disk
  size_t buffered_ = 0;
  uint64_t offset_ = 0;
  std::unique_ptr<format::BlockDigester> blocks_;
  format::Digester headers_;
  format::PartFooter footer_;
  format::PartEntry entry_;
  std::map<TableId, Table> tables_;
};

}  // namespace strata
