#include "tests/fuzz/wire_seeds.h"

namespace strata::fuzz {

std::vector<Bytes> Seeds() {
  return {BytesOf(wire::EncodeTableDefinitions(wire::SampleTables())),
          BytesOf(wire::EncodeTableDefinitions(std::vector{wire::SampleExtendedTable()})),
          BytesOf(wire::EncodeTableDefinitions(std::vector{wire::SampleNarrowTable()})),
          {}};
}

}  // namespace strata::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto input = strata::fuzz::InputOf(data, size);
  const auto decoded = strata::wire::DecodeTableDefinitions(input);
  if (decoded.ok()) strata::fuzz::CheckSame(strata::wire::EncodeTableDefinitions(*decoded), input);
  return 0;
}
