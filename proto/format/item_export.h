// The manifest of an exported collection: `collection.json` in its folder, plain JSON for people
// and other programs. It is written last: a folder without it is no export. Its arrays are files of
// NumPy: tokens.npy has those of all documents one behind another, offsets.npy where each
// document's begin, and where the last ones end, ids.npy its id, attributes.npy, where there are
// some, a row.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "proto/format/digest.h"
#include "strata/status.h"

namespace strata::format {

constexpr const char* kItemExportName = "collection.json";
constexpr uint64_t kItemExportBytesMax = 1 << 20;

struct ItemExport {
  struct File {
    std::string name;  // within the folder
    uint64_t bytes = 0;
    Digest digest;  // of the bytes behind its header

    friend bool operator==(const File&, const File&) = default;
  };

  std::string collection;
  std::vector<std::string> attributes;
  uint64_t documents = 0;
  uint64_t tokens = 0;
  bool is_one_moment = false;  // no document changed while it was written
  std::vector<File> files;

  friend bool operator==(const ItemExport&, const ItemExport&) = default;
};

std::string EncodeItemExport(const ItemExport& manifest);
// kInvalid: another kind of file, or of a newer version; kCorrupt: something is missing or cannot
// be. Both name `path`.
Result<ItemExport> DecodeItemExport(std::string_view bytes, const std::string& path);

}  // namespace strata::format
