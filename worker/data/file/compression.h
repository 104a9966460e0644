// Compressed files of text, decoded as they are read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/file/disk.h"
#include "strata/status.h"

namespace strata {

enum class Compression : uint8_t { kNone, kGzip, kZstd };

// By the file's first bytes; its name says nothing.
Compression CompressionOf(std::string_view head);

// What a compressed file stands for. Gzip may have several members and zstd several frames, whose
// bytes follow each other. A bounded part is in memory at a time. One thread at a time.
class DecodedBytes {
 public:
  // Windows of zstd above 128 MiB are refused: a decoder needs so much memory.
  static constexpr int kZstdWindowLogMax = 27;

  // Of a compression other than kNone. The file of `size` bytes outlives this.
  static std::unique_ptr<DecodedBytes> Make(Compression compression, const File* file,
                                            uint64_t size);
  virtual ~DecodedBytes() = default;

  // Fills `out` with the bytes from `offset` on; fewer only at the end. Cheap where the last read
  // ended at `offset`; after it all between is decoded, before it all from the beginning.
  //
  // kInvalid, with the offset in the compressed file: it is cut short, damaged, needs too large a
  // window, or goes on with something else. kFailed: the disk's error.
  Result<size_t> ReadAt(uint64_t offset, std::span<std::byte> out);

  // Share of the compressed bytes that has been read, 0 to 1.
  double Progress() const;

 protected:
  DecodedBytes(const char* name, const File* file, uint64_t size);

  struct Step {
    size_t consumed = 0;     // bytes of the input
    size_t produced = 0;     // bytes of the output
    bool ended = false;      // the member or frame is at its end
    std::string error = {};  // "": none
  };
  // Decodes some of the input into some of the output.
  virtual Step Decode(std::span<const std::byte> input, std::span<std::byte> out) = 0;
  // Before each member or frame.
  virtual void Reset() = 0;
  // Whether a member or frame can begin with these four bytes, or fewer at the file's end.
  virtual bool IsBegin(std::string_view bytes) const = 0;

 private:
  std::span<const std::byte> input() const {
    return std::span(input_).subspan(input_begin_, input_end_ - input_begin_);
  }
  uint64_t offset() const { return input_offset_ + input_begin_; }  // in the compressed file
  Status Fill(size_t bytes_min);
  Result<bool> BeginPart();
  Result<size_t> ReadOn(std::span<std::byte> out);
  Status Wrong(const std::string& what) const;

  const char* name_;
  const File* file_;
  uint64_t size_;
  std::vector<std::byte> input_;
  uint64_t input_offset_ = 0;  // of input_[0] in the file
  size_t input_begin_ = 0;     // what is not yet decoded
  size_t input_end_ = 0;
  bool file_ended_ = false;
  bool in_part_ = false;   // within a member or frame
  uint64_t position_ = 0;  // among the decoded bytes
};

}  // namespace strata
