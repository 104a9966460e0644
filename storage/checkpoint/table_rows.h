// TableRows: walks over all rows that a table has in a checkpoint, be it incremental.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/file/disk.h"
#include "proto/format/checkpoint_manifest.h"
#include "storage/table.h"
#include "strata/status.h"

namespace strata {

// One thread at a time.
class TableRows {
 public:
  // kNotFound names the tables that there are.
  static Result<TableRows> Open(Disk& disk, const std::string& root, uint32_t number,
                                const std::string& table);

  const TableSpec& spec() const { return spec_; }

  // Every row exactly once, some in each page, in the same order in every walk. Newer checkpoints
  // come first; memory holds the keys that they decided.
  Status Walk(const std::function<Status(const ScanPage&)>& visit) const;

 private:
  TableRows(Disk& disk, std::string root, std::string table)
      : disk_(&disk), root_(std::move(root)), table_(std::move(table)) {}
  Status ReadSpec();

  Disk* disk_;
  std::string root_;
  std::string table_;
  TableSpec spec_;
  std::vector<format::CheckpointManifest> chain_;  // newest first
};

}  // namespace strata
