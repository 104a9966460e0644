// How the files of a data set are shared out: each rank reads one part of the bytes of all files,
// as if they were one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "worker/data/file/line_blocks.h"

namespace strata {

// A file as far as its sharing goes.
struct FileExtent {
  uint64_t bytes = 0;
  bool whole = false;  // it cannot be cut: one rank reads all of it
};

// What a rank reads of one file.
struct FilePart {
  size_t file = 0;
  ByteRange range;  // of the file; not empty

  uint64_t bytes() const { return range.end - range.begin; }
};

// A number for what begins at the offset of a file, which nothing else in these files has. Of the
// first file it is the offset.
constexpr uint64_t PlaceId(size_t file, uint64_t offset) {
  return (uint64_t{file} << 44) + offset;  // files of 16 TiB, and a million of them
}

// The parts of a share, in the order of the files: its range of all bytes, cut at the files' ends.
// A file that cannot be cut belongs to the share that its middle byte lies in. With `to_end` the
// share goes on to the last file's end. Shares that join without gap or overlap have every byte
// once, and those of a higher rank come after those of a lower one.
std::vector<FilePart> PartsOf(std::span<const FileExtent> files, Share share, bool to_end = false);

// The same parts in a random order, a function of the seed, the epoch and which parts there are.
std::vector<FilePart> InOrderOfEpoch(std::vector<FilePart> parts, uint64_t seed, uint64_t epoch);

}  // namespace strata
