// The manifest of a saved model: as it is, and behind a header line that fits the body, so that
// chance gets past the checksum.
#include "proto/format/model_manifest.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <string>
#include <string_view>

#include "base/hash.h"
#include "strata/status.h"
#include "tests/fuzz/fuzz_target.h"

namespace strata::fuzz {
namespace {

void DecodeAndEncode(std::string_view bytes) {
  const auto manifest = format::DecodeModelManifest(bytes, "manifest");
  if (!manifest.ok()) return;
  // JSON may be written in several ways: what was read must survive, not the bytes.
  const std::string again = format::EncodeModelManifest(*manifest);
  const auto reread = format::DecodeModelManifest(again, "manifest");
  STRATA_CHECK(reread.ok() && *reread == *manifest);
}

}  // namespace

std::vector<Bytes> Seeds() {
  const std::string text = format::EncodeModelManifest(
      {.writer = "strata 0.1.0",
       .job = "adult",
       .model = "deepfm",
       .embedding_dim = 8,
       .hidden = {64, 32},
       .slots = 13,
       .dense_width = 6,
       .row_dim = 9,
       .rows = 512,
       .initializer = "uniform",
       .initializer_scale = 0.01F,
       .files = {{.name = "sparse-1.bin", .bytes = 20, .checksums = {1}}}});
  const auto bytes = std::as_bytes(std::span(text));
  return {Bytes(bytes.begin(), bytes.end())};
}

}  // namespace strata::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  namespace fuzz = strata::fuzz;
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  fuzz::DecodeAndEncode(input);
  const std::string_view body = input.substr(std::min(size, input.find('\n') + 1));
  fuzz::DecodeAndEncode(fmt::format("strata-model {} {} {:016x}\n{}", strata::format::kModelVersion,
                                    body.size(), strata::Hash64(body, 0), body));
  return 0;
}
