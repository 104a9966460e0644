// Goss: gradient-based one-side sampling: all rows with large gradients, and a few of the others,
// which count for the rest (G. Ke et al., "LightGBM: a highly efficient gradient boosting decision
// tree", NIPS 2017).
#pragma once

#include "worker/gbdt/sampler/row_sampler.h"

namespace strata {

// Exactly top_rate * rows rows of the largest sum of |gradient * hessian| over classes, and exactly
// other_rate * rows of the rest, multiplied by (rows - top) / other; who is which among equal rows
// is decided by a hash of seed, round and row. All rows in the first 1 / learning_rate rounds, when
// gradients say little yet.
class Goss : public RowSampler {
 public:
  // The data outlives it.
  Goss(const BoostingParameters& parameters, const TreeDataset& data);

  void Sample(uint64_t round, WorkPool& pool, std::span<float> gradients, std::span<float> hessians,
              std::vector<uint32_t>* rows) override;
  GpuSample OnGpu(uint64_t round) const override;

 private:
  bool HasAll(uint64_t round) const { return round < rounds_of_all_ || other_ == 0; }
  void Score(WorkPool& pool, std::span<const float> gradients, std::span<const float> hessians);

  const TreeDataset& data_;
  const int64_t top_;  // rows of all ranks
  const int64_t other_;
  const uint64_t rounds_of_all_;
  const uint64_t seed_;
  std::vector<uint64_t> scores_;  // bits of doubles of at least 0, which are in their order
};

}  // namespace strata
