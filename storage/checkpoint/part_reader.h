// PartReader: reads a part of a checkpoint from front to back. Nothing is handed out that has not
// been checked against its digest; that the file is whole is known once Next has said the end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/file/disk.h"
#include "proto/format/checkpoint_manifest.h"
#include "proto/format/checkpoint_part.h"
#include "storage/table.h"
#include "strata/status.h"

namespace strata {

// One block's content. Of rows, keys are in `page`; of erased keys too, alone.
struct PartBlock {
  format::BlockKind kind{};  // never the footer
  uint32_t table = 0;        // index into tables()
  ScanPage page;
  std::vector<std::byte> lane_image;
};

// One thread at a time, any.
class PartReader {
 public:
  struct Table {
    TableSpec spec;
    uint32_t since = 0;
  };

  // `name`: whose part this must be, parent apart. `expected`, of the manifest, may be null. Errors
  // name file, offset, expected and found: kNotFound, kInvalid for another format version,
  // kCorrupt.
  static Result<std::unique_ptr<PartReader>> Open(Disk& disk, const std::string& path,
                                                  const format::PartName& name,
                                                  const format::PartEntry* expected);

  // Reads the next block into `*block`, whose memory is used again; false at the end.
  Result<bool> Next(PartBlock* block);

  // Those whose TABLE block has been read.
  const std::vector<Table>& tables() const { return tables_; }
  const format::PartName& name() const { return name_; }
  // What a manifest says of this part. Complete once Next has said the end.
  const format::PartEntry& entry() const { return entry_; }

 private:
  PartReader(std::unique_ptr<File> file, std::string path);
  Status Begin(const format::PartName& name, const format::PartEntry* expected);
  Status ReadFooter();
  Status ReadExactly(uint64_t offset, std::span<std::byte> out) const;
  // Checks the block at `offset`, body in body_, against its digest.
  Result<format::BlockHeader> ReadBlock(uint64_t offset, uint64_t end);
  Status CheckEnd() const;
  Status Take(const format::BlockHeader& header, PartBlock* block);
  Status TakeTable(const format::BlockHeader& header);
  Status TakeKeys(const format::BlockHeader& header, PartBlock* block);
  std::string At(const format::BlockHeader& header) const;

  const std::unique_ptr<File> file_;
  const std::string path_;
  format::PartName name_;
  format::PartEntry entry_;
  format::PartFooter footer_;
  uint64_t footer_offset_ = 0;
  uint64_t offset_ = 0;  // of the next block
  uint64_t asked_ = 0;   // the disk knows that the bytes before this one are wanted
  uint64_t blocks_ = 0;
  std::unique_ptr<format::BlockDigester> digester_;
  format::Digester headers_;
  std::vector<std::byte> body_;
  std::vector<Table> tables_;
  std::vector<bool> rows_begun_;  // by table
};

// What a manifest says of the part of a lane, from the file alone: for a lane that saved it before
// it was restarted. Reads and checks all of it, and makes sure that it stays.
Result<format::PartEntry> DescribePart(Disk& disk, const std::string& root,
                                       const format::PartName& name);

}  // namespace strata
