#include "bench/suites/search/set_documents.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include "base/thread/work_pool.h"
#include "bench/harness/machine.h"

namespace strata::bench {
namespace {

// Zipf's law with s = 1, ranks given to tokens at random, by M. Vose's alias method ("A linear
// algorithm for generating random numbers with a given distribution", IEEE TSE 1991).
class ZipfTokens {
 public:
  explicit ZipfTokens(uint64_t seed) : columns_(SetDocuments::kVocabulary) {
    Random random(seed);
    std::vector<Token> of_rank(columns_.size());
    std::iota(of_rank.begin(), of_rank.end(), Token{0});
    for (size_t i = of_rank.size(); i > 1; --i) std::swap(of_rank[i - 1], of_rank[random.Below(i)]);
    double sum = 0;
    for (size_t rank = 1; rank <= columns_.size(); ++rank) sum += 1.0 / static_cast<double>(rank);
    std::vector<double> share;  // of a column's width
    std::vector<size_t> small;
    std::vector<size_t> large;
    for (size_t i = 0; i < columns_.size(); ++i) {
      share.push_back(static_cast<double>(columns_.size()) / static_cast<double>(i + 1) / sum);
      columns_[i] = {1, of_rank[i], of_rank[i]};
      (share[i] < 1 ? small : large).push_back(i);
    }
    while (!small.empty() && !large.empty()) {
      const size_t low = small.back();
      const size_t high = large.back();
      small.pop_back();
      columns_[low] = {share[low], of_rank[low], of_rank[high]};
      share[high] -= 1 - share[low];
      if (share[high] >= 1) continue;
      large.pop_back();
      small.push_back(high);
    }
  }
  Token Draw(Random& random) const {
    const Column& column = columns_[random.Below(columns_.size())];
    return random.Uniform() < column.share ? column.own : column.other;
  }

