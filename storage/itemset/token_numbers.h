// TokenNumbers: other numbers for tokens, small ones for those that are frequent, since a block
// finds the lists of small ones fastest (set_block.h). It is a bijection of all 32-bit numbers, so
// that a token that was never seen has a number, too, and every token is legal, 0 as well.
//
// The n most frequent tokens, at most SetBlock::kDirectTokens, have numbers 0 to n - 1 in that
// order. Tokens below n that are not among them get the numbers that these have left; all others
// keep their own.
#pragma once

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "kernels/setops/set_block.h"
#include "strata/set_list.h"
#include "strata/status.h"

namespace strata {

class TokenNumbers {
 public:
  TokenNumbers() = default;  // each token is its own number
  // By how often they occur; equally frequent ones by size.
  static TokenNumbers ByFrequency(std::span<const Token> occurrences);
  // The tokens have numbers 0, 1, ... kCorrupt: one is there twice, or there are too many.
  static Result<TokenNumbers> InOrder(std::span<const Token> tokens);
  // What InOrder makes these of.
  std::vector<Token> Order() const;

  // Each token is its own number.
  bool ChangesNothing() const { return count_ == 0; }
  Token NumberOf(Token token) const { return Map(to_, token); }
  Token TokenOf(Token number) const { return Map(from_, number); }
  // The sets with numbers in place of tokens.
  SetLists NumbersOf(const SetList& sets) const;
  size_t bytes() const { return to_.bytes() + from_.bytes(); }

 private:
  // One direction; what is in neither is mapped to itself.
  struct Direction {
    std::vector<Token> small;                    // of its index
    std::vector<std::pair<Token, Token>> large;  // ascending; the first are not below small.size()
    size_t bytes() const {
      return small.size() * sizeof(Token) + large.size() * sizeof(std::pair<Token, Token>);
    }
  };
  static Token Map(const Direction& direction, Token from);
  static Direction Make(std::vector<std::pair<Token, Token>> pairs);

  static TokenNumbers Numbered(std::span<const Token> order);

  size_t count_ = 0;  // of tokens in the order
  Direction to_;
  Direction from_;
};

}  // namespace strata
