// LineReader: the lines of a byte range of a file, whichever way the file is cut.
//
// A range owns the lines that begin in it. Ranges that join without gap or overlap therefore read
// each line exactly once, wherever the cuts fall, and nobody reads more than its own range and the
// rest of its last line.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/file/disk.h"
#include "strata/status.h"
#include "worker/data/compression.h"

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
  std::string_view text;  // without "\n" or "\r\n"; valid until the next line is read
  uint64_t offset = 0;    // of its first byte in the file
};

// As the size of what comes from standard input, or is still compressed.
inline constexpr uint64_t kUnknownSize = UINT64_MAX;

// One thread at a time.
class LineReader {
 public:
  static constexpr size_t kLineBytesMax = 1 << 20;

  struct Options {
    ByteRange range;
    uint64_t data_begin = 0;  // where the file's first line begins; a range may begin before it
    uint64_t size = 0;        // of the file, or kUnknownSize
    size_t block_bytes = 1 << 20;
  };

  // The file outlives the reader.
  LineReader(const File* file, const Options& options);
  // All lines of a compressed file, whose size nobody knows yet.
  LineReader(std::unique_ptr<DecodedBytes> bytes, uint64_t data_begin, size_t block_bytes);

  // False at the end. kInvalid: a line above kLineBytesMax, or what DecodedBytes says; kFailed: the
  // disk's error, or a file that became shorter.
  Result<bool> Next(Line* line);

  void Rewind();

  // Lines read since Rewind, and an estimate of all lines of the range from those read so far.
  uint64_t lines_read() const { return lines_read_; }
  uint64_t LinesEstimated() const;
  double Progress() const;  // share of the range that has been read, 0 to 1

  // True when the range holds the file's first line, so that lines_read() counts the file's lines.
  bool from_start() const { return options_.range.begin <= options_.data_begin; }

  // Of the first byte that has not been given as part of a line, in the text.
  uint64_t position() const { return buffer_begin_ + cursor_; }

 private:
  Result<bool> ReadLine(Line* line);
  Status Fill();
  Result<size_t> Read(uint64_t offset, std::span<std::byte> out);
  std::string Place() const;

  const File* file_;  // null: what follows
  std::unique_ptr<DecodedBytes> bytes_;
  Options options_;
  std::vector<char> buffer_;
  size_t filled_ = 0;          // bytes of the buffer that hold data
  size_t cursor_ = 0;          // where the next line begins in the buffer
  uint64_t buffer_begin_ = 0;  // offset of the buffer's first byte in the file
  uint64_t start_ = 0;         // offset of the first line read, for the estimate
  uint64_t lines_read_ = 0;
  bool aligned_ = false;  // the cursor stands at the beginning of a line
};

}  // namespace strata
