#include <fmt/format.h>
#include <zstd.h>
#include <zstd_errors.h>

#include "worker/data/file/decoders.h"

namespace strata {
namespace {

constexpr std::string_view kZstdMagic = "\x28\xb5\x2f\xfd";
// Frames to be skipped begin with one of sixteen bytes, and then these (RFC 8878).
constexpr std::string_view kSkippedMagicEnd = "\x2a\x4d\x18";

class ZstdDecoder : public DecodedBytes {
 public:
  ZstdDecoder(const File* file, uint64_t size)
      : DecodedBytes("zstd", file, size), context_(ZSTD_createDCtx()) {
    if (context_ != nullptr) {
      ZSTD_DCtx_setParameter(context_, ZSTD_d_windowLogMax, kZstdWindowLogMax);
    }
  }
  ~ZstdDecoder() override { ZSTD_freeDCtx(context_); }

 private:
  Step Decode(std::span<const std::byte> input, std::span<std::byte> out) override {
    if (context_ == nullptr) return {.error = "libzstd has no memory"};
    ZSTD_inBuffer from = {input.data(), input.size(), 0};
    ZSTD_outBuffer to = {out.data(), out.size(), 0};
    const size_t code = ZSTD_decompressStream(context_, &to, &from);
    Step step = {.consumed = from.pos, .produced = to.pos, .ended = code == 0};
    if (ZSTD_isError(code) == 0) return step;
    const ZSTD_ErrorCode error = ZSTD_getErrorCode(code);
    if (error == ZSTD_error_frameParameter_windowTooLarge) {
      step.error = fmt::format(
          "its window is above {} MiB, and a decoder needs so much memory: compress it anew "
          "without zstd's --long, or with --long={}",
          (size_t{1} << kZstdWindowLogMax) >> 20, kZstdWindowLogMax);
    } else if (error == ZSTD_error_dictionary_wrong) {
      step.error = "it needs a dictionary: compress it anew without one";
    } else if (error == ZSTD_error_memory_allocation) {
      step.error = "libzstd has no memory";
    } else {
      step.error = fmt::format("the data is damaged ({}): copy the file again, or compress it anew",
                               ZSTD_getErrorName(code));
    }
    return step;
  }
  void Reset() override { ZSTD_DCtx_reset(context_, ZSTD_reset_session_only); }
  bool IsBegin(std::string_view bytes) const override { return IsZstd(bytes); }

  ZSTD_DCtx* context_;
};

}  // namespace

std::unique_ptr<DecodedBytes> MakeZstdDecoder(const File* file, uint64_t size) {
  return std::make_unique<ZstdDecoder>(file, size);
}

bool IsZstd(std::string_view bytes) {
  if (bytes.empty()) return false;
  if (kZstdMagic.starts_with(bytes)) return true;
  const bool is_skipped = (static_cast<unsigned char>(bytes[0]) & 0xF0) == 0x50;
  return is_skipped && kSkippedMagicEnd.starts_with(bytes.substr(1));
}

}  // namespace strata
