// LineBlocks: the lines of a byte range of a file in blocks of whole lines, whichever way the file
// is cut.
//
// A range owns the lines that begin in it. Ranges that join without gap or overlap therefore read
// each line exactly once, wherever the cuts fall, and nobody reads more than its own range, the
// rest of its last line, and one block.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/file/disk.h"
#include "strata/status.h"
#include "worker/data/file/compression.h"

namespace strata {

// The part `rank` of `world` equal parts.
struct Share {
  uint32_t rank = 0;
  uint32_t world = 1;
};

struct ByteRange {
  uint64_t begin = 0;
  uint64_t end = 0;  // one past the last byte
};

// Bytes [size * rank / world, size * (rank + 1) / world).
ByteRange RangeOf(uint64_t size, Share share);

struct Line {
  std::string_view text = {};  // without "\n" or "\r\n"; valid as long as the block that holds it
  uint64_t offset = 0;         // of its first byte in the file
  uint64_t end = 0;            // the offset where the next line begins
  uint64_t number = 0;         // among the lines of the range, from 1 on
};

// As the size of what comes from standard input, or is still compressed.
inline constexpr uint64_t kUnknownSize = UINT64_MAX;

// The longest line, in bytes.
inline constexpr size_t kLineBytesMax = 1 << 20;

// A range as far as estimates go.
struct LineRange {
  uint64_t begin = 0;  // of its first line
  uint64_t first = 0;  // its first byte that can be a line's
  uint64_t end = 0;    // one past its last byte
  bool from_start =
      false;  // it holds the file's first line, so that numbers count the file's lines
  bool is_decoded = false;  // it is the text of a compressed file

  // Share of the range before the position, 0 to 1. `decoded` is LineBlock::decoded.
  double Progress(uint64_t position, double decoded) const;
  // How many lines the range has, if the others are as long as those up to this one.
  uint64_t LinesEstimated(const Line& line, double decoded) const;
};

// Whole lines that stand one after another.
struct LineBlock {
  std::vector<char> bytes;    // more than the lines have, for the next use
  size_t size = 0;            // of the lines, in bytes
  uint64_t offset = 0;        // of the first line in the file
  uint64_t lines = 0;         // in the block
  uint64_t lines_before = 0;  // of the range before them
  LineRange range = {};
  double decoded = 0;  // share of a compressed file that had been read with this block

  std::string_view text() const { return {bytes.data(), size}; }
};

// Goes over the lines of a block.
class LineCursor {
 public:
  // The next line; false behind the last one.
  bool Next(const LineBlock& block, Line* line);

 private:
  size_t at_ = 0;
  uint64_t lines_ = 0;
};

// One thread at a time.
class LineBlocks {
 public:
  struct Options {
    ByteRange range;
    uint64_t data_begin = 0;  // where the file's first line begins; a range may begin before it
    uint64_t size = 0;        // of the file, or kUnknownSize
    size_t block_bytes = 1 << 18;  // read at a time
  };

  // The file outlives the reader.
  LineBlocks(const File* file, const Options& options);
  // All lines of a compressed file, whose size nobody knows yet.
  LineBlocks(std::unique_ptr<DecodedBytes> bytes, uint64_t data_begin, size_t block_bytes);

  // The next block, which has at least one line; false at the end. Of the lines before an error all
  // have been given. kInvalid: a line above kLineBytesMax, or what DecodedBytes says; kFailed: the
  // disk's error, or a file that became shorter.
  Result<bool> Next(LineBlock* block);

  void Rewind();

  const LineRange& range() const { return range_; }
  // Where the next block begins.
  uint64_t position() const { return position_; }

 private:
  Result<bool> SkipOthersLine();
  Status Fill(std::vector<char>* bytes, size_t* filled);
  size_t WholeLines(const char* bytes, size_t filled) const;
  bool AtEnd(size_t filled) const { return position_ + filled >= options_.size; }
  Status CheckLength(size_t bytes) const;

  const File* file_;  // null: what follows
  std::unique_ptr<DecodedBytes> bytes_;
  Options options_;
  LineRange range_;
  uint64_t position_ = 0;
  std::vector<char> rest_;  // what has been read from `position_` on
  uint64_t lines_ = 0;      // given since Rewind
  bool aligned_ = false;    // a line begins at `position_`
};

}  // namespace strata
