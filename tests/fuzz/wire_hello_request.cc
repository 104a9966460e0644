#include "tests/fuzz/wire_seeds.h"

namespace strata::fuzz {

std::vector<Bytes> Seeds() {
  return {BytesOf(wire::EncodeHelloRequest(wire::SampleHelloRequest())),
          BytesOf(wire::EncodeHelloRequest({}))};
}

}  // namespace strata::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto input = strata::fuzz::InputOf(data, size);
  const auto decoded = strata::wire::DecodeHelloRequest(input);
  if (decoded.ok()) strata::fuzz::CheckSame(strata::wire::EncodeHelloRequest(*decoded), input);
  return 0;
}
