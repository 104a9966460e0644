#include "base/hash.h"
#include "proto/wire/bytes.h"
#include "tests/fuzz/wire_seeds.h"

namespace strata::fuzz {
namespace {

void DecodeBoth(std::span<const std::byte> input) {
  const auto decoded = wire::DecodeHeader(input);
  if (decoded.ok()) CheckSame(Frame::Copy(wire::EncodeHeader(*decoded)), input);
  const auto peeked = wire::PeekHeader(input);
  STRATA_CHECK(peeked.has_value() || !decoded.ok());
}

}  // namespace

std::vector<Bytes> Seeds() {
  std::vector<Bytes> seeds;
  for (const wire::Sample& sample : wire::Samples()) seeds.push_back(BytesOf(sample.message[0]));
  return seeds;
}

}  // namespace strata::fuzz

// The bytes as they are, and once more with magic and CRC made right, so that chance gets past
// them.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  namespace fuzz = strata::fuzz;
  namespace wire = strata::wire;
  const auto input = fuzz::InputOf(data, size);
  fuzz::DecodeBoth(input);
  if (size != wire::kHeaderBytes) return 0;
  fuzz::Bytes repaired(input.begin(), input.end());
  wire::StoreLittle(wire::kMagic, repaired.data());
  wire::StoreLittle(strata::Crc32c(std::span(repaired).first(size - 4)),
                    repaired.data() + size - 4);
  fuzz::DecodeBoth(repaired);
  return 0;
}