 private:
  struct Column {
    double share;
    Token own;
    Token other;
  };
  std::vector<Column> columns_;
};

// By length, how many of the contest's documents are no longer.
std::array<uint64_t, SetDocuments::kLongest + 1> ContestLengths() {
  constexpr std::array<std::pair<double, double>, 4> kCorners = {
      {{2, 33'000}, {56, 60'000}, {88, 158'000}, {128, 0}}};
  std::array<uint64_t, SetDocuments::kLongest + 1> sums = {};
  size_t corner = 0;
  for (size_t length = 2; length < sums.size(); ++length) {
    if (static_cast<double>(length) > kCorners.at(corner + 1).first) ++corner;
    const auto [from, at_from] = kCorners.at(corner);
    const auto [to, at_to] = kCorners.at(corner + 1);
    const double share = (static_cast<double>(length) - from) / (to - from);
    sums.at(length) =
        sums.at(length - 1) + static_cast<uint64_t>(at_from + share * (at_to - at_from));
  }
  return sums;
}

size_t DrawLength(Random& random, SetLengths lengths) {
  if (lengths == SetLengths::kUniform) return 1 + random.Below(SetDocuments::kLongest);
  static const auto sums = ContestLengths();
  return static_cast<size_t>(std::ranges::upper_bound(sums, random.Below(sums.back())) -
                             sums.begin());
}

// So many tokens, each once.
template <typename Draw>
std::vector<Token> DrawSet(size_t length, const Draw& draw) {
  std::vector<Token> set;
  while (set.size() < length) {
    while (set.size() < length) set.push_back(draw());
    std::sort(set.begin(), set.end());
    set.erase(std::unique(set.begin(), set.end()), set.end());
  }
  return set;
}

}  // namespace

std::string SetShape::Name() const {
  const char* tokens = spread == TokenSpread::kUniform ? "uniform"
                       : spread == TokenSpread::kZipf  ? "Zipf"
                                                       : "near-duplicates";
  return fmt::format("tokens={}{}", tokens,
                     lengths == SetLengths::kContest ? " lengths=contest" : "");
}

Result<SetDocuments> SetDocuments::Make(uint64_t seed, const SetShape& shape, size_t documents,
                                        size_t queries) {
  const TokenSpread spread = shape.spread;
  const ZipfTokens zipf(seed);
  const auto draw = [&](Random& random) {
    return spread == TokenSpread::kUniform ? static_cast<Token>(random.Below(kVocabulary))
                                           : zipf.Draw(random);
  };
  const auto draw_set = [&](Random& random) {
    const size_t length = DrawLength(random, shape.lengths);
    return DrawSet(length, [&] { return draw(random); });
  };
  // As long as the earlier one.
  const auto draw_like = [&](Random& random, const SetList& earlier) {
    const auto of = earlier[random.Below(earlier.size())];
    const double kept = 0.3 + 0.6 * random.Uniform();
    std::vector<Token> set;
    for (const Token token : of) set.push_back(random.Uniform() < kept ? token : draw(random));
    return set;
  };
  SetDocuments made;
  constexpr size_t kPart = SetBlock::kMostDocuments;
  made.parts_.resize((documents + kPart - 1) / kPart);
  STRATA_ASSIGN(const auto pool, WorkPool::Start("documents", static_cast<int>(Cores()) - 1));
  pool->Run(made.parts_.size(), [&](size_t part) {
    Random random(seed + 1 + part);
    const size_t count = std::min(kPart, documents - part * kPart);
    for (size_t i = 0; i < count; ++i) {
      const bool is_near = spread == TokenSpread::kNearDuplicates && i > 0 && random.Below(10) < 3;
      made.parts_[part].Add(is_near ? draw_like(random, made.parts_[part].view())
                                    : draw_set(random));
    }
  });
  Random random(seed);
  if (spread == TokenSpread::kUniform) {
    for (size_t i = 0; i < queries; ++i) made.queries_.Add(draw_set(random));
  } else {
    made.DrawQueries(random, queries);
  }
  return made;
}

SetDocuments SetDocuments::Of(uint64_t seed, std::vector<SetLists> parts, size_t queries) {
  SetDocuments made;
  made.parts_ = std::move(parts);
  made.vocabulary_ = 0;
  for (const SetLists& part : made.parts_) {
    for (const Token token : part.view().tokens) {
      made.vocabulary_ = std::max(made.vocabulary_, token + 1);
    }
  }
  Random random(seed);
  made.DrawQueries(random, queries);
  return made;
}

size_t SetDocuments::size() const {
  size_t size = 0;
  for (const SetLists& part : parts_) size += part.size();
  return size;
}

// Each a document.
void SetDocuments::DrawQueries(Random& random, size_t count) {
  const size_t documents = size();
  for (size_t i = 0; i < count && documents > 0; ++i) {
    const size_t id = random.Below(documents);
    const SetList part = parts_[id / SetBlock::kMostDocuments].view();
    queries_.Add(part[id % SetBlock::kMostDocuments]);
  }
}

Result<std::vector<SetBlock>> SetDocuments::Blocks() const {
  std::vector<SetBlock> blocks(parts_.size());
  STRATA_ASSIGN(const auto pool, WorkPool::Start("blocks", static_cast<int>(Cores()) - 1));
  pool->Run(parts_.size(), [&](size_t part) {
    std::vector<DocumentId> ids(parts_[part].size());
    std::iota(ids.begin(), ids.end(), DocumentId{part * SetBlock::kMostDocuments});
    blocks[part] = SetBlock::Build(ids, parts_[part].view());
  });
  return blocks;
}

Result<FlatDocuments> SetDocuments::Flat() const {
  std::vector<uint64_t> firsts;
  uint64_t tokens = 0;
  size_t documents = 0;
  for (const SetLists& part : parts_) {
    firsts.push_back(tokens);
    tokens += part.view().tokens.size();
    documents += part.size();
  }
  FlatDocuments flat;
  flat.offsets.resize(documents + 1);
  flat.tokens.resize(tokens);
  flat.offsets.back() = tokens;
  STRATA_ASSIGN(const auto pool, WorkPool::Start("documents", static_cast<int>(Cores()) - 1));
  pool->Run(parts_.size(), [&](size_t part) {
    const SetList sets = parts_[part].view();
    const size_t first = part * SetBlock::kMostDocuments;
    for (size_t i = 0; i < sets.size(); ++i) {
      flat.offsets[first + i] = firsts[part] + sets.offsets[i];
    }
    std::copy(sets.tokens.begin(), sets.tokens.end(),
              flat.tokens.begin() + static_cast<ptrdiff_t>(firsts[part]));
  });
  return flat;
}

std::vector<Document> SetDocuments::ForCollections() const {
  std::vector<Document> documents;
  for (const SetLists& part : parts_) {
    const SetList sets = part.view();
    for (size_t i = 0; i < sets.size(); ++i) {
      documents.push_back(
          {.id = documents.size(), .tokens = {sets[i].begin(), sets[i].end()}, .attributes = {}});
    }
  }
  return documents;
}

SetList Some(const SetList& sets, size_t first, size_t count) {
  return {sets.offsets.subspan(first, count + 1), sets.tokens};
}

}  // namespace strata::bench
