// A search by set intersection: how alike two sets are, how many documents are wanted, which ones
// may be found, and what an answer is. Strata's answers are exact.
//
// Tversky, Features of Similarity, 1977 (ratio models); Ochiai's coefficient is the cosine of sets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "strata/set_list.h"

namespace strata {

// With c common tokens of a query of q and a document of d:
enum class SetMetric : uint8_t {
  kOverlap = 0,              // c
  kOverlapMax = 1,           // c / max(q, d)
  kJaccard = 2,              // c / (q + d - c), also called Tanimoto
  kDice = 3,                 // 2 c / (q + d)
  kCosine = 4,               // c / sqrt(q d)
  kContainmentQuery = 5,     // c / q: how much of the query is in the document
  kContainmentDocument = 6,  // c / d
};
inline constexpr int kSetMetrics = 7;

// "overlap", "overlap_max", "jaccard", "dice", "cosine", "containment_query",
// "containment_document".
std::string_view NameOf(SetMetric metric);
std::optional<SetMetric> SetMetricNamed(std::string_view name);

// num / den, den above 0. That of a cosine is its square, which is a fraction and in the same
// order.
struct Fraction {
  uint64_t num = 0;
  uint64_t den = 1;
};

// What a person reads: of a cosine its root.
double ScoreOf(SetMetric metric, Fraction similarity);
// The same with six digits, rounded down.
std::string ScoreText(SetMetric metric, Fraction similarity);
// The least similarity that counts as `score`. It lies below the score by about 2^-49 of it, so
// that every similarity whose ScoreOf or ScoreText is `score` reaches it. A score of 0 or less
// gives 0, and an overlap's is rounded up. Scores go up to 10^9, those of overlaps up to 2.
Fraction SimilarityOf(SetMetric metric, double score);

struct SearchGoal {
  static constexpr size_t kAll = SIZE_MAX;

  SetMetric metric = SetMetric::kOverlapMax;
  size_t k = 100;       // how many documents; kAll: all that are alike enough
  Fraction at_least{};  // documents that are less alike are not wanted
  // What a server bounds the answers of kAll with; outlives the search. Callers leave it null.
  class HitRoom* room = nullptr;
};

struct Hit {
  DocumentId id = 0;
  uint32_t overlap = 0;
  uint32_t length = 0;  // of the document

  friend bool operator==(const Hit&, const Hit&) = default;
};
// How alike the hit is to the query, which has `query_length` different tokens.
double ScoreOf(SetMetric metric, const Hit& hit, uint32_t query_length);

// Which documents a search may find.
struct ItemFilter {
  // low <= the attribute <= high.
  struct Range {
    size_t attribute = 0;  // by number
    int64_t low = INT64_MIN;
    int64_t high = INT64_MAX;
  };
  // Bit i stands for the id first + i; documents of other ids are not found.
  struct Ids {
    DocumentId first = 0;
    std::vector<uint64_t> bits;

    bool Has(DocumentId id) const {
      const uint64_t i = id - first;
      return id >= first && i / 64 < bits.size() && (bits[i / 64] >> i % 64 & 1) != 0;
    }
  };

  std::vector<Range> ranges = {};  // all of them hold
  bool has_ids = false;            // whether `ids` counts
  Ids ids = {};

  bool IsAll() const { return ranges.empty() && !has_ids; }
};

}  // namespace strata
