// DataLines: the lines of one rank's share of text files, one by one, and the count of those that
// are no rows.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/file/disk.h"
#include "strata/status.h"
#include "worker/data/file/bad_lines.h"
#include "worker/data/text/text_blocks.h"
#include "worker/data/text/text_files.h"

namespace strata {

// One thread at a time.
class DataLines {
 public:
  // At least one text; of several, all may be closed. `bad_share_max` is the share of bad lines
  // above which they are no good. The disk outlives this, unless there is one text.
  DataLines(Disk& disk, std::vector<OpenedText> texts, double bad_share_max,
            const TextOptions& options);

  // The next line of the share, file after file; false at its end. It is valid until the next one
  // is read, and its offset is of its own file. kInvalid at the end of a share with too many bad
  // lines, besides what TextBlocks says.
  Result<bool> Next(Line* line);

  // Counts the line that Next gave last as no row. Gives the reason with the line's place. kInvalid
  // once it is certain that too many are bad.
  Result<std::string> AddBad(const Line& line, const std::string& reason) {
    return bad_.Add(block_, line, reason);
  }

  // TextBlock's of the line that Next gave last.
  std::string PlaceOf(const Line& line) const { return block_.PlaceOf(line); }
  uint64_t IdOf(const Line& line) const { return block_.IdOf(line); }

  // Those of TextBlocks.
  void Rewind();
  void BeginEpoch(uint64_t epoch);
  Status TakeShare(Share share, bool to_end);

  // What probably is wrong with all lines, and the step that helps.
  void SetAdvice(std::string advice) { bad_.SetAdvice(std::move(advice)); }

  double Progress() const;                             // share that has been read, 0 to 1
  uint64_t bad_lines() const { return bad_.count(); }  // since Rewind

 private:
  void Restart();

  TextBlocks blocks_;
  TextBlock block_;
  LineCursor cursor_;
  uint64_t line_end_ = 0;  // of the line that Next gave last, in its file
  bool ended_ = false;
  BadLines bad_;
};

}  // namespace strata
