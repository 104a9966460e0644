// The decoders of compressed files: zlib and libzstd are seen here alone.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "base/file/disk.h"
#include "worker/data/file/compression.h"

namespace strata {

std::unique_ptr<DecodedBytes> MakeGzipDecoder(const File* file, uint64_t size);
std::unique_ptr<DecodedBytes> MakeZstdDecoder(const File* file, uint64_t size);

// Whether the bytes begin a member of gzip.
bool IsGzip(std::string_view bytes);
// Whether the four bytes, or fewer at a file's end, begin a frame of zstd, or one to be skipped.
bool IsZstd(std::string_view bytes);

}  // namespace strata
