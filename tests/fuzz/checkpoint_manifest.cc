// The manifest of a checkpoint and the description of a part: as they are, and the manifest behind
// a header line that fits the body, so that chance gets past the checksum.
#include "proto/format/checkpoint_manifest.h"

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
  const auto manifest = format::DecodeCheckpointManifest(bytes, "manifest");
  if (!manifest.ok()) return;
  // JSON may be written in several ways: what was read must survive, not the bytes.
  const auto again =
      format::DecodeCheckpointManifest(format::EncodeCheckpointManifest(*manifest), "manifest");
  STRATA_CHECK(again.ok() && *again == *manifest);
}

}  // namespace

std::vector<Bytes> Seeds() {
  constexpr uint16_t kLanes[] = {1, 1};
  format::CheckpointManifest manifest{.writer = "strata 0.1.0",
                                      .number = 12,
                                      .parent = 11,
                                      .cluster = 77,
                                      .wall_unix_ns = 5,
                                      .job = "job",
                                      .shards = *wire::MakeShardMap(kLanes),
                                      .parts = {},
                                      .attachments = {{.name = "dense", .bytes = 3, .digest = {}}}};
  for (const uint16_t server : {uint16_t{0}, uint16_t{1}}) {
    manifest.parts.push_back({.server = server,
                              .lane = 0,
                              .bytes = 1000,
                              .digest = {1, 2},
                              .lane_bytes = 9,
                              .tables = {{.name = "t", .since = 11, .rows = 5, .erased = 2}}});
  }
  const std::string texts[] = {format::EncodeCheckpointManifest(manifest),
                               format::EncodePartEntry(manifest.parts[0])};
  std::vector<Bytes> seeds;
  for (const std::string& text : texts) {
    const auto bytes = std::as_bytes(std::span(text));
    seeds.emplace_back(bytes.begin(), bytes.end());
  }
  return seeds;
}

}  // namespace strata::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  namespace fuzz = strata::fuzz;
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  fuzz::DecodeAndEncode(input);
  const std::string_view body = input.substr(std::min(size, input.find('\n') + 1));
  fuzz::DecodeAndEncode(fmt::format("strata-checkpoint {} {} {:016x}\n{}",
                                    strata::format::kCheckpointVersion, body.size(),
                                    strata::Hash64(body, 0), body));
  const auto part = strata::format::DecodePartEntry(input);
  if (part.ok()) {
    const auto again = strata::format::DecodePartEntry(strata::format::EncodePartEntry(*part));
    STRATA_CHECK(again.ok() && *again == *part);
  }
  return 0;
}
