// Whole numbers in a NumPy array file, of any width.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/file/disk.h"
#include "base/file/npy_header.h"
#include "strata/status.h"

namespace strata {

// One thread.
class NpyNumbers {
 public:
  // kInvalid: another kind of array than `dimensions` of whole numbers, row-major and whole; of
  // another number of dimensions with `advice`, which says what to do.
  static Result<std::unique_ptr<NpyNumbers>> Open(Disk& disk, const std::string& path,
                                                  size_t dimensions, std::string_view advice);

  uint64_t rows() const { return header_.shape[0]; }
  uint64_t columns() const { return header_.shape.size() > 1 ? header_.shape[1] : 1; }
  const std::string& path() const { return path_; }
  // Elements `begin` to `begin` + `count` - 1, which there are. kInvalid names one that no int64_t
  // holds, and says what is `expected`: "a token from 0 to 9".
  Result<std::vector<int64_t>> Read(uint64_t begin, uint64_t count, std::string_view expected);
  // The same of numbers from 0 to 2^64 - 1; kInvalid names one below.
  Result<std::vector<uint64_t>> ReadUnsigned(uint64_t begin, uint64_t count);

 private:
  bool IsLargeUnsigned() const { return !is_signed_ && width_ == 8; }
  Result<std::vector<int64_t>> ReadBits(uint64_t begin, uint64_t count);

  std::unique_ptr<File> file_;
  std::string path_;
  NpyHeader header_;
  size_t width_ = 0;  // bytes of an element
  bool is_signed_ = false;
};

}  // namespace strata
