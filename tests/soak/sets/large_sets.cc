#include "tests/soak/sets/large_sets.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "tests/kernels/setops/random_sets.h"
#include "tests/kernels/setops/shared_cut.h"

namespace strata::soak {
namespace {

constexpr size_t kPart = SetBlock::kMostDocuments;
constexpr size_t kQueries = 20;
constexpr size_t kLongestQuery = 254;  // that a GPU takes

// By the same rule wherever a document is.
bool IsInFilter(DocumentId id) { return (id * 0x9E37'79B9'7F4A'7C15U >> 40) % 3 == 0; }

std::vector<uint16_t> OverlapsWith(std::span<const SetLists> parts, std::span<const Token> query) {
  std::vector<uint8_t> has(size_t{1} << 16);
  for (const Token token : query) {
    if (token < has.size()) has[token] = 1;
  }
  std::vector<uint16_t> overlaps;
  for (const SetLists& part : parts) {
    const SetList sets = part.view();
    for (size_t i = 0; i < sets.size(); ++i) {
      uint16_t overlap = 0;
      for (const Token token : sets[i]) {
        const bool is_common = token < has.size()
                                   ? has[token] != 0
                                   : std::binary_search(query.begin(), query.end(), token);
        overlap += static_cast<uint16_t>(is_common);
      }
      overlaps.push_back(overlap);
    }
  }
  return overlaps;
}

}  // namespace

LargeSets::LargeSets(uint64_t seed, size_t documents, WorkPool& pool) {
  test::RandomSets random(seed, test::Spread::kUniform, 2);
  constexpr std::array kSpreads = {test::Spread::kUniform, test::Spread::kZipf,
                                   test::Spread::kNearDuplicates};
  constexpr std::array<Token, 4> kVocabularies = {300, 5'000, 50'001, 60'000};
  // Longer ones than an overlap of one byte counts, too, where the memory for them is there.
  constexpr std::array<size_t, 5> kLengths = {8, 30, 60, 128, 300};
  constexpr size_t kMostLong = 2'000'000;
  const test::Spread spread = kSpreads.at(seed % kSpreads.size());
  const Token vocabulary = kVocabularies.at(random.Below(kVocabularies.size()));
  const size_t longest = kLengths.at(random.Below(documents > kMostLong ? 3 : kLengths.size()));
  const bool ascend = random.Below(2) == 0;
  for (uint64_t i = 0; i < documents; ++i) {
    ids_.push_back(ascend ? i : (i * 2'654'435'761U + seed) % 4'294'967'291U);
  }
  parts_.resize((documents + kPart - 1) / kPart);
  blocks_.resize(parts_.size());
  pool.Run(parts_.size(), [&](size_t part) {
    test::RandomSets of_part(seed * 1'000'003 + part, spread, vocabulary);
    const size_t first = part * kPart;
    const size_t count = std::min(kPart, documents - first);
    for (size_t i = 0; i < count; ++i) {
      parts_[part].Add(of_part.Draw(of_part.Below(longest + 1)));
    }
    blocks_[part] = SetBlock::Build(std::span(ids_).subspan(first, count), parts_[part].view());
  });
  for (const SetLists& part : parts_) {
    const SetList sets = part.view();
    for (size_t i = 0; i < sets.size(); ++i) {
      lengths_.push_back(static_cast<uint32_t>(sets[i].size()));
    }
  }
  test::RandomSets of_queries(seed, spread, vocabulary);
  for (size_t i = 0; i < kQueries; ++i) {
    test::Tokens query;
    if (i % 3 == 0 && documents > 0) {
      const size_t document = of_queries.Below(documents);
      const auto set = parts_[document / kPart].view()[document % kPart];
      query.assign(set.begin(), set.end());
    } else if (i % 3 == 1) {
      query = of_queries.Draw(of_queries.Below(std::min<size_t>(kLongestQuery, 4 * longest)));
    } else {
      query = of_queries.Draw(of_queries.Below(3));
    }
    if (i % 5 == 0) query.push_back(vocabulary + static_cast<Token>(i));
    if (i % 7 == 0) query.push_back(UINT32_MAX);
    query.resize(std::min(query.size(), kLongestQuery));
    queries_.Add(query);
  }
  overlaps_.resize(kQueries);
  pool.Run(kQueries, [&](size_t i) { overlaps_[i] = OverlapsWith(parts_, queries_.view()[i]); });
}

Filter LargeSets::filter() const {
  Filter filter;
  for (const SetBlock& block : blocks_) {
    auto& bits = filter.emplace_back(block.words());
    for (size_t place = 0; place < block.size(); ++place) {
      if (IsInFilter(block.ids()[place])) bits[place / 64] |= uint64_t{1} << place % 64;
    }
  }
  return filter;
}

std::vector<Hit> LargeSets::Best(size_t query, const SearchGoal& goal, bool has_filter) const {
  return Best(query, goal, [&](size_t i) { return !has_filter || IsInFilter(ids_[i]); });
}

// It takes four queries at a time, in order of length.
size_t LargeSets::LostToSharedCut(const SearchGoal& goal,
                                  std::span<const std::vector<Hit>> best) const {
  constexpr size_t kTogether = test::SharedCut::kTogether;
  std::vector<size_t> order(best.size());
  std::iota(order.begin(), order.end(), size_t{0});
  const auto length = [&](size_t query) { return queries_.view()[query].size(); };
  std::ranges::stable_sort(order, {}, length);
  size_t lost = 0;
  for (size_t begin = 0; begin + kTogether <= order.size(); begin += kTogether) {
    const auto together = std::span(order).subspan(begin, kTogether);
    test::SharedCut cut;
    for (const size_t query : together) {
      cut.Add(length(query), goal.k, Best(query, goal, [&](size_t i) {
                return test::SharedCut::IsNear(length(query), lengths_[i]);
              }));
    }
    for (const size_t query : together) {
      lost += static_cast<size_t>(std::ranges::any_of(
          best[query], [&](const Hit& hit) { return cut.Drops(length(query), hit); }));
    }
  }
  return lost;
}

std::vector<Hit> LargeSets::Best(size_t query, const SearchGoal& goal,
                                 const std::function<bool(size_t)>& is_allowed) const {
  struct Judged {
    Hit hit;
    Fraction similarity;
  };
  const auto is_better = [](const Judged& a, const Judged& b) {
    if (IsLess(b.similarity, a.similarity)) return true;
    if (IsLess(a.similarity, b.similarity)) return false;
    return a.hit.id < b.hit.id;
  };
  const auto tokens = static_cast<uint32_t>(queries_.view()[query].size());
  std::vector<Judged> best;  // a heap, the worst first
  for (size_t i = 0; i < ids_.size(); ++i) {
    if (!is_allowed(i)) continue;
    const Hit hit{ids_[i], overlaps_[query][i], lengths_[i]};
    const Judged judged{hit, Similarity(goal.metric, hit.overlap, tokens, hit.length)};
    if (IsLess(judged.similarity, goal.at_least)) continue;
    if (best.size() == goal.k) {
      if (!is_better(judged, best.front())) continue;
      std::ranges::pop_heap(best, is_better);
      best.pop_back();
    }
    best.push_back(judged);
    std::ranges::push_heap(best, is_better);
  }
  std::ranges::sort_heap(best, is_better);
  std::vector<Hit> answer;
  for (const Judged& judged : best) answer.push_back(judged.hit);
  return answer;
}

}  // namespace strata::soak
