// Documents and queries for tests, and what searches must find in them, the plain way.
#pragma once

#include <algorithm>
#include <cmath>
#include <iterator>
#include <random>
#include <span>
#include <vector>

#include "kernels/setops/top_hits.h"
#include "strata/set_list.h"

namespace strata::test {

using Tokens = std::vector<Token>;

struct Documents {
  std::vector<DocumentId> ids;
  std::vector<Tokens> sets;
};

inline SetLists Lists(std::span<const Tokens> sets) {
  SetLists lists;
  for (const auto& set : sets) lists.Add(set);
  return lists;
}

// Every document judged by its own definition, then all sorted.
inline std::vector<Hit> PlainSearch(const Documents& documents, const std::vector<bool>& allowed,
                                    const Tokens& query, const SearchGoal& goal) {
  struct Judged {
    Hit hit;
    Fraction similarity;
  };
  std::vector<Judged> all;
  for (size_t i = 0; i < documents.sets.size(); ++i) {
    if (!allowed.empty() && !allowed[i]) continue;
    const Tokens& set = documents.sets[i];
    Tokens common;
    std::set_intersection(set.begin(), set.end(), query.begin(), query.end(),
                          std::back_inserter(common));
    const Hit hit{documents.ids[i], static_cast<uint32_t>(common.size()),
                  static_cast<uint32_t>(set.size())};
    const Fraction similarity =
        Similarity(goal.metric, hit.overlap, static_cast<uint32_t>(query.size()), hit.length);
    if (!IsLess(similarity, goal.at_least)) all.push_back({hit, similarity});
  }
  std::sort(all.begin(), all.end(), [](const Judged& a, const Judged& b) {
    if (IsLess(b.similarity, a.similarity)) return true;
    if (IsLess(a.similarity, b.similarity)) return false;
    return a.hit.id < b.hit.id;
  });
  if (all.size() > goal.k) all.resize(goal.k);
  std::vector<Hit> answer;
  for (const auto& judged : all) answer.push_back(judged.hit);
  return answer;
}

// How tokens are spread.
enum class Spread : uint8_t { kUniform, kZipf, kNearDuplicates, kWide };

// Tokens ascending, once each.
class RandomSets {
 public:
  RandomSets(uint64_t seed, Spread spread, Token vocabulary)
      : random_(seed), spread_(spread), vocabulary_(vocabulary) {}

  Tokens Draw(size_t length) {
    Tokens set;
    if (spread_ == Spread::kNearDuplicates && !known_.empty() && Below(10) < 3) {
      set = known_[Below(known_.size())];
      for (Token& token : set) {
        if (Below(4) == 0) token = DrawToken();
      }
    } else {
      // Fewer than asked for where tokens repeat.
      for (size_t i = 0; i < length; ++i) set.push_back(DrawToken());
    }
    std::sort(set.begin(), set.end());
    set.erase(std::unique(set.begin(), set.end()), set.end());
    if (known_.size() < 100) known_.push_back(set);
    return set;
  }
  uint64_t Below(uint64_t bound) { return random_() % bound; }

 private:
  Token DrawToken() {
    if (spread_ == Spread::kWide) {
      // Small ones, and any of 32 bits, the largest, too.
      if (Below(20) == 0) return UINT32_MAX - static_cast<Token>(Below(3));
      return Below(2) == 0 ? static_cast<Token>(Below(vocabulary_))
                           : static_cast<Token>(Below(vocabulary_) * 77'777'777U);
    }
    if (spread_ == Spread::kUniform) return static_cast<Token>(Below(vocabulary_));
    // About Zipf's law with s = 1: the logarithm of the rank is uniform.
    const double u = std::uniform_real_distribution<double>()(random_);
    const auto rank = static_cast<Token>(std::pow(vocabulary_, u)) - 1;
    return std::min(rank, vocabulary_ - 1);
  }

  std::mt19937_64 random_;
  Spread spread_;
  Token vocabulary_;
  std::vector<Tokens> known_;
};

}  // namespace strata::test
