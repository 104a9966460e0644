// Initial values of rows: a pure function of (seed, key, element), the same on every server, tier,
// device and restart. Frozen: a missing row is never stored, it is computed again whenever asked
// for.
#pragma once

#include <cstdint>
#include <span>

#include "base/hash.h"
#include "kernels/core/math.h"
#include "strata/exec.h"
#include "strata/host_device.h"
#include "strata/initializer_spec.h"

namespace strata {

// The start of a row's own random sequence.
STRATA_HD uint64_t InitialSequence(uint64_t seed, uint64_t key) {
  return Mix64(Mix64(seed) ^ Mix64(key ^ 0x696e697469616cULL));
}

// The n-th 64 bits of the sequence (SplitMix64, see base/hash.h).
STRATA_HD uint64_t SequenceBits(uint64_t sequence, uint64_t n) {
  return Mix64(sequence + n * 0x9e3779b97f4a7c15ULL);
}

// Element `element` of the initial value of row `key`.
STRATA_HD float InitialElement(const InitializerSpec& spec, uint64_t seed, uint64_t key,
                               uint32_t element) {
  const uint64_t sequence = InitialSequence(seed, key);
  switch (spec.kind) {
    case InitializerKind::kUniform: {
      // 24 bits, so that 2u - 1 is exact and the product with the scale rounds once.
      const auto u = static_cast<float>(SequenceBits(sequence, element) >> 40) * 0x1p-23F - 1.0F;
      return u * spec.scale;
    }
    case InitializerKind::kNormal: {
      const uint64_t pair = element / 2;  // elements 2n and 2n + 1 share one draw
      const math::NormalPair z = math::NormalsFromBits(SequenceBits(sequence, 2 * pair),
                                                       SequenceBits(sequence, 2 * pair + 1));
      return static_cast<float>((element % 2 == 0 ? z.first : z.second) * spec.scale);
    }
    case InitializerKind::kZero:
      break;
  }
  return 0.0F;
}

// The whole initial value of row `key`; out.size() is the dimension.
void InitialRow(const InitializerSpec& spec, uint64_t seed, uint64_t key, std::span<float> out);

// The initial values of many rows, row by row: out.size() == keys.size() x dim.
void InitialRows(const Exec& exec, const InitializerSpec& spec, uint64_t seed,
                 std::span<const uint64_t> keys, uint32_t dim, std::span<float> out);

}  // namespace strata
