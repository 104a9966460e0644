#include <zlib.h>

#include <algorithm>

#include "worker/data/file/decoders.h"

namespace strata {
namespace {

constexpr std::string_view kGzipMagic = "\x1f\x8b";
constexpr int kGzipOnly = 16;  // added to the bits of the window: RFC 1952, with its checksum

class GzipDecoder : public DecodedBytes {
 public:
  GzipDecoder(const File* file, uint64_t size) : DecodedBytes("gzip", file, size) {
    is_ready_ = inflateInit2(&stream_, MAX_WBITS + kGzipOnly) == Z_OK;
  }
  ~GzipDecoder() override {
    if (is_ready_) inflateEnd(&stream_);
  }

 private:
  Step Decode(std::span<const std::byte> input, std::span<std::byte> out) override {
    if (!is_ready_) return {.error = "zlib has no memory"};
    // zlib's interface has no const.
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(input.data()));
    stream_.avail_in = static_cast<uInt>(input.size());
    stream_.next_out = reinterpret_cast<Bytef*>(out.data());
    const auto room = static_cast<uInt>(std::min<size_t>(out.size(), UINT32_MAX));
    stream_.avail_out = room;
    const int code = inflate(&stream_, Z_NO_FLUSH);
    Step step = {.consumed = input.size() - stream_.avail_in,
                 .produced = room - stream_.avail_out,
                 .ended = code == Z_STREAM_END};
    // Z_BUF_ERROR: there was nothing to do.
    if (code == Z_OK || code == Z_STREAM_END || code == Z_BUF_ERROR) return step;
    step.error = code == Z_MEM_ERROR ? "zlib has no memory" : "the data is damaged";
    if (stream_.msg != nullptr) step.error += " (" + std::string(stream_.msg) + ")";
    if (code != Z_MEM_ERROR) step.error += ": copy the file again, or compress it anew";
    return step;
  }
  void Reset() override { inflateReset(&stream_); }
  bool IsBegin(std::string_view bytes) const override {
    return kGzipMagic.starts_with(bytes.substr(0, kGzipMagic.size()));
  }

  z_stream stream_ = {};
  bool is_ready_ = false;
};

}  // namespace

std::unique_ptr<DecodedBytes> MakeGzipDecoder(const File* file, uint64_t size) {
  return std::make_unique<GzipDecoder>(file, size);
}

bool IsGzip(std::string_view bytes) { return bytes.starts_with(kGzipMagic); }

}  // namespace strata
