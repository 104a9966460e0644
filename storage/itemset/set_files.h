// Sets of tokens in files, as strata-admin and strata-bench take them (docs/search.md):
//
//   text     a set a line: whole numbers separated by commas; a mark of UTF-8 before them is fine
//   folder   a file for each set, a line of text each, in the order of the files' names; hidden
//            files, whose names begin with a dot, are passed over
//   .npy     a row a set: whole numbers, those below 0 fill rows up
//   CSR      two .npy: all tokens one behind another, and where each set begins and the last ends
//   export   a folder that collection export wrote (item_export.h): its sets
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/file/disk.h"
#include "strata/status.h"

namespace strata {

using TokenSet = std::vector<uint32_t>;  // as it is in the file: any order, with repeats

// kInvalid names the column (from 1), what was expected and what was found. Blanks around numbers
// and a carriage return at the end are fine; a line of blanks is the empty set.
Result<TokenSet> ParseSetLine(std::string_view line);

// One thread.
class SetReader {
 public:
  virtual ~SetReader() = default;
  // Puts at most `most` sets behind those that are there; none: there are no more. kInvalid names
  // file and line, or row; also for a set of more than ItemSetSpec::kMostTokens.
  virtual Status Next(size_t most, std::vector<TokenSet>* sets) = 0;
  // For progress: bytes of a text, or sets. There are no more sets than `total`.
  virtual uint64_t done() const = 0;
  virtual uint64_t total() const = 0;
  // Sets that there are in all, wherever Next is. Of a text this reads it, without a look at what
  // its lines say.
  virtual Result<uint64_t> Count() const { return total(); }
  // Of a folder: set i is in its file i. Of anything else: none.
  virtual std::span<const std::string> files() const { return {}; }
};

// `offsets`: of a CSR pair; "": `path` tells by itself what it is. kNotFound: no such file;
// kCorrupt: an export that is not as it was written.
Result<std::unique_ptr<SetReader>> OpenSets(Disk& disk, const std::string& path,
                                            const std::string& offsets);

// Whole numbers of a two-dimensional .npy, row by row: attributes of documents. kInvalid: another
// kind of array.
Result<std::vector<std::vector<int64_t>>> ReadNumberRows(Disk& disk, const std::string& path);

}  // namespace strata
