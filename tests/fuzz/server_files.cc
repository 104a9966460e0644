// `identity`, `base` and `definition` of a data folder: as they are, and behind a header line that
// fits the body, so that chance gets past the checksum.
#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <string>
#include <string_view>

#include "base/hash.h"
#include "proto/format/collection_file.h"
#include "proto/format/log_base.h"
#include "proto/format/server_identity.h"
#include "tests/fuzz/fuzz_target.h"

namespace strata::fuzz {
namespace {

void DecodeAndEncode(std::string_view bytes) {
  if (const auto identity = format::DecodeServerIdentity(bytes, "identity"); identity.ok()) {
    const auto again =
        format::DecodeServerIdentity(format::EncodeServerIdentity(*identity), "identity");
    STRATA_CHECK(again.ok() && *again == *identity);
  }
  if (const auto base = format::DecodeLogBase(bytes, "base"); base.ok()) {
    const auto again = format::DecodeLogBase(format::EncodeLogBase(*base), "base");
    STRATA_CHECK(again.ok() && *again == *base);
  }
  if (const auto file = format::DecodeCollectionFile(bytes, "definition"); file.ok()) {
    const auto again =
        format::DecodeCollectionFile(format::EncodeCollectionFile(*file), "definition");
    STRATA_CHECK(again.ok() && *again == *file);
  }
}

Bytes BytesOf(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

}  // namespace

std::vector<Bytes> Seeds() {
  return {BytesOf(format::EncodeServerIdentity({.cluster = 1,
                                                .rank = 1,
                                                .lanes_per_server = {2, 1},
                                                .lineage = 5,
                                                .boot = 2,
                                                .lane_ports = {7600},
                                                .nonces = {7, 9}})),
          BytesOf(format::EncodeLogBase({.lineage = 7, .lane = 1, .checkpoint = 3, .cut_lsn = 99})),
          BytesOf(format::EncodeCollectionFile(
              {.definition = {"c", {"a"}}, .lineage = 7, .lane = 1, .instance = 5}))};
}

}  // namespace strata::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  namespace fuzz = strata::fuzz;
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  fuzz::DecodeAndEncode(input);
  const std::string_view body = input.substr(std::min(size, input.find('\n') + 1));
  for (const char* kind : {"strata-server", "strata-log-base", "strata-collection"}) {
    fuzz::DecodeAndEncode(
        fmt::format("{} 1 {} {:016x}\n{}", kind, body.size(), strata::Hash64(body, 0), body));
  }
  return 0;
}
