// Seeds for the decoders of proto/wire, from the samples that tests/golden pins.
#pragma once

#include <cstring>
#include <vector>

#include "strata/status.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/proto/wire_samples.h"

namespace strata::fuzz {

inline Bytes BytesOf(const Frame& frame) {
  return Bytes(frame.bytes().begin(), frame.bytes().end());
}

inline std::span<const std::byte> InputOf(const uint8_t* data, size_t size) {
  return std::as_bytes(std::span(data, size));
}

// A strict decoder takes only what its encoder writes.
inline void CheckSame(const Frame& encoded, std::span<const std::byte> input) {
  STRATA_CHECK(encoded.size() == input.size());
  STRATA_CHECK(input.empty() ||
               std::memcmp(encoded.bytes().data(), input.data(), input.size()) == 0);
}

}  // namespace strata::fuzz
