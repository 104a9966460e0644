#include "worker/data/data_lines.h"

#include <utility>

#include "base/file/text_file.h"
#include "worker/data/file_look.h"

namespace strata {

Result<OpenedText> OpenText(Disk& disk, const std::string& path) {
  OpenedText text;
  text.path = path;
  STRATA_ASSIGN(text.file, disk.OpenToRead(path));
  STRATA_ASSIGN(text.size, text.file->Size());
  STRATA_TRY(CheckIsText(*text.file, path));
  STRATA_ASSIGN(text.rows_begin, TextBegin(*text.file));
  if (text.rows_begin == text.size) return Invalid(path + ": the file is empty");
  return text;
}

Result<FirstLine> ReadFirstLine(const OpenedText& text,
                                const std::function<bool(std::string_view)>& is_skipped) {
  LineReader lines(text.file.get(), {{0, text.size}, text.rows_begin, text.size, 1 << 16});
  Line line;
  FirstLine first;
  const auto next = [&]() -> Result<bool> {
    Result<bool> read = lines.Next(&line);
    if (!read.ok()) return WithForeignLook(read.status(), *text.file, text.path);
    return read;
  };
  while (first.text.empty()) {
    STRATA_ASSIGN(const bool read, next());
    if (!read) return first;
    if (!is_skipped(line.text)) first.text = line.text;
  }
  first.number = lines.lines_read();
  STRATA_ASSIGN(const bool more, next());
  first.end = more ? line.offset : text.size;
  return first;
}

DataLines::DataLines(OpenedText text, double bad_share_max, const TextOptions& options)
    : text_(std::move(text)),
      options_(options),
      lines_(text_.file.get(), RangeOptions(options.share, false)),
      bad_(text_.path, bad_share_max) {
  STRATA_CHECK(options.share.rank < options.share.world);
}

Result<bool> DataLines::Next(Line* line) {
  Result<bool> read = lines_.Next(line);
  if (!read.ok()) return read.status().Prefixed(text_.path);
  if (*read) return true;
  STRATA_TRY(bad_.Check(lines_.lines_read(), lines_.lines_read()));
  if (options_.log_bad_lines) bad_.LogExamples();
  options_.log_bad_lines = false;  // later passes would say the same
  return false;
}

Result<std::string> DataLines::AddBad(const Line& line, const std::string& reason) {
  std::string text = bad_.Add(line.offset, LineNumber(), reason);
  // The estimate is rough while few lines have been read.
  if (bad_.count() >= BadLines::kShownMax) {
    STRATA_TRY(bad_.Check(lines_.lines_read(), lines_.LinesEstimated()));
  }
  return text;
}

std::string DataLines::PlaceOf(const Line& line) const {
  return LinePlace(text_.path, line.offset, LineNumber());
}

void DataLines::Rewind() {
  lines_.Rewind();
  bad_.Reset();
}

void DataLines::TakeShare(Share share, bool to_end) {
  lines_ = LineReader(text_.file.get(), RangeOptions(share, to_end));
  Rewind();
}

LineReader::Options DataLines::RangeOptions(Share share, bool to_end) const {
  ByteRange range = RangeOf(text_.size, share);
  if (to_end) range.end = text_.size;
  return {range, text_.rows_begin, text_.size, options_.block_bytes};
}

uint64_t DataLines::LineNumber() const {
  return lines_.from_start() ? text_.first_line + lines_.lines_read() - 1 : 0;
}

}  // namespace strata
