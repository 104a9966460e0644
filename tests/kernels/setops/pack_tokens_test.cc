#include "kernels/setops/pack_tokens.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace strata {
namespace {

// Of all lengths around those of vectors, from and to any place; what is behind stays.
template <typename From, typename To>
void ExpectCopied(InstructionSet set) {
  constexpr size_t kLongest = 200;
  constexpr To kBehind = 7;
  std::mt19937_64 draw(kLongest);
  for (size_t length = 0; length <= kLongest; ++length) {
    const size_t first = draw() % 40;
    std::vector<From> from(first + length);
    for (From& token : from) token = static_cast<From>(draw());
    const auto tokens = std::span<const From>(from).subspan(first);
    std::vector<To> expected;
    for (const From token : tokens) expected.push_back(static_cast<To>(token));
    expected.push_back(kBehind);
    const size_t at = draw() % 40;
    std::vector<To> to(at + length + 1, kBehind);
    const Token largest = PackTokens(tokens, to.data() + at, set);
    ASSERT_EQ(std::vector<To>(to.begin() + static_cast<ptrdiff_t>(at), to.end()), expected);
    ASSERT_EQ(largest, tokens.empty() ? Token{0} : *std::ranges::max_element(tokens)) << length;
  }
}

TEST(PackTokens, CopiesWithEachInstructionSet) {
  for (const InstructionSet set : InstructionSets()) {
    SCOPED_TRACE(static_cast<int>(set));
    ExpectCopied<Token, uint16_t>(set);
    ExpectCopied<uint16_t, uint16_t>(set);
    ExpectCopied<Token, Token>(set);
    ExpectCopied<uint16_t, Token>(set);
  }
}

}  // namespace
}  // namespace strata
