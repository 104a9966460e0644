// Loops that are compiled a second time for processors with wider vectors. Each element is computed
// alike, so the results are the same bits. Host only.
#pragma once

namespace strata {

#if defined(__x86_64__)
// All that it calls is inlined, and so compiled for AVX2.
template <typename Loops>
[[gnu::target("avx2"), gnu::flatten]] void RunWithAvx2(const Loops& loops) {
  loops();
}
#endif

// Calls loops(), which touches memory alone and throws nothing.
template <typename Loops>
void WithWideVectors(const Loops& loops) {
#if defined(__x86_64__)
  static const bool has_avx2 = __builtin_cpu_supports("avx2") != 0;
  if (has_avx2) return RunWithAvx2(loops);
#endif
  loops();
}

}  // namespace strata
