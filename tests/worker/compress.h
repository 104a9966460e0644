// Compressed bytes for the tests of readers, by the libraries' own encoders.
#pragma once

#include <zlib.h>
#include <zstd.h>

#include <string>
#include <string_view>

namespace strata {

// One member.
inline std::string Gzip(std::string_view text, int level = 6) {
  z_stream stream = {};
  deflateInit2(&stream, level, Z_DEFLATED, MAX_WBITS + 16, 8, Z_DEFAULT_STRATEGY);
  std::string out(deflateBound(&stream, text.size()) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

// One frame, with a checksum as the program zstd writes it.
inline std::string Zstd(std::string_view text, int level = 3) {
  ZSTD_CCtx* context = ZSTD_createCCtx();
  ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, level);
  ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
  std::string out(ZSTD_compressBound(text.size()), '\0');
  out.resize(ZSTD_compress2(context, out.data(), out.size(), text.data(), text.size()));
  ZSTD_freeCCtx(context);
  return out;
}

// The head of a zstd frame whose window is 2^`log` bytes, and an empty last block.
inline std::string ZstdOfWindow(int log) {
  std::string frame = "\x28\xb5\x2f\xfd";
  frame += '\0';                                // no size, checksum or dictionary
  frame += static_cast<char>((log - 10) << 3);  // the window's exponent
  return frame + std::string("\x01\x00\x00", 3);
}

}  // namespace strata
