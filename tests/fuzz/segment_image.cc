// A segment's image, as it is and with a digest that fits, so that chance gets past it. Whatever is
// read is written as the same bytes; the segment that is made of it, if any, can be searched and
// has an image again.
#include "proto/format/segment_image.h"

#include <algorithm>
#include <span>

#include "kernels/setops/count_search.h"
#include "kernels/setops/scan_search.h"
#include "storage/itemset/segment.h"
#include "tests/fuzz/fuzz_target.h"

namespace strata::fuzz {
namespace {

void Use(const Segment& segment, const format::SegmentImage& image) {
  STRATA_CHECK(segment.Image(image.number, image.order) == image);
  for (uint32_t place = 0; place < segment.size(); ++place) {
    STRATA_CHECK(segment.At(place).id == image.ids[place]);
  }
  SetLists queries;
  queries.Add(std::vector<Token>{0, 1, 2, 7, 65'536, 70'000});
  const SearchGoal goal{.k = 5};
  TopHits counted(goal, static_cast<uint32_t>(queries.view()[0].size()));
  CountSearch().Search(segment.block(), queries.view()[0], {}, counted);
  static_cast<void>(counted.Take());
}

void Read(std::span<const std::byte> bytes) {
  const auto image = format::DecodeSegmentImage(bytes, "image");
  if (!image.ok()) return;
  const auto again = format::EncodeSegmentImage(*image);
  STRATA_CHECK(std::ranges::equal(again, bytes));
  const auto segment = Segment::Restore(*image, std::make_shared<const TokenNumbers>());
  if (segment.ok()) Use(**segment, *image);
}

}  // namespace

std::vector<Bytes> Seeds() {
  std::vector<std::shared_ptr<const Document>> documents;
  for (DocumentId id = 0; id < 4; ++id) {
    const auto token = static_cast<Token>(id);
    documents.push_back(std::make_shared<const Document>(
        Document{.id = id, .tokens = {token, token + 1, 70'000}, .attributes = {-5}}));
  }
  const auto segment = Segment::Build(documents, std::make_shared<const TokenNumbers>());
  return {format::EncodeSegmentImage(segment->Image(3, 1))};
}

}  // namespace strata::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto input = std::as_bytes(std::span(data, size));
  strata::fuzz::Read(input);
  if (size < strata::format::kSegmentImageHeaderBytes) return 0;
  strata::fuzz::Bytes sealed(input.begin(), input.end());
  strata::format::SealSegmentImage(sealed);
  strata::fuzz::Read(sealed);
  return 0;
}
