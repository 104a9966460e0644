#include "worker/data/line_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace strata {

ByteRange RangeOf(uint64_t size, Share share) {
  const auto cut = [&](uint64_t part) {
    return static_cast<uint64_t>(static_cast<unsigned __int128>(size) * part / share.world);
  };
  return {cut(share.rank), cut(uint64_t{share.rank} + 1)};
}

LineReader::LineReader(const File* file, const Options& options) : file_(file), options_(options) {
  Rewind();
}

LineReader::LineReader(std::unique_ptr<DecodedBytes> bytes, uint64_t data_begin, size_t block_bytes)
    : file_(nullptr),
      bytes_(std::move(bytes)),
      options_({.range = {0, kUnknownSize},
                .data_begin = data_begin,
                .size = kUnknownSize,
                .block_bytes = block_bytes}) {
  Rewind();
}

void LineReader::Rewind() {
  aligned_ = options_.range.begin <= options_.data_begin;
  // A line begins at the cut exactly when the byte before it ends one: reading starts there.
  start_ = aligned_ ? options_.data_begin : options_.range.begin - 1;
  buffer_begin_ = start_;
  filled_ = 0;
  cursor_ = 0;
  lines_read_ = 0;
}

Result<bool> LineReader::Next(Line* line) {
  if (!aligned_) {
    STRATA_ASSIGN(const bool skipped, ReadLine(line));
    aligned_ = true;
    if (!skipped) return false;
    start_ = position();
  }
  if (position() >= options_.range.end) return false;
  STRATA_ASSIGN(const bool read, ReadLine(line));
  if (read) ++lines_read_;
  return read;
}

// The next line wherever it begins; false at the end of the file.
Result<bool> LineReader::ReadLine(Line* line) {
  size_t searched = 0;
  while (true) {
    const char* begin = buffer_.data() + cursor_;
    const size_t left = filled_ - cursor_;
    const void* newline =
        left == searched ? nullptr : std::memchr(begin + searched, '\n', left - searched);
    if (newline == nullptr && left > kLineBytesMax) {
      return Invalid(fmt::format("{}: a line above {} bytes: is this a text file with lines?",
                                 Place(), kLineBytesMax));
    }
    const bool at_end = buffer_begin_ + filled_ >= options_.size;
    if (newline == nullptr && !at_end) {
      searched = left;
      STRATA_TRY(Fill());
      continue;
    }
    if (newline == nullptr && left == 0) return false;
    size_t length =
        newline == nullptr ? left : static_cast<size_t>(static_cast<const char*>(newline) - begin);
    line->offset = position();
    cursor_ += length + (newline == nullptr ? 0 : 1);
    if (newline != nullptr && length > 0 && begin[length - 1] == '\r') --length;
    line->text = {begin, length};
    return true;
  }
}

// Moves the unfinished line to the front and reads one block behind it.
Status LineReader::Fill() {
  const size_t left = filled_ - cursor_;
  const uint64_t offset = buffer_begin_ + filled_;
  const auto wanted =
      static_cast<size_t>(std::min<uint64_t>(options_.block_bytes, options_.size - offset));
  buffer_.resize(std::max(buffer_.size(), left + wanted));
  std::memmove(buffer_.data(), buffer_.data() + cursor_, left);
  buffer_begin_ += cursor_;
  cursor_ = 0;
  filled_ = left;
  const std::span<char> space(buffer_.data() + filled_, wanted);
  STRATA_ASSIGN(const size_t read, Read(offset, std::as_writable_bytes(space)));
  filled_ += read;
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

Result<size_t> LineReader::Read(uint64_t offset, std::span<std::byte> out) {
  return bytes_ != nullptr ? bytes_->ReadAt(offset, out) : file_->ReadAt(offset, out);
}

// Of the line that begins here. Bytes of a compressed file's text are of no use to people.
std::string LineReader::Place() const {
  return bytes_ != nullptr ? fmt::format("line {} of its text", lines_read_ + 1)
                           : fmt::format("byte {}", position());
}

uint64_t LineReader::LinesEstimated() const {
  if (bytes_ != nullptr) {
    const double lines = static_cast<double>(lines_read_) / std::max(Progress(), 1e-9);
    return std::max(lines_read_, static_cast<uint64_t>(lines));
  }
  const uint64_t bytes = position() - start_;
  if (bytes == 0 || lines_read_ == 0 || options_.range.end <= start_) return lines_read_;
  const double bytes_a_line = static_cast<double>(bytes) / static_cast<double>(lines_read_);
  const auto share_bytes = static_cast<double>(options_.range.end - start_);
  return std::max(lines_read_, static_cast<uint64_t>(share_bytes / bytes_a_line));
}

double LineReader::Progress() const {
  if (bytes_ != nullptr) return position() >= options_.size ? 1 : bytes_->Progress();
  const ByteRange& range = options_.range;
  const uint64_t first = std::max(options_.data_begin, range.begin);
  if (range.end <= first || position() >= range.end) return 1;
  if (position() <= first) return 0;
  return static_cast<double>(position() - first) / static_cast<double>(range.end - first);
}

}  // namespace strata
