#include "worker/data/file/file_parts.h"

#include <algorithm>
#include <utility>

#include "base/hash.h"
#include "base/random.h"

namespace strata {

std::vector<FilePart> PartsOf(std::span<const FileExtent> files, Share share, bool to_end) {
  uint64_t size = 0;
  for (const FileExtent& file : files) size += file.bytes;
  ByteRange mine = RangeOf(size, share);
  if (to_end) mine.end = size;
  std::vector<FilePart> parts;
  uint64_t begin = 0;  // of the file among all bytes
  for (size_t i = 0; i < files.size(); ++i) {
    const uint64_t end = begin + files[i].bytes;
    ByteRange range = {std::max(begin, mine.begin), std::min(end, mine.end)};
    if (files[i].whole) {
      const uint64_t middle = begin + files[i].bytes / 2;
      range = {begin, middle >= mine.begin && middle < mine.end ? end : begin};
    }
    if (range.begin < range.end) parts.push_back({i, {range.begin - begin, range.end - begin}});
    begin = end;
  }
  return parts;
}

std::vector<FilePart> InOrderOfEpoch(std::vector<FilePart> parts, uint64_t seed, uint64_t epoch) {
  std::ranges::sort(parts, {}, &FilePart::file);
  Random random(Mix64(Mix64(seed) + epoch));
  for (size_t left = parts.size(); left > 1; --left) {
    std::swap(parts[left - 1], parts[random.Below(left)]);
  }
  return parts;
}

}  // namespace strata
