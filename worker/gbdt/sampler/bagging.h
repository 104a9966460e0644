// Bagging: each row, or each query with all its rows, is in the bag with a probability of its own
// (J. Friedman, "Stochastic gradient boosting", 2002).
#pragma once

#include "worker/gbdt/sampler/row_sampler.h"

namespace strata {

class Bagging : public RowSampler {
 public:
  // The data outlives it. bagging_freq is above 0.
  Bagging(const BoostingParameters& parameters, const TreeDataset& data);

  void Sample(uint64_t round, WorkPool& pool, std::span<float> gradients, std::span<float> hessians,
              std::vector<uint32_t>* rows) override;
  GpuSample OnGpu(uint64_t round) const override;

 private:
  uint64_t SeedOf(uint64_t bag) const;

  const TreeDataset& data_;
  const bool by_query_;
  const double positive_fraction_;  // of rows with labels above 0
  const double other_fraction_;
  const uint64_t frequency_;  // rounds that share a bag
  const uint64_t seed_;
  uint64_t drawn_ = 0;  // one more than the round / frequency of the last bag
};

}  // namespace strata
