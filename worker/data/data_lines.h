// DataLines: the lines of one rank's share of a text file, and the count of those that are no rows.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/file/disk.h"
#include "strata/status.h"
#include "worker/data/bad_lines.h"
#include "worker/data/line_reader.h"

namespace strata {

// How a reader of rows goes over a text file.
struct TextOptions {
  Share share = {};  // the whole file by default
  // false: labels, weights and queries are not read and may be absent; labels are NaN, weights 1.
  bool labels_required = true;
  // A row that cannot be read comes as a row of missing values with `bad` set, instead of being
  // left out.
  bool keep_bad_rows = false;
  bool log_bad_lines = true;     // warnings for the first ten, once a pass is through
  size_t block_bytes = 1 << 20;  // read from the disk at a time
};

// A file of text, and where its rows begin.
struct OpenedText {
  std::unique_ptr<File> file;
  std::string path;
  uint64_t size = 0;        // in bytes
  uint64_t rows_begin = 0;  // first byte behind the byte order mark and what else is no row
  uint64_t first_line = 1;  // the line number of what begins there
};

// kNotFound: no such file. kInvalid: an empty file, or one that is no text.
Result<OpenedText> OpenText(Disk& disk, const std::string& path);

// The first line that is not to be skipped, and where the one after it begins.
struct FirstLine {
  std::string text;  // "": there is none
  uint64_t end = 0;  // in bytes from the file's beginning
  uint64_t number = 0;
};

// kInvalid: the line is too long, or the file begins like JSON or markup.
Result<FirstLine> ReadFirstLine(const OpenedText& text,
                                const std::function<bool(std::string_view)>& is_skipped);

// One thread at a time.
class DataLines {
 public:
  // `bad_share_max` is the share of bad lines above which a file is no good.
  DataLines(OpenedText text, double bad_share_max, const TextOptions& options);

  // The next line of the share; false at its end. kInvalid at the end of a share with too many bad
  // lines, or for a line that is too long; kFailed: the disk's error.
  Result<bool> Next(Line* line);

  // Counts the line that Next gave last as no row. Gives the reason with the line's place. kInvalid
  // once it is certain that too many are bad.
  Result<std::string> AddBad(const Line& line, const std::string& reason);

  // Where the line is that Next gave last: "rows.csv:7", or "rows.csv: line at byte 312" where no
  // number is known.
  std::string PlaceOf(const Line& line) const;

  // Back to the share's first line.
  void Rewind();
  // From now on there is this share alone, from its first line; with `to_end`, what follows it,
  // too.
  void TakeShare(Share share, bool to_end);

  // What probably is wrong with all lines, and the step that helps.
  void SetAdvice(std::string advice) { bad_.SetAdvice(std::move(advice)); }

  double Progress() const { return lines_.Progress(); }  // share that has been read, 0 to 1
  uint64_t bad_lines() const { return bad_.count(); }    // since Rewind

 private:
  LineReader::Options RangeOptions(Share share, bool to_end) const;
  uint64_t LineNumber() const;  // of the line that was read last; 0: unknown

  OpenedText text_;
  TextOptions options_;
  LineReader lines_;
  BadLines bad_;
};

}  // namespace strata
