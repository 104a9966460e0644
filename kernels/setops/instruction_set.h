// Instruction sets of processors for which loops are compiled, one of which is chosen at run time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace strata {

enum class InstructionSet : uint8_t {
  kPlain,   // what everything is compiled for
  kAvx2,    // AVX2
  kAvx512,  // AVX-512 F and BW
};

// Those that this processor has, the fastest last. Any thread.
inline std::span<const InstructionSet> InstructionSets() {
  static constexpr std::array kAll = {InstructionSet::kPlain, InstructionSet::kAvx2,
                                      InstructionSet::kAvx512};
  static const size_t count = []() -> size_t {
    if (__builtin_cpu_supports("avx2") == 0) return 1;
    const bool has_avx512 =
        __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512bw") != 0;
    return has_avx512 ? 3 : 2;
  }();
  return std::span(kAll).first(count);
}

inline InstructionSet FastestInstructionSet() { return InstructionSets().back(); }

}  // namespace strata
