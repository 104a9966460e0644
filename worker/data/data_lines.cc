#include "worker/data/data_lines.h"

#include <fmt/format.h>

#include <utility>

#include "base/file/standard_input.h"
#include "base/file/text_file.h"
#include "worker/data/file_list.h"
#include "worker/data/file_look.h"

namespace strata {
namespace {

std::vector<std::string> PathsOf(const std::vector<OpenedText>& texts) {
  std::vector<std::string> paths;
  for (const OpenedText& text : texts) paths.push_back(text.path);
  return paths;
}

// The lines of a range of the text, or of all of one that is compressed.
LineReader LinesOf(const OpenedText& text, ByteRange range, size_t block_bytes) {
  if (text.compression != Compression::kNone) {
    return LineReader(DecodedBytes::Make(text.compression, text.file.get(), text.size),
                      text.rows_begin, block_bytes);
  }
  return LineReader(text.file.get(), {range, text.rows_begin, text.size, block_bytes});
}

// What the text begins with, and how it is compressed.
Status ReadHead(OpenedText* text) {
  text->head.resize(kHeadBytes);
  const std::span<std::byte> out = std::as_writable_bytes(std::span(text->head));
  STRATA_ASSIGN(size_t read, text->file->ReadAt(0, out));
  text->compression = CompressionOf(std::string_view(text->head).substr(0, read));
  if (text->compression != Compression::kNone) {
    const auto bytes = DecodedBytes::Make(text->compression, text->file.get(), text->size);
    STRATA_ASSIGN(read, bytes->ReadAt(0, out));
  }
  text->head.resize(read);
  return {};
}

}  // namespace

Result<OpenedText> OpenText(Disk& disk, const std::string& path,
                            const std::function<Status()>& check) {
  OpenedText text;
  if (IsStandardInput(path)) {
    text.path = "standard input";
    text.file = OpenStandardInput(check);
    text.size = kUnknownSize;
  } else {
    text.path = path;
    STRATA_ASSIGN(text.file, disk.OpenToRead(path));
    STRATA_ASSIGN(text.size, text.file->Size());
  }
  STRATA_TRY(ReadHead(&text).Prefixed(text.path));
  STRATA_TRY(CheckIsText(text.head, text.path));
  text.rows_begin = text.head.size() - WithoutByteOrderMark(text.head).size();
  if (text.rows_begin == text.head.size()) return Invalid(text.path + ": the file is empty");
  return text;
}

Result<FirstLine> ReadFirstLine(const OpenedText& text,
                                const std::function<bool(std::string_view)>& is_skipped) {
  LineReader lines = LinesOf(text, {0, text.size}, 1 << 16);
  Line line;
  FirstLine first;
  const auto next = [&]() -> Result<bool> {
    Result<bool> read = lines.Next(&line);
    if (!read.ok()) return WithForeignLook(read.status(), text.head, text.path);
    return read;
  };
  while (first.text.empty()) {
    STRATA_ASSIGN(const bool read, next());
    if (!read) return first;
    if (!is_skipped(line.text)) first.text = line.text;
  }
  first.number = lines.lines_read();
  STRATA_ASSIGN(const bool more, next());
  first.end = more ? line.offset : lines.position();
  return first;
}

DataLines::DataLines(Disk& disk, std::vector<OpenedText> texts, double bad_share_max,
                     const TextOptions& options)
    : disk_(&disk),
      texts_(std::move(texts)),
      options_(options),
      bad_(FilesText(PathsOf(texts_)), bad_share_max) {
  STRATA_CHECK(!texts_.empty() && options.share.rank < options.share.world);
  Cut(options.share, false);
}

void DataLines::Cut(Share share, bool to_end) {
  std::vector<FileExtent> extents;
  for (const OpenedText& text : texts_) {
    extents.push_back({.bytes = text.size, .whole = text.compression != Compression::kNone});
  }
  parts_ = PartsOf(extents, share, to_end);
  share_bytes_ = 0;
  for (const FilePart& part : parts_) share_bytes_ += part.bytes();
}

Result<bool> DataLines::Next(Line* line) {
  while (part_ < parts_.size()) {
    if (!lines_.has_value()) STRATA_TRY(EnterPart());
    Result<bool> read = lines_->Next(line);
    if (!read.ok()) return read.status().Prefixed(text().path);
    if (*read) return true;
    LeavePart();
  }
  STRATA_TRY(bad_.Check(LinesRead(), LinesRead()));
  if (options_.log_bad_lines) bad_.LogExamples();
  options_.log_bad_lines = false;  // later passes would say the same
  return false;
}

// Of many files one is open at a time.
Status DataLines::EnterPart() {
  OpenedText& text = texts_[parts_[part_].file];
  if (text.file == nullptr) {
    STRATA_ASSIGN(text.file, disk_->OpenToRead(text.path));
    STRATA_ASSIGN(const uint64_t size, text.file->Size());
    if (size != text.size) {
      return Failed(fmt::format(
          "{}: has {} bytes, but had {} before: do not change a file while a job reads it",
          text.path, size, text.size));
    }
  }
  lines_.emplace(LinesOf(text, parts_[part_].range, options_.block_bytes));
  return {};
}

void DataLines::LeavePart() {
  lines_before_ += lines_->lines_read();
  bytes_before_ += parts_[part_].bytes();
  lines_.reset();
  if (texts_.size() > 1) texts_[parts_[part_].file].file.reset();
  ++part_;
}

Result<std::string> DataLines::AddBad(const Line& line, const std::string& reason) {
  std::string text = bad_.Add(PlaceOf(line), reason);
  // The estimate is rough while few lines have been read.
  if (bad_.count() >= BadLines::kShownMax) {
    STRATA_TRY(bad_.Check(LinesRead(), LinesEstimated()));
  }
  return text;
}

std::string DataLines::PlaceOf(const Line& line) const {
  return LinePlace(text().path, line.offset, LineNumber());
}

uint64_t DataLines::IdOf(const Line& line) const {
  return PlaceId(parts_[part_].file, line.offset);
}

void DataLines::Rewind() {
  if (lines_.has_value()) LeavePart();
  part_ = 0;
  lines_before_ = 0;
  bytes_before_ = 0;
  bad_.Reset();
}

void DataLines::BeginEpoch(uint64_t epoch) {
  Rewind();
  if (!options_.order_seed.has_value()) return;
  parts_ = InOrderOfEpoch(std::move(parts_), *options_.order_seed, epoch);
}

Status DataLines::TakeShare(Share share, bool to_end) {
  for (const OpenedText& text : texts_) {
    if (share.world == 1 || text.compression == Compression::kNone) continue;
    return Invalid(
        fmt::format("{}: is compressed, and one worker must read all of it: expected a file that "
                    "{} workers can share: unpack it first",
                    text.path, share.world));
  }
  Rewind();
  Cut(share, to_end);
  return {};
}

double DataLines::Progress() const {
  if (part_ == parts_.size()) return 1;
  const double now =
      lines_.has_value() ? lines_->Progress() * static_cast<double>(parts_[part_].bytes()) : 0;
  return (static_cast<double>(bytes_before_) + now) / static_cast<double>(share_bytes_);
}

uint64_t DataLines::LinesRead() const {
  return lines_before_ + (lines_.has_value() ? lines_->lines_read() : 0);
}

// Lines of the parts to come are taken to be as long as those of this one.
uint64_t DataLines::LinesEstimated() const {
  if (!lines_.has_value()) return lines_before_;
  const uint64_t part = lines_->LinesEstimated();
  const uint64_t bytes = parts_[part_].bytes();
  const uint64_t later = share_bytes_ - bytes_before_ - bytes;
  const double parts_to_come = static_cast<double>(later) / static_cast<double>(bytes);
  return lines_before_ + part + static_cast<uint64_t>(static_cast<double>(part) * parts_to_come);
}

uint64_t DataLines::LineNumber() const {
  return lines_->from_start() ? text().first_line + lines_->lines_read() - 1 : 0;
}

}  // namespace strata
