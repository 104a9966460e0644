// The link's frame header and hello, which a stranger may send to a worker's port.
#include <cstring>
#include <span>
#include <string>

#include "cluster/link/connect/frame.h"
#include "cluster/link/connect/handshake.h"
#include "strata/status.h"
#include "tests/fuzz/fuzz_target.h"

namespace strata::fuzz {

std::vector<Bytes> Seeds() {
  std::vector<Bytes> seeds;
  for (const LinkPurpose purpose :
       {LinkPurpose::kControl, LinkPurpose::kData, LinkPurpose::kAdmin}) {
    LinkHello hello{.purpose = purpose, .job = 7, .world = 4, .from = 3, .to = 1, .process = 9};
    hello.nonce.fill(0x5a);
    const std::string body = EncodeHello(hello);
    const std::string frame = MakeLinkFrame({.type = LinkFrameType::kHello}, body);
    for (const std::string& text : {body, frame}) {
      const auto bytes = std::as_bytes(std::span(text));
      seeds.emplace_back(bytes.begin(), bytes.end());
    }
  }
  return seeds;
}

}  // namespace strata::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto input = std::as_bytes(std::span(data, size));
  if (size >= strata::kLinkHeaderBytes) {
    const auto bytes = input.first<strata::kLinkHeaderBytes>();
    const auto header = strata::DecodeLinkHeader(bytes);
    if (header.ok()) {
      const strata::LinkHeaderBytes again = strata::EncodeLinkHeader(*header);
      STRATA_CHECK(std::memcmp(again.data(), data, again.size()) == 0);
    }
  }
  const std::string body(reinterpret_cast<const char*>(data), size);
  const auto hello = strata::DecodeHello(body);
  STRATA_CHECK(!hello.ok() || strata::EncodeHello(*hello) == body);
  return 0;
}
