#include "storage/itemset/token_numbers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "base/seeded_hash.h"

namespace strata {

TokenNumbers TokenNumbers::ByFrequency(std::span<const Token> occurrences) {
  SeededMap<uint32_t> counts;
  for (const Token token : occurrences) ++counts[token];
  std::vector<std::pair<Token, uint32_t>> all(counts.begin(), counts.end());
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) {
    return a.second != b.second ? a.second > b.second : a.first < b.first;
  });
  if (all.size() > SetBlock::kDirectTokens) all.resize(SetBlock::kDirectTokens);

  std::vector<Token> order;
  order.reserve(all.size());
  for (const auto& [token, count] : all) order.push_back(token);
  return Numbered(order);
}

Result<TokenNumbers> TokenNumbers::InOrder(std::span<const Token> tokens) {
  if (tokens.size() > SetBlock::kDirectTokens) {
    return Corrupt(fmt::format("expected an order of at most {} tokens, found {}",
                               SetBlock::kDirectTokens, tokens.size()));
  }
  std::vector<Token> sorted(tokens.begin(), tokens.end());
  std::sort(sorted.begin(), sorted.end());
  if (const auto twice = std::adjacent_find(sorted.begin(), sorted.end()); twice != sorted.end()) {
    return Corrupt(fmt::format("token {} stands twice in an order", *twice));
  }
  return Numbered(tokens);
}

std::vector<Token> TokenNumbers::Order() const {
  std::vector<Token> order(count_);
  for (size_t i = 0; i < count_; ++i) order[i] = TokenOf(static_cast<Token>(i));
  return order;
}

TokenNumbers TokenNumbers::Numbered(std::span<const Token> order) {
  const auto n = static_cast<Token>(order.size());
  std::vector<std::pair<Token, Token>> pairs;
  std::vector<bool> is_taken(n);  // tokens below n that are frequent
  std::vector<Token> left;        // numbers that frequent tokens have left
  for (Token i = 0; i < n; ++i) {
    const Token token = order[i];
    pairs.emplace_back(token, i);
    if (token < n) {
      is_taken[token] = true;
    } else {
      left.push_back(token);
    }
  }
  std::sort(left.begin(), left.end());
  auto next = left.begin();
  for (Token token = 0; token < n; ++token) {
    if (!is_taken[token]) pairs.emplace_back(token, *next++);
  }
  TokenNumbers numbers;
  numbers.count_ = n;
  numbers.to_ = Make(pairs);
  for (auto& [token, number] : pairs) std::swap(token, number);
  numbers.from_ = Make(std::move(pairs));
  return numbers;
}

TokenNumbers::Direction TokenNumbers::Make(std::vector<std::pair<Token, Token>> pairs) {
  std::sort(pairs.begin(), pairs.end());
  Direction direction;
  for (const auto& [from, to] : pairs) {
    if (from >= SetBlock::kDirectTokens) {
      direction.large.emplace_back(from, to);
      continue;
    }
    while (direction.small.size() < from) {
      direction.small.push_back(static_cast<Token>(direction.small.size()));
    }
    direction.small.push_back(to);
  }
  direction.large.shrink_to_fit();
  direction.small.shrink_to_fit();
  return direction;
}

Token TokenNumbers::Map(const Direction& direction, Token from) {
  if (from < direction.small.size()) return direction.small[from];
  const auto found = std::lower_bound(direction.large.begin(), direction.large.end(),
                                      std::pair<Token, Token>(from, 0));
  return found != direction.large.end() && found->first == from ? found->second : from;
}

SetLists TokenNumbers::NumbersOf(const SetList& sets) const {
  SetLists numbers;
  std::vector<Token> of_set;
  for (size_t i = 0; i < sets.size(); ++i) {
    of_set.clear();
    for (const Token token : sets[i]) of_set.push_back(NumberOf(token));
    numbers.Add(of_set);
  }
  return numbers;
}

}  // namespace strata
