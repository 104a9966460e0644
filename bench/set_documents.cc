#include "bench/set_documents.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/random.h"

namespace strata::bench {
namespace {

class TokenDraw {
 public:
  TokenDraw(uint64_t seed, TokenSpread spread)
      : random_(seed), spread_(spread), of_rank_(SetDocuments::kVocabulary) {
    std::iota(of_rank_.begin(), of_rank_.end(), Token{0});
    if (spread == TokenSpread::kUniform) return;
    for (size_t i = of_rank_.size(); i > 1; --i)
      std::swap(of_rank_[i - 1], of_rank_[random_.Below(i)]);
    double sum = 0;
    for (size_t rank = 0; rank < of_rank_.size(); ++rank) {
      sum += 1.0 / static_cast<double>(rank + 1);
      up_to_.push_back(sum);
    }
  }

  Token Next() {
    if (spread_ == TokenSpread::kUniform) return static_cast<Token>(random_.Below(of_rank_.size()));
    const double at = random_.Uniform() * up_to_.back();
    const auto found = std::upper_bound(up_to_.begin(), up_to_.end(), at);
    return of_rank_[std::min<size_t>(static_cast<size_t>(found - up_to_.begin()),
                                     of_rank_.size() - 1)];
  }
  // As many tokens as a length drawn at random, each once.
  std::vector<Token> NextSet() {
    const size_t length = 1 + random_.Below(SetDocuments::kLongest);
    std::vector<Token> set;
    while (set.size() < length) {
      while (set.size() < length) set.push_back(Next());
      std::sort(set.begin(), set.end());
      set.erase(std::unique(set.begin(), set.end()), set.end());
    }
    return set;
  }
  Random& random() { return random_; }

 private:
  Random random_;
  TokenSpread spread_;
  std::vector<Token> of_rank_;
  std::vector<double> up_to_;  // sums of 1 / rank
};

}  // namespace

SetDocuments::SetDocuments(uint64_t seed, TokenSpread spread, size_t documents, size_t queries) {
  TokenDraw draw(seed, spread);
  for (size_t i = 0; i < documents; ++i) documents_.Add(draw.NextSet());
  for (size_t i = 0; i < queries; ++i) {
    if (spread == TokenSpread::kZipf && documents > 0) {
      queries_.Add(documents_.view()[draw.random().Below(documents)]);
    } else {
      queries_.Add(draw.NextSet());
    }
  }
}

std::vector<SetBlock> SetDocuments::Blocks() const {
  std::vector<SetBlock> blocks;
  const SetList all = documents();
  for (size_t begin = 0; begin < all.size(); begin += SetBlock::kMostDocuments) {
    const size_t count = std::min(SetBlock::kMostDocuments, all.size() - begin);
    std::vector<DocumentId> ids(count);
    std::iota(ids.begin(), ids.end(), DocumentId{begin});
    blocks.push_back(SetBlock::Build(ids, {all.offsets.subspan(begin, count + 1), all.tokens}));
  }
  return blocks;
}

}  // namespace strata::bench
