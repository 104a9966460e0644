// Random searches: documents, queries, goals of all kinds, and how documents are divided into
// blocks.
#pragma once

#include <array>
#include <map>
#include <random>
#include <vector>

#include "kernels/setops/scan_search.h"
#include "kernels/setops/set_block.h"
#include "kernels/setops/strangers.h"
#include "tests/kernels/setops/random_sets.h"

namespace strata::test {

struct SearchCase {
  Documents documents;
  std::vector<bool> allowed;  // empty: all
  std::vector<Tokens> queries;
  SearchGoal goal;
  size_t block_size = 0;
};

inline SearchCase DrawCase(uint64_t seed) {
  std::mt19937_64 draw(seed);
  const auto below = [&](uint64_t bound) { return draw() % bound; };
  const auto spread = static_cast<Spread>(below(4));
  constexpr std::array<Token, 4> kVocabularies = {3, 50, 1000, 50'000};
  constexpr std::array<size_t, 5> kLengths = {2, 12, 40, 128, 400};
  const Token vocabulary = kVocabularies.at(below(4));
  const size_t longest = kLengths.at(below(5));
  RandomSets random(seed, spread, vocabulary);

  SearchCase made;
  const size_t count = below(4) == 0 ? below(4) : below(1500 / (1 + longest / 40));
  for (size_t i = 0; i < count; ++i) {
    made.documents.ids.push_back((i * 2'654'435'761ULL + seed) % 4'294'967'291ULL);
    made.documents.sets.push_back(random.Draw(random.Below(longest + 1)));
  }
  if (below(3) == 0) {
    const uint64_t one_in = 1 + below(10);
    for (size_t i = 0; i < count; ++i) made.allowed.push_back(random.Below(one_in) == 0);
  }
  const size_t queries = 1 + below(ScanSearch::kMostQueries);
  for (size_t i = 0; i < queries; ++i) {
    if (count > 0 && below(3) == 0) {
      made.queries.push_back(made.documents.sets[below(count)]);  // a document's own tokens
    } else {
      made.queries.push_back(random.Draw(below(longest + 1)));
    }
  }
  made.goal.metric = static_cast<SetMetric>(below(kSetMetrics));
  constexpr std::array<size_t, 5> kCounts = {1, 10, 100, 1000, SearchGoal::kAll};
  made.goal.k = kCounts.at(below(5));
  if (below(2) == 0 || made.goal.k == SearchGoal::kAll) {
    const double score = static_cast<double>(below(8)) / 8;
    made.goal.at_least =
        SimilarityOf(made.goal.metric, score * (made.goal.metric == SetMetric::kOverlap ? 10 : 1));
  }
  made.block_size = 1 + below(below(2) == 0 ? 20 : 2000);
  return made;
}

// The documents in blocks, each with the bits of its places that are allowed.
struct Blocks {
  std::vector<SetBlock> blocks;
  std::vector<std::vector<uint64_t>> allowed;

  explicit Blocks(const SearchCase& of) {
    std::map<DocumentId, bool> is_allowed;
    for (size_t i = 0; i < of.allowed.size(); ++i) is_allowed[of.documents.ids[i]] = of.allowed[i];
    for (size_t begin = 0; begin < of.documents.ids.size(); begin += of.block_size) {
      const size_t count = std::min(of.block_size, of.documents.ids.size() - begin);
      const auto sets = Lists(std::span(of.documents.sets).subspan(begin, count));
      blocks.push_back(
          SetBlock::Build(std::span(of.documents.ids).subspan(begin, count), sets.view()));
      auto& bits = allowed.emplace_back();
      if (of.allowed.empty()) continue;
      bits.resize(blocks.back().words());
      for (size_t place = 0; place < count; ++place) {
        if (is_allowed.at(blocks.back().ids()[place]))
          bits[place / 64] |= uint64_t{1} << place % 64;
      }
    }
  }
  std::vector<AllowedBlock> all() const {
    std::vector<AllowedBlock> of;
    for (size_t i = 0; i < blocks.size(); ++i) of.push_back({&blocks[i], allowed[i]});
    return of;
  }
};

}  // namespace strata::test
