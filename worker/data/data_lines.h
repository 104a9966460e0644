// DataLines: the lines of one rank's share of text files, and the count of those that are no rows.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/file/disk.h"
#include "strata/status.h"
#include "worker/data/bad_lines.h"
#include "worker/data/file_parts.h"
#include "worker/data/line_reader.h"

namespace strata {

// How a reader of rows goes over text files.
struct TextOptions {
  Share share = {};  // all of the files by default
  // false: labels, weights and queries are not read and may be absent; labels are NaN, weights 1.
  bool labels_required = true;
  // A row that cannot be read comes as a row of missing values with `bad` set, instead of being
  // left out.
  bool keep_bad_rows = false;
  bool log_bad_lines = true;     // warnings for the first ten, once a pass is through
  size_t block_bytes = 1 << 20;  // read from the disk at a time
  // Asked while standard input gives nothing. An error ends the wait.
  std::function<Status()> check = {};
  // Set: the files, or parts of them, come in another order each epoch.
  std::optional<uint64_t> order_seed = {};
};

// A file of text, and where its rows begin.
struct OpenedText {
  std::unique_ptr<File> file;  // null: it is opened again when its rows are read
  std::string path;
  uint64_t size = 0;  // of the file, in bytes; kUnknownSize of standard input
  Compression compression = Compression::kNone;
  std::string head;         // the text's first bytes, up to kHeadBytes
  uint64_t rows_begin = 0;  // first byte behind the byte order mark and what else is no row
  uint64_t first_line = 1;  // the line number of what begins there
};

// The path "-" is standard input, and `check` what OpenStandardInput asks. kNotFound: no such file.
// kInvalid: an empty file, one that is no text, or one that cannot be decoded.
Result<OpenedText> OpenText(Disk& disk, const std::string& path,
                            const std::function<Status()>& check);

// The first line that is not to be skipped, and where the one after it begins.
struct FirstLine {
  std::string text;  // "": there is none
  uint64_t end = 0;  // in bytes from the text's beginning
  uint64_t number = 0;
};

// kInvalid: the line is too long, or the file begins like JSON or markup.
Result<FirstLine> ReadFirstLine(const OpenedText& text,
                                const std::function<bool(std::string_view)>& is_skipped);

// One thread at a time.
class DataLines {
 public:
  // At least one text; of several, all may be closed. `bad_share_max` is the share of bad lines
  // above which they are no good. The disk outlives this, unless there is one text.
  DataLines(Disk& disk, std::vector<OpenedText> texts, double bad_share_max,
            const TextOptions& options);

  // The next line of the share, file after file; false at its end. The line's offset is of its own
  // file. kInvalid at the end of a share with too many bad lines, or for a line that is too long;
  // kFailed: the disk's error, or a file that has changed.
  Result<bool> Next(Line* line);

  // Counts the line that Next gave last as no row. Gives the reason with the line's place. kInvalid
  // once it is certain that too many are bad.
  Result<std::string> AddBad(const Line& line, const std::string& reason);

  // Where the line is that Next gave last: "rows.csv:7", or "rows.csv: line at byte 312" where no
  // number is known.
  std::string PlaceOf(const Line& line) const;

  // A number for the line that Next gave last that no other line of these files has, whoever reads
  // it. Of the first file it is the line's offset.
  uint64_t IdOf(const Line& line) const;

  // Back to the share's first line.
  void Rewind();
  // The same, with the files in the order of this epoch, if they have one.
  void BeginEpoch(uint64_t epoch);
  // From now on there is this share alone, from its first line; with `to_end`, what follows it,
  // too. kInvalid: a part of a compressed file, which cannot be cut.
  Status TakeShare(Share share, bool to_end);

  // What probably is wrong with all lines, and the step that helps.
  void SetAdvice(std::string advice) { bad_.SetAdvice(std::move(advice)); }

  double Progress() const;                             // share that has been read, 0 to 1
  uint64_t bad_lines() const { return bad_.count(); }  // since Rewind

 private:
  void Cut(Share share, bool to_end);
  Status EnterPart();
  void LeavePart();
  const OpenedText& text() const { return texts_[parts_[part_].file]; }
  uint64_t LinesRead() const;       // since Rewind
  uint64_t LinesEstimated() const;  // of the share
  uint64_t LineNumber() const;      // of the line that was read last; 0: unknown

  Disk* disk_;
  std::vector<OpenedText> texts_;
  TextOptions options_;
  std::vector<FilePart> parts_;      // of the share
  uint64_t share_bytes_ = 0;         // of all parts
  size_t part_ = 0;                  // that is read, or comes next
  std::optional<LineReader> lines_;  // of the part, while it is read
  uint64_t lines_before_ = 0;        // of the parts before
  uint64_t bytes_before_ = 0;
  BadLines bad_;
};

}  // namespace strata
