// The image of a lane in a checkpoint: what is read can be written, and is then the same bytes.
#include "proto/format/lane_image.h"

#include <algorithm>

#include "tests/fuzz/fuzz_target.h"

namespace strata::fuzz {

std::vector<Bytes> Seeds() {
  format::LaneImage image;
  image.clients = {{.name = {1, 2}, .settled_below = 3, .writes = {{3, 0, ""}, {5, 5, "no"}}}};
  image.expired = {{7, 8}};
  image.groups = {{.table = 9,
                   .id = 10,
                   .world = 2,
                   .first_step = 1,
                   .closed = 4,
                   .owners = {{0, {1, 2}}, {1, {1, 3}}}}};
  return {format::EncodeLaneImage(image)};
}

}  // namespace strata::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  const auto image = strata::format::DecodeLaneImage(bytes, "fuzz");
  if (!image.ok()) return 0;
  const auto again =
      strata::format::DecodeLaneImage(strata::format::EncodeLaneImage(*image), "fuzz");
  STRATA_CHECK(again.ok() && *again == *image);
  return 0;
}
