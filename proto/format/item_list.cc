#include "proto/format/item_list.h"

#include <fmt/format.h>

#include <bit>
#include <cstring>

#include "base/little_endian.h"
#include "proto/format/digest.h"

namespace strata::format {
namespace {

static_assert(std::endian::native == std::endian::little);  // the numbers are copied as they are

constexpr uint64_t kMagic = 0x5453494c41525453;  // "STRALIST"
constexpr uint32_t kVersion = 1;
constexpr size_t kDigestAt = 32;
enum class Kind : uint32_t { kLiveBits = 1, kTokenOrder = 2 };

Digest DigestOfList(std::span<const std::byte> bytes) {
  Digester digester;
  digester.Add(bytes.first(kDigestAt));
  digester.Add(bytes.subspan(kItemListHeaderBytes));
  return digester.Get();
}

template <typename T>
std::vector<std::byte> Encode(Kind kind, uint64_t owner, std::span<const T> numbers) {
  std::vector<std::byte> bytes(kItemListHeaderBytes + numbers.size_bytes());
  StoreLittle(kMagic, bytes.data());
  StoreLittle(kVersion, bytes.data() + 8);
  StoreLittle(static_cast<uint32_t>(kind), bytes.data() + 12);
  StoreLittle(owner, bytes.data() + 16);
  StoreLittle(uint64_t{numbers.size()}, bytes.data() + 24);
  if (!numbers.empty()) {
    memcpy(bytes.data() + kItemListHeaderBytes, numbers.data(), numbers.size_bytes());
  }
  const Digest digest = DigestOfList(bytes);
  StoreLittle(digest.high, bytes.data() + kDigestAt);
  StoreLittle(digest.low, bytes.data() + kDigestAt + 8);
  return bytes;
}

template <typename T>
Result<std::vector<T>> Decode(std::span<const std::byte> bytes, Kind kind, uint64_t owner,
                              const std::string& where) {
  if (bytes.size() < kItemListHeaderBytes) {
    return Corrupt(fmt::format("{}: expected the {} bytes that begin a list, found {}", where,
                               kItemListHeaderBytes, bytes.size()));
  }
  const std::byte* const head = bytes.data();
  if (LoadLittle<uint64_t>(head) != kMagic) {
    return Invalid(where + ": expected a list, which begins with \"STRALIST\"");
  }
  if (const auto version = LoadLittle<uint32_t>(head + 8); version != kVersion) {
    return Invalid(
        fmt::format("{}: expected a list of version {}, found version {}: use the strata-server "
                    "that wrote it, or a newer one",
                    where, kVersion, version));
  }
  const Digest expected{LoadLittle<uint64_t>(head + kDigestAt),
                        LoadLittle<uint64_t>(head + kDigestAt + 8)};
  if (const Digest found = DigestOfList(bytes); found != expected) {
    return Corrupt(fmt::format("{}: expected digest {} of {} bytes, found {}", where,
                               DigestText(expected), bytes.size(), DigestText(found)));
  }
  const auto found_kind = LoadLittle<uint32_t>(head + 12);
  const auto found_owner = LoadLittle<uint64_t>(head + 16);
  if (found_kind != static_cast<uint32_t>(kind) || found_owner != owner) {
    return Corrupt(fmt::format("{}: expected a list of kind {} of {}, found kind {} of {}", where,
                               static_cast<uint32_t>(kind), owner, found_kind, found_owner));
  }
  const auto count = LoadLittle<uint64_t>(head + 24);
  const size_t body = bytes.size() - kItemListHeaderBytes;
  if (body % sizeof(T) != 0 || count != body / sizeof(T)) {
    return Corrupt(
        fmt::format("{}: expected {} numbers, found {} bytes of them", where, count, body));
  }
  std::vector<T> numbers(count);
  if (count > 0) memcpy(numbers.data(), head + kItemListHeaderBytes, body);
  return numbers;
}

}  // namespace

std::vector<std::byte> EncodeLiveBits(uint64_t segment, std::span<const uint64_t> words) {
  return Encode(Kind::kLiveBits, segment, words);
}
std::vector<std::byte> EncodeTokenOrder(uint64_t order, std::span<const uint32_t> tokens) {
  return Encode(Kind::kTokenOrder, order, tokens);
}

Result<std::vector<uint64_t>> DecodeLiveBits(std::span<const std::byte> bytes, uint64_t segment,
                                             const std::string& where) {
  return Decode<uint64_t>(bytes, Kind::kLiveBits, segment, where);
}
Result<std::vector<uint32_t>> DecodeTokenOrder(std::span<const std::byte> bytes, uint64_t order,
                                               const std::string& where) {
  return Decode<uint32_t>(bytes, Kind::kTokenOrder, order, where);
}

}  // namespace strata::format
