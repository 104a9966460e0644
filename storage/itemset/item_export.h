// A collection's documents in a folder of NumPy's arrays with a manifest
// (proto/format/item_export.h), to keep them, to bring them to another cluster, or for other
// programs.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/file/disk.h"
#include "base/file/file_lock.h"
#include "proto/format/item_export.h"
#include "strata/document.h"
#include "strata/status.h"

namespace strata {

// Its files, within the folder.
constexpr const char* kExportedTokens = "tokens.npy";          // u32
constexpr const char* kExportedOffsets = "offsets.npy";        // u64, one more than documents
constexpr const char* kExportedIds = "ids.npy";                // u64
constexpr const char* kExportedAttributes = "attributes.npy";  // i64, a row each; not without

// Writes one. One thread. What ends before Finish has succeeded is no export, and the next one may
// be written in its place.
class ItemExporter {
 public:
  // kRefused: there is something in the folder that is no unfinished export, or one is being
  // written there.
  static Result<std::unique_ptr<ItemExporter>> Begin(Disk& disk, const std::string& folder,
                                                     const std::string& collection,
                                                     const std::vector<std::string>& attributes);
  ~ItemExporter();

  // All with as many attributes as there are names.
  Status Add(std::span<const Document> documents);
  uint64_t documents() const { return manifest_.documents; }
  // All of it is on stable storage when this returns.
  Result<format::ItemExport> Finish(bool is_one_moment);

 private:
  class Array;
  ItemExporter(Disk& disk, const std::string& folder);

  Disk& disk_;
  const std::string folder_;
  format::ItemExport manifest_;
  std::unique_ptr<FileLock> lock_;              // of the file that says that this has not ended
  std::vector<std::unique_ptr<Array>> arrays_;  // tokens, offsets, ids, attributes if any
};

// Whether the folder holds an export, or one that was not finished.
bool IsItemExport(Disk& disk, const std::string& folder);

// Reads all of it, and the manifest. kInvalid: it was not finished, or is of a newer version;
// kCorrupt names the file that is not as it was written.
Result<format::ItemExport> CheckItemExport(Disk& disk, const std::string& folder);

}  // namespace strata
