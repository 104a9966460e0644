// Voting-parallel: each rank votes for the top_k features of its own rows; of those with most votes
// twice as many are summed over ranks and searched by one rank each.
#include <algorithm>

#include "worker/gbdt/grower/group_exchange.h"

namespace strata {
namespace {

class Voting : public GroupExchange {
 public:
  Voting(Group& group, const BinMatrix& bins, std::span<const FeatureShape> shapes,
         const ExchangeOptions& options)
      : GroupExchange(group, bins, shapes), top_k_(options.top_k), rules_(options.rules) {
    // A rank has a part of the rows, so a part of what a leaf needs (LightGBM does the same).
    rules_.min_data_in_leaf /= group.world();
    rules_.min_sum_hessian_in_leaf /= group.world();
    rules_.min_data_per_group /= group.world();
  }

  void StartTree(std::span<const uint8_t> used, const GradientUnits& units) override {
    GroupExchange::StartTree(used, units);
    units_ = units;
  }
  bool Needs(size_t /*feature*/) const override { return true; }

  void Sum(std::span<int64_t> numbers) override {
    if (status().ok()) Keep(group_.Allreduce(numbers, ReduceOp::kSum));
  }

  bool selects_features() const override { return true; }

  void SelectFeatures(std::span<SearchedLeaf> leaves) override {
    if (!status().ok()) return;
    std::vector<Vote> votes(static_cast<size_t>(group_.world()) * leaves.size() * top_k_);
    const auto mine = std::span(votes).subspan(rank() * leaves.size() * top_k_);
    for (size_t i = 0; i < leaves.size(); ++i) {
      std::ranges::copy(BestFeatures(leaves[i]), mine.begin() + static_cast<ptrdiff_t>(i * top_k_));
    }
    if (!Keep(group_.Allgather(std::span(votes)))) return;
    std::vector<std::vector<uint8_t>> winners;
    for (size_t i = 0; i < leaves.size(); ++i) winners.push_back(Winners(votes, i, leaves.size()));
    SumWinners(winners, leaves);
  }

 private:
  struct Vote {
    double gain = 0;
    int64_t feature = -1;  // -1: none
  };

  // The features with the best splits of this rank's rows, at most top_k; last those that these
  // rows alone do not split, so that with top_k of all features nothing is left out.
  std::vector<Vote> BestFeatures(const SearchedLeaf& leaf) const {
    const SplitLeaf local = LocalLeaf(leaf);
    std::vector<Vote> votes;
    for (size_t f = 0; f < shapes_.size(); ++f) {
      if (leaf.searched[f] == 0) continue;
      const Split split = FindBestSplit(
          shapes_[f], static_cast<int32_t>(f),
          leaf.histogram.subspan(bins_.histogram_begin(f), shapes_[f].bins), local, units_, rules_);
      votes.push_back({split.gain, static_cast<int64_t>(f)});
    }
    std::ranges::stable_sort(votes, [](const Vote& a, const Vote& b) { return a.gain > b.gain; });
    votes.resize(std::min(votes.size(), top_k_));
    return votes;
  }

  // The leaf as this rank's rows have it: each row is in one bin of any feature. How many rows
  // there are is guessed from their hessians, as a search guesses those of a bin.
  SplitLeaf LocalLeaf(const SearchedLeaf& leaf) const {
    SplitLeaf local = *leaf.leaf;
    const auto any =
        static_cast<size_t>(std::ranges::find(leaf.searched, 1) - leaf.searched.begin());
    if (any == shapes_.size()) return local;
    local.sums = {};
    for (const GradientSums& bin :
         leaf.histogram.subspan(bins_.histogram_begin(any), shapes_[any].bins)) {
      local.sums += bin;
    }
    const double share =
        leaf.leaf->sums.hessian > 0
            ? static_cast<double>(local.sums.hessian) / static_cast<double>(leaf.leaf->sums.hessian)
            : 0;
    local.rows = static_cast<int64_t>(static_cast<double>(leaf.leaf->rows) * share + 0.5);
    return local;
  }

  // Flags of the features with most votes, of equally many those with the larger gains: at most
  // 2 * top_k.
  std::vector<uint8_t> Winners(std::span<const Vote> votes, size_t leaf, size_t leaves) const {
    struct Count {
      int votes = 0;
      double gains = 0;
      size_t feature = 0;
    };
    std::vector<Count> counts(shapes_.size());
    for (size_t f = 0; f < counts.size(); ++f) counts[f].feature = f;
    for (size_t r = 0; r < owners_.ranks(); ++r) {
      for (const Vote& vote : votes.subspan((r * leaves + leaf) * top_k_, top_k_)) {
        if (vote.feature < 0) continue;
        Count& count = counts[static_cast<size_t>(vote.feature)];
        ++count.votes;
        count.gains += vote.gain;
      }
    }
    std::erase_if(counts, [](const Count& count) { return count.votes == 0; });
    std::ranges::stable_sort(counts, [](const Count& a, const Count& b) {
      return a.votes != b.votes ? a.votes > b.votes : a.gains > b.gains;
    });
    counts.resize(std::min(counts.size(), 2 * top_k_));
    std::vector<uint8_t> winners(shapes_.size(), 0);
    for (const Count& count : counts) winners[count.feature] = 1;
    return winners;
  }

  // Sums the winners of all leaves in one message, block r of which has those of rank r.
  void SumWinners(const std::vector<std::vector<uint8_t>>& winners,
                  std::span<SearchedLeaf> leaves) {
    summed_.resize(leaves.size());
    packed_.clear();
    std::vector<size_t> counts;
    for (size_t r = 0; r < owners_.ranks(); ++r) {
      const size_t before = packed_.size();
      for (size_t i = 0; i < leaves.size(); ++i) {
        for (const size_t f : owners_.Of(r)) {
          if (winners[i][f] == 0) continue;
          for (const GradientSums& bin : BinsOf(f, leaves[i].histogram)) {
            packed_.push_back(bin.gradient);
            packed_.push_back(bin.hessian);
          }
        }
      }
      counts.push_back(packed_.size() - before);
    }
    const Result<std::span<int64_t>> own =
        group_.ReduceScatter(std::span<int64_t>(packed_), ReduceOp::kSum, counts);
    if (!Keep(own.status())) return;
    size_t at = 0;
    for (size_t i = 0; i < leaves.size(); ++i) {
      summed_[i].resize(bins_.histogram_bins());
      std::ranges::fill(leaves[i].searched, uint8_t{0});
      for (const size_t f : owners_.Of(rank())) {
        if (winners[i][f] == 0) continue;
        leaves[i].searched[f] = 1;
        for (GradientSums& bin : BinsOf(f, summed_[i])) {
          bin = {(*own)[at], (*own)[at + 1]};
          at += 2;
        }
      }
      leaves[i].histogram = summed_[i];
    }
  }

  std::span<GradientSums> BinsOf(size_t feature, std::span<GradientSums> histogram) const {
    return histogram.subspan(bins_.histogram_begin(feature), bin_counts_[feature]);
  }

  const size_t top_k_;
  SplitRules rules_;
  GradientUnits units_;
  std::vector<int64_t> packed_;
  std::vector<std::vector<GradientSums>> summed_;  // of each leaf
};

}  // namespace

std::unique_ptr<Exchange> MakeVoting(Group& group, const BinMatrix& bins,
                                     std::span<const FeatureShape> shapes,
                                     const ExchangeOptions& options) {
  return std::make_unique<Voting>(group, bins, shapes, options);
}

}  // namespace strata
