// The changes of a collection in its log: what is read can be written, and is then the same bytes.
#include <algorithm>
#include <span>

#include "proto/format/item_change.h"
#include "tests/fuzz/fuzz_target.h"

namespace strata::fuzz {

std::vector<Bytes> Seeds() {
  Bytes bytes;
  format::AppendItemChange({true, 7, {0, 1, 9}, {-1, 5}}, &bytes);
  format::AppendItemChange({false, 8, {}, {}}, &bytes);
  return {bytes};
}

}  // namespace strata::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  const auto changes = strata::format::DecodeItemChanges(bytes);
  if (!changes.ok()) return 0;
  std::vector<std::byte> again;
  for (const auto& change : *changes) strata::format::AppendItemChange(change, &again);
  STRATA_CHECK(std::equal(again.begin(), again.end(), bytes.begin(), bytes.end()));
  return 0;
}
