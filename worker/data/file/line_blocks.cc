#include "worker/data/file/line_blocks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace strata {
namespace {

// The bytes up to the first line end at `from` or behind it, this included; 0: there is none.
size_t ThroughLineEnd(const char* bytes, size_t from, size_t size) {
  if (from >= size) return 0;
  const void* const newline = std::memchr(bytes + from, '\n', size - from);
  return newline == nullptr ? 0
                            : static_cast<size_t>(static_cast<const char*>(newline) - bytes) + 1;
}

uint64_t CountLines(std::string_view text) {
  uint64_t lines = 0;
  for (size_t at = 0; at < text.size(); ++lines) {
    const size_t end = ThroughLineEnd(text.data(), at, text.size());
    at = end == 0 ? text.size() : end;
  }
  return lines;
}

}  // namespace

ByteRange RangeOf(uint64_t size, Share share) {
  const auto cut = [&](uint64_t part) {
    return static_cast<uint64_t>(static_cast<unsigned __int128>(size) * part / share.world);
  };
  return {cut(share.rank), cut(uint64_t{share.rank} + 1)};
}

double LineRange::Progress(uint64_t position, double decoded) const {
  if (is_decoded) return decoded;
  if (end <= first || position >= end) return 1;
  if (position <= first) return 0;
  return static_cast<double>(position - first) / static_cast<double>(end - first);
}

uint64_t LineRange::LinesEstimated(const Line& line, double decoded) const {
  const auto lines = static_cast<double>(line.number);
  if (is_decoded) {
    return std::max(line.number, static_cast<uint64_t>(lines / std::max(decoded, 1e-9)));
  }
  if (line.end <= begin || line.number == 0 || end <= begin) return line.number;
  const double bytes_a_line = static_cast<double>(line.end - begin) / lines;
  return std::max(line.number,
                  static_cast<uint64_t>(static_cast<double>(end - begin) / bytes_a_line));
}

bool LineCursor::Next(const LineBlock& block, Line* line) {
  if (at_ == block.size) return false;
  const char* const begin = block.bytes.data() + at_;
  const size_t left = block.size - at_;
  const size_t through = ThroughLineEnd(begin, 0, left);
  size_t length = through == 0 ? left : through - 1;
  line->offset = block.offset + at_;
  at_ += through == 0 ? left : through;
  if (through != 0 && length > 0 && begin[length - 1] == '\r') --length;
  line->text = {begin, length};
  line->end = block.offset + at_;
  line->number = block.lines_before + ++lines_;
  return true;
}

LineBlocks::LineBlocks(const File* file, const Options& options) : file_(file), options_(options) {
  Rewind();
}

LineBlocks::LineBlocks(std::unique_ptr<DecodedBytes> bytes, uint64_t data_begin, size_t block_bytes)
    : file_(nullptr),
      bytes_(std::move(bytes)),
      options_({.range = {0, kUnknownSize},
                .data_begin = data_begin,
                .size = kUnknownSize,
                .block_bytes = block_bytes}) {
  Rewind();
}

void LineBlocks::Rewind() {
  const ByteRange& range = options_.range;
  aligned_ = range.begin <= options_.data_begin;
  // A line begins at the cut exactly when the byte before it ends one: reading starts there.
  position_ = aligned_ ? options_.data_begin : range.begin - 1;
  range_ = {.begin = position_,
            .first = std::max(options_.data_begin, range.begin),
            .end = range.end,
            .from_start = aligned_,
            .is_decoded = bytes_ != nullptr};
  rest_.clear();
  lines_ = 0;
}

Result<bool> LineBlocks::Next(LineBlock* block) {
  if (!aligned_) {
    STRATA_ASSIGN(aligned_, SkipOthersLine());
    if (!aligned_) return false;
  }
  if (position_ >= options_.range.end) return false;
  size_t filled = rest_.size();
  block->bytes.resize(std::max(block->bytes.size(), filled));
  std::ranges::copy(rest_, block->bytes.begin());
  size_t whole = WholeLines(block->bytes.data(), filled);
  while (whole == 0) {
    STRATA_TRY(CheckLength(filled));
    if (AtEnd(filled)) return false;
    STRATA_TRY(Fill(&block->bytes, &filled));
    whole = WholeLines(block->bytes.data(), filled);
  }
  rest_.assign(block->bytes.begin() + static_cast<ptrdiff_t>(whole),
               block->bytes.begin() + static_cast<ptrdiff_t>(filled));
  block->size = whole;
  block->offset = position_;
  block->lines = CountLines(block->text());
  block->lines_before = lines_;
  block->range = range_;
  block->decoded = bytes_ != nullptr ? bytes_->Progress() : 0;
  position_ += whole;
  lines_ += block->lines;
  return true;
}

// Goes on to the first line that begins in the range; false: none begins behind the cut.
Result<bool> LineBlocks::SkipOthersLine() {
  std::vector<char> bytes;
  size_t filled = 0;
  size_t skipped = 0;
  while (skipped == 0) {
    const size_t searched = filled;
    STRATA_TRY(CheckLength(filled));
    if (!AtEnd(filled)) STRATA_TRY(Fill(&bytes, &filled));
    skipped = ThroughLineEnd(bytes.data(), searched, filled);
    if (skipped == 0 && AtEnd(filled)) skipped = filled;
    if (filled == 0) return false;
  }
  rest_.assign(bytes.begin() + static_cast<ptrdiff_t>(skipped),
               bytes.begin() + static_cast<ptrdiff_t>(filled));
  position_ += skipped;
  range_.begin = position_;
  return true;
}

// How many of the bytes are whole lines of the range.
size_t LineBlocks::WholeLines(const char* bytes, size_t filled) const {
  const std::string_view text(bytes, filled);
  size_t whole = text.rfind('\n') + 1;  // npos + 1 is 0
  // The text's last line needs no end.
  if (AtEnd(filled) && filled - whole <= kLineBytesMax) whole = filled;
  const uint64_t mine = options_.range.end - position_;
  if (whole <= mine) return whole;
  const size_t last = ThroughLineEnd(bytes, static_cast<size_t>(mine) - 1, whole);
  return last == 0 ? whole : last;
}

// Reads one block behind what is there.
Status LineBlocks::Fill(std::vector<char>* bytes, size_t* filled) {
  const uint64_t offset = position_ + *filled;
  const auto wanted =
      static_cast<size_t>(std::min<uint64_t>(options_.block_bytes, options_.size - offset));
  bytes->resize(std::max(bytes->size(), *filled + wanted));
  const std::span<std::byte> out =
      std::as_writable_bytes(std::span(bytes->data() + *filled, wanted));
  STRATA_ASSIGN(const size_t read,
                bytes_ != nullptr ? bytes_->ReadAt(offset, out) : file_->ReadAt(offset, out));
  *filled += read;
  if (read < wanted && options_.size == kUnknownSize) {
    options_.size = offset + read;
  } else if (read < wanted) {
    return Failed(
        fmt::format("the file ended at byte {}, but had {} bytes when it was opened: "
                    "do not change it while a job reads it",
                    offset + read, options_.size));
  }
  return Status::Ok();
}

// Bytes of a compressed file's text are of no use to people.
Status LineBlocks::CheckLength(size_t bytes) const {
  if (bytes <= kLineBytesMax) return {};
  const std::string place = bytes_ != nullptr ? fmt::format("line {} of its text", lines_ + 1)
                                              : fmt::format("byte {}", position_);
  return Invalid(fmt::format("{}: a line above {} bytes: is this a text file with lines?", place,
                             kLineBytesMax));
}

}  // namespace strata
