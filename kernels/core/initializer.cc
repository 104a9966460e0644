#include "kernels/core/initializer.h"

#include <algorithm>

#include "strata/status.h"

namespace strata {

void InitialRow(const InitializerSpec& spec, uint64_t seed, uint64_t key, std::span<float> out) {
  if (spec.kind == InitializerKind::kNormal) {
    // Both numbers of a draw at once; the same bits as InitialElement gives one by one.
    const uint64_t sequence = InitialSequence(seed, key);
    for (size_t i = 0; i < out.size(); i += 2) {
      const math::NormalPair z =
          math::NormalsFromBits(SequenceBits(sequence, i), SequenceBits(sequence, i + 1));
      out[i] = static_cast<float>(z.first * spec.scale);
      if (i + 1 < out.size()) out[i + 1] = static_cast<float>(z.second * spec.scale);
    }
    return;
  }
  for (size_t i = 0; i < out.size(); ++i) {
    out[i] = InitialElement(spec, seed, key, static_cast<uint32_t>(i));
  }
}

void InitialRows(const Exec& exec, const InitializerSpec& spec, uint64_t seed,
                 std::span<const uint64_t> keys, uint32_t dim, std::span<float> out) {
  STRATA_CHECK(exec.device == DeviceKind::kCpu && out.size() == keys.size() * dim);
  for (size_t i = 0; i < keys.size(); ++i) {
    InitialRow(spec, seed, keys[i], out.subspan(i * dim, dim));
  }
}

}  // namespace strata
