#include "cluster/link/connect/frame.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/hash.h"

namespace strata {
namespace {

constexpr size_t kChecked = 32;  // bytes under the CRC

// A record with a client's hello: type, version 3.x, length, then the message's type.
bool IsTlsHello(std::span<const std::byte, kLinkHeaderBytes> bytes) {
  return bytes[0] == kTlsFirstByte && bytes[1] == std::byte{3} && bytes[2] <= std::byte{4} &&
         bytes[5] == std::byte{1};
}

}  // namespace

LinkHeaderBytes EncodeLinkHeader(const LinkHeader& header, uint16_t version) {
  std::string text;
  PutLittle(&text, kLinkMagic);
  PutLittle(&text, version);
  PutLittle(&text, static_cast<uint16_t>(header.type));
  PutLittle(&text, header.length);
  PutLittle(&text, header.operation);
  PutLittle(&text, header.sequence);
  PutLittle(&text, Crc32c(std::as_bytes(std::span(text))));
  PutLittle(&text, uint32_t{0});
  LinkHeaderBytes bytes;
  std::ranges::copy(std::as_bytes(std::span(text)), bytes.begin());
  return bytes;
}

Result<LinkHeader> DecodeLinkHeader(std::span<const std::byte, kLinkHeaderBytes> bytes) {
  std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const uint32_t crc = Crc32c(bytes.first<kChecked>());
  if (TakeLittle<uint32_t>(&text) != kLinkMagic) {
    if (!IsTlsHello(bytes)) return Corrupt("not a Strata link frame");
    return Refused(fmt::format("the dialling side speaks TLS, the one that it dialled does not; {}",
                               kTlsAdvice));
  }
  const auto version = TakeLittle<uint16_t>(&text);
  if (version != kLinkVersion) {
    return Refused(
        fmt::format("link protocol version {} there, version {} here; run the same "
                    "release on all machines",
                    version, kLinkVersion));
  }
  const auto type = TakeLittle<uint16_t>(&text);
  LinkHeader header;
  header.length = TakeLittle<uint64_t>(&text);
  header.operation = TakeLittle<uint64_t>(&text);
  header.sequence = TakeLittle<uint64_t>(&text);
  if (TakeLittle<uint32_t>(&text) != crc) return Corrupt("the header of a link frame is damaged");
  if (TakeLittle<uint32_t>(&text) != 0) {
    return Corrupt("the reserved bytes of a link frame are not zero");
  }
  if (type < static_cast<uint16_t>(LinkFrameType::kHello) ||
      type > static_cast<uint16_t>(LinkFrameType::kWorkers)) {
    return Corrupt(fmt::format("unknown type {} of a link frame", type));
  }
  header.type = static_cast<LinkFrameType>(type);
  return header;
}

std::string MakeLinkFrame(LinkHeader header, std::string_view body) {
  header.length = body.size();
  const LinkHeaderBytes bytes = EncodeLinkHeader(header);
  std::string frame(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  frame += body;
  return frame;
}

}  // namespace strata
