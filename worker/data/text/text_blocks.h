// TextBlocks: the lines of one rank's share of text files, in blocks of whole lines.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/file/disk.h"
#include "strata/status.h"
#include "worker/data/file/file_parts.h"
#include "worker/data/file/line_blocks.h"
#include "worker/data/text/text_files.h"

namespace strata {

// Lines that stand one after another in a file, and where they are among all of the share.
struct TextBlock {
  LineBlock lines;
  const OpenedText* text = nullptr;  // whose lines they are
  size_t file = 0;                   // its number
  uint64_t part_bytes = 0;           // of the part of the file that the share has
  uint64_t bytes_before = 0;         // of the share's parts before this one
  uint64_t share_bytes = 0;          // of all parts
  uint64_t lines_before = 0;         // of the parts before

  // Where the line is: "rows.csv:7", or "rows.csv: line at byte 312" where no number is known.
  std::string PlaceOf(const Line& line) const;
  // A number for the line that no other line of these files has, whoever reads it. Of the first
  // file it is the line's offset.
  uint64_t IdOf(const Line& line) const { return PlaceId(file, line.offset); }
  // How many lines of the share there are up to this one.
  uint64_t LinesRead(const Line& line) const { return lines_before + line.number; }
  // How many there are in all, if the others are as long as those of this part up to this one.
  uint64_t LinesEstimated(const Line& line) const;
  // The share of the bytes before an offset of the file, 0 to 1.
  double Progress(uint64_t offset) const;
};

// One thread at a time. Blocks are read from any.
class TextBlocks {
 public:
  // At least one text; of several, all may be closed. The disk outlives this, unless there is one
  // text.
  TextBlocks(Disk& disk, std::vector<OpenedText> texts, const TextOptions& options);

  // The next block of the share, file after file; false at its end. This outlives the block. Of the
  // lines before an error all have been given. kInvalid: a line that is too long, or one of a
  // compressed file that is damaged; kFailed: the disk's error, or a file that has changed.
  Result<bool> Next(TextBlock* block);

  // Back to the share's first line.
  void Rewind();
  // The same, with the files in the order of this epoch, if they have one.
  void BeginEpoch(uint64_t epoch);
  // From now on there is this share alone, from its first line; with `to_end`, what follows it,
  // too. kInvalid: a part of a compressed file, which cannot be cut.
  Status TakeShare(Share share, bool to_end);

  bool is_empty() const { return parts_.empty(); }  // the share
  uint64_t lines() const { return lines_; }         // given since Rewind
  std::string files() const;                        // what is read, for messages

 private:
  void Cut(Share share, bool to_end);
  Status EnterPart();
  void LeavePart();

  Disk* disk_;
  std::vector<OpenedText> texts_;
  std::optional<uint64_t> order_seed_;
  size_t block_bytes_;
  std::vector<FilePart> parts_;       // of the share
  uint64_t share_bytes_ = 0;          // of all parts
  size_t part_ = 0;                   // that is read, or comes next
  std::optional<LineBlocks> blocks_;  // of the part, while it is read
  uint64_t bytes_before_ = 0;         // of the parts before
  uint64_t lines_before_ = 0;
  uint64_t lines_ = 0;
};

}  // namespace strata
