#include "kernels/setops/pack_tokens.h"

#include <algorithm>

namespace strata {
namespace {

#ifdef __clang__  // knows no width to prefer
#define STRATA_AVX512 "avx512f,avx512bw"
#else
#define STRATA_AVX512 "avx512f,avx512bw,prefer-vector-width=512"
#endif

// A loop that compilers make vectors of.
template <typename From, typename To>
[[gnu::always_inline]] inline Token Pack(const From* from, size_t count, To* to) {
  From largest = 0;
  for (size_t i = 0; i < count; ++i) {
    to[i] = static_cast<To>(from[i]);
    largest = std::max(largest, from[i]);
  }
  return largest;
}

template <typename From, typename To>
[[gnu::target("avx2")]] Token PackAvx2(const From* from, size_t count, To* to) {
  return Pack(from, count, to);
}
template <typename From, typename To>
[[gnu::target(STRATA_AVX512)]] Token PackAvx512(const From* from, size_t count, To* to) {
  return Pack(from, count, to);
}
template <typename From, typename To>
Token PackPlain(const From* from, size_t count, To* to) {
  return Pack(from, count, to);
}

template <typename From, typename To>
Token PackWith(InstructionSet set, std::span<const From> from, To* to) {
  switch (set) {
    case InstructionSet::kAvx512:
      return PackAvx512(from.data(), from.size(), to);
    case InstructionSet::kAvx2:
      return PackAvx2(from.data(), from.size(), to);
    case InstructionSet::kPlain:
      break;
  }
  return PackPlain(from.data(), from.size(), to);
}

}  // namespace

Token PackTokens(std::span<const Token> tokens, uint16_t* to, InstructionSet set) {
  return PackWith(set, tokens, to);
}
Token PackTokens(std::span<const uint16_t> tokens, uint16_t* to, InstructionSet set) {
  return PackWith(set, tokens, to);
}
Token PackTokens(std::span<const Token> tokens, Token* to, InstructionSet set) {
  return PackWith(set, tokens, to);
}
Token PackTokens(std::span<const uint16_t> tokens, Token* to, InstructionSet set) {
  return PackWith(set, tokens, to);
}

}  // namespace strata
