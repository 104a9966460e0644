// LineReader: the lines of a byte range of a file, one by one.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "base/file/disk.h"
#include "strata/status.h"
#include "worker/data/file/line_blocks.h"

namespace strata {

// One thread at a time.
class LineReader {
 public:
  explicit LineReader(LineBlocks blocks) : blocks_(std::move(blocks)) { Rewind(); }
  // The file outlives the reader.
  LineReader(const File* file, const LineBlocks::Options& options)
      : LineReader(LineBlocks(file, options)) {}

  // False at the end. A line is valid until the next one is read. Errors are those of LineBlocks.
  Result<bool> Next(Line* line);

  void Rewind();

  // Lines read since Rewind, and an estimate of all lines of the range from those read so far.
  uint64_t lines_read() const { return last_.number; }
  uint64_t LinesEstimated() const { return blocks_.range().LinesEstimated(last_, block_.decoded); }
  // Share of the range that has been read, 0 to 1.
  double Progress() const { return blocks_.range().Progress(position(), block_.decoded); }

  // True when the range holds the file's first line, so that lines_read() counts the file's lines.
  bool from_start() const { return blocks_.range().from_start; }

  // Of the first byte that has not been given as part of a line, in the text.
  uint64_t position() const { return last_.end; }

 private:
  LineBlocks blocks_;
  LineBlock block_;
  LineCursor cursor_;
  Line last_;
};

}  // namespace strata
