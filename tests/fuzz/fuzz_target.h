// What a fuzz target consists of. With -DSTRATA_FUZZ=ON (clang) it is a libFuzzer program; in every
// build it is also replayed by replay_test.cc on seeded random changes of its seeds, so that the
// ordinary tests fuzz for a moment too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

// Must return 0, whatever the bytes; anything wrong aborts through STRATA_CHECK.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace strata::fuzz {

using Bytes = std::vector<std::byte>;

// Good inputs to start from.
std::vector<Bytes> Seeds();

}  // namespace strata::fuzz
