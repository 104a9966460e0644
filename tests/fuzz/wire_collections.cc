#include "tests/fuzz/wire_seeds.h"

namespace strata::fuzz {

std::vector<Bytes> Seeds() {
  return {BytesOf(wire::EncodeCollections(wire::SampleCollections())),
          BytesOf(wire::EncodeCollectionStats(wire::SampleCollectionStats())),
          BytesOf(wire::EncodeFollowRequest(wire::SampleFollowRequest())),
          BytesOf(wire::EncodeFollowReply(wire::SampleFollowReply())),
          {}};
}

}  // namespace strata::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  namespace fuzz = strata::fuzz;
  namespace wire = strata::wire;
  const auto input = fuzz::InputOf(data, size);
  const auto decoded = wire::DecodeCollections(input);
  if (decoded.ok()) fuzz::CheckSame(wire::EncodeCollections(*decoded), input);
  const auto stats = wire::DecodeCollectionStats(input);
  if (stats.ok()) fuzz::CheckSame(wire::EncodeCollectionStats(*stats), input);
  const auto follow = wire::DecodeFollowRequest(input);
  if (follow.ok()) fuzz::CheckSame(wire::EncodeFollowRequest(*follow), input);
  const auto followed = wire::DecodeFollowReply(input);
  if (followed.ok()) fuzz::CheckSame(wire::EncodeFollowReply(*followed), input);
  return 0;
}
