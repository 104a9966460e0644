// Sets of tokens, one behind another.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace strata {

using Token = uint32_t;
using DocumentId = uint64_t;

// A view. Set i is tokens[offsets[i] .. offsets[i + 1]), ascending and without repeats.
struct SetList {
  std::span<const uint64_t> offsets = {};  // one more than sets; empty: no sets
  std::span<const Token> tokens = {};

  size_t size() const { return offsets.empty() ? 0 : offsets.size() - 1; }
  std::span<const Token> operator[](size_t i) const {
    return tokens.subspan(offsets[i], offsets[i + 1] - offsets[i]);
  }
};

// Sets that are added one by one.
class SetLists {
 public:
  // Tokens in any order; repeats count once.
  void Add(std::span<const Token> tokens) {
    const auto begin = static_cast<ptrdiff_t>(tokens_.size());
    tokens_.insert(tokens_.end(), tokens.begin(), tokens.end());
    std::sort(tokens_.begin() + begin, tokens_.end());
    tokens_.erase(std::unique(tokens_.begin() + begin, tokens_.end()), tokens_.end());
    offsets_.push_back(tokens_.size());
  }
  SetList view() const { return {offsets_, tokens_}; }
  size_t size() const { return offsets_.size() - 1; }

 private:
  std::vector<uint64_t> offsets_{0};
  std::vector<Token> tokens_;
};

}  // namespace strata
