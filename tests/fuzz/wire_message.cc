// Open, and behind it the decoder of each payload. Input: the header, then each frame as a length
// of two bytes and its bytes.
#include "proto/wire/bytes.h"
#include "tests/fuzz/wire_seeds.h"

namespace strata::fuzz {
namespace {

Message CutIntoFrames(std::span<const std::byte> input) {
  Message message;
  const size_t header = std::min(input.size(), wire::kHeaderBytes);
  message.push_back(Frame::Copy(input.first(header)));
  input = input.subspan(header);
  while (input.size() >= 2) {
    const size_t wanted = wire::LoadLittle<uint16_t>(input.data());
    input = input.subspan(2);
    const size_t length = std::min(wanted, input.size());
    message.push_back(Frame::Copy(input.first(length)));
    input = input.subspan(length);
  }
  return message;
}

void DecodePayload(const wire::Received& received) {
  const wire::Header& h = received.header;
  (void)wire::StatusOfReply(received);
  for (const Frame& frame : received.payload) {
    const auto keys = wire::ReadKeys(frame, h.count);
    STRATA_CHECK(!keys.ok() || keys->size() * sizeof(uint64_t) == frame.size());
    const auto rows = wire::ReadRows(frame, h.count, h.width);
    STRATA_CHECK(!rows.ok() || rows->size() * sizeof(float) == frame.size());
    (void)wire::DecodeHelloRequest(frame.bytes());
    (void)wire::DecodeHelloReply(frame.bytes());
    (void)wire::DecodeShardMap(frame.bytes());
    (void)wire::DecodeTableDefinitions(frame.bytes());
    (void)wire::DecodeStats(frame.bytes());
    (void)wire::DecodeNamedBlocks(frame);
  }
}

}  // namespace

std::vector<Bytes> Seeds() {
  std::vector<Bytes> seeds;
  for (const wire::Sample& sample : wire::Samples()) {
    Bytes seed = BytesOf(sample.message[0]);
    for (size_t i = 1; i < sample.message.size(); ++i) {
      std::byte length[2];
      wire::StoreLittle(static_cast<uint16_t>(sample.message[i].size()), length);
      seed.insert(seed.end(), length, length + 2);
      const Bytes frame = BytesOf(sample.message[i]);
      seed.insert(seed.end(), frame.begin(), frame.end());
    }
    seeds.push_back(std::move(seed));
  }
  return seeds;
}

}  // namespace strata::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  namespace fuzz = strata::fuzz;
  namespace wire = strata::wire;
  const strata::Message message = fuzz::CutIntoFrames(fuzz::InputOf(data, size));
  const auto opened = wire::Open(message);
  if (opened.ok()) fuzz::DecodePayload(*opened);
  // Once more with sizes and checksums that fit the frames, so that chance gets past them.
  const auto header = wire::DecodeHeader(message[0].bytes());
  if (!header.ok() || message.size() - 1 > wire::kFramesMax) return 0;
  const auto repaired =
      wire::Open(wire::Seal(*header, strata::Message(message.begin() + 1, message.end())));
  if (repaired.ok()) fuzz::DecodePayload(*repaired);
  return 0;
}
