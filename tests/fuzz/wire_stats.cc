#include "tests/fuzz/wire_seeds.h"

namespace strata::fuzz {

std::vector<Bytes> Seeds() { return {BytesOf(wire::EncodeStats(wire::SampleStats()))}; }

}  // namespace strata::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto input = strata::fuzz::InputOf(data, size);
  const auto decoded = strata::wire::DecodeStats(input);
  if (decoded.ok()) strata::fuzz::CheckSame(strata::wire::EncodeStats(*decoded), input);
  return 0;
}
