// The manifests of a collection's images and of an export, live bits and orders of tokens: what is
// read can be written, and is then read as the same.
#include "proto/format/item_manifest.h"

#include <algorithm>
#include <span>

#include "proto/format/item_export.h"
#include "proto/format/item_list.h"
#include "tests/fuzz/fuzz_target.h"

namespace strata::fuzz {

std::vector<Bytes> Seeds() {
  const std::string text = format::EncodeItemManifest(
      {.lineage = 1, .lane = 2, .from = 3, .covered = 4, .segments = {{7, 2, 5, 3, 1, 2, 1}}});
  const auto bytes = std::as_bytes(std::span(text));
  const std::string exported =
      format::EncodeItemExport({.collection = "c",
                                .attributes = {"price"},
                                .documents = 2,
                                .tokens = 3,
                                .is_one_moment = true,
                                .files = {{.name = "ids.npy", .bytes = 144, .digest = {1, 2}}}});
  const auto its_bytes = std::as_bytes(std::span(exported));
  const auto cut = bytes.first(text.find(' ') + 1);  // in its header line
  return {Bytes(bytes.begin(), bytes.end()), Bytes(cut.begin(), cut.end()),
          Bytes(its_bytes.begin(), its_bytes.end()),
          format::EncodeLiveBits(1, std::vector<uint64_t>{3, 4}),
          format::EncodeTokenOrder(1, std::vector<uint32_t>{9, 8})};
}

}  // namespace strata::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using strata::format::DecodeItemManifest, strata::format::EncodeItemManifest;
  using strata::format::DecodeLiveBits, strata::format::EncodeLiveBits;
  using strata::format::DecodeTokenOrder, strata::format::EncodeTokenOrder;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto manifest = DecodeItemManifest(text, "m");
  if (manifest.ok()) {
    const auto again = DecodeItemManifest(EncodeItemManifest(*manifest), "m");
    STRATA_CHECK(again.ok() && *again == *manifest);
  }
  if (const auto exported = strata::format::DecodeItemExport(text, "e"); exported.ok()) {
    const auto again =
        strata::format::DecodeItemExport(strata::format::EncodeItemExport(*exported), "e");
    STRATA_CHECK(again.ok() && *again == *exported);
  }
  const auto bytes = std::as_bytes(std::span(data, size));
  if (const auto live = DecodeLiveBits(bytes, 1, "l"); live.ok()) {
    STRATA_CHECK(std::ranges::equal(EncodeLiveBits(1, *live), bytes));
  }
  if (const auto order = DecodeTokenOrder(bytes, 1, "o"); order.ok()) {
    STRATA_CHECK(std::ranges::equal(EncodeTokenOrder(1, *order), bytes));
  }
  return 0;
}
