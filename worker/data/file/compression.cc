#include "worker/data/file/compression.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/human_text.h"
#include "worker/data/file/decoders.h"

namespace strata {
namespace {

constexpr size_t kInputBytes = 64 << 10;
constexpr size_t kSkipBytes = 64 << 10;
constexpr size_t kBeginBytes = 4;  // that say whether another member or frame follows

std::string_view TextOf(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

Compression CompressionOf(std::string_view head) {
  if (IsGzip(head)) return Compression::kGzip;
  return head.size() >= kBeginBytes && IsZstd(head.substr(0, kBeginBytes)) ? Compression::kZstd
                                                                           : Compression::kNone;
}

std::unique_ptr<DecodedBytes> DecodedBytes::Make(Compression compression, const File* file,
                                                 uint64_t size) {
  STRATA_CHECK(compression != Compression::kNone);
  return compression == Compression::kGzip ? MakeGzipDecoder(file, size)
                                           : MakeZstdDecoder(file, size);
}

DecodedBytes::DecodedBytes(const char* name, const File* file, uint64_t size)
    : name_(name), file_(file), size_(size), input_(kInputBytes) {}

Result<size_t> DecodedBytes::ReadAt(uint64_t offset, std::span<std::byte> out) {
  if (offset < position_) {
    input_offset_ = 0;
    input_begin_ = 0;
    input_end_ = 0;
    file_ended_ = false;
    in_part_ = false;
    position_ = 0;
  }
  std::vector<std::byte> skipped(std::min<uint64_t>(offset - position_, kSkipBytes));
  while (position_ < offset) {
    const uint64_t left = offset - position_;
    const auto wanted = static_cast<size_t>(std::min<uint64_t>(left, skipped.size()));
    STRATA_ASSIGN(const size_t read, ReadOn(std::span(skipped).first(wanted)));
    if (read < wanted) return 0;
  }
  return ReadOn(out);
}

double DecodedBytes::Progress() const {
  if (size_ == 0) return 1;
  return std::min(1.0, static_cast<double>(offset()) / static_cast<double>(size_));
}

Result<size_t> DecodedBytes::ReadOn(std::span<std::byte> out) {
  size_t filled = 0;
  while (filled < out.size()) {
    if (!in_part_) {
      STRATA_ASSIGN(const bool more, BeginPart());
      if (!more) break;
    }
    STRATA_TRY(Fill(1));
    const Step step = Decode(input(), out.subspan(filled));
    input_begin_ += step.consumed;
    filled += step.produced;
    position_ += step.produced;
    if (!step.error.empty()) return Wrong(step.error);
    in_part_ = !step.ended;
    if (step.ended || step.consumed + step.produced > 0) continue;
    return Wrong(input().empty() ? "the file ends here, in the midst of the data: it was cut "
                                   "short; copy it again"
                                 : "the data cannot be decoded");
  }
  return filled;
}

// Goes on with the next member or frame; false at the end of the file.
Result<bool> DecodedBytes::BeginPart() {
  STRATA_TRY(Fill(kBeginBytes));
  if (input().empty()) return false;
  const std::string_view begin = TextOf(input().first(std::min(input().size(), kBeginBytes)));
  if (!IsBegin(begin)) {
    return Wrong(
        fmt::format("the data ends here, but the file goes on with '{}': expected its end or more "
                    "data of {}; remove what is behind it",
                    ShownBytes(begin), name_));
  }
  Reset();
  in_part_ = true;
  return true;
}

// Has at least so many bytes of input, unless the file is at its end.
Status DecodedBytes::Fill(size_t bytes_min) {
  if (input().size() >= bytes_min || file_ended_) return {};
  const size_t left = input().size();
  std::memmove(input_.data(), input_.data() + input_begin_, left);
  input_offset_ += input_begin_;
  input_begin_ = 0;
  input_end_ = left;
  const std::span<std::byte> space = std::span(input_).subspan(left);
  STRATA_ASSIGN(const size_t read, file_->ReadAt(input_offset_ + left, space));
  input_end_ += read;
  file_ended_ = read < space.size();
  return {};
}

Status DecodedBytes::Wrong(const std::string& what) const {
  return Invalid(
      fmt::format("byte {} of the file, which is compressed with {}: {}", offset(), name_, what));
}

}  // namespace strata
