#include "kernels/setops/scan_search.h"

#include <algorithm>
#include <array>
#include <bit>

#include "base/status.h"

namespace strata {
namespace {

// Overlaps of 32 queries with one document: bit q of digits[p] is digit p of query q's.
struct Columns {
  std::array<uint32_t, 32> digits{};

  // Adds a word whose bits count 2^digit each.
  void Add(uint32_t word, size_t digit) {
    for (; word != 0; ++digit) {
      const uint32_t both = digits[digit] & word;
      digits[digit] ^= word;
      word = both;
    }
  }
  uint32_t Count(size_t query) const {
    uint32_t count = 0;
    for (size_t p = 0; p < digits.size(); ++p) count |= (digits[p] >> query & 1) << p;
    return count;
  }
};

// Adds bits a and b to sum's; returns what is carried.
uint32_t AddBits(uint32_t& sum, uint32_t a, uint32_t b) {
  const uint32_t either = sum ^ a;
  const uint32_t carry = (sum & a) | (either & b);
  sum = either ^ b;
  return carry;
}

// The least overlaps of a run's length in the same form.
struct LeastColumns {
  std::array<uint32_t, 32> digits{};
  size_t used = 0;
  uint32_t reachable = 0;  // queries of which a document of the run can be an answer

  LeastColumns(const SetBlock::Run& run, std::span<TopHits> hits) {
    used = std::bit_width(run.length);
    for (size_t q = 0; q < hits.size(); ++q) {
      const uint32_t least = hits[q].LeastOverlap(run.length);
      if (least > std::min(run.length, hits[q].query_length())) continue;
      reachable |= uint32_t{1} << q;
      for (size_t p = 0; p < used; ++p) digits[p] |= (least >> p & 1) << q;
    }
  }
  // Which queries' overlaps are as large.
  uint32_t Reached(const Columns& overlaps) const {
    uint32_t reached = reachable;
    for (size_t p = 0; p < used; ++p) {
      const uint32_t differs = overlaps.digits[p] ^ digits[p];
      reached = (differs & overlaps.digits[p]) | (~differs & reached);
    }
    return reached & reachable;
  }
};

}  // namespace

ScanSearch::ScanSearch(std::span<const std::span<const Token>> queries) : queries_(queries.size()) {
  STRATA_CHECK(queries.size() <= kMostQueries);
  Token largest = 0;
  for (const auto query : queries) {
    for (const Token token : query) {
      if (token < SetBlock::kDirectTokens) largest = std::max(largest, token);
    }
  }
  words_.assign(largest + 1, 0);
  for (size_t q = 0; q < queries.size(); ++q) {
    const uint32_t bit = uint32_t{1} << q;
    for (const Token token : queries[q]) {
      if (token <= largest) {
        words_[token] |= bit;
      } else {
        rare_.emplace_back(token, bit);
      }
    }
  }
  std::sort(rare_.begin(), rare_.end());
  size_t kept = 0;
  for (const auto& [token, bit] : rare_) {
    if (kept > 0 && rare_[kept - 1].first == token) {
      rare_[kept - 1].second |= bit;
    } else {
      rare_[kept++] = {token, bit};
    }
  }
  rare_.resize(kept);
}

uint32_t ScanSearch::WordOf(Token token) const {
  if (token < words_.size()) return words_[token];
  if (token < SetBlock::kDirectTokens || rare_.empty()) return 0;
  const auto found = std::lower_bound(rare_.begin(), rare_.end(), std::pair(token, uint32_t{0}));
  return found != rare_.end() && found->first == token ? found->second : 0;
}

void ScanSearch::Search(const SetBlock& block, std::span<const uint64_t> allowed,
                        std::span<TopHits> hits) {
  STRATA_CHECK(hits.size() == queries_);
  for (const SetBlock::Run& run : block.runs()) {
    if (run.length == 0) continue;
    LeastColumns least(run, hits);
    if (least.reachable == 0) continue;
    for (uint32_t place = run.begin; place < run.end; ++place) {
      const auto tokens = block.TokensAt(run, place);
      Columns overlaps;
      auto& digits = overlaps.digits;
      size_t i = 0;
      // Four words at a time give one that counts fours.
      for (; i + 4 <= tokens.size(); i += 4) {
        const uint32_t first = AddBits(digits[0], WordOf(tokens[i]), WordOf(tokens[i + 1]));
        const uint32_t second = AddBits(digits[0], WordOf(tokens[i + 2]), WordOf(tokens[i + 3]));
        overlaps.Add(AddBits(digits[1], first, second), 2);
      }
      for (; i < tokens.size(); ++i) overlaps.Add(WordOf(tokens[i]), 0);
      uint32_t reached = least.Reached(overlaps);
      if (reached == 0) continue;
      if (!allowed.empty() && (allowed[place / 64] >> place % 64 & 1) == 0) continue;
      for (; reached != 0; reached &= reached - 1) {
        const auto q = static_cast<size_t>(std::countr_zero(reached));
        hits[q].Offer({block.ids()[place], overlaps.Count(q), run.length});
      }
      least = LeastColumns(run, hits);
    }
  }
}

}  // namespace strata
