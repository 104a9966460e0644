#include "proto/format/segment_image.h"

#include <fmt/format.h>

#include <bit>
#include <cstring>

#include "base/little_endian.h"
#include "proto/format/digest.h"

namespace strata::format {
namespace {

static_assert(std::endian::native == std::endian::little);  // arrays are copied as they are

constexpr uint64_t kMagic = 0x4d47455341525453;  // "STRASEGM"
constexpr uint32_t kVersion = 1;
constexpr size_t kDigestAt = 64;

Digest DigestOfImage(std::span<const std::byte> bytes) {
  Digester digester;
  digester.Add(bytes.first(kDigestAt));
  digester.Add(bytes.subspan(kSegmentImageHeaderBytes));
  return digester.Get();
}

template <typename Array>
std::byte* PutArray(const Array& array, std::byte* at) {
  const size_t bytes = array.size() * sizeof(array[0]);
  if (bytes > 0) memcpy(at, array.data(), bytes);
  return at + bytes;
}

template <typename Array>
const std::byte* GetArray(uint64_t count, const std::byte* at, Array* array) {
  array->resize(count);
  const size_t bytes = count * sizeof((*array)[0]);
  if (bytes > 0) memcpy(array->data(), at, bytes);
  return at + bytes;
}

struct Sizes {
  uint32_t width = 0;
  uint32_t documents = 0;
  uint32_t lengths = 0;
  uint32_t rare = 0;
  uint64_t tokens = 0;
  uint32_t attributes = 0;

  // Does not overflow: documents and attributes are bounded, tokens by the bytes there are.
  uint64_t body() const {
    return 8 * uint64_t{lengths} + 8 * uint64_t{documents} +
           8 * uint64_t{documents} * uint64_t{attributes} + 4 * uint64_t{rare} + tokens * width;
  }
};

}  // namespace

std::vector<std::byte> EncodeSegmentImage(const SegmentImage& image) {
  const bool is_short = image.is_short();
  const Sizes sizes{.width = is_short ? 2U : 4U,
                    .documents = static_cast<uint32_t>(image.ids.size()),
                    .lengths = static_cast<uint32_t>(image.lengths.size()),
                    .rare = static_cast<uint32_t>(image.rare.size()),
                    .tokens = is_short ? image.short_lists.size() : image.long_lists.size(),
                    .attributes = image.attributes_each};
  STRATA_CHECK(image.attributes.size() == image.ids.size() * image.attributes_each);
  std::vector<std::byte> bytes(kSegmentImageHeaderBytes + sizes.body());
  std::byte* const head = bytes.data();
  StoreLittle(kMagic, head);
  StoreLittle(kVersion, head + 8);
  StoreLittle(sizes.width, head + 12);
  StoreLittle(image.number, head + 16);
  StoreLittle(image.order, head + 24);
  StoreLittle(sizes.documents, head + 32);
  StoreLittle(sizes.lengths, head + 36);
  StoreLittle(image.direct, head + 40);
  StoreLittle(sizes.rare, head + 44);
  StoreLittle(sizes.tokens, head + 48);
  StoreLittle(sizes.attributes, head + 56);
  std::byte* at = head + kSegmentImageHeaderBytes;
  at = PutArray(image.lengths, at);
  at = PutArray(image.ids, at);
  at = PutArray(image.attributes, at);
  at = PutArray(image.rare, at);
  at = is_short ? PutArray(image.short_lists, at) : PutArray(image.long_lists, at);
  STRATA_CHECK(at == head + bytes.size());
  SealSegmentImage(bytes);
  return bytes;
}

void SealSegmentImage(std::span<std::byte> bytes) {
  const Digest digest = DigestOfImage(bytes);
  StoreLittle(digest.high, bytes.data() + kDigestAt);
  StoreLittle(digest.low, bytes.data() + kDigestAt + 8);
}

Result<SegmentImage> DecodeSegmentImage(std::span<const std::byte> bytes,
                                        const std::string& where) {
  if (bytes.size() < kSegmentImageHeaderBytes) {
    return Corrupt(fmt::format("{}: expected the {} bytes that begin a segment's image, found {}",
                               where, kSegmentImageHeaderBytes, bytes.size()));
  }
  const std::byte* const head = bytes.data();
  if (LoadLittle<uint64_t>(head) != kMagic) {
    return Invalid(where + ": expected a segment's image, which begins with \"STRASEGM\"");
  }
  if (const auto version = LoadLittle<uint32_t>(head + 8); version != kVersion) {
    return Invalid(fmt::format(
        "{}: expected a segment's image of version {}, found version {}: use the strata-server "
        "that wrote it, or a newer one",
        where, kVersion, version));
  }
  const Digest expected{LoadLittle<uint64_t>(head + kDigestAt),
                        LoadLittle<uint64_t>(head + kDigestAt + 8)};
  if (const Digest found = DigestOfImage(bytes); found != expected) {
    return Corrupt(fmt::format("{}: expected digest {} of {} bytes, found {}", where,
                               DigestText(expected), bytes.size(), DigestText(found)));
  }
  const Sizes sizes{.width = LoadLittle<uint32_t>(head + 12),
                    .documents = LoadLittle<uint32_t>(head + 32),
                    .lengths = LoadLittle<uint32_t>(head + 36),
                    .rare = LoadLittle<uint32_t>(head + 44),
                    .tokens = LoadLittle<uint64_t>(head + 48),
                    .attributes = LoadLittle<uint32_t>(head + 56)};
  SegmentImage image;
  image.number = LoadLittle<uint64_t>(head + 16);
  image.order = LoadLittle<uint64_t>(head + 24);
  image.direct = LoadLittle<uint32_t>(head + 40);
  image.attributes_each = sizes.attributes;
  const bool is_short = uint64_t{image.direct} + sizes.rare <= SegmentImage::kShortLists;
  if (sizes.documents > SegmentImage::kMostDocuments ||
      sizes.attributes > SegmentImage::kMostAttributes || sizes.tokens > bytes.size() ||
      sizes.width != (is_short ? 2 : 4) || LoadLittle<uint32_t>(head + 60) != 0) {
    return Corrupt(fmt::format(
        "{}: its header is impossible: {} documents of {} attributes, {} tokens of {} bytes", where,
        sizes.documents, sizes.attributes, sizes.tokens, sizes.width));
  }
  if (kSegmentImageHeaderBytes + sizes.body() != bytes.size()) {
    return Corrupt(fmt::format("{}: expected {} bytes, found {}", where,
                               kSegmentImageHeaderBytes + sizes.body(), bytes.size()));
  }
  const std::byte* at = head + kSegmentImageHeaderBytes;
  at = GetArray(sizes.lengths, at, &image.lengths);
  at = GetArray(sizes.documents, at, &image.ids);
  at = GetArray(uint64_t{sizes.documents} * sizes.attributes, at, &image.attributes);
  at = GetArray(sizes.rare, at, &image.rare);
  is_short ? GetArray(sizes.tokens, at, &image.short_lists)
           : GetArray(sizes.tokens, at, &image.long_lists);
  uint64_t documents = 0, tokens = 0;
  for (const auto& [length, count] : image.lengths) {
    documents += count;
    tokens += uint64_t{length} * count;
  }
  if (documents != sizes.documents || tokens != sizes.tokens) {
    return Corrupt(fmt::format("{}: expected {} documents with {} tokens, found {} with {}", where,
                               sizes.documents, sizes.tokens, documents, tokens));
  }
  return image;
}

}  // namespace strata::format
