// GroupExchange: what the exchanges over a group have in common, and the kinds there are.
#pragma once

#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "cluster/collective/group.h"
#include "worker/gbdt/grower/exchange.h"
#include "worker/gbdt/grower/feature_owners.h"
#include "worker/gbdt/grower/split_message.h"

namespace strata {

class GroupExchange : public Exchange {
 public:
  GroupExchange(Group& group, const BinMatrix& bins, std::span<const FeatureShape> shapes);

  void StartTree(std::span<const uint8_t> used, const GradientUnits& units) override;
  bool Needs(size_t feature) const override { return own_[feature] != 0; }
  void FindBest(std::span<Split* const> splits) override;
  size_t leaves_at_a_time() const override { return 16; }
  Status status() const override { return status_; }

 protected:
  // Remembers the first error; whether all is well.
  bool Keep(const Status& status);
  size_t rank() const { return static_cast<size_t>(group_.rank()); }

  Group& group_;
  const BinMatrix& bins_;
  const std::span<const FeatureShape> shapes_;
  std::vector<uint32_t> bin_counts_;
  FeatureOwners owners_;      // of this tree's features
  std::vector<uint8_t> own_;  // flags of this rank's

 private:
  SplitMessage message_;
  Status status_;
};

// Rows are divided; each rank's features get the sums of all.
std::unique_ptr<Exchange> MakeDataParallel(Group& group, const BinMatrix& bins,
                                           std::span<const FeatureShape> shapes, int64_t levels);
// Every rank has all rows and searches its features.
std::unique_ptr<Exchange> MakeFeatureParallel(Group& group, const BinMatrix& bins,
                                              std::span<const FeatureShape> shapes);
// Rows are divided; only the features that most ranks find good are summed (Q. Meng et al., "A
// Communication-Efficient Parallel Algorithm for Decision Tree", NeurIPS 2016).
std::unique_ptr<Exchange> MakeVoting(Group& group, const BinMatrix& bins,
                                     std::span<const FeatureShape> shapes,
                                     const ExchangeOptions& options);

}  // namespace strata
