#include "worker/data/text/text_blocks.h"

#include <fmt/format.h>

#include <utility>

#include "worker/data/file/bad_lines.h"
#include "worker/data/file/file_list.h"

namespace strata {

std::string TextBlock::PlaceOf(const Line& line) const {
  const uint64_t number = lines.range.from_start ? text->first_line + line.number - 1 : 0;
  return LinePlace(text->path, line.offset, number);
}

// Lines of the parts to come are taken to be as long as those of this one.
uint64_t TextBlock::LinesEstimated(const Line& line) const {
  const uint64_t part = lines.range.LinesEstimated(line, lines.decoded);
  const uint64_t later = share_bytes - bytes_before - part_bytes;
  const double parts_to_come = static_cast<double>(later) / static_cast<double>(part_bytes);
  return lines_before + part + static_cast<uint64_t>(static_cast<double>(part) * parts_to_come);
}

double TextBlock::Progress(uint64_t offset) const {
  const double now = lines.range.Progress(offset, lines.decoded) * static_cast<double>(part_bytes);
  return (static_cast<double>(bytes_before) + now) / static_cast<double>(share_bytes);
}

TextBlocks::TextBlocks(Disk& disk, std::vector<OpenedText> texts, const TextOptions& options)
    : disk_(&disk),
      texts_(std::move(texts)),
      order_seed_(options.order_seed),
      block_bytes_(options.block_bytes) {
  STRATA_CHECK(!texts_.empty() && options.share.rank < options.share.world);
  Cut(options.share, false);
}

void TextBlocks::Cut(Share share, bool to_end) {
  std::vector<FileExtent> extents;
  for (const OpenedText& text : texts_) {
    extents.push_back({.bytes = text.size, .whole = text.compression != Compression::kNone});
  }
  parts_ = PartsOf(extents, share, to_end);
  share_bytes_ = 0;
  for (const FilePart& part : parts_) share_bytes_ += part.bytes();
}

Result<bool> TextBlocks::Next(TextBlock* block) {
  for (; part_ < parts_.size(); LeavePart()) {
    const FilePart& part = parts_[part_];
    if (!blocks_.has_value()) STRATA_TRY(EnterPart());
    const Result<bool> read = blocks_->Next(&block->lines);
    if (!read.ok()) return read.status().Prefixed(texts_[part.file].path);
    if (!*read) continue;
    block->text = &texts_[part.file];
    block->file = part.file;
    block->part_bytes = part.bytes();
    block->bytes_before = bytes_before_;
    block->share_bytes = share_bytes_;
    block->lines_before = lines_before_;
    lines_ += block->lines.lines;
    return true;
  }
  return false;
}

// Of many files one is open at a time.
Status TextBlocks::EnterPart() {
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
  blocks_.emplace(LinesOf(text, parts_[part_].range, block_bytes_));
  return {};
}

void TextBlocks::LeavePart() {
  bytes_before_ += parts_[part_].bytes();
  lines_before_ = lines_;
  blocks_.reset();
  if (texts_.size() > 1) texts_[parts_[part_].file].file.reset();
  ++part_;
}

void TextBlocks::Rewind() {
  if (blocks_.has_value()) LeavePart();
  part_ = 0;
  bytes_before_ = 0;
  lines_before_ = 0;
  lines_ = 0;
}

void TextBlocks::BeginEpoch(uint64_t epoch) {
  Rewind();
  if (!order_seed_.has_value()) return;
  parts_ = InOrderOfEpoch(std::move(parts_), *order_seed_, epoch);
}

Status TextBlocks::TakeShare(Share share, bool to_end) {
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

std::string TextBlocks::files() const {
  std::vector<std::string> paths;
  for (const OpenedText& text : texts_) paths.push_back(text.path);
  return FilesText(paths);
}

}  // namespace strata
